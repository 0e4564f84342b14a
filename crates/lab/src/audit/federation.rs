//! A whole federation: two local servers and a global one, and all that the first of them sends, read from the bytes.

use std::collections::VecDeque;

use cahoots_algorithms::fclub::CdpFclubDc;
use cahoots_algorithms::private::{PrivateFclub, PrivateLinucb};
use cahoots_algorithms::private_fed_linucb::PrivateFedLinucb;
use cahoots_core::drive::{Encoded, Event, Host, LearnerHost, Outcome, Outgoing};
use cahoots_core::message::{decode, encode};
use cahoots_core::{Algorithm, ArmSet, Effects, Keys, Membership, NodeId, Seats, Setting, Tick, UserId};
use cahoots_kernel::Tiles;
use cahoots_privacy::audit::Transcript;
use serde_json::{Value, json};

use super::tree::PAIRS;
use super::{Observer, Subject};

const USERS: u32 = 2;

/// Observations of every user, one per tick; the first of the audited user's differs.
const OBSERVATIONS: u64 = 16;

/// Parameters with which a cluster's tree has five levels, all of them with complete nodes by the end: 16 uploads and a
/// report in each of 4 phases.
fn clustered(epsilon: f64) -> Value {
    json!({ "dp_epsilon": epsilon, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": OBSERVATIONS, "renewals": 0 })
}

/// Releases at ticks 2, 4, 8 and 16: the first one holds the first observation.
fn released(epsilon: f64) -> Value {
    json!({ "dp_epsilon": epsilon, "dp_delta": 1e-5, "releases": 4, "first_release": 2 })
}

/// Releases at ticks 2, 4, ..., 14: a tree of three levels, whose first leaf holds the first observation.
fn batched(epsilon: f64) -> Value {
    json!({ "dp_epsilon": epsilon, "dp_delta": 1e-5, "batch": 2 })
}

pub(super) fn subjects() -> Vec<Subject> {
    [
        audited::<CdpFclubDc>(
            ["cdp-fclub-dc", "all that a local server of a small federation sends, and when"],
            ["cdp-fclub-dc-broken", "the same with noise for epsilon = 1.5"],
            clustered,
            Observer::default,
        ),
        audited::<PrivateLinucb>(
            ["private-linucb", "all that a client of a small federation sends, and when"],
            ["private-linucb-broken", "the same with noise for epsilon = 1.5"],
            released,
            Observer::default,
        ),
        audited::<PrivateFclub>(
            ["private-fclub", "all that a client of a small federation sends, and when"],
            ["private-fclub-broken", "the same with noise for epsilon = 1.5"],
            released,
            Observer::default,
        ),
        audited::<PrivateFedLinucb>(
            ["private-fed-linucb", "all that a client of a small federation sends, and when"],
            ["private-fed-linucb-broken", "the same with noise for epsilon = 1.5"],
            batched,
            Observer::of_trees,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An algorithm as it is for epsilon = 1, and with noise for 1.5 that is stated as 1.
fn audited<A: Algorithm>(
    honest: [&'static str; 2],
    broken: [&'static str; 2],
    params: fn(f64) -> Value,
    observer: fn() -> Observer,
) -> [Subject; 2] {
    let subject = |[name, about]: [&'static str; 2], truly: f64| {
        let subject = Subject::new(name, about, 1.0, 1e-5).gaussian().share(0.1);
        PAIRS.into_iter().fold(subject, |subject, (pair, observations)| {
            subject.pair(pair, move |second, seed| {
                transcript::<A>(params(truly), observer(), seed, observations[usize::from(second)])
            })
        })
    };
    [subject(honest, 1.0), subject(broken, 1.5).control()]
}

/// What is sent where the audited user's first observation is this.
fn transcript<A: Algorithm>(
    params: Value,
    observer: Observer,
    seed: u64,
    audited: ([f64; 2], f64),
) -> Transcript {
    let setting =
        Setting::linear(USERS as usize, 2, 1).with_hosts((0..USERS).map(NodeId)).with_horizon(OBSERVATIONS);
    let mut run = Federation::<A>::new(params, &setting, observer, seed);
    for tick in 1..=OBSERVATIONS {
        run.wake(tick);
        let (context, reward) = if tick == 1 { audited } else { ([0.6, 0.8], 0.0) };
        run.observe(tick, 0, context, reward);
        run.observe(tick, 1, [0.6, 0.8], 0.0);
    }
    run.observer.transcript()
}

/// Machines and links of a federation, without a network between them.
struct Federation<A: Algorithm> {
    keys: Keys,
    server: Host<A::Server>,
    clients: Vec<LearnerHost<A::Client>>,
    effects: Effects<A::Msg>,
    wire: VecDeque<(NodeId, Outgoing<A::Msg>)>,
    observer: Observer,
}

impl<A: Algorithm> Federation<A> {
    fn new(params: Value, setting: &Setting, observer: Observer, seed: u64) -> Self {
        let params = serde_json::from_value(params).expect("parameters that can be read");
        let valid = A::check(params, setting).expect("parameters that fit");
        let seats = Seats::of::<A>(&valid, setting);
        let seat = seats.seat(NodeId::SERVER);
        let nodes = || (0..USERS).map(NodeId);
        let client = |node| {
            let seat = seats.seat(node);
            let client = A::client(&valid, &seat);
            LearnerHost::new(seat, client, 0)
        };
        let mut run = Federation {
            keys: Keys::from_seed(seed),
            server: Host::new(seat.clone(), A::server(&valid, &seat)),
            clients: nodes().map(client).collect(),
            effects: Effects::default(),
            wire: VecDeque::new(),
            observer,
        };
        nodes().chain([NodeId::SERVER]).for_each(|node| run.event(1, node, Event::Start));
        nodes().for_each(|node| run.event(1, NodeId::SERVER, Event::Membership(Membership::Joined(node))));
        run.deliver(1);
        run
    }

    fn event(&mut self, now: Tick, node: NodeId, event: Event<Encoded<'_>>) {
        let (keys, effects, mut out) = (&self.keys, &mut self.effects, Vec::new());
        let outcome = match node {
            NodeId::SERVER => self.server.apply(now, event, keys, effects, &mut out),
            _ => self.clients[node.index()].apply(now, event, keys, effects, &mut out),
        };
        assert_eq!(outcome, Ok(Outcome::Done), "everyone is honest");
        self.send(node, out);
    }

    fn send(&mut self, from: NodeId, out: Vec<Outgoing<A::Msg>>) {
        self.effects.facts.clear();
        self.wire.extend(out.into_iter().map(|message| (from, message)));
    }

    fn deliver(&mut self, now: Tick) {
        while let Some((from, Outgoing { to, sequence, message, .. })) = self.wire.pop_front() {
            let bytes = encode(&message);
            if from == NodeId(0)
                && let Ok(seen) = decode::<A::Msg>(&bytes)
            {
                self.observer.look(now, &seen);
            }
            self.event(now, to, Event::Message { from, sequence, skipped: 0, message: Encoded(&bytes) });
        }
    }

    /// Wakes whoever asked for this tick.
    fn wake(&mut self, now: Tick) {
        let asked = |wake: Option<Tick>| wake.is_some_and(|tick| tick <= now);
        if asked(self.server.wake()) {
            self.event(now, NodeId::SERVER, Event::Wake);
        }
        for node in (0..USERS).map(NodeId) {
            if asked(self.clients[node.index()].host().wake()) {
                self.event(now, node, Event::Wake);
            }
        }
        self.deliver(now);
    }

    /// One arm is on offer, so that nobody has to choose.
    fn observe(&mut self, now: Tick, user: u32, context: [f64; 2], reward: f64) {
        let mut tiles = Tiles::new(2);
        tiles.push(&context);
        let arms = ArmSet::featured(&tiles).expect("one arm");
        let (client, keys) = (&mut self.clients[user as usize], &self.keys);
        let pending = client.choose(UserId(user), arms, keys).pending;
        let mut out = Vec::new();
        client.settle(now, pending, reward, keys, &mut self.effects, &mut out);
        self.send(NodeId(user), out);
        self.deliver(now);
    }
}
