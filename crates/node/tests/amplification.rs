//! Bytes written per byte received: what a node keeps must not be written again and again for every little thing
//! that it learns.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_core::Setting;
use cahoots_node::client::{Arms, Client};
use cahoots_node::store::{Batch, Store, Sync};
use cahoots_node::{Known, Terms};

/// What a process writes is counted for all of it: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

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
        let path = folder.path().join("a.store");
        let (mut store, _) = Store::open(&path, "a load", sync).unwrap();
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
        drop(store);
        let begin = Instant::now();
        let (_, recovered) = Store::open(&path, "a load", sync).unwrap();
        println!("    read again with {} entries in {:?}", recovered.log.len(), begin.elapsed());
        ratio
    }
}

#[test]
fn at_most_three_bytes_are_written_for_one_received() {
    let _alone = ALONE.lock();
    for load in [COORDINATOR, CLIENT] {
        let ratio = load.run(Sync::Memory, 3, 1_000_000);
        assert!(ratio <= 3.0, "{}: {ratio:.2} bytes written per byte received", load.name);
    }
}

#[test]
fn at_most_three_bytes_are_written_by_a_client_with_many_open_decisions() {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    let known = Arc::new(Known::default().algorithm::<AsyncLinucb>());
    let params = "ratio = 2.0".parse().unwrap();
    let terms = Terms::new(&known, "async-linucb", &params, Setting::linear(10, 25, 1), 0).unwrap();
    let client = Client::builder(known, "many", 3).store(folder.path().join("a.store"));
    let client = client.sync(Sync::Memory).terms(terms).open().unwrap();
    let mut arms = vec![vec![0.0; 25]];
    let mut decide = |i: usize| {
        arms[0].iter_mut().enumerate().for_each(|(j, x)| *x = ((i * 31 + j * 17) % 97) as f64 / 500.0);
        client.decide(None, Arms::Features(&arms)).unwrap().id
    };
    let mut open: std::collections::VecDeque<_> = (0..10_000).map(&mut decide).collect();
    client.reward(open.pop_front().unwrap(), 1.0).unwrap();
    let (before, rounds) = (Written::now(), 40_000);
    for i in 0..rounds {
        open.push_back(decide(i));
        client.reward(open.pop_front().unwrap(), 0.5).unwrap();
    }
    let written = (Written::now().handed - before.handed) as f64;
    // An arm of 25 numbers; an id, which is two numbers, and a reward.
    let received = (rounds * (25 * 8 + 3 * 8)) as f64;
    let ratio = written / received;
    println!("10,000 open decisions: {ratio:.2} bytes written per byte received");
    assert_eq!(client.status().open_decisions, open.len());
    assert!(ratio > 1.0 && ratio <= 3.0, "{ratio:.2} bytes written per byte received");
}
