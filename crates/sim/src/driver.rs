//! The simulator's driver: one federation, one world, one seed, one thread.
//!
//! A step is: messages and late rewards that are due, then arrivals in index
//! order, then the wakes of this tick; after each, messages are delivered until
//! all is quiet.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::{
    Algorithm, ArmBuffer, Cx, Effects, Keys, Learner, Machine, Membership, Message, NodeId, Positions, Seat,
    Seating, Tick, UserId, plan, snapshot,
};
use cahoots_privacy::Statement;
use prost::Message as _;

use crate::arrivals::Arrivals;
use crate::ledger::Ledger;
use crate::network::{Network, Wire};
use crate::rewards::{Fate, Rewards};
use crate::world::World;

/// How a run is driven. None of it changes a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Send every message through its encoded bytes, as a network would.
    pub encode: bool,
    /// Save and restore a machine after each of its steps.
    pub restore: bool,
    /// Never run planned pulls as a block.
    pub single_steps: bool,
}

/// A federation in a world.
pub struct Simulation<A: Algorithm> {
    valid: A::Valid,
    world: Box<dyn World>,
    arrivals: Arrivals,
    rewards: Rewards,
    options: Options,
    seed: u64,
    horizon: Tick,
    now: Tick,
    keys: Keys,
    seating: Seating,
    /// Whether clients may have to clip a reward, which the sum of a block does not allow.
    clipped: bool,
    clients: Vec<Seated<A::Client>>,
    server: Seated<A::Server>,
    wire: Wire<A::Msg>,
    wakes: BTreeSet<(Tick, NodeId)>,
    late: BTreeMap<Tick, Vec<LateReward<<A::Client as Learner>::Pending>>>,
    effects: Effects<A::Msg>,
    arms: ArmBuffer,
    arriving: Vec<UserId>,
    ledger: Ledger,
}

struct Seated<M> {
    machine: M,
    seat: Seat,
    positions: Positions,
    wake: Option<Tick>,
    decisions: u64,
    joined: bool,
}

impl<M> Seated<M> {
    fn new(machine: M, seat: Seat) -> Self {
        Seated { machine, seat, positions: Positions::default(), wake: None, decisions: 0, joined: false }
    }
}

struct LateReward<P> {
    client: NodeId,
    pending: P,
    /// `None`: given up.
    reward: Option<f64>,
}

impl<A: Algorithm> Simulation<A> {
    /// A federation at tick 0.
    pub fn new(
        valid: A::Valid,
        mut world: Box<dyn World>,
        arrivals: Arrivals,
        network: Network,
        rewards: Rewards,
        seed: u64,
        options: Options,
    ) -> Self {
        if let Some(own) = A::personalization(&valid) {
            world.pursue(own);
        }
        let clipped = A::clips(&valid).is_some_and(|(low, high)| {
            world.reward_range().is_none_or(|(least, most)| least < low || most > high)
        });
        let setting = world.setting();
        let seating = A::seats(&valid, setting);
        let clients = (0..seating.clients(setting) as u32)
            .map(|i| {
                let seat = seating.seat(setting, NodeId(i));
                Seated::new(A::client(&valid, &seat), seat)
            })
            .collect();
        let seat = seating.seat(setting, NodeId::SERVER);
        let horizon = setting.horizon;
        Simulation {
            server: Seated::new(A::server(&valid, &seat), seat),
            valid,
            arrivals,
            rewards,
            options,
            seed,
            horizon,
            now: 0,
            keys: Keys::from_seed(seed),
            seating,
            clipped,
            clients,
            wire: Wire::new(network, seed),
            wakes: BTreeSet::new(),
            late: BTreeMap::new(),
            effects: Effects::default(),
            arms: ArmBuffer::default(),
            arriving: Vec::new(),
            ledger: Ledger::new(horizon),
            world,
        }
    }

    /// Runs to the horizon. `progress` is called now and then with the tick; its
    /// `false` stops the run, and then `None` is returned.
    pub fn run(&mut self, progress: &mut dyn FnMut(Tick) -> bool) -> Option<&Ledger> {
        while self.now < self.horizon {
            if self.now.is_multiple_of(64) && !progress(self.now) {
                return None;
            }
            self.step();
        }
        Some(&self.ledger)
    }

    /// One tick, or one block of planned ticks.
    pub fn step(&mut self) {
        if self.now == 0 {
            self.start();
        }
        let block = self.block_length();
        if block > 1 {
            self.run_block(block);
            return;
        }
        self.now += 1;
        self.wire.advance(self.now);
        self.deliver();
        self.late_rewards();
        let mut arriving = std::mem::take(&mut self.arriving);
        self.arrivals.at(self.now, &mut arriving);
        for &user in &arriving {
            self.arrive(user);
        }
        self.arriving = arriving;
        self.wake_due();
        self.ledger.tick(self.now);
    }

    fn start(&mut self) {
        self.input_server(|server, cx| server.on_start(cx));
        for client in 0..self.clients.len() {
            self.input_client(client, |learner, cx| learner.on_start(cx));
        }
        self.deliver();
    }

    /// A user arrives: decision, reward, and all that follows from it.
    fn arrive(&mut self, user: UserId) {
        let node = self.seating.seat_of(self.world.setting(), user);
        let index = node.index();
        if !self.clients[index].joined {
            self.clients[index].joined = true;
            self.input_server(|server, cx| server.on_membership(Membership::Joined(node), cx));
            self.deliver();
        }
        self.world.offer(self.now, user, &mut self.arms);
        let seated = &mut self.clients[index];
        seated.decisions += 1;
        let arms = self.arms.arm_set(&seated.seat).expect("worlds offer arms that fit their setting");
        let mut rng = self.keys.choice(node, seated.decisions);
        let (arm, pending) = seated.machine.choose(user, arms, &mut rng);
        let waits = seated.machine.waits();
        self.world.set_waiting(waits);
        let pull = self.world.pull(self.now, user, &self.arms, arm);
        self.ledger.pull(&pull);
        if waits {
            self.ledger.waited(1, pull.best - pull.expected);
        }
        self.input_client(index, |learner, cx| learner.commit(&pending, cx));
        match self.rewards.fate(self.seed, self.now, user) {
            Fate::AtOnce => self.input_client(index, |learner, cx| learner.observe(pending, pull.reward, cx)),
            Fate::Late(due) => self.late.entry(due).or_default().push(LateReward {
                client: node,
                pending,
                reward: Some(pull.reward),
            }),
            Fate::Lost(due) => {
                self.late.entry(due).or_default().push(LateReward { client: node, pending, reward: None });
            }
        }
        self.deliver();
    }

    fn late_rewards(&mut self) {
        while let Some(entry) = self.late.first_entry()
            && *entry.key() <= self.now
        {
            for LateReward { client, pending, reward } in entry.remove() {
                match reward {
                    Some(reward) => {
                        self.input_client(client.index(), |learner, cx| learner.observe(pending, reward, cx));
                    }
                    None => {
                        self.ledger.abandoned += 1;
                        self.input_client(client.index(), |learner, cx| learner.abandon(pending, cx));
                    }
                }
                self.deliver();
            }
        }
    }

    fn wake_due(&mut self) {
        while let Some(&(tick, node)) = self.wakes.first()
            && tick <= self.now
        {
            self.wakes.pop_first();
            if node == NodeId::SERVER {
                self.server.wake = None;
                self.input_server(|server, cx| server.on_wake(cx));
            } else {
                self.clients[node.index()].wake = None;
                self.input_client(node.index(), |learner, cx| learner.on_wake(cx));
            }
            self.deliver();
        }
    }

    /// Delivers messages until nothing is due any more.
    fn deliver(&mut self) {
        while let Some((delivery, seen)) = self.wire.take() {
            if seen {
                self.ledger.duplicates_dropped += 1;
                continue;
            }
            let message =
                if self.options.encode { through_bytes(&delivery.message) } else { delivery.message };
            let from = delivery.from;
            let mut taken = Ok(());
            if delivery.to == NodeId::SERVER {
                self.input_server(|server, cx| taken = server.on_message(from, message, cx));
            } else {
                self.input_client(delivery.to.index(), |client, cx| {
                    taken = client.on_message(from, message, cx)
                });
            }
            if taken.is_err() {
                self.ledger.refused += 1;
                debug_assert!(false, "{} refused a message from {from}: {taken:?}", delivery.to);
            }
        }
    }

    fn input_client(&mut self, index: usize, input: impl FnOnce(&mut A::Client, &mut Cx<'_, A::Msg>)) {
        let seated = &mut self.clients[index];
        step_machine(seated, self.now, &self.keys, &mut self.effects, self.options, input);
        self.after(NodeId(index as u32));
    }

    fn input_server(&mut self, input: impl FnOnce(&mut A::Server, &mut Cx<'_, A::Msg>)) {
        step_machine(&mut self.server, self.now, &self.keys, &mut self.effects, self.options, input);
        self.after(NodeId::SERVER);
    }

    /// Carries out what a step asked for.
    fn after(&mut self, node: NodeId) {
        if let Some(tick) = self.effects.wake.take() {
            let wake = match node {
                NodeId::SERVER => &mut self.server.wake,
                _ => &mut self.clients[node.index()].wake,
            };
            if let Some(before) = wake.replace(tick) {
                self.wakes.remove(&(before, node));
            }
            self.wakes.insert((tick, node));
        }
        for (name, value) in self.effects.metrics.drain(..) {
            self.ledger.metric(name, value);
        }
        for (name, value) in self.effects.counts.drain(..) {
            self.ledger.count(name, value);
        }
        for fact in self.effects.releases.drain(..) {
            self.ledger.release(node, &fact);
        }
        for (to, message) in self.effects.outbox.drain(..) {
            self.ledger.message(&message);
            self.wire.send(self.now, node, to, message);
        }
    }

    /// Ticks that can be run as one block: everyone arrives at every tick,
    /// everyone's pulls are fixed, and nothing else happens meanwhile.
    fn block_length(&self) -> u64 {
        if self.options.single_steps
            || !self.arrivals.is_everyone()
            || !self.world.has_blocks()
            || self.rewards != Rewards::default()
            || self.now == 0
            || self.clipped
            || self.clients.iter().any(|client| !client.joined)
        {
            return 1;
        }
        let mut length = self.ledger.next_point(self.now) - self.now;
        for tick in self.wakes.first().map(|(tick, _)| *tick).into_iter().chain(self.wire.next_due()) {
            // The tick of a wake or a message is a single step.
            length = length.min(tick.saturating_sub(self.now + 1));
        }
        for client in &self.clients {
            match client.machine.plan() {
                // A schedule's last pull is a single step.
                Some(pulls) => length = length.min(plan::total(pulls).saturating_sub(1)),
                None => return 1,
            }
        }
        length
    }

    fn run_block(&mut self, length: u64) {
        self.now += length;
        for index in 0..self.clients.len() {
            let user = UserId(index as u32);
            let machine = &self.clients[index].machine;
            let waits = machine.waits();
            self.world.set_waiting(waits);
            let pulls = plan::split(machine.plan().unwrap_or_default(), length);
            let mut sums = Vec::with_capacity(pulls.len());
            for (arm, n) in pulls {
                let block = self.world.pull_block(user, arm, n).expect("a world that has blocks");
                self.ledger.block(n, &block);
                if waits {
                    self.ledger.waited(n, block.best - block.expected);
                }
                sums.push((arm, n, block.sum));
            }
            self.clients[index].decisions += length;
            self.input_client(index, |learner, cx| learner.observe_block(&sums, cx));
        }
        self.deliver();
        self.ledger.tick(self.now);
    }

    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Communication in the unit of the algorithm's paper.
    pub fn cost(&self) -> f64 {
        A::cost(&self.valid, &self.ledger.traffic)
    }

    /// What the algorithm's claim about its users' data has come to; `None` if it makes none.
    pub fn privacy(&self) -> Option<Statement> {
        A::privacy(&self.valid).and_then(|claim| Statement::new(&claim, &self.ledger.accountant))
    }

    /// One client's machine.
    pub fn client(&self, node: NodeId) -> &A::Client {
        &self.clients[node.index()].machine
    }

    /// The server's machine.
    pub fn server(&self) -> &A::Server {
        &self.server.machine
    }

    /// Snapshots of the server and of every client: the whole state, to compare.
    pub fn states(&self) -> Vec<Vec<u8>> {
        std::iter::once(snapshot::save(&(&self.server.machine, self.server.positions, self.server.wake)))
            .chain(self.clients.iter().map(|c| snapshot::save(&(&c.machine, c.positions, c.wake))))
            .collect()
    }
}

fn step_machine<M: Machine>(
    seated: &mut Seated<M>,
    now: Tick,
    keys: &Keys,
    effects: &mut Effects<M::Msg>,
    options: Options,
    input: impl FnOnce(&mut M, &mut Cx<'_, M::Msg>),
) {
    let mut cx = Cx::new(seated.seat.me, now, keys, &mut seated.positions, effects);
    input(&mut seated.machine, &mut cx);
    if options.restore {
        seated.machine =
            snapshot::restore(&snapshot::save(&seated.machine)).expect("what was saved can be restored");
    }
}

fn through_bytes<M: Message>(message: &M) -> M {
    let bytes = message.to_wire().encode_to_vec();
    let payload = cahoots_core::wire::Payload::decode(&bytes[..]).expect("encoded a moment ago");
    M::from_wire(payload).expect("encoded a moment ago")
}
