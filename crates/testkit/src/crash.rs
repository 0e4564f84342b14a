//! An in-process driver that logs every input, can be killed at any step, and
//! replays: what a deployment does with a disk and a network, in memory.

use std::collections::{BTreeMap, VecDeque};

use cahoots_core::drive::{Blueprint, ClientNode, Event, Outcome, Saved, ServerNode, Waiting};
use cahoots_core::link::Arrival;
use cahoots_core::{Algorithm, ArmBuffer, Keys, Membership, NodeId, Seats, UserId};
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::world::World;

use crate::suite::Looks;

/// When to kill a node: after it has logged and applied an input, before
/// anything that follows from it has left.
pub type Kill<'a> = dyn FnMut(NodeId, u64) -> bool + 'a;

/// Parameters that hold from a tick on.
#[derive(Clone, Debug)]
pub struct Change {
    /// Before its arrivals; 0: before anything has happened.
    pub tick: u64,
    /// All of them, in TOML.
    pub params: String,
}

/// What survives a kill.
#[derive(Default)]
struct Disk {
    state: Vec<u8>,
    queues: Vec<u8>,
    log: Vec<Vec<u8>>,
}

impl Disk {
    fn saved(&self) -> Option<Saved<'_>> {
        Some(Saved { state: &self.state, queues: &self.queues })
    }
}

/// A message on its way.
struct Posted {
    from: NodeId,
    to: NodeId,
    message: Waiting,
}

/// A federation of nodes in lockstep with the simulator's order of events.
pub struct Crashing<'a, A: Algorithm> {
    blueprint: Blueprint<A>,
    keys: Keys,
    seats: Seats,
    clients: Vec<Box<dyn ClientNode>>,
    server: Box<dyn ServerNode>,
    disks: BTreeMap<NodeId, Disk>,
    queue: VecDeque<Posted>,
    joined: Vec<bool>,
    now: u64,
    inputs: u64,
    snapshot_every: usize,
    kill: Box<Kill<'a>>,
    changes: Vec<Change>,
    /// How often a node was killed.
    pub kills: u64,
    /// Messages that were put on their way, those that were sent again left out.
    pub posted: usize,
    /// What was seen of decisions just before they were taken; `None`: nobody looks.
    pub looks: Option<Looks>,
}

const OWN: &str = "a node's own snapshot";

impl<'a, A: Algorithm> Crashing<'a, A> {
    /// A new federation; nodes snapshot after every `snapshot_every` log entries.
    pub fn new(
        valid: &A::Valid,
        world: &dyn World,
        seed: u64,
        snapshot_every: usize,
        kill: Box<Kill<'a>>,
    ) -> Self {
        let setting = world.setting();
        let blueprint: Blueprint<A> =
            Blueprint { params: String::new(), valid: valid.clone(), setting: setting.clone().into() };
        let seats = Seats::of::<A>(valid, setting);
        let mut server = blueprint.server(None).expect(OWN);
        let mut disks = BTreeMap::new();
        disks.insert(
            NodeId::SERVER,
            Disk { state: server.save(), queues: server.queues().save(), log: vec![] },
        );
        let mut clients = Vec::new();
        for node in (0..seats.clients() as u32).map(NodeId) {
            let mut client = blueprint.client(node, None).expect(OWN);
            disks.insert(node, Disk { state: client.save(), queues: client.queues().save(), log: vec![] });
            clients.push(client);
        }
        Crashing {
            blueprint,
            keys: Keys::from_seed(seed),
            joined: vec![false; clients.len()],
            seats,
            clients,
            server,
            disks,
            queue: VecDeque::new(),
            now: 0,
            inputs: 0,
            snapshot_every,
            kill,
            changes: Vec::new(),
            kills: 0,
            posted: 0,
            looks: None,
        }
    }

    /// The parameters that were checked, in TOML, and how they will change. To be said before the run.
    pub fn agree(&mut self, params: &str, changes: &[Change]) {
        self.blueprint.params = params.into();
        self.changes = changes.to_vec();
        self.server = self.blueprint.server(None).expect(OWN);
        let disk = Disk { state: self.server.save(), queues: self.server.queues().save(), log: vec![] };
        self.disks.insert(NodeId::SERVER, disk);
        for (node, client) in self.clients.iter_mut().enumerate() {
            let node = NodeId(node as u32);
            *client = self.blueprint.client(node, None).expect(OWN);
            let disk = Disk { state: client.save(), queues: client.queues().save(), log: vec![] };
            self.disks.insert(node, disk);
        }
    }

    /// What is due to change now does, at every node.
    fn change(&mut self) {
        for version in 1..=self.changes.len() {
            let Change { tick, params } = self.changes[version - 1].clone();
            if tick != self.now {
                continue;
            }
            let nodes = std::iter::once(NodeId::SERVER).chain((0..self.clients.len() as u32).map(NodeId));
            for node in nodes {
                let log = &mut self.disks.get_mut(&node).expect("every node has a disk").log;
                match node {
                    NodeId::SERVER => self.server.change(self.now, version as u64, &params, log),
                    client => self.clients[client.index()].change(self.now, version as u64, &params, log),
                }
                .expect("what may change");
                self.after(node);
            }
        }
    }

    /// Runs the world's whole horizon.
    pub fn run(&mut self, world: &mut dyn World, arrivals: &mut Arrivals) {
        self.change();
        self.event(NodeId::SERVER, Event::Start);
        for client in 0..self.clients.len() as u32 {
            self.event(NodeId(client), Event::Start);
        }
        self.deliver();
        let mut arriving = Vec::new();
        let mut arms = ArmBuffer::default();
        for tick in 1..=world.setting().horizon {
            self.now = tick;
            self.change();
            arrivals.at(tick, &mut arriving);
            for &user in &arriving {
                self.arrive(user, world, &mut arms);
            }
            self.wake();
        }
    }

    fn arrive(&mut self, user: UserId, world: &mut dyn World, arms: &mut ArmBuffer) {
        let node = self.seats.seat_of(user);
        let index = node.index();
        if !std::mem::replace(&mut self.joined[index], true) {
            self.event(NodeId::SERVER, Event::Membership(Membership::Joined(node)));
            self.deliver();
        }
        world.offer(self.now, user, arms);
        world.set_waiting(self.clients[index].waits());
        let (client, keys) = (&mut *self.clients[index], &self.keys);
        let looked = self.looks.as_mut().map(|looks| looks.before(client, user, arms, keys));
        let log = &mut self.disks.get_mut(&node).expect("every node has a disk").log;
        let decided = client.decide(self.now, 1, user, arms, keys, log);
        let decided = decided.expect("worlds offer arms that fit");
        if let (Some(looks), Some(looked)) = (&mut self.looks, &looked) {
            looks.after(looked, &decided);
        }
        let pull = world.pull(self.now, user, arms, decided.picked.arm);
        self.after(node);
        let log = &mut self.disks.get_mut(&node).expect("every node has a disk").log;
        self.clients[index]
            .reward(self.now, decided.id, pull.reward, &self.keys, log)
            .expect("the decision is open");
        self.after(node);
        self.deliver();
    }

    fn wake(&mut self) {
        let now = self.now;
        for index in 0..self.clients.len() {
            if self.clients[index].wake().is_some_and(|tick| tick <= now) {
                self.event(NodeId(index as u32), Event::Wake);
                self.deliver();
            }
        }
        if self.server.wake().is_some_and(|tick| tick <= now) {
            self.event(NodeId::SERVER, Event::Wake);
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        while let Some(Posted { from, to, message }) = self.queue.pop_front() {
            let Waiting { sequence, skipped, .. } = message;
            let arrival = match to {
                NodeId::SERVER => self.server.check(from, sequence, skipped),
                client => self.clients[client.index()].check(from, sequence, skipped),
            };
            // A copy is confirmed again but not worth an entry in the log.
            if arrival.expect("no gaps and no strangers here") == Arrival::Next {
                let event = Event::Message { from, sequence, skipped, message: message.payload() };
                let outcome = self.event(to, event);
                assert_eq!(outcome, Outcome::Done, "{to} refused an honest message");
            }
            // What is on the receiver's disk need not be sent again.
            match from {
                NodeId::SERVER => self.server.queues().confirmed(to, sequence),
                client => self.clients[client.index()].queues().confirmed(to, sequence),
            }
        }
    }

    fn event(&mut self, node: NodeId, event: Event<Vec<u8>>) -> Outcome {
        let log = &mut self.disks.get_mut(&node).expect("every node has a disk").log;
        let outcome = match node {
            NodeId::SERVER => self.server.event(self.now, event, &self.keys, log),
            client => self.clients[client.index()].event(self.now, event, &self.keys, log),
        };
        self.after(node);
        outcome
    }

    /// An input has been logged and applied: perhaps the node dies and recovers; then it sends.
    fn after(&mut self, node: NodeId) {
        self.inputs += 1;
        let killed = (self.kill)(node, self.inputs);
        let disk = self.disks.get_mut(&node).expect("every node has a disk");
        let posted = match node {
            NodeId::SERVER => self.server.take_step().posted,
            client => self.clients[client.index()].take_step().posted,
        };
        self.posted += posted.len();
        if killed {
            self.kills += 1;
            match node {
                NodeId::SERVER => {
                    self.server = self.blueprint.server(disk.saved()).expect(OWN);
                    for entry in &disk.log {
                        self.server.replay(entry, &self.keys).expect("a log of its own");
                    }
                    self.server.take_step();
                }
                client => {
                    let restored = self.blueprint.client(client, disk.saved()).expect(OWN);
                    let client = &mut self.clients[client.index()];
                    *client = restored;
                    for entry in &disk.log {
                        client.replay(entry, &self.keys).expect("a log of its own");
                    }
                    client.take_step();
                }
            }
        }
        let queues = match node {
            NodeId::SERVER => self.server.queues(),
            client => self.clients[client.index()].queues(),
        };
        // Whoever has recovered sends all that is not confirmed; the others what is new.
        let waiting = queues.in_order();
        let new =
            waiting.into_iter().filter(|(to, message)| killed || posted.contains(&(*to, message.sequence)));
        self.queue.extend(new.map(|(to, message)| Posted { from: node, to, message: message.clone() }));
        if disk.log.len() >= self.snapshot_every {
            disk.queues = queues.save();
            disk.state = match node {
                NodeId::SERVER => self.server.save(),
                client => self.clients[client.index()].save(),
            };
            disk.log.clear();
        }
    }

    /// The same bytes as `Simulation::states`.
    pub fn states(&self) -> Vec<Vec<u8>> {
        std::iter::once(self.server.state()).chain(self.clients.iter().map(|client| client.state())).collect()
    }
}
