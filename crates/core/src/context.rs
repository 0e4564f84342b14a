//! What a machine may do to the outside, and nothing else: send, ask to be
//! woken, release a statistic, report a metric, draw from its two streams.

use crate::ids::{NodeId, Tick};
use crate::private::{Mechanism, Private, ReleaseFact};
use crate::rng::{Keys, Positions, Stream};

/// Effects of one or more steps, in a buffer that drivers reuse.
#[derive(Debug)]
pub struct Effects<M> {
    /// Messages, in the order they were sent.
    pub outbox: Vec<(NodeId, M)>,
    /// The machine's one wake, if the step set it.
    pub wake: Option<Tick>,
    /// Reported values, by name.
    pub metrics: Vec<(&'static str, f64)>,
    /// Things that were counted, by name; they add up.
    pub counts: Vec<(&'static str, f64)>,
    /// Releases, for the accountant.
    pub releases: Vec<ReleaseFact>,
}

impl<M> Default for Effects<M> {
    fn default() -> Self {
        Effects {
            outbox: Vec::new(),
            wake: None,
            metrics: Vec::new(),
            counts: Vec::new(),
            releases: Vec::new(),
        }
    }
}

impl<M> Effects<M> {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.outbox.clear();
        self.wake = None;
        self.metrics.clear();
        self.counts.clear();
        self.releases.clear();
    }
}

/// A machine's view of the step it is taking.
pub struct Cx<'a, M> {
    me: NodeId,
    now: Tick,
    keys: &'a Keys,
    positions: &'a mut Positions,
    effects: &'a mut Effects<M>,
}

impl<'a, M> Cx<'a, M> {
    /// Made by drivers, for one step of machine `me`.
    pub fn new(
        me: NodeId,
        now: Tick,
        keys: &'a Keys,
        positions: &'a mut Positions,
        effects: &'a mut Effects<M>,
    ) -> Self {
        Cx { me, now, keys, positions, effects }
    }

    /// Who is taking the step.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The present tick.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Sends a message.
    pub fn send(&mut self, to: NodeId, message: M) {
        self.effects.outbox.push((to, message));
    }

    /// Asks for one wake; replaces an earlier one. A tick not after now means
    /// the next one.
    pub fn wake_at(&mut self, tick: Tick) {
        self.effects.wake = Some(tick.max(self.now + 1));
    }

    /// Reports a value. Of most metrics a ledger keeps the last one; `rounds` and `communication_loss` add
    /// up, and the latter is part of the regret.
    pub fn metric(&mut self, name: &'static str, value: f64) {
        self.effects.metrics.push((name, value));
    }

    /// Counts something: what is reported under one name adds up, over all machines.
    pub fn count(&mut self, name: &'static str, value: f64) {
        self.effects.counts.push((name, value));
    }

    /// Makes a statistic fit to leave, and puts the release on record.
    pub fn release<S>(&mut self, mechanism: &mut impl Mechanism<S>, exact: S) -> Private<S> {
        let mut noise = self.keys.privacy(self.me, self.positions.privacy);
        let released = mechanism.release(exact, &mut noise);
        self.positions.privacy = noise.position();
        self.effects.releases.push(mechanism.fact());
        Private::released(released)
    }

    /// Draws from the machine's policy stream.
    pub fn draw<T>(&mut self, draw: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.keys.policy(self.me, self.positions.policy);
        let value = draw(&mut stream);
        self.positions.policy = stream.position();
        value
    }
}
