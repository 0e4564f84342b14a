//! What whoever runs a federation does to a store that is not in use, interrupted before every single operation on the
//! disk, by a kill or by a power cut.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cahoots_core::{LinearStats, Prior, Setting};
use cahoots_node::Terms;
use cahoots_node::coordinator::CoordinatorConfig;
use cahoots_node::inside::{self, Opening, SteppedCoordinator};
use cahoots_node::prior::{PriorFile, WarmStart};
use cahoots_node::store::{Batch, Store, StoreError, Sync};

use super::computer::Computer;
use super::dice::Dice;
use super::world::FEDERATION;

const COMMITS: u64 = 5;

fn path(name: &str) -> PathBuf {
    Path::new("/node").join(name)
}

/// A store with a snapshot, a log and a mark, all of it on disk.
fn computer(owner: &str, seed: u64) -> Arc<Computer> {
    let computer = Computer::new(&path("store"), Arc::default(), Dice::new(seed, 1), None);
    let (mut store, _) = inside::store(&computer.platform(), &path("store"), owner).expect("a new store");
    for commit in 1..=COMMITS {
        let mut batch = Batch::default();
        batch.set("instance", vec![7; 16]);
        batch.append(vec![commit as u8; 30]);
        if commit == 3 {
            batch.snapshot(vec![1; 50]);
        }
        store.commit(&batch).expect("there is space");
    }
    drop(store);
    on_disk(&computer);
    computer
}

/// All of it but the mark, which is never synced.
fn on_disk(computer: &Arc<Computer>) {
    let mark = computer.disk.open(&path("store.mark"), Opening::ToWrite).expect("there is one");
    let mut counted = [0; 12];
    mark.read_exact_at(&mut counted, 0).expect("it is a mark");
    mark.write_all_at(&[0; 12], 0).expect("there is space");
    computer.disk.put_back(&computer.disk.image());
    let mark = computer.disk.open(&path("store.mark"), Opening::ToWrite).expect("there is one");
    mark.write_all_at(&counted, 0).expect("there is space");
}

/// Does something that is interrupted, in all ways, until nothing is left to be interrupted; then looks.
fn interrupted(
    owner: &str,
    before: impl Fn(&Arc<Computer>),
    act: impl Fn(&Arc<Computer>) -> bool,
    look: impl Fn(&Arc<Computer>, Result<Store, StoreError>),
) {
    for (power, seed) in (0..10).flat_map(|seed| [(false, seed), (true, seed)]) {
        for operation in 1.. {
            let computer = computer(owner, seed);
            before(&computer);
            let at = computer.disk.operations() + operation;
            computer.disk.mood(|mood| mood.off_at = Some(at));
            let done = act(&computer);
            if !computer.disk.is_off() {
                assert!(done, "only a crash keeps it from being done");
                assert!(operation > 5, "there was something to be interrupted");
                break;
            }
            if power {
                computer.disk.cut(&mut Dice::new(seed, operation));
            } else {
                computer.disk.kill();
            }
            let opened = inside::store(&computer.platform(), &path("store"), owner);
            look(&computer, opened.map(|(store, _)| store));
        }
    }
}

/// The first start of a coordinator that begins from a prior: wherever it is interrupted, its store holds all of the
/// beginning or none of it, and the next start has begun from all of it, once.
///
/// # Panics
/// If not.
pub fn beginning() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stats = LinearStats::empty(2);
    (1..9).for_each(|i| stats.observe(&[1.0, f64::from(i) / 8.0], 0.5));
    let prior = Prior::Linear(stats);
    let file = folder.path().join("prior.json");
    let (kind, from) = (Prior::LINEAR.into(), "a test".into());
    let written = PriorFile { kind, from, features: Vec::new(), prior: prior.clone() }.write(&file);
    written.expect("there is space");
    let known = crate::lockstep::ours();
    let terms = Terms::new(&known, "async-linucb", &toml::Table::new(), Setting::linear(2, 2, 2), 1);
    let terms = terms.expect("they are fine");
    let config = || CoordinatorConfig {
        known: known.clone(),
        federation: FEDERATION.into(),
        store: path("store"),
        sync: Sync::Disk,
        terms: terms.clone(),
        tick: Duration::from_secs(1),
        snapshot_every: 1000,
        limits: Default::default(),
        security: Default::default(),
        warm_start: Some(WarmStart { prior: file.clone(), weight: 1.0 }),
        plan: None,
    };
    for (power, seed) in (0..5).flat_map(|seed| [(false, seed), (true, seed)]) {
        for operation in 1.. {
            let computer = Computer::new(&path("store"), Arc::default(), Dice::new(seed, 1), None);
            let at = computer.disk.operations() + operation;
            computer.disk.mood(|mood| mood.off_at = Some(at));
            let begun = SteppedCoordinator::open(config(), &computer.platform());
            if !computer.disk.is_off() {
                assert!(begun.is_ok() && operation > 5, "there was something to be interrupted");
                break;
            }
            drop(begun);
            if power {
                computer.disk.cut(&mut Dice::new(seed, operation));
            } else {
                computer.disk.kill();
            }
            let owner = format!("the coordinator of federation {FEDERATION:?}");
            let (store, recovered) =
                inside::store(&computer.platform(), &path("store"), &owner).expect("whole, or none");
            let remembered = store.get("prior").expect("it can be read").is_some();
            assert_eq!(recovered.log.len(), if remembered { 2 } else { 0 }, "half a beginning");
            drop(store);
            let mut next = SteppedCoordinator::open(config(), &computer.platform()).expect("it goes on");
            assert_eq!(next.look(|machine, _| machine.prior()), Ok(prior.clone()));
            assert_eq!(next.status().began_from.map(|began| began.observations), Some(8));
        }
    }
}

/// `cahoots rejoin` and `reset`: a store that makes room is whole, or aside.
///
/// # Panics
/// If it is neither.
pub fn making_room() {
    let owner = "client 0 of federation \"faults\"";
    let whole_or_aside = |computer: &Arc<Computer>, opened: Result<Store, StoreError>| {
        let store = opened.expect("there is a whole store, or none");
        if store.commits() == COMMITS {
            return;
        }
        let aside = inside::store(&computer.platform(), &path("store.old-1"), owner);
        assert_eq!(aside.expect("what was there is kept").0.commits(), COMMITS);
    };
    let rejoin = |computer: &Arc<Computer>| {
        inside::rejoin(&computer.platform(), &path("store"), FEDERATION, 0).is_ok()
    };
    let reset = |computer: &Arc<Computer>| inside::reset(&computer.platform(), &path("store")).is_ok();
    interrupted(owner, |_| {}, rejoin, whole_or_aside);
    interrupted(owner, |_| {}, reset, whole_or_aside);
}

/// `cahoots restore`: a store that is put back in part does not pass for an empty one.
///
/// # Panics
/// If it does.
pub fn putting_back() {
    let owner = "the coordinator of federation \"faults\"";
    let copy = |computer: &Arc<Computer>| {
        let (mut store, _) = inside::store(&computer.platform(), &path("store"), owner).expect("it is whole");
        store.backup(&path("copy")).expect("there is space");
        let mut batch = Batch::default();
        batch.append(vec![9; 30]);
        store.commit(&batch).expect("there is space");
        drop(store);
        on_disk(computer);
    };
    let restore = |computer: &Arc<Computer>| {
        inside::restore(&computer.platform(), &path("copy"), &path("store"), FEDERATION).is_ok()
    };
    interrupted(owner, copy, restore, |computer, opened| {
        match opened {
            Ok(store) => assert!([COMMITS, COMMITS + 1].contains(&store.commits()), "{}", store.commits()),
            Err(StoreError::Damaged { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        assert!(restore(computer), "done again, it is done");
        let (store, _) = inside::store(&computer.platform(), &path("store"), owner).expect("whole");
        assert_eq!(store.commits(), COMMITS);
    });
}
