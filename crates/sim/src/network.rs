//! A network with faults, in ticks: delay, loss with redelivery, duplicates,
//! clients that are offline for a while. The default is the papers': none of it.

use std::collections::{BTreeMap, VecDeque};

use cahoots_core::{NodeId, ParamError, Tick};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};

/// Faults between machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// Ticks a message takes.
    #[schemars(range(min = 0))]
    pub delay: u64,
    /// Up to this many ticks more, drawn per message.
    #[schemars(range(min = 0))]
    pub jitter: u64,
    /// Probability that a transmission is lost; it is sent again one round trip later.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub loss: f64,
    /// Probability that a message arrives twice.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub duplicate: f64,
    /// Clients that cannot be reached for a while; they go on deciding on their own.
    pub offline: Vec<Offline>,
}

/// A client that cannot be reached for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offline {
    /// Which client.
    pub client: u32,
    /// First tick without a connection.
    pub from: u64,
    /// First tick with a connection again.
    pub until: u64,
}

impl Network {
    /// Refuses probabilities that are none, and intervals that end before they begin.
    pub fn check(&self) -> Result<(), ParamError> {
        for (key, p) in [("loss", self.loss), ("duplicate", self.duplicate)] {
            if !(0.0..1.0).contains(&p) {
                return Err(ParamError::new(key, format!("must be at least 0 and below 1, not {p}")));
            }
        }
        match self.offline.iter().find(|gap| gap.until <= gap.from) {
            Some(gap) => Err(ParamError::new(
                "offline",
                format!("until = {} is not after from = {}", gap.until, gap.from),
            )),
            None => Ok(()),
        }
    }

    /// Refuses gaps of clients that there are not. One learner of all users has no network to lose, whoever of them is
    /// said to be away.
    pub fn check_clients(&self, clients: usize, users: usize) -> Result<(), ParamError> {
        let there = if clients == 1 { users } else { clients };
        match self.offline.iter().find(|gap| gap.client as usize >= there) {
            Some(gap) => {
                let problem = format!(
                    "there is no client {}: clients are numbered from 0 to {}",
                    gap.client,
                    there.saturating_sub(1)
                );
                Err(ParamError::new("offline", problem))
            }
            None => Ok(()),
        }
    }

    /// Every message arrives at once, once.
    pub fn is_perfect(&self) -> bool {
        *self == Network::default()
    }
}

/// A message on its way.
#[derive(Debug)]
pub struct Delivery<M> {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Number on the link.
    pub sequence: u64,
    /// The message.
    pub message: M,
}

/// Messages on their way: one queue, by due tick and then by order of sending.
pub struct Wire<M> {
    network: Network,
    perfect: bool,
    seed: u64,
    now: VecDeque<Delivery<M>>,
    later: BTreeMap<(Tick, u64), Delivery<M>>,
    order: u64,
    /// When the last message of a link is due: the next one waits for it.
    last_due: BTreeMap<(NodeId, NodeId), Tick>,
}

impl<M: Clone> Wire<M> {
    /// An empty wire.
    pub fn new(network: Network, seed: u64) -> Self {
        Wire {
            perfect: network.is_perfect(),
            network,
            seed,
            now: VecDeque::new(),
            later: BTreeMap::new(),
            order: 0,
            last_due: BTreeMap::new(),
        }
    }

    /// Sends a numbered message at tick `now`.
    pub fn send(&mut self, now: Tick, from: NodeId, to: NodeId, sequence: u64, message: M) {
        if self.perfect {
            self.now.push_back(Delivery { from, to, sequence, message });
            return;
        }
        let key = u64::from(from.0) << 32 | u64::from(to.0);
        let mut draw = Draw::keyed(self.seed, Purpose::Network, key, sequence);
        let mut due = now + self.network.delay;
        if self.network.jitter > 0 {
            due += draw.below(self.network.jitter + 1);
        }
        while draw.uniform() < self.network.loss {
            // Noticed after a round trip, then sent again.
            due += 2 * self.network.delay.max(1);
        }
        for gap in &self.network.offline {
            if (from.0 == gap.client || to.0 == gap.client) && (gap.from..gap.until).contains(&due) {
                due = gap.until;
            }
        }
        // A link keeps its order: what is behind a lost message waits for it.
        let last_due = self.last_due.entry((from, to)).or_default();
        due = due.max(*last_due);
        *last_due = due;
        let twice = draw.uniform() < self.network.duplicate;
        let copy = twice.then(|| (due + draw.below(4), message.clone()));
        self.queue(now, due, Delivery { from, to, sequence, message });
        if let Some((due, message)) = copy {
            self.queue(now, due, Delivery { from, to, sequence, message });
        }
    }

    fn queue(&mut self, now: Tick, due: Tick, delivery: Delivery<M>) {
        self.order += 1;
        if due <= now {
            self.now.push_back(delivery);
        } else {
            self.later.insert((due, self.order), delivery);
        }
    }

    /// Moves what is due by `now` to the front of the queue.
    pub fn advance(&mut self, now: Tick) {
        while let Some(entry) = self.later.first_entry()
            && entry.key().0 <= now
        {
            self.now.push_back(entry.remove());
        }
    }

    /// The next message to deliver now.
    pub fn take(&mut self) -> Option<Delivery<M>> {
        self.now.pop_front()
    }

    /// The next tick at which something is due.
    pub fn next_due(&self) -> Option<Tick> {
        self.later.keys().next().map(|(due, _)| *due)
    }
}
