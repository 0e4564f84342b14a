//! What a machine may do to the outside, and nothing else: send, ask to be
//! woken, release a statistic, report a fact, draw from its two streams.

use std::borrow::Cow;

use crate::contract::fact::Fact;
use crate::contract::private::{Mechanism, Private};
use crate::ids::{NodeId, Tick};
use crate::rng::{Keys, Positions, Stream};

/// Effects of one or more steps, in a buffer that drivers reuse.
#[derive(Debug)]
pub struct Effects<M> {
    /// Messages, in the order they were sent.
    pub outbox: Vec<(NodeId, M)>,
    /// The machine's one wake, if the step set it.
    pub wake: Option<Tick>,
    /// What the step was about.
    pub facts: Vec<Fact>,
}

impl<M> Default for Effects<M> {
    fn default() -> Self {
        Effects { outbox: Vec::new(), wake: None, facts: Vec::new() }
    }
}

impl<M> Effects<M> {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.outbox.clear();
        self.wake = None;
        self.facts.clear();
    }
}

/// A machine's view of the step it is taking.
///
/// ```
/// use cahoots_core::{Cx, Fact, NodeId};
///
/// let step = |cx: &mut Cx<'_, &str>| {
///     cx.send(NodeId::SERVER, "hello");
///     cx.wake_at(5);
///     cx.report(Fact::Rounds(1));
/// };
/// let ((), effects) = Cx::rehearse(NodeId(3), 7, step);
/// assert_eq!(effects.outbox, [(NodeId::SERVER, "hello")]);
/// // A tick that is not after the present one means the next.
/// assert_eq!(effects.wake, Some(8));
/// ```
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

    /// A step outside any host: what `step` returned, and its effects. For tests and measurements.
    pub fn rehearse<T>(me: NodeId, now: Tick, step: impl FnOnce(&mut Cx<'_, M>) -> T) -> (T, Effects<M>) {
        let (keys, mut positions, mut effects) =
            (Keys::from_seed(0), Positions::default(), Effects::default());
        let result = step(&mut Cx::new(me, now, &keys, &mut positions, &mut effects));
        (result, effects)
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

    /// Reports a fact.
    pub fn report(&mut self, fact: Fact) {
        self.effects.facts.push(fact);
    }

    /// Reports a value under a name of one's own; the last one counts.
    pub fn level(&mut self, name: impl Into<Cow<'static, str>>, value: f64) {
        self.report(Fact::Level(name.into(), value));
    }

    /// Counts something under a name of one's own: it adds up, over all machines.
    pub fn count(&mut self, name: impl Into<Cow<'static, str>>, value: f64) {
        self.report(Fact::Count(name.into(), value));
    }

    /// Makes a statistic fit to leave, and puts the release on record.
    pub fn release<S>(&mut self, mechanism: &mut impl Mechanism<S>, exact: S) -> Private<S> {
        let mut noise = self.keys.privacy(self.me, self.positions.privacy);
        let released = mechanism.release(exact, &mut noise);
        self.positions.privacy = noise.position();
        self.report(Fact::Release(mechanism.fact()));
        Private::released(released)
    }

    /// Draws keys and seeds from the machine's privacy stream, which in a deployment nobody else has.
    pub fn secret<T>(&mut self, draw: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.keys.privacy(self.me, self.positions.privacy);
        let value = draw(&mut stream);
        self.positions.privacy = stream.position();
        value
    }

    /// Draws from the machine's policy stream.
    pub fn draw<T>(&mut self, draw: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.keys.policy(self.me, self.positions.policy);
        let value = draw(&mut stream);
        self.positions.policy = stream.position();
        value
    }
}
