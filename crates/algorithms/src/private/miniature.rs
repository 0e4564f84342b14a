//! A federation of the private family in miniature, for tests.

use cahoots_core::{
    Algorithm, Context, Cx, Effects, Fact, Keys, Learner, Machine, Membership, NodeId, Positions, Seating,
    Setting, UserId,
};
use cahoots_privacy::Accountant;
use serde_json::Value;

use super::{Body, Merger, PrivateMsg, Silo};
use crate::kit::clusters::ChosenFor;

pub(crate) const DIM: usize = 2;

/// Two clients with two users each: 0, 1 | 2, 3.
pub(crate) fn setting() -> Setting {
    Setting::linear(4, DIM, 2).with_hosts([0, 0, 1, 1].map(NodeId)).with_horizon(100).with_reward_noise(0.5)
}

pub(crate) fn valid<A: Algorithm>(params: Value) -> Result<A::Valid, String> {
    A::check(serde_json::from_value(params).unwrap(), &setting()).map_err(|error| error.key)
}

/// So many clients with two users each.
pub(crate) fn clients(n: u32) -> Setting {
    let hosts = (0..2 * n).map(|user| NodeId(user / 2));
    Setting::linear(2 * n as usize, DIM, 2).with_hosts(hosts).with_horizon(100).with_reward_noise(0.5)
}

/// A federation in miniature, with a clock of ticks.
pub(crate) struct Miniature {
    pub(crate) keys: Keys,
    pub(crate) server: Merger,
    pub(crate) silos: Vec<Silo>,
    pub(crate) positions: Vec<Positions>,
    pub(crate) wakes: Vec<Option<u64>>,
    pub(crate) wire: Vec<(NodeId, NodeId, PrivateMsg)>,
    /// Everything that clients sent: the tick and the message.
    pub(crate) sent: Vec<(u64, NodeId, Body)>,
    pub(crate) accountant: Accountant,
    /// Messages of clients that do not come, or come later.
    pub(crate) lost: Option<fn(u64, NodeId, &Body) -> bool>,
    pub(crate) late: Vec<(NodeId, PrivateMsg)>,
    /// Messages to this client are kept back.
    pub(crate) withheld: Option<(NodeId, Vec<PrivateMsg>)>,
    pub(crate) now: u64,
}

impl Miniature {
    pub(crate) fn new<A>(params: Value, key: u64) -> Miniature
    where
        A: Algorithm<Client = Silo, Server = Merger, Msg = PrivateMsg>,
    {
        Miniature::of::<A>(params, key, &setting())
    }

    pub(crate) fn of<A>(params: Value, key: u64, setting: &Setting) -> Miniature
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
            withheld: None,
            now: 0,
        };
        miniature.at_server(|server, cx| server.on_start(cx));
        for node in 0..n {
            miniature.at_silo(node, |silo, cx| silo.on_start(cx));
            miniature.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(node)), cx));
        }
        miniature
    }

    pub(crate) fn at_server(&mut self, input: impl FnOnce(&mut Merger, &mut Cx<'_, PrivateMsg>)) {
        let (mut effects, index) = (Effects::default(), self.silos.len());
        let mut cx = Cx::new(NodeId::SERVER, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.server, &mut cx);
        self.wakes[index] = effects.wake.or(self.wakes[index]);
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
    }

    pub(crate) fn at_silo(&mut self, node: u32, input: impl FnOnce(&mut Silo, &mut Cx<'_, PrivateMsg>)) {
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

    pub(crate) fn deliver(&mut self) {
        while !self.wire.is_empty() {
            let (from, to, message) = self.wire.remove(0);
            if self.lost.is_some_and(|lost| lost(self.now, from, &message.0)) {
                self.late.push((from, message));
                continue;
            }
            if let Some((_, kept)) = self.withheld.as_mut().filter(|(client, _)| *client == to) {
                kept.push(message);
            } else if to == NodeId::SERVER {
                self.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
            } else {
                self.at_silo(to.0, |silo, cx| silo.on_message(from, message, cx).unwrap());
            }
        }
    }

    /// One tick: who has to wake wakes, then each user makes an observation.
    pub(crate) fn tick(&mut self, mut observation: impl FnMut(u32) -> ([f64; DIM], f64)) {
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
    pub(crate) fn live(&mut self, ticks: u64) {
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

/// What is released when all that is ever observed is this.
pub(crate) fn releases_of<A>(params: Value, key: u64, x: [f64; DIM], reward: f64) -> Vec<Seen>
where
    A: Algorithm<Client = Silo, Server = Merger, Msg = PrivateMsg>,
{
    let mut federation = Miniature::new::<A>(params, key);
    for _ in 0..99 {
        federation.tick(|_| (x, reward));
    }
    releases(&federation)
}

/// When a client released what: tick, client, and for each sum its place, the number of the release and its observations.
pub(crate) type Seen = (u64, u32, Vec<(u32, u32, u64)>);

pub(crate) fn releases(federation: &Miniature) -> Vec<Seen> {
    let release = |(tick, node, body): &(u64, NodeId, Body)| match body {
        Body::Release(parts) => {
            let parts = parts.iter().map(|part| (part.stream, part.number, part.stats.get().count));
            Some((*tick, node.0, parts.collect()))
        }
        _ => None,
    };
    federation.sent.iter().filter_map(release).collect()
}
