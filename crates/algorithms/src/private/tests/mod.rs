mod group;

use cahoots_core::{
    Algorithm, Context, Custom, Cx, Effects, Fact, Keys, Learner, LinearStats, Machine, Membership,
    Misbehaviour, NodeId, Positions, Seating, Setting, UserId, snapshot,
};
use cahoots_privacy::{Accountant, Statement};
use serde_json::{Value, json};

use super::{Body, Merger, Part, PrivateFclub, PrivateLinucb, PrivateMsg, Silo};
use crate::kit::clusters::ChosenFor;
use crate::testing::released;

const DIM: usize = 2;

/// Two clients with two users each: 0, 1 | 2, 3.
fn setting() -> Setting {
    Setting::linear(4, DIM, 2).with_hosts([0, 0, 1, 1].map(NodeId)).with_horizon(100).with_reward_noise(0.5)
}

fn valid<A: Algorithm>(params: Value) -> Result<A::Valid, String> {
    A::check(serde_json::from_value(params).unwrap(), &setting()).map_err(|error| error.key)
}

/// So many clients with two users each.
fn clients(n: u32) -> Setting {
    let hosts = (0..2 * n).map(|user| NodeId(user / 2));
    Setting::linear(2 * n as usize, DIM, 2).with_hosts(hosts).with_horizon(100).with_reward_noise(0.5)
}

/// A federation in miniature, with a clock of ticks.
struct Miniature {
    keys: Keys,
    server: Merger,
    silos: Vec<Silo>,
    positions: Vec<Positions>,
    wakes: Vec<Option<u64>>,
    wire: Vec<(NodeId, NodeId, PrivateMsg)>,
    /// Everything that clients sent: the tick and the message.
    sent: Vec<(u64, NodeId, Body)>,
    accountant: Accountant,
    /// Messages of clients that do not come, or come later.
    lost: Option<fn(u64, NodeId, &Body) -> bool>,
    late: Vec<(NodeId, PrivateMsg)>,
    now: u64,
}

impl Miniature {
    fn new<A>(params: Value, key: u64) -> Miniature
    where
        A: Algorithm<Client = Silo, Server = Merger, Msg = PrivateMsg>,
    {
        Miniature::of::<A>(params, key, &setting())
    }

    fn of<A>(params: Value, key: u64, setting: &Setting) -> Miniature
    where
        A: Algorithm<Client = Silo, Server = Merger, Msg = PrivateMsg>,
    {
        let valid = A::check(serde_json::from_value(params).unwrap(), setting).unwrap();
        let n = setting.hosts.len() as u32 / 2;
        let seat = |node| Seating::PerHost.seat(setting, node);
        let mut miniature = Miniature {
            keys: Keys::from_seed(key),
            server: A::server(&valid, &seat(NodeId::SERVER)),
            silos: (0..n).map(|i| A::client(&valid, &seat(NodeId(i)))).collect(),
            positions: vec![Positions::default(); n as usize + 1],
            wakes: vec![None; n as usize + 1],
            wire: Vec::new(),
            sent: Vec::new(),
            accountant: Accountant::default(),
            lost: None,
            late: Vec::new(),
            now: 0,
        };
        miniature.at_server(|server, cx| server.on_start(cx));
        for node in 0..n {
            miniature.at_silo(node, |silo, cx| silo.on_start(cx));
            miniature.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(node)), cx));
        }
        miniature
    }

    fn at_server(&mut self, input: impl FnOnce(&mut Merger, &mut Cx<'_, PrivateMsg>)) {
        let (mut effects, index) = (Effects::default(), self.silos.len());
        let mut cx = Cx::new(NodeId::SERVER, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.server, &mut cx);
        self.wakes[index] = effects.wake.or(self.wakes[index]);
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
    }

    fn at_silo(&mut self, node: u32, input: impl FnOnce(&mut Silo, &mut Cx<'_, PrivateMsg>)) {
        let mut effects = Effects::default();
        let (index, me) = (node as usize, NodeId(node));
        let mut cx = Cx::new(me, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.silos[index], &mut cx);
        self.wakes[index] = effects.wake.or(self.wakes[index]);
        for fact in effects.facts {
            if let Fact::Release(release) = fact {
                self.accountant.record(me, &release);
            }
        }
        for (to, message) in effects.outbox {
            self.sent.push((self.now, me, message.0.clone()));
            self.wire.push((me, to, message));
        }
    }

    fn deliver(&mut self) {
        while !self.wire.is_empty() {
            let (from, to, message) = self.wire.remove(0);
            if self.lost.is_some_and(|lost| lost(self.now, from, &message.0)) {
                self.late.push((from, message));
                continue;
            }
            if to == NodeId::SERVER {
                self.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
            } else {
                self.at_silo(to.0, |silo, cx| silo.on_message(from, message, cx).unwrap());
            }
        }
    }

    /// One tick: who has to wake wakes, then each user makes an observation.
    fn tick(&mut self, mut observation: impl FnMut(u32) -> ([f64; DIM], f64)) {
        self.now += 1;
        for node in 0..self.silos.len() as u32 {
            if self.wakes[node as usize].take_if(|tick| *tick <= self.now).is_some() {
                self.at_silo(node, |silo, cx| silo.on_wake(cx));
            }
        }
        self.deliver();
        if self.wakes[self.silos.len()].take_if(|tick| *tick <= self.now).is_some() {
            self.at_server(|server, cx| server.on_wake(cx));
        }
        self.deliver();
        for user in 0..2 * self.silos.len() as u32 {
            let (x, reward) = observation(user);
            let chosen = ChosenFor { user: UserId(user), context: Context::from_slice(&x) };
            self.at_silo(user / 2, |silo, cx| silo.observe(chosen, reward, cx));
        }
        self.deliver();
    }

    /// Users 0 and 2 like the first feature, 1 and 3 the second.
    fn live(&mut self, ticks: u64) {
        let mut rng = Keys::from_seed(77).policy(NodeId(9), self.now << 20);
        for _ in 0..ticks {
            self.tick(|user| {
                let (a, b) = (rng.normal(), rng.normal());
                let norm = (a * a + b * b).sqrt();
                let x = [a / norm, b / norm];
                (x, 0.9 * x[user as usize % 2] + 0.01 * rng.normal())
            });
        }
    }
}

/// When a client released what: tick, client, and for each sum its place, the number of the release and its observations.
type Seen = (u64, u32, Vec<(u32, u32, u64)>);

fn releases(federation: &Miniature) -> Vec<Seen> {
    let release = |(tick, node, body): &(u64, NodeId, Body)| match body {
        Body::Release(parts) => {
            let parts = parts.iter().map(|part| (part.stream, part.number, part.stats.get().count));
            Some((*tick, node.0, parts.collect()))
        }
        _ => None,
    };
    federation.sent.iter().filter_map(release).collect()
}

/// When what is sent, of whom, and how many observations are in it follow from the clock alone.
#[test]
fn times_and_counts_say_nothing_about_data_or_noise() {
    let run = |key, x: [f64; DIM], reward| {
        let mut federation = Miniature::new::<PrivateFclub>(json!({ "dp_delta": 1e-5 }), key);
        for _ in 0..99 {
            federation.tick(|_| (x, reward));
        }
        releases(&federation)
    };
    let expected = run(1, [1.0, 0.0], 1.0);
    let ticks: Vec<u64> = expected.iter().filter(|(_, node, _)| *node == 0).map(|(tick, ..)| *tick).collect();
    assert_eq!(ticks, [2, 4, 8, 16, 32, 64], "at tick 1 there is nothing yet");
    for key in 1..4 {
        for (x, reward) in [([0.0, 0.0], 0.0), ([0.0, 1.0], -1.0), ([0.6, 0.8], 0.3)] {
            assert_eq!(run(key, x, reward), expected);
        }
    }
}

#[test]
fn all_that_is_ever_released_costs_what_was_asked_for() {
    for (params, unit) in [
        (json!({ "dp_delta": 1e-5 }), "one observation"),
        (json!({ "dp_delta": 1e-6, "dp_epsilon": 3.0, "unit": "user", "per_user": 20 }), "one user"),
        (json!({ "dp_delta": 1e-5, "trust": "nobody", "decide": "released" }), "one observation"),
    ] {
        let mut federation = Miniature::new::<PrivateFclub>(params.clone(), 5);
        federation.live(99);
        let claim = PrivateFclub::privacy(&valid::<PrivateFclub>(params).unwrap()).unwrap();
        let statement = Statement::new(&claim, &federation.accountant).unwrap();
        assert!(
            statement.epsilon <= claim.epsilon && statement.epsilon > 0.999 * claim.epsilon,
            "{statement:?}"
        );
        assert!(statement.unit.starts_with(unit) && statement.further.is_empty(), "{statement:?}");
    }
}

/// Without noise the server's sums and the clients' models are those of all data.
#[test]
fn without_noise_everyone_knows_what_was_released() {
    for decide in ["own", "released"] {
        let mut federation = Miniature::new::<PrivateLinucb>(
            json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9, "decide": decide }),
            1,
        );
        federation.live(99);
        // At tick 64 all have released what came before it.
        assert_eq!(federation.server.observations(), 4 * 63);
        let known = federation.silos[0].knowledge(UserId(0)).unwrap().stats.count;
        assert_eq!(known, if decide == "own" { 2 * 63 + 2 * 99 } else { 4 * 63 }, "{decide}");
    }
}

#[test]
fn users_are_told_apart_by_what_was_released() {
    let mut federation = Miniature::new::<PrivateFclub>(json!({ "dp_epsilon": 1e4, "dp_delta": 1e-5 }), 1);
    federation.live(99);
    let theta = |silo: usize, user| federation.silos[silo].knowledge(UserId(user)).unwrap().factor.theta();
    for (silo, user) in [(0, 0), (0, 1), (1, 2), (1, 3)] {
        let theta = theta(silo, user);
        let liked = user as usize % 2;
        assert!(theta[liked] > 0.7 && theta[1 - liked].abs() < 0.2, "{user}: {theta:?}");
    }
    let mut alike = Miniature::new::<PrivateLinucb>(json!({ "dp_epsilon": 1e4, "dp_delta": 1e-5 }), 1);
    alike.live(99);
    let theta = alike.silos[0].knowledge(UserId(0)).unwrap().factor.theta();
    assert!((theta[0] - theta[1]).abs() < 0.2, "all are one: {theta:?}");
}

/// With so much noise that nobody is known, nobody is like anybody: users go on with their own data.
#[test]
fn who_is_not_known_is_put_together_with_nobody() {
    let mut federation = Miniature::new::<PrivateFclub>(json!({ "dp_epsilon": 0.1, "dp_delta": 1e-5 }), 1);
    federation.live(99);
    for user in 0..4 {
        let known = federation.silos[user as usize / 2].knowledge(UserId(user)).unwrap();
        assert_eq!(known.stats.count, 99, "its own observations, and no other");
        assert!(known.factor.theta()[user as usize % 2] > 0.7, "{:?}", known.factor.theta());
    }
}

/// What a client decides with, where the noise is as large as all of the data, is its own data.
#[test]
fn noise_that_drowns_everything_leaves_ones_own_data_as_they_are() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_epsilon": 0.01, "dp_delta": 1e-6 }), 1);
    federation.live(99);
    let theta = federation.silos[0].knowledge(UserId(0)).unwrap().factor.theta();
    // Both kinds of users in one client: 0.45 each.
    assert!(theta.iter().all(|value| (value - 0.45).abs() < 0.1), "{theta:?}");
}

#[test]
fn of_a_user_no_more_is_used_than_was_said() {
    let params = json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9, "unit": "user", "per_user": 10 });
    let mut federation = Miniature::new::<PrivateLinucb>(params, 1);
    federation.live(99);
    assert_eq!(federation.server.observations(), 4 * 10);
}

/// Whatever the noise, nobody keeps it before it is needed: a copy that goes on with another key draws other noise.
#[test]
fn a_copy_with_another_key_uses_no_noise_twice() {
    let run = |after: u64| {
        let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5 }), 1);
        federation.live(20);
        federation.silos =
            federation.silos.iter().map(|silo| snapshot::restore(&snapshot::save(silo)).unwrap()).collect();
        federation.keys = Keys::from_seed(after);
        federation.live(30);
        let last = federation.sent.pop().unwrap().2;
        let Body::Release(parts) = last else { panic!("{last:?}") };
        parts[0].stats.get().clone()
    };
    assert_eq!(run(8), run(8));
    let (one, other) = (run(8), run(9));
    assert!(one.moment.iter().zip(&other.moment).all(|(a, b)| a != b));
    assert!(one.gram.packed().iter().zip(other.gram.packed()).all(|(a, b)| a != b));
}

#[test]
fn lies_are_refused_and_change_nothing() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5 }), 1);
    federation.live(40);
    let before = snapshot::save(&federation.server);
    let part = |stream, number, count, value: f64| {
        let mut stats = LinearStats::empty(DIM);
        stats.count = count;
        stats.moment[0] = value;
        Part { stream, number, stats: released(stats) }
    };
    let liars = [
        vec![],
        vec![part(0, 1, 500, 0.0)],
        vec![part(0, 60, 500, 0.0)],
        vec![part(0, 6, 1, 0.0)],
        vec![part(0, 6, 500, 1e9)],
        vec![part(0, 6, 500, f64::NAN)],
        vec![part(1 << 24, 1, 5, 0.0)],
        vec![part(1, 1, 5, 0.0), part(1, 1, 5, 0.0)],
    ];
    for parts in liars {
        let message = Custom(Body::Release(parts.clone()));
        federation.at_server(|server, cx| {
            assert!(server.on_message(NodeId(0), message, cx).is_err(), "{parts:?}");
        });
    }
    federation.at_server(|server, cx| {
        let honest = Custom(Body::Release(vec![part(0, 6, 500, 0.0)]));
        assert!(matches!(server.on_message(NodeId(7), honest, cx), Err(Misbehaviour::Unexpected(_))));
    });
    assert_eq!(snapshot::save(&federation.server), before);
    let before = snapshot::save(&federation.silos[0]);
    let shared = |mine, stats, variance| {
        let sum = super::Summed { stats, variance }.into();
        Custom(Body::Shared { version: 99, groups: vec![super::Shared { mine, sum }] })
    };
    for message in [
        shared(vec![(0, 60)], LinearStats::empty(DIM), 1.0),
        shared(vec![(3, 1)], LinearStats::empty(DIM), 1.0),
        shared(vec![(0, 1), (0, 1)], LinearStats::empty(DIM), 1.0),
        shared(vec![(0, 1)], LinearStats::empty(DIM + 1), 1.0),
        shared(vec![(0, 1)], LinearStats::empty(DIM), f64::NAN),
        shared(vec![(0, 1)], LinearStats::empty(DIM), -1.0),
    ] {
        federation.at_silo(0, |silo, cx| assert!(silo.on_message(NodeId::SERVER, message, cx).is_err()));
    }
    assert_eq!(snapshot::save(&federation.silos[0]), before);
}

#[test]
fn who_is_late_is_waited_for_until_half_way_and_is_part_of_the_next_round() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9 }), 1);
    federation.wakes[1] = Some(30);
    federation.live(9);
    assert_eq!(federation.server.waiting_for(), [NodeId(1)]);
    assert_eq!(federation.silos[0].knowledge(UserId(0)).unwrap().stats.count, 2 * 9);
    federation.live(25);
    // The late one released at 30, and both at 32.
    assert_eq!(federation.server.observations(), 4 * 31);
}

#[test]
fn one_who_comes_back_with_a_fresh_machine_adds_to_what_was_there() {
    let mut federation = Miniature::new::<PrivateLinucb>(json!({ "dp_delta": 1e-5, "dp_epsilon": 1e9 }), 1);
    federation.live(20);
    let before = federation.server.observations();
    federation.at_server(|server, cx| server.on_membership(Membership::Left(NodeId(1)), cx));
    federation.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(1)), cx));
    let mut stats = LinearStats::empty(DIM);
    stats.observe(&[0.6, 0.8], 0.5);
    let fresh = Custom(Body::Release(vec![Part { stream: 0, number: 1, stats: released(stats) }]));
    federation.at_server(|server, cx| server.on_message(NodeId(1), fresh, cx).unwrap());
    assert_eq!(federation.server.observations(), before + 1);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, key) in [
        (json!({}), "dp_delta"),
        (json!({ "dp_delta": 0.1 }), "dp_delta"),
        (json!({ "dp_delta": 1e-5, "dp_epsilon": 0.0 }), "dp_epsilon"),
        (json!({ "dp_delta": 1e-5, "unit": "user" }), "per_user"),
        (json!({ "dp_delta": 1e-5, "per_user": 3 }), "per_user"),
        (json!({ "dp_delta": 1e-5, "trust": "nobody" }), "decide"),
        (json!({ "dp_delta": 1e-5, "releases": 0 }), "releases"),
        (json!({ "dp_delta": 1e-5, "first_release": 0 }), "first_release"),
        (json!({ "dp_delta": 1e-5, "policy": "linphe" }), "policy"),
        (json!({ "dp_delta": 1e-5, "reward_noise": 0.0 }), "reward_noise"),
        (json!({ "dp_delta": 1e-5, "reward_range": [1.0, 0.0] }), "reward_range"),
        (json!({ "dp_delta": 1e-5, "preference_norm": 0.0 }), "preference_norm"),
    ] {
        assert_eq!(valid::<PrivateLinucb>(params).unwrap_err(), key);
    }
    for key in ["separation", "certainty"] {
        let params = json!({ "dp_delta": 1e-5, key: -1.0 });
        assert_eq!(valid::<PrivateFclub>(params).unwrap_err(), key);
    }
}
