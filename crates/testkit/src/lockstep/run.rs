//! A run in the simulator's order: who takes which step next. Its progress is
//! written with the machine's inputs, so that a coordinator that was killed goes
//! on where it was; a step that a client has done before is only answered again.

use std::collections::{BTreeMap, VecDeque};

use cahoots_core::drive::Event;
use cahoots_core::{Membership, NodeId, Seats, Tick, UserId};

use cahoots_node::NodeError;
use cahoots_node::lockstep::{Conductor, Next, Order, Step};
use cahoots_node::transport::proto::Done;
use cahoots_sim::arrivals::Arrivals;
use serde::{Deserialize, Serialize};

/// A message that waits for its turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Letter {
    from: NodeId,
    to: NodeId,
    sequence: u64,
}

/// Where in a tick the run is. Numbers are clients or arrivals that are done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Stage {
    Start(u32),
    Arrivals(usize),
    Wakes(u32),
    Reports(u32),
    Finished,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Schedule {
    tick: Tick,
    stage: Stage,
    started: bool,
    orders: u64,
    waiting: Option<Order>,
    queue: VecDeque<Letter>,
    /// Messages of each client, to whomever, that are or were in the queue.
    sent: Vec<u64>,
    /// The last of the messages from one client to another that was delivered.
    delivered: BTreeMap<(NodeId, NodeId), u64>,
    wakes: Vec<Option<Tick>>,
    joined: Vec<bool>,
}

/// A lockstep run.
pub(super) struct Run {
    schedule: Schedule,
    changed: bool,
    arrivals: Arrivals,
    seats: Seats,
    horizon: Tick,
    arriving: Vec<UserId>,
    /// Messages that came and are not yet due.
    mailbox: BTreeMap<(NodeId, NodeId, u64), Vec<u8>>,
    states: BTreeMap<NodeId, Vec<u8>>,
}

impl Run {
    /// Begins a run, or continues it where its progress was.
    pub(super) fn new(
        arrivals: Arrivals,
        seats: Seats,
        horizon: Tick,
        progress: Option<Vec<u8>>,
    ) -> Result<Run, NodeError> {
        let clients = seats.clients();
        let mut schedule = match progress {
            Some(bytes) => postcard::from_bytes(&bytes)
                .map_err(|e| NodeError::Config(format!("lockstep progress: {e}")))?,
            None => Schedule {
                tick: 0,
                stage: Stage::Start(0),
                started: false,
                orders: 0,
                waiting: None,
                queue: VecDeque::new(),
                sent: vec![0; clients],
                delivered: BTreeMap::new(),
                wakes: vec![None; clients],
                joined: vec![false; clients],
            },
        };
        if matches!(schedule.stage, Stage::Reports(_)) {
            // States are not kept: ask again.
            schedule.stage = Stage::Reports(0);
            schedule.waiting = None;
        }
        Ok(Run {
            schedule,
            changed: true,
            arrivals,
            seats,
            horizon,
            arriving: Vec::new(),
            mailbox: BTreeMap::new(),
            states: BTreeMap::new(),
        })
    }

    /// One step of the simulator's loop; `None` when it was a client's.
    fn stage(&mut self, wake: Option<Tick>) -> Option<Next> {
        self.changed = true;
        let clients = self.schedule.sent.len() as u32;
        let tick = self.schedule.tick;
        match self.schedule.stage {
            Stage::Start(_) if !self.schedule.started => {
                self.schedule.started = true;
                return Some(Next::Event(Event::Start));
            }
            Stage::Start(n) if n < clients => {
                self.schedule.stage = Stage::Start(n + 1);
                self.order(NodeId(n), Step::Start);
            }
            Stage::Start(_) => self.begin(tick + 1),
            Stage::Arrivals(n) => {
                self.arrivals.at(tick, &mut self.arriving);
                let Some(&user) = self.arriving.get(n) else {
                    self.schedule.stage = Stage::Wakes(0);
                    return None;
                };
                let node = self.seats.seat_of(user);
                if !std::mem::replace(&mut self.schedule.joined[node.index()], true) {
                    return Some(Next::Event(Event::Membership(Membership::Joined(node))));
                }
                self.schedule.stage = Stage::Arrivals(n + 1);
                self.order(node, Step::Decide(user));
            }
            Stage::Wakes(n) if n < clients => {
                self.schedule.stage = Stage::Wakes(n + 1);
                if self.schedule.wakes[n as usize].is_some_and(|due| due <= tick) {
                    self.order(NodeId(n), Step::Wake);
                }
            }
            Stage::Wakes(n) if n == clients => {
                self.schedule.stage = Stage::Wakes(n + 1);
                if wake.is_some_and(|due| due <= tick) {
                    return Some(Next::Event(Event::Wake));
                }
            }
            Stage::Wakes(_) => self.begin(tick + 1),
            Stage::Reports(n) if n < clients => {
                self.schedule.stage = Stage::Reports(n + 1);
                self.order(NodeId(n), Step::Report);
            }
            Stage::Reports(_) => self.schedule.stage = Stage::Finished,
            Stage::Finished if self.states.len() < clients as usize => {
                self.schedule.stage = Stage::Reports(0)
            }
            Stage::Finished => return Some(Next::Finished(self.states.values().cloned().collect())),
        }
        None
    }

    fn begin(&mut self, tick: Tick) {
        if tick > self.horizon {
            self.schedule.stage = Stage::Reports(0);
        } else {
            self.schedule.tick = tick;
            self.schedule.stage = Stage::Arrivals(0);
        }
    }

    fn order(&mut self, client: NodeId, step: Step) {
        self.changed = true;
        self.schedule.orders += 1;
        let (number, tick) = (self.schedule.orders, self.schedule.tick);
        self.schedule.waiting = Some(Order { number, tick, client, step });
    }
}

impl Conductor for Run {
    fn tick(&self) -> Tick {
        self.schedule.tick
    }

    fn next(&mut self, wake: Option<Tick>) -> Next {
        loop {
            if self.schedule.waiting.is_some() {
                return Next::Wait;
            }
            if !matches!(self.schedule.stage, Stage::Start(_))
                && let Some(&Letter { from, to, sequence }) = self.schedule.queue.front()
            {
                if to != NodeId::SERVER {
                    self.schedule.queue.pop_front();
                    self.order(to, Step::Deliver { from, sequence });
                    continue;
                }
                let Some(payload) = self.mailbox.remove(&(from, to, sequence)) else { return Next::Wait };
                self.schedule.queue.pop_front();
                self.changed = true;
                return Next::Event(Event::Message { from, sequence, skipped: 0, message: payload });
            }
            if let Some(next) = self.stage(wake) {
                return next;
            }
        }
    }

    fn waiting(&self) -> Option<Order> {
        self.schedule.waiting
    }

    fn done(&mut self, client: NodeId, done: Done) -> Option<(NodeId, u64)> {
        let order = self.schedule.waiting.filter(|o| o.client == client && o.number == done.order)?;
        self.changed = true;
        self.schedule.waiting = None;
        if order.step == Step::Report {
            self.states.insert(client, done.state);
        }
        self.schedule.sent[client.index()] += done.letters.len() as u64;
        let letters = done.letters.into_iter();
        let letters =
            letters.map(|letter| Letter { from: client, to: NodeId(letter.to), sequence: letter.sequence });
        self.schedule.queue.extend(letters);
        self.schedule.wakes[client.index()] = done.wake;
        match order.step {
            Step::Deliver { from, sequence } if from != NodeId::SERVER => {
                self.mailbox.remove(&(from, client, sequence));
                self.schedule.delivered.insert((from, client), sequence);
                Some((from, sequence))
            }
            _ => None,
        }
    }

    fn sent(&mut self, posted: &[(NodeId, u64)]) {
        let letters = posted.iter().map(|&(to, sequence)| Letter { from: NodeId::SERVER, to, sequence });
        self.schedule.queue.extend(letters);
    }

    fn came(&mut self, from: NodeId, to: NodeId, sequence: u64, payload: Vec<u8>) {
        self.mailbox.insert((from, to, sequence), payload);
    }

    fn letter(&self, from: NodeId, to: NodeId, sequence: u64) -> Option<&[u8]> {
        self.mailbox.get(&(from, to, sequence)).map(|payload| &payload[..])
    }

    fn delivered(&self, from: NodeId, to: NodeId) -> u64 {
        self.schedule.delivered.get(&(from, to)).copied().unwrap_or(0)
    }

    fn known(&self, client: NodeId) -> u64 {
        self.schedule.sent[client.index()]
    }

    fn progress(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.changed)
            .then(|| postcard::to_stdvec(&self.schedule).expect("progress can always be written"))
    }
}

#[cfg(test)]
mod tests;
