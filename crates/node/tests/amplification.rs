//! Bytes written per byte received: what a node keeps must not be written again and again for every little thing
//! that it learns.

use std::time::Instant;

use cahoots_node::store::{Batch, Store, Sync};

/// A node under sustained load: every entry is a commit of its own, which is the worst case.
struct Load {
    name: &'static str,
    /// Bytes of the snapshot and of what is written with it.
    state: usize,
    queues: usize,
    /// Bytes of an entry.
    entry: usize,
}

const COORDINATOR: Load = Load { name: "coordinator", state: 2 << 20, queues: 20 << 20, entry: 2800 };
const CLIENT: Load = Load { name: "client", state: 4 << 20, queues: 1 << 16, entry: 40 };

/// What the system was asked to write, and what it has sent to the device, of this process.
#[derive(Clone, Copy, Default)]
struct Written {
    handed: u64,
    device: u64,
}

impl Written {
    fn now() -> Written {
        let text = std::fs::read_to_string("/proc/self/io").expect("Linux counts what a process writes");
        let number = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("it is counted");
            line.trim().parse().expect("a number")
        };
        Written { handed: number("wchar:"), device: number("write_bytes:") }
    }
}

impl Load {
    fn batch(&self, i: u64, snapshot: bool) -> Batch {
        let mut batch = Batch::default();
        batch.append((0..self.entry as u64).map(|j| (i * 31 + j) as u8).collect());
        if snapshot {
            batch.snapshot(vec![i as u8; self.state]);
            batch.set("queues", vec![i as u8; self.queues]);
        }
        batch
    }

    /// Commits until so many snapshots have been taken, or so many commits made; bytes handed over per byte received.
    fn run(&self, sync: Sync, snapshots: u64, commits: u64) -> f64 {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(&folder.path().join("a.store"), "a load", sync).unwrap();
        store.commit(&self.batch(0, true)).unwrap();
        let (before, begin) = (Written::now(), Instant::now());
        let (mut taken, mut done) = (0, 0u64);
        while taken < snapshots && done < commits {
            done += 1;
            let snapshot = store.wants_snapshot(1000);
            taken += u64::from(snapshot);
            store.commit(&self.batch(done, snapshot)).unwrap();
        }
        let (seconds, after) = (begin.elapsed().as_secs_f64(), Written::now());
        let received = (done * self.entry as u64) as f64;
        let ratio = (after.handed - before.handed) as f64 / received;
        println!(
            "{} ({sync:?}): {done} commits, {taken} snapshots, {:.0} commits/s; per byte received {ratio:.2} handed to \
             the system, {:.2} sent to the device",
            self.name,
            done as f64 / seconds,
            (after.device - before.device) as f64 / received,
        );
        ratio
    }
}

/// One test, so that nothing else writes meanwhile.
#[test]
fn at_most_three_bytes_are_written_for_one_received() {
    for load in [COORDINATOR, CLIENT] {
        let ratio = load.run(Sync::Memory, 3, 1_000_000);
        assert!(ratio <= 3.0, "{}: {ratio:.2} bytes written per byte received", load.name);
    }
}

/// For who wants to know what a device sees: it writes pages, of which a little commit takes one.
#[test]
#[ignore = "a measurement"]
fn what_a_synced_commit_costs() {
    for load in [COORDINATOR, CLIENT] {
        for sync in [Sync::Memory, Sync::Disk] {
            load.run(sync, 1, 20_000);
        }
    }
}
