//! Once a client is forgotten, the server's state is, byte for byte, a fold over the others' logged uploads: that of a
//! server which was given the same log without it. Contexts and rewards are any numbers, so that every sum is rounded.

use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_algorithms::{async_linucb, async_linucb_am, fed_linucb, hetofed_async, sync_linucb};
use cahoots_core::drive::{Event, Host, Outcome, Typed, snapshot};
use cahoots_core::{
    Algorithm, Cx, Effects, Keys, LinearStats, Machine as _, Membership, NodeId, Private, Ruling, Seats,
    Setting, Unprotected, View,
};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

const DIM: usize = 3;
const USERS: usize = 200;

/// Clients that there may be, next to each other and far apart.
const CLIENTS: [u32; 10] = [0, 1, 2, 3, 7, 8, 63, 64, 128, 198];

/// One who never comes.
const NOBODY: u32 = 199;

/// What a coordinator logs.
#[derive(Clone, Debug)]
enum Entry {
    Join(u32),
    Leave(u32),
    Rule(Ruling),
    Say(u32, LinearMsg),
    Wake,
}

impl Entry {
    /// Who must not have been there, for this not to be logged.
    fn of(&self) -> Option<u32> {
        match self {
            Entry::Join(client) | Entry::Leave(client) | Entry::Say(client, _) => Some(*client),
            Entry::Rule(Ruling::Quarantined(client) | Ruling::Restored(client)) => Some(client.0),
            Entry::Rule(Ruling::Forgotten(_)) | Entry::Wake => None,
        }
    }

    fn is_upload(&self) -> bool {
        matches!(self, Entry::Say(_, LinearMsg::Upload { .. }))
    }
}

/// A server, by the contract.
struct Served<A: Algorithm> {
    host: Host<A::Server>,
    now: u64,
}

impl<A: Algorithm<Msg = LinearMsg>> Served<A>
where
    A::Server: Serialize,
{
    fn new(params: &Value) -> Self {
        let setting = Setting::linear(USERS, DIM, 2).with_local_dims(dims::<A>()).kept_apart();
        let params: A::Params = serde_json::from_value(params.clone()).unwrap();
        let valid = A::check(params, &setting).unwrap();
        let seat = Seats::of::<A>(&valid, &setting).seat(NodeId::SERVER);
        let host = Host::new(seat.clone(), A::server(&valid, &seat));
        let mut served = Served { host, now: 0 };
        served.event(Event::Start);
        served
    }

    fn event(&mut self, event: Event<Typed<LinearMsg>>) {
        let keys = Keys::from_seed(1);
        let outcome = self.host.apply(self.now, event, &keys, &mut Effects::default(), &mut Vec::new());
        assert_eq!(outcome.unwrap(), Outcome::Done);
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Join(client) => self.event(Event::Membership(Membership::Joined(NodeId(*client)))),
            Entry::Leave(client) => self.event(Event::Membership(Membership::Left(NodeId(*client)))),
            Entry::Rule(ruling) => self.event(Event::Ruling(*ruling)),
            Entry::Say(client, message) => {
                let from = NodeId(*client);
                let sequence = self.host.ends(from).received + 1;
                let message = Typed(message.clone());
                self.event(Event::Message { from, sequence, skipped: 0, message });
            }
            Entry::Wake => {
                self.now += 1;
                self.event(Event::Wake);
            }
        }
    }

    /// A fresh server is given these.
    fn fold<'a>(params: &Value, entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut served = Self::new(params);
        entries.into_iter().for_each(|entry| served.take(entry));
        served
    }

    fn bytes(&self) -> Vec<u8> {
        snapshot::save(self.host.machine())
    }

    fn json(&self) -> Value {
        serde_json::to_value(self.host.machine()).unwrap()
    }
}

fn dims<A: Algorithm>() -> Vec<usize> {
    if A::NAME == "async-linucb-am" { vec![1; USERS] } else { Vec::new() }
}

/// An upload that no other is equal to.
fn upload(number: u64, seed: u64) -> LinearMsg {
    let mut stats = LinearStats::empty(DIM);
    let mut draw = Keys::from_seed(seed).policy(NodeId(0), 0);
    for _ in 0..1 + seed % 3 {
        let x: Vec<f64> = (0..DIM).map(|_| draw.normal()).collect();
        stats.observe(&x, draw.normal());
    }
    let stats: Private<LinearStats> =
        Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, stats)).0;
    LinearMsg::Upload { number, stats }
}

/// What happens next, to one of the clients.
#[derive(Clone, Copy, Debug)]
enum Act {
    Upload(u64),
    Forget,
    Leave,
    Quarantine,
    Restore,
    /// It asks for a round.
    Request,
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        12 => any::<u64>().prop_map(Act::Upload),
        2 => Just(Act::Forget),
        1 => Just(Act::Leave),
        1 => Just(Act::Quarantine),
        1 => Just(Act::Restore),
        2 => Just(Act::Request),
    ];
    prop::collection::vec((0..CLIENTS.len(), act), 1..50)
}

/// A federation as its coordinator sees it: who is there, and how many uploads each has made.
#[derive(Default)]
struct Script {
    log: Vec<Entry>,
    uploads: std::collections::BTreeMap<u32, u64>,
    paused: std::collections::BTreeSet<u32>,
}

impl Script {
    fn of(acts: &[(usize, Act)]) -> Vec<Entry> {
        let mut script = Script::default();
        acts.iter().for_each(|(place, act)| script.act(CLIENTS[*place], *act));
        script.log
    }

    fn act(&mut self, client: u32, act: Act) {
        match act {
            Act::Upload(seed) => {
                self.join(client);
                if !self.paused.contains(&client) {
                    let number = self.uploads.entry(client).or_default();
                    *number += 1;
                    self.log.push(Entry::Say(client, upload(*number, seed)));
                }
            }
            Act::Forget => {
                self.leave(client);
                self.log.push(Entry::Rule(Ruling::Forgotten(NodeId(client))));
            }
            Act::Leave => self.leave(client),
            Act::Quarantine if self.uploads.contains_key(&client) && self.paused.insert(client) => {
                self.log.push(Entry::Rule(Ruling::Quarantined(NodeId(client))));
            }
            Act::Restore if self.paused.remove(&client) => {
                self.log.push(Entry::Rule(Ruling::Restored(NodeId(client))));
            }
            Act::Quarantine | Act::Restore | Act::Request => {}
        }
    }

    fn join(&mut self, client: u32) {
        if let std::collections::btree_map::Entry::Vacant(new) = self.uploads.entry(client) {
            new.insert(0);
            self.log.push(Entry::Join(client));
        }
    }

    fn leave(&mut self, client: u32) {
        if self.uploads.remove(&client).is_some() {
            self.paused.remove(&client);
            self.log.push(Entry::Leave(client));
        }
    }
}

/// The log without anything that came from those who were forgotten, before they were.
fn without_the_forgotten(log: &[Entry]) -> Vec<Entry> {
    let is_gone = |at: usize, entry: &Entry| {
        let forgets = |later: &Entry| match later {
            Entry::Rule(Ruling::Forgotten(client)) => entry.of() == Some(client.0),
            _ => false,
        };
        log[at..].iter().any(forgets)
    };
    let others = log.iter().enumerate().filter(|(at, entry)| !is_gone(*at, entry));
    others.map(|(_, entry)| entry.clone()).collect()
}

fn is_forgetting(entry: &Entry) -> bool {
    matches!(entry, Entry::Rule(Ruling::Forgotten(_)))
}

/// The sum, and what is kept of each client, after every entry: as a server has it that was given the others' uploads
/// and was never told to forget anyone.
fn sums_are_a_fold<A: Algorithm<Msg = LinearMsg>>(
    params: &Value,
    log: &[Entry],
    stats: fn(&A::Server) -> &View,
) where
    A::Server: Serialize,
{
    let mut served = Served::<A>::new(params);
    for (at, entry) in log.iter().enumerate() {
        served.take(entry);
        let mut others = without_the_forgotten(&log[..=at]);
        others.retain(|entry| !is_forgetting(entry));
        let fold = Served::<A>::fold(params, &others);
        let bytes = |served: &Served<A>| snapshot::save(stats(served.host.machine()).stats());
        assert_eq!(bytes(&served), bytes(&fold), "after {entry:?}");
        assert_eq!(served.json()["apart"], fold.json()["apart"], "after {entry:?}");
    }
}

/// All of the server, from the moment that someone is forgotten on: as it is where its order alone is logged, and
/// nothing else of its number. Views are numbered by merges, which is history, so the other server's first number
/// is made later by as many as it is never given.
fn whole_state_is_a_fold<A: Algorithm<Msg = LinearMsg>>(params: &Value, log: &[Entry])
where
    A::Server: Serialize,
{
    let mut served = Served::<A>::new(params);
    let mut forgotten = false;
    for (at, entry) in log.iter().enumerate() {
        served.take(entry);
        forgotten |= is_forgetting(entry);
        if !forgotten {
            continue;
        }
        let others = without_the_forgotten(&log[..=at]);
        let uploads = |log: &[Entry]| log.iter().filter(|entry| entry.is_upload()).count();
        let skipped = uploads(&log[..=at]) - uploads(&others);
        let later = vec![Entry::Rule(Ruling::Forgotten(NodeId(NOBODY))); skipped];
        let fold = Served::<A>::fold(params, later.iter().chain(&others));
        assert!(served.bytes() == fold.bytes(), "after {entry:?}:\n{}\n{}", served.json(), fold.json());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn async_linucb_is_a_fold_over_the_others(acts in acts(), at_once: bool) {
        use async_linucb::{AsyncLinucb, Server};
        let log = Script::of(&acts);
        let new_client = if at_once { "at-once" } else { "buffer" };
        let params = json!({ "ratio": 1.5, "new_client": new_client });
        sums_are_a_fold::<AsyncLinucb>(&params, &log, |server: &Server| server.view());
        whole_state_is_a_fold::<AsyncLinucb>(&params, &log);
    }

    #[test]
    fn async_linucb_am_is_a_fold_over_the_others(acts in acts()) {
        let log = Script::of(&acts);
        let params = json!({ "ratio": 1.5 });
        sums_are_a_fold::<async_linucb_am::AsyncLinucbAm>(&params, &log, |server| server.view());
        whole_state_is_a_fold::<async_linucb_am::AsyncLinucbAm>(&params, &log);
    }

    #[test]
    fn fed_linucb_is_a_fold_over_the_others(acts in acts()) {
        let log = Script::of(&acts);
        sums_are_a_fold::<fed_linucb::FedLinucb>(&json!({}), &log, |server| server.view());
        whole_state_is_a_fold::<fed_linucb::FedLinucb>(&json!({}), &log);
    }
}
