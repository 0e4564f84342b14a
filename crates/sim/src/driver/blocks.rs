//! Planned pulls, run many ticks at a time.

use cahoots_core::{Learner, Machine, NodeId, UserId, plan};

use super::Engine;
use crate::rewards::Rewards;

impl<C: Learner, S: Machine<Msg = C::Msg>> Engine<C, S> {
    /// Ticks that can be run as one block: everyone arrives at every tick,
    /// everyone's pulls are fixed, and nothing else happens meanwhile.
    pub(super) fn block_length(&self) -> u64 {
        if self.options.single_steps
            || !self.arrivals.is_everyone()
            || !self.world.has_blocks()
            || self.rewards != Rewards::default()
            || self.now == 0
            || self.clipped.is_some()
            || self.joined.contains(&false)
        {
            return 1;
        }
        let mut length = self.books.ledger.next_point(self.now) - self.now;
        for tick in self.wakes.first().map(|(tick, _)| *tick).into_iter().chain(self.books.wire.next_due()) {
            // The tick of a wake or a message is a single step.
            length = length.min(tick.saturating_sub(self.now + 1));
        }
        for client in &self.clients {
            match client.machine().plan() {
                // A schedule's last pull is a single step.
                Some(pulls) => length = length.min(plan::total(pulls).saturating_sub(1)),
                None => return 1,
            }
        }
        length
    }

    /// Runs `length` planned ticks of every client at once.
    pub(super) fn run_block(&mut self, length: u64) {
        self.now += length;
        for index in 0..self.clients.len() {
            let user = UserId(index as u32);
            let machine = self.clients[index].machine();
            let waits = machine.waits();
            self.world.set_waiting(waits);
            let pulls = plan::split(machine.plan().unwrap_or_default(), length);
            let mut sums = Vec::with_capacity(pulls.len());
            for (arm, n) in pulls {
                let block = self.world.pull_block(user, arm, n).expect("a world that has blocks");
                self.books.ledger.block(n, &block);
                let node = NodeId(index as u32);
                self.books.ledger.by_client(node, n, block.best - block.expected, block.sum);
                if waits {
                    self.books.ledger.waited(n, block.best - block.expected);
                }
                sums.push((arm, n, block.sum));
            }
            self.learner(index, |client, now, keys, effects, out| {
                client.settle_block(now, &sums, keys, effects, out);
            });
        }
        self.deliver();
        self.books.ledger.tick(self.now);
    }
}
