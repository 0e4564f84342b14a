//! An in-process driver that logs every input, can be killed at any step, and
//! replays: what a deployment does with a disk and a network, in memory.

use std::collections::{BTreeMap, VecDeque};

use cahoots_core::host::{Event, Host, Input, LearnerHost, Outcome, Outgoing, Timed};
use cahoots_core::link::Arrival;
use cahoots_core::{
    Algorithm, ArmBuffer, Keys, Learner, Membership, NodeId, Seat, Seating, UserId, snapshot,
};
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::world::World;
use serde::Serialize;
use serde::de::DeserializeOwned;

type Pending<A> = <<A as Algorithm>::Client as Learner>::Pending;

/// When to kill a node: after it has logged and applied an input, before
/// anything that follows from it has left.
pub type Kill<'a> = dyn FnMut(NodeId, u64) -> bool + 'a;

/// What survives a kill.
#[derive(Default)]
struct Disk {
    snapshot: Vec<u8>,
    log: Vec<Vec<u8>>,
}

impl Disk {
    fn append(&mut self, entry: &impl Serialize) {
        self.log.push(postcard::to_stdvec(entry).expect("inputs can be written"));
    }

    fn entries<T: DeserializeOwned>(&self) -> Vec<T> {
        self.log.iter().map(|bytes| postcard::from_bytes(bytes).expect("written above")).collect()
    }
}

/// A federation of hosts in lockstep with the simulator's order of events.
pub struct Crashing<'a, A: Algorithm> {
    keys: Keys,
    seating: Seating,
    seats: Vec<Seat>,
    clients: Vec<LearnerHost<A::Client>>,
    server: Host<A::Server>,
    disks: BTreeMap<NodeId, Disk>,
    queue: VecDeque<(NodeId, Outgoing)>,
    joined: Vec<bool>,
    now: u64,
    inputs: u64,
    snapshot_every: u64,
    kill: Box<Kill<'a>>,
    /// How often a node was killed.
    pub kills: u64,
}

impl<'a, A: Algorithm> Crashing<'a, A> {
    /// A new federation; nodes snapshot after every `snapshot_every` log entries.
    pub fn new(
        valid: &A::Valid,
        world: &dyn World,
        seed: u64,
        snapshot_every: u64,
        kill: Box<Kill<'a>>,
    ) -> Self {
        let setting = world.setting();
        let seating = A::seats(valid, setting);
        let seats: Vec<Seat> =
            (0..seating.clients(setting) as u32).map(|i| seating.seat(setting, NodeId(i))).collect();
        let clients: Vec<_> =
            seats.iter().map(|seat| LearnerHost::new(seat.me, A::client(valid, seat), 8)).collect();
        let server = Host::new(NodeId::SERVER, A::server(valid, &seating.seat(setting, NodeId::SERVER)));
        let mut disks = BTreeMap::new();
        disks.insert(NodeId::SERVER, Disk { snapshot: snapshot::save(&server), log: vec![] });
        for (seat, client) in seats.iter().zip(&clients) {
            disks.insert(seat.me, Disk { snapshot: snapshot::save(client), log: vec![] });
        }
        Crashing {
            keys: Keys::from_seed(seed),
            seating,
            joined: vec![false; seats.len()],
            seats,
            clients,
            server,
            disks,
            queue: VecDeque::new(),
            now: 0,
            inputs: 0,
            snapshot_every,
            kill,
            kills: 0,
        }
    }

    /// Runs the world's whole horizon.
    pub fn run(&mut self, world: &mut dyn World, arrivals: &mut Arrivals) {
        self.server_event(Event::Start);
        for index in 0..self.clients.len() {
            self.client_input(index, Input::Event(Event::Start));
        }
        self.deliver();
        let mut arriving = Vec::new();
        let mut arms = ArmBuffer::default();
        for tick in 1..=world.setting().horizon {
            self.now = tick;
            arrivals.at(tick, &mut arriving);
            for &user in &arriving {
                self.arrive(user, world, &mut arms);
            }
            self.wake();
        }
    }

    fn arrive(&mut self, user: UserId, world: &mut dyn World, arms: &mut ArmBuffer) {
        let node = self.seating.seat_of(world.setting(), user);
        let index = node.index();
        if !std::mem::replace(&mut self.joined[index], true) {
            self.server_event(Event::Membership(Membership::Joined(node)));
            self.deliver();
        }
        world.offer(self.now, user, arms);
        let set = arms.arm_set(&self.seats[index]).expect("worlds offer arms that fit");
        let (arm, id, input) = self.clients[index].choose(1, user, set, &self.keys);
        world.set_waiting(self.clients[index].host().machine().waits());
        let pull = world.pull(self.now, user, arms, arm);
        self.client_input(index, input);
        self.clients[index].check_reward(id, pull.reward).expect("the decision is open");
        self.client_input(index, Input::Reward { id, value: pull.reward });
        self.deliver();
    }

    fn wake(&mut self) {
        let now = self.now;
        for index in 0..self.clients.len() {
            if self.clients[index].host().wake().is_some_and(|tick| tick <= now) {
                self.client_input(index, Input::Event(Event::Wake));
                self.deliver();
            }
        }
        if self.server.wake().is_some_and(|tick| tick <= now) {
            self.server_event(Event::Wake);
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        while let Some((from, Outgoing { to, sequence, payload })) = self.queue.pop_front() {
            let link = match to {
                NodeId::SERVER => self.server.link(from),
                client => self.clients[client.index()].host_mut().link(from),
            };
            // A copy is confirmed again but not worth an entry in the log.
            if link.check(sequence).expect("no gaps here") == Arrival::Next {
                let event = Event::Message { from, sequence, payload };
                let outcome = match to {
                    NodeId::SERVER => self.server_event(event),
                    client => self.client_input(client.index(), Input::Event(event)),
                };
                assert_eq!(outcome, Outcome::Done, "{to} refused an honest message");
            }
            // What is on the receiver's disk need not be sent again.
            match from {
                NodeId::SERVER => self.server.link(to).confirmed(sequence),
                client => self.clients[client.index()].host_mut().link(to).confirmed(sequence),
            }
        }
    }

    /// Log, step, (perhaps die and recover,) send.
    fn server_event(&mut self, event: Event) -> Outcome {
        let entry = Timed { now: self.now, input: event };
        let disk = self.disks.get_mut(&NodeId::SERVER).expect("every node has a disk");
        disk.append(&entry);
        let mut out = Vec::new();
        let outcome = self.server.apply(self.now, &entry.input, &self.keys, &mut out).expect("no gaps here");
        self.inputs += 1;
        if (self.kill)(NodeId::SERVER, self.inputs) {
            self.kills += 1;
            self.server = snapshot::restore(&disk.snapshot).expect("own snapshot");
            for entry in disk.entries::<Timed<Event>>() {
                let _ = self.server.apply(entry.now, &entry.input, &self.keys, &mut Vec::new());
            }
            out = self.server.unconfirmed();
        }
        if disk.log.len() as u64 >= self.snapshot_every {
            *disk = Disk { snapshot: snapshot::save(&self.server), log: vec![] };
        }
        self.queue.extend(out.into_iter().map(|message| (NodeId::SERVER, message)));
        outcome
    }

    fn client_input(&mut self, index: usize, input: Input<Pending<A>>) -> Outcome {
        let node = NodeId(index as u32);
        let entry = Timed { now: self.now, input };
        let disk = self.disks.get_mut(&node).expect("every node has a disk");
        disk.append(&entry);
        let mut out = Vec::new();
        let client = &mut self.clients[index];
        let applied = client.apply(self.now, &entry.input, &self.keys, &mut out).expect("no gaps here");
        self.inputs += 1;
        if (self.kill)(node, self.inputs) {
            self.kills += 1;
            *client = snapshot::restore(&disk.snapshot).expect("own snapshot");
            for entry in disk.entries::<Timed<Input<Pending<A>>>>() {
                let _ = client.apply(entry.now, &entry.input, &self.keys, &mut Vec::new());
            }
            out = client.host().unconfirmed();
        }
        if disk.log.len() as u64 >= self.snapshot_every {
            *disk = Disk { snapshot: snapshot::save(client), log: vec![] };
        }
        self.queue.extend(out.into_iter().map(|message| (node, message)));
        match applied {
            cahoots_core::host::Applied::Event(outcome) => outcome,
            _ => Outcome::Done,
        }
    }

    /// The same bytes as `Simulation::states`.
    pub fn states(&self) -> Vec<Vec<u8>> {
        let server = (self.server.machine(), self.server.positions(), self.server.wake());
        std::iter::once(snapshot::save(&server))
            .chain(self.clients.iter().map(|client| {
                let host = client.host();
                snapshot::save(&(host.machine(), host.positions(), host.wake()))
            }))
            .collect()
    }
}
