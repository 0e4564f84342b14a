//! Once a client is forgotten, the server's state is, byte for byte, a fold over the others' logged uploads: that of a
//! fresh server which is given the same log without it. Contexts and rewards are any numbers, so that every sum is
//! rounded, and the order of additions shows.

mod script;
mod served;

use cahoots_algorithms::fclub::{self, FclubMsg};
use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_algorithms::{async_linucb, async_linucb_am, fed_linucb, hetofed, hetofed_async, sync_linucb};
use cahoots_core::{Algorithm, NodeId, Ruling, View};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::script::{Act, Script, acts, named};
use crate::served::{Entry, Served, bits};

/// One who never uploads.
const NOBODY: u32 = 199;

/// The log without those entries that someone who is forgotten later is to be left out of.
fn without_the_forgotten(log: &[Entry], leave_out: fn(&Entry) -> bool) -> Vec<Entry> {
    let is_gone = |at: usize, entry: &Entry| {
        leave_out(entry) && entry.of().is_some() && log[at..].iter().any(|later| later.forgets(entry.of()))
    };
    let others = log.iter().enumerate().filter(|(at, entry)| !is_gone(*at, entry));
    others.map(|(_, entry)| entry.clone()).collect()
}

/// All that was logged for the others, and no word that anyone was forgotten.
fn of_others(log: &[Entry]) -> Vec<Entry> {
    let mut others = without_the_forgotten(log, |_| true);
    others.retain(|entry| !entry.forgets(None));
    others
}

fn uploads(log: &[Entry]) -> usize {
    log.iter().filter(|entry| entry.is_upload()).count()
}

/// The sum, and what is kept of each client, after every entry: as a server has it that was given what was logged for
/// the others, and was never told to forget anyone.
fn sums_are_a_fold<A>(params: &Value, log: &[Entry], view: fn(&A::Server) -> &View)
where
    A: Algorithm<Msg = LinearMsg>,
    A::Server: Serialize,
{
    let mut served = Served::<A>::new(params);
    for (at, entry) in log.iter().enumerate() {
        served.take(entry);
        let fold = Served::<A>::fold(params, &of_others(&log[..=at]));
        let sum = |served: &Served<A>| bits(view(served.machine()).stats());
        assert_eq!(sum(&served), sum(&fold), "after {entry:?}");
        assert_eq!(served.json()["apart"], fold.json()["apart"], "after {entry:?}");
    }
}

/// Every byte of the server, from the moment on that someone is forgotten: as of one whose log has the order to forget
/// that number, and nothing else of it. Views are numbered as merges are made, which is history, so the other one begins with
/// orders to forget `nobody`, as many as it is given uploads fewer.
fn every_byte_is_a_fold<A: Algorithm>(
    params: &Value,
    log: &[Entry],
    leave_out: fn(&Entry) -> bool,
    nobody: &[Entry],
    message: fn(&LinearMsg) -> A::Msg,
) where
    A::Server: Serialize,
    A::Msg: Clone,
{
    let mut served = Served::<A>::new(params);
    let mut forgotten = 0;
    for (at, entry) in log.iter().enumerate() {
        served.take(&entry.map(message));
        forgotten += usize::from(entry.forgets(None));
        if forgotten == 0 {
            continue;
        }
        let others = without_the_forgotten(&log[..=at], leave_out);
        let fewer = uploads(&log[..=at]) - uploads(&others);
        let before = (0..fewer).flat_map(|_| nobody);
        let given: Vec<Entry<A::Msg>> = before.chain(&others).map(|entry| entry.map(message)).collect();
        let fold = Served::<A>::fold(params, &given);
        assert!(served.bytes() == fold.bytes(), "after {entry:?}, number {at} of {log:?}");
    }
}

fn forget_nobody() -> [Entry; 1] {
    [Entry::Rule(Ruling::Forgotten(NodeId(NOBODY)))]
}

fn async_linucb_is_a_fold<A: Algorithm<Msg = LinearMsg, Server = async_linucb::Server>>(
    acts: &[(usize, Act)],
    params: &Value,
) {
    let log = Script::of(acts);
    sums_are_a_fold::<A>(params, &log, |server| server.view());
    every_byte_is_a_fold::<A>(params, &log, |_| true, &forget_nobody(), LinearMsg::clone);
}

fn fed_linucb_is_a_fold(acts: &[(usize, Act)]) {
    let log = Script::of(acts);
    sums_are_a_fold::<fed_linucb::FedLinucb>(&json!({}), &log, |server| server.view());
    let nobody = forget_nobody();
    every_byte_is_a_fold::<fed_linucb::FedLinucb>(&json!({}), &log, |_| true, &nobody, LinearMsg::clone);
}

/// Whenever no round is open. Rounds that it asked for were held with the others, whose uploads came then: how many rounds
/// there were, and the number of the view, are history. All else is equal.
fn sync_linucb_is_a_fold(acts: &[(usize, Act)]) {
    let (log, quiet) = Script::rounds(acts);
    let state = |served: &Served<sync_linucb::SyncLinucb>| {
        let mut state = served.json();
        assert_eq!(state["round"], Value::Null);
        state["rounds"].take();
        state["view"]["version"].take();
        (bits(served.machine().view().stats()), state.to_string())
    };
    let mut served = Served::new(&json!({}));
    for (at, entry) in log.iter().enumerate() {
        served.take(entry);
        if quiet.contains(&(at + 1)) {
            let fold = Served::fold(&json!({}), &of_others(&log[..=at]));
            assert_eq!(state(&served), state(&fold), "after {entry:?}, number {at} of {log:?}");
        }
    }
}

/// What each of the others has uploaded, who was found to be like whom, and the clusters that follow, after every entry.
fn clusters_are_a_fold<A>(params: &Value, log: &[Entry])
where
    A: Algorithm<Msg = LinearMsg>,
    A::Server: Serialize,
{
    let state = |served: &Served<A>| {
        let state = served.json();
        let members = state["members"].as_object().unwrap();
        let own: Vec<String> =
            members.iter().map(|(id, member)| format!("{id}: {}", member["own"])).collect();
        (own, state["clusters"]["graph"].to_string(), state["clusters"]["list"].to_string())
    };
    let mut served = Served::<A>::new(params);
    for (at, entry) in log.iter().enumerate() {
        served.take(entry);
        let fold = Served::fold(params, &without_the_forgotten(&log[..=at], |_| true));
        assert_eq!(state(&served), state(&fold), "after {entry:?}, number {at} of {log:?}");
    }
}

fn local(message: &LinearMsg) -> FclubMsg {
    match message {
        LinearMsg::Upload { number, stats } => {
            FclubMsg::Upload { phase: 0, cluster: 0, number: *number, stats: stats.clone() }
        }
        other => panic!("{other:?}"),
    }
}

/// Within a phase. That it came and left is known to the others' cluster, which is the larger for it; nothing that it
/// uploaded is.
fn fclub_is_a_fold(acts: &[(usize, Act)]) {
    let nobody = [Entry::Join(NOBODY), Entry::Leave(NOBODY), forget_nobody()[0].clone()];
    let params = json!({ "merge": 1e6 });
    every_byte_is_a_fold::<fclub::Fclub>(&params, &Script::of(acts), Entry::is_upload, &nobody, local);
}

fn hetofed_is_a_fold(acts: &[(usize, Act)]) {
    let log = Script::entering(acts);
    clusters_are_a_fold::<hetofed_async::HetofedAsync>(&json!({ "reward_noise": 1.0 }), &log);
    let mut log = Script::of(acts);
    log = log.into_iter().flat_map(|entry| [entry, Entry::Wake]).collect();
    clusters_are_a_fold::<hetofed::HetofedDr>(&json!({ "reward_noise": 1.0 }), &log);
}

#[test]
fn the_only_one_one_that_never_came_one_that_comes_again_several_and_all() {
    async_linucb_is_a_fold::<async_linucb::AsyncLinucb>(&named(), &json!({ "ratio": 1.5 }));
    async_linucb_is_a_fold::<async_linucb_am::AsyncLinucbAm>(&named(), &json!({ "ratio": 1.5 }));
    fed_linucb_is_a_fold(&named());
    sync_linucb_is_a_fold(&named());
    hetofed_is_a_fold(&named());
    fclub_is_a_fold(&named());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn async_linucb_is_a_fold_over_the_others(acts in acts(), at_once: bool) {
        let new_client = if at_once { "at-once" } else { "buffer" };
        let params = json!({ "ratio": 1.5, "new_client": new_client });
        async_linucb_is_a_fold::<async_linucb::AsyncLinucb>(&acts, &params);
    }

    #[test]
    fn async_linucb_am_is_a_fold_over_the_others(acts in acts()) {
        async_linucb_is_a_fold::<async_linucb_am::AsyncLinucbAm>(&acts, &json!({ "ratio": 1.5 }));
    }

    #[test]
    fn fed_linucb_is_a_fold_over_the_others(acts in acts()) {
        fed_linucb_is_a_fold(&acts);
    }

    #[test]
    fn sync_linucb_is_a_fold_over_the_others(acts in acts()) {
        sync_linucb_is_a_fold(&acts);
    }

    #[test]
    fn hetofed_s_clusters_are_a_fold_over_the_others(acts in acts()) {
        hetofed_is_a_fold(&acts);
    }

    #[test]
    fn fclub_is_a_fold_over_the_others(acts in acts()) {
        fclub_is_a_fold(&acts);
    }
}
