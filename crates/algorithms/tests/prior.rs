//! A federation that begins from what another has merged: who is sent it and when, what stays when someone is forgotten,
//! and what it is worth.

use std::collections::VecDeque;

use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_algorithms::registry::ours;
use cahoots_algorithms::{async_linucb, async_linucb_am, sync_linucb};
use cahoots_core::drive::{Event, Host, LearnerHost, Outcome, Typed};
use cahoots_core::{
    Algorithm, ArmBuffer, Cx, Effects, Erase, Keys, LinearStats, Machine, Membership, NodeId, Prior, Private,
    Registry, Ruling, Seats, Setting, Tiles, Unprotected, UserId,
};
use serde_json::{Value, json};

/// A server and its clients, whose messages arrive at once and in order.
struct Federation<A: Algorithm> {
    server: Host<A::Server>,
    clients: Vec<LearnerHost<A::Client>>,
    setting: Setting,
    keys: Keys,
    sent: Vec<(NodeId, A::Msg)>,
    /// Whether the clients are there; if not, tests say what they would.
    live: bool,
}

impl<A: Algorithm> Federation<A> {
    fn new(params: Value, setting: Setting, prior: Option<Prior>) -> Self {
        let valid = A::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
        let seats = Seats::of::<A>(&valid, &setting);
        let seat = seats.seat(NodeId::SERVER);
        let server = Host::new(seat.clone(), A::server(&valid, &seat));
        let client = |me: u32| {
            let seat = seats.seat(NodeId(me));
            LearnerHost::new(seat.clone(), A::client(&valid, &seat), 16)
        };
        let clients = (0..setting.users as u32).map(client).collect();
        let mut federation =
            Federation { server, clients, setting, keys: Keys::from_seed(7), sent: Vec::new(), live: false };
        federation.event(Event::Start);
        prior.into_iter().for_each(|prior| federation.event(Event::Prior(prior.into())));
        federation
    }

    /// Something happens to the server; a restart in between changes nothing.
    fn event(&mut self, event: Event<Typed<A::Msg>>) {
        self.server = Host::restore(self.server.seat().clone(), &self.server.save()).unwrap();
        let (mut effects, mut out) = (Effects::default(), Vec::new());
        let outcome = self.server.apply(0, event, &self.keys, &mut effects, &mut out).unwrap();
        assert_eq!(outcome, Outcome::Done);
        self.sent.extend(out.iter().map(|sent| (sent.to, sent.message.clone())));
        if !self.live {
            return;
        }
        let mut waiting: VecDeque<_> = out.into_iter().map(|sent| (NodeId::SERVER, sent)).collect();
        self.deliver(&mut waiting);
    }

    fn deliver(&mut self, waiting: &mut VecDeque<(NodeId, cahoots_core::drive::Outgoing<A::Msg>)>) {
        while let Some((from, sent)) = waiting.pop_front() {
            let (mut effects, mut out) = (Effects::default(), Vec::new());
            let event =
                Event::Message { from, sequence: sent.sequence, skipped: 0, message: Typed(sent.message) };
            let outcome = if sent.to == NodeId::SERVER {
                self.server.apply(0, event, &self.keys, &mut effects, &mut out)
            } else {
                self.clients[sent.to.index()].apply(0, event, &self.keys, &mut effects, &mut out)
            };
            assert_eq!(outcome, Ok(Outcome::Done));
            if sent.to == NodeId::SERVER {
                self.sent.extend(out.iter().map(|sent| (sent.to, sent.message.clone())));
            }
            waiting.extend(out.into_iter().map(|next| (sent.to, next)));
        }
    }

    fn join(&mut self, client: u32) {
        self.event(Event::Membership(Membership::Joined(NodeId(client))));
    }

    fn say(&mut self, from: u32, message: A::Msg) {
        let from = NodeId(from);
        let sequence = self.server.ends(from).received + 1;
        self.event(Event::Message { from, sequence, skipped: 0, message: Typed(message) });
    }

    /// Regret of these decisions of each client, in turn, in a world that is the same for all.
    fn regret(&mut self, decisions: std::ops::Range<u64>) -> f64 {
        let (dim, arms) = (self.setting.dim, self.setting.arms);
        let mut regret = 0.0;
        for turn in decisions {
            for client in 0..self.clients.len() {
                let mut world = Keys::from_seed(1 + turn).choice(NodeId(client as u32), 1);
                let rows: Vec<Vec<f64>> = (0..arms).map(|_| unit(dim, &mut world)).collect();
                let mut offered = ArmBuffer { features: Tiles::new(dim), ..ArmBuffer::default() };
                rows.iter().for_each(|row| offered.features.push(row));
                let worth: Vec<f64> =
                    rows.iter().map(|row| row.iter().zip(theta(dim)).map(|(x, t)| x * t).sum()).collect();
                let noise = 0.1 * world.normal();
                let node = &mut self.clients[client];
                let seat = node.host().seat().clone();
                let choice = node.choose(UserId(client as u32), offered.arm_set(&seat).unwrap(), &self.keys);
                let taken = worth[choice.picked.arm.index()];
                regret += worth.iter().copied().fold(f64::MIN, f64::max) - taken;
                let (mut effects, mut out) = (Effects::default(), Vec::new());
                node.settle(turn, choice.pending, taken + noise, &self.keys, &mut effects, &mut out);
                let me = NodeId(client as u32);
                self.deliver(&mut out.into_iter().map(|sent| (me, sent)).collect());
            }
        }
        regret
    }

    fn merged(&self) -> LinearStats {
        let Prior::Linear(stats) = self.server.machine().prior().unwrap();
        stats
    }
}

fn theta(dim: usize) -> impl Iterator<Item = f64> {
    unit(dim, &mut Keys::from_seed(99).choice(NodeId(0), 1)).into_iter()
}

fn unit(dim: usize, rng: &mut cahoots_core::Stream) -> Vec<f64> {
    let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    x.into_iter().map(|v| v / norm).collect()
}

/// Numbers are eighths, so that sums are exact in any order.
fn stats(client: u32, number: u64) -> LinearStats {
    let mut stats = LinearStats::empty(2);
    let (a, b) = (f64::from(client) + 1.0, number as f64);
    stats.observe(&[a / 8.0, 0.5], b / 8.0);
    stats.observe(&[0.25, -b / 8.0], a / 8.0);
    stats
}

fn released(stats: LinearStats) -> Private<LinearStats> {
    Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, stats)).0
}

fn upload(client: u32, number: u64) -> LinearMsg {
    LinearMsg::Upload { number, stats: released(stats(client, number)) }
}

/// What others have handed on: large beside what clients upload here.
fn prior() -> LinearStats {
    let mut prior = LinearStats::empty(2);
    (0..50).for_each(|i| prior.merge(&stats(i % 7, u64::from(i) % 5)));
    prior
}

fn sum(parts: &[(u32, u64)]) -> LinearStats {
    let mut sum = prior();
    parts.iter().for_each(|(client, number)| sum.merge(&stats(*client, *number)));
    sum
}

fn views(sent: &[(NodeId, LinearMsg)], client: u32) -> Vec<LinearStats> {
    let view = |(to, message): &(NodeId, LinearMsg)| match message {
        LinearMsg::Download { view, .. } if *to == NodeId(client) => Some(view.stats().clone()),
        _ => None,
    };
    sent.iter().filter_map(view).collect()
}

fn setting() -> Setting {
    Setting::linear(3, 2, 2).kept_apart()
}

fn warm<A: Algorithm<Msg = LinearMsg>>(params: Value, setting: Setting) -> Federation<A> {
    Federation::new(params, setting, Some(Prior::Linear(prior())))
}

/// Under the paper's rule others' data wait for a download event; what everyone begins from does not.
#[test]
fn whoever_joins_async_linucb_has_the_prior_before_its_first_decision() {
    fn check<A: Algorithm<Msg = LinearMsg>>(setting: Setting) {
        let mut buffer = warm::<A>(json!({ "ratio": 1e6 }), setting.clone());
        assert!(buffer.sent.is_empty(), "nobody is there");
        buffer.join(0);
        assert_eq!(views(&buffer.sent, 0), [prior()]);
        buffer.say(0, upload(0, 1));
        assert_eq!(buffer.merged(), sum(&[(0, 1)]));
        buffer.join(1);
        assert_eq!(views(&buffer.sent, 1), [prior()], "what 0 has added waits for an event");
        let mut at_once = warm::<A>(json!({ "ratio": 1e6, "new_client": "at-once" }), setting);
        at_once.join(0);
        at_once.say(0, upload(0, 1));
        at_once.join(1);
        assert_eq!(views(&at_once.sent, 1), [sum(&[(0, 1)])]);
    }
    check::<async_linucb::AsyncLinucb>(setting());
    check::<async_linucb_am::AsyncLinucbAm>(setting().with_local_dims([1, 1, 1]));
}

#[test]
fn whoever_joins_sync_linucb_before_its_first_round_has_the_prior() {
    let mut served = warm::<sync_linucb::SyncLinucb>(json!({ "sync_threshold": 1e9 }), setting());
    served.join(0);
    served.join(1);
    assert_eq!(views(&served.sent, 0), [prior()]);
    let round = |served: &mut Federation<sync_linucb::SyncLinucb>, clients: u32, number: u64| {
        served.say(0, LinearMsg::signal(Signal::Request, 0));
        (0..clients).for_each(|client| served.say(client, upload(client, number)));
    };
    round(&mut served, 2, 1);
    assert_eq!(views(&served.sent, 1).last(), Some(&sum(&[(0, 1), (1, 1)])));
    // Who comes now takes part in the next round.
    served.join(2);
    assert!(views(&served.sent, 2).is_empty());
    round(&mut served, 3, 2);
    assert_eq!(views(&served.sent, 2), [sum(&[(0, 1), (1, 1), (0, 2), (1, 2), (2, 2)])]);
    let everyone = json!({ "serve": "all" });
    let all = warm::<sync_linucb::SyncLinucb>(everyone, setting());
    (0..3).for_each(|client| assert_eq!(views(&all.sent, client), [prior()], "all are there from the start"));
}

#[test]
fn who_is_forgotten_takes_nothing_of_the_prior_along() {
    fn check<A: Algorithm<Msg = LinearMsg>>(params: Value, ask: bool) {
        let mut served = warm::<A>(params, setting());
        (0..3).for_each(|client| served.join(client));
        if ask {
            served.say(0, LinearMsg::signal(Signal::Request, 0));
        }
        for client in 0..3 {
            let number = if ask { 2 } else { 1 };
            served.say(client, upload(client, number));
        }
        served.event(Event::Membership(Membership::Left(NodeId(1))));
        served.event(Event::Ruling(Ruling::Forgotten(NodeId(1))));
        let number = if ask { 2 } else { 1 };
        let left = sum(&[(0, number), (2, number)]);
        assert_eq!(served.merged(), left);
        assert_eq!(views(&served.sent, 2).last(), Some(&left));
    }
    check::<async_linucb::AsyncLinucb>(json!({ "ratio": 1.0 }), false);
    check::<sync_linucb::SyncLinucb>(json!({}), true);
}

/// Whoever was away while another was forgotten is sent what is left as soon as it is back and something is merged, however
/// little that is beside the prior.
#[test]
fn who_was_quarantined_meanwhile_does_not_keep_what_was_forgotten() {
    let mut served = warm::<async_linucb::AsyncLinucb>(json!({ "ratio": 1.0001 }), setting());
    (0..3).for_each(|client| served.join(client));
    (0..3).for_each(|client| served.say(client, upload(client, 1)));
    served.event(Event::Ruling(Ruling::Quarantined(NodeId(2))));
    served.event(Event::Membership(Membership::Left(NodeId(1))));
    served.event(Event::Ruling(Ruling::Forgotten(NodeId(1))));
    served.event(Event::Ruling(Ruling::Restored(NodeId(2))));
    served.sent.clear();
    served.say(0, upload(0, 2));
    assert_eq!(views(&served.sent, 2), [sum(&[(0, 1), (2, 1), (0, 2)])]);
}

/// B, begun from A's sums, has A's bytes; and its first hundred decisions show it. Cold, most of them explore.
#[test]
fn the_first_hundred_decisions_are_better_by_far() {
    fn check<A: Algorithm<Msg = LinearMsg>>(params: Value) {
        let setting = Setting::linear(5, 6, 10).with_reward_noise(0.1);
        let mut old = Federation::<A>::new(params.clone(), setting.clone(), None);
        old.live = true;
        (0..5).for_each(|client| old.join(client));
        // Other contexts and other noise than those that the new one meets.
        old.regret(1000..1300);
        let handed_on = old.server.machine().prior().unwrap();
        let first_hundred = |prior: Option<Prior>| {
            let mut new = Federation::<A>::new(params.clone(), setting.clone(), prior);
            new.live = true;
            if let Ok(begun) = new.server.machine().prior()
                && begun.observations() > 0
            {
                assert_eq!(begun, handed_on, "not a bit is lost");
            }
            (0..5).for_each(|client| new.join(client));
            new.regret(0..20)
        };
        let (cold, warm) = (first_hundred(None), first_hundred(Some(handed_on.clone())));
        println!("{}: {cold:.2} cold, {warm:.2} warm", A::NAME);
        assert!(warm < cold / 4.0, "{}: {cold} cold, {warm} warm", A::NAME);
    }
    check::<async_linucb::AsyncLinucb>(json!({}));
    check::<async_linucb::AsyncLinucb>(json!({ "new_client": "at-once", "policy": "lints" }));
    check::<sync_linucb::SyncLinucb>(json!({}));
}

#[test]
fn half_the_weight_is_half_as_sure() {
    let half = Federation::<async_linucb::AsyncLinucb>::new(
        json!({}),
        setting(),
        Some(Prior::Linear(prior()).weighed(0.5)),
    );
    let mut twice = half.merged();
    twice.merge(&half.merged());
    assert_eq!(twice, prior());
}

/// Terms that this data cannot be of refuse it.
#[test]
fn data_beyond_the_terms_are_refused() {
    let within = |norm, rewards| {
        let new =
            Federation::<async_linucb::AsyncLinucb>::new(json!({}), setting().within(norm, rewards), None);
        new.server.machine().takes_prior(&Prior::Linear(prior()))
    };
    assert_eq!(within(2.0, (-1.0, 1.0)), Ok(()));
    assert!(within(0.1, (-1.0, 1.0)).unwrap_err().contains("trace"));
    assert!(within(2.0, (-0.01, 0.01)).unwrap_err().contains("moment"));
}

/// What an algorithm says of priors in the setting that it fits.
struct Says {
    name: &'static str,
    kind: Result<String, String>,
}

impl Erase for Says {
    fn of<A: Algorithm>() -> Says {
        let settings = [
            Setting::linear(3, 2, 2).with_horizon(1000),
            Setting::linear(3, 2, 2).with_local_dims([1, 1, 1]),
            Setting::k_armed(3, 3).with_horizon(1000),
        ];
        let kind = settings.iter().find_map(|setting| {
            let params: A::Params = serde_json::from_str(A::LEAST).unwrap();
            A::check(params, setting).ok().map(|valid| A::prior_kind(&valid))
        });
        Says { name: A::NAME, kind: kind.unwrap_or_else(|| panic!("no setting fits {}", A::NAME)) }
    }
}

#[test]
fn all_others_say_why_not() {
    let all: Registry<Says> = ours();
    let those_who = |all: &Registry<Says>| -> Vec<&str> {
        all.iter().filter(|says| says.kind.is_ok()).map(|says| says.name).collect()
    };
    assert_eq!(those_who(&all), ["async-linucb", "async-linucb-am", "sync-linucb", "fed-linucb", "fed-igw"]);
    let kind = |name: &str| all.get(name).unwrap().kind.clone();
    assert_eq!(kind("async-linucb"), kind("sync-linucb"));
    assert_ne!(kind("async-linucb"), kind("async-linucb-am"), "partial rewards are something else");
    assert!(kind("private-linucb").unwrap_err().contains("promises"));
    assert!(kind("cdp-mab").unwrap_err().contains("given up"));
    assert!(kind("hetofed").unwrap_err().contains("everyone's"));
}
