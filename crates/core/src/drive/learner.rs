//! A learner: a machine that is asked, told, and remembers what it was asked.

use serde::Serialize;

use super::decision::{DecisionId, Outstanding, RewardError, Taken, usable};
use super::event::{Event, Incoming, Outbox, Outcome};
use super::host::{self, Host};
use super::snapshot::{self, SnapshotError};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Choice;
use crate::contract::context::Effects;
use crate::contract::machine::Learner;
use crate::contract::setting::Seat;
use crate::error::Misbehaviour;
use crate::ids::{ArmIndex, Tick, UserId};
use crate::policy::Distribution;
use crate::rng::Keys;

/// A learner, its links and its open decisions.
#[derive(Clone, Debug)]
pub struct LearnerHost<L: Learner> {
    host: Host<L>,
    /// Decisions taken.
    decisions: u64,
    /// Made with the first decision that stays open: most simulated clients never have one.
    outstanding: Option<Box<Outstanding<L::Pending>>>,
    remember: u32,
}

/// What is saved of a learner.
pub(super) type Parts<L> = (host::Parts<L>, u64, Option<Box<Outstanding<<L as Learner>::Pending>>>);

impl<L: Learner> LearnerHost<L> {
    /// A new learner that remembers the rewards of its last `remember` decisions.
    pub fn new(seat: Seat, learner: L, remember: u32) -> Self {
        LearnerHost { host: Host::new(seat, learner), decisions: 0, outstanding: None, remember }
    }

    /// Picks an arm; nothing has changed until the choice is committed, by [`Self::decide`] or
    /// [`Self::settle`].
    pub fn choose(&mut self, user: UserId, arms: ArmSet<'_>, keys: &Keys) -> Choice<L::Pending> {
        let mut rng = keys.choice(self.host.seat().me, self.decisions + 1);
        self.host.machine_mut().choose(user, arms, &mut rng)
    }

    /// How likely [`Self::choose`] is to take each arm, where that is known.
    pub fn odds(&mut self, user: UserId, arms: ArmSet<'_>, keys: &Keys) -> Option<Distribution> {
        let mut rng = keys.choice(self.host.seat().me, self.decisions + 1);
        self.host.machine_mut().odds(user, arms, &mut rng)
    }

    /// The name that the next decision will have.
    pub fn next_id(&self, epoch: u64) -> DecisionId {
        DecisionId { epoch, number: self.decisions + 1 }
    }

    /// A choice is taken, and waits for its reward.
    pub fn decide(
        &mut self,
        now: Tick,
        id: DecisionId,
        pending: L::Pending,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) {
        self.decisions = id.number;
        self.host.step(now, keys, effects, out, |learner, cx| learner.commit(&pending, cx));
        let remember = self.remember as usize;
        self.outstanding.get_or_insert_with(|| Box::new(Outstanding::new(remember))).open(id, now, pending);
    }

    /// A choice is taken and its reward is there already.
    pub fn settle(
        &mut self,
        now: Tick,
        pending: L::Pending,
        reward: f64,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) {
        self.decisions += 1;
        self.host.step(now, keys, effects, out, |learner, cx| learner.commit(&pending, cx));
        self.host.step(now, keys, effects, out, |learner, cx| learner.observe(pending, reward, cx));
    }

    /// What a block of planned pulls returned.
    pub fn settle_block(
        &mut self,
        now: Tick,
        sums: &[(ArmIndex, u64, f64)],
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) {
        self.decisions += sums.iter().map(|(_, pulls, _)| pulls).sum::<u64>();
        self.host.step(now, keys, effects, out, |learner, cx| learner.observe_block(sums, cx));
    }

    /// Would this reward be taken? To be asked before it is logged.
    pub fn check_reward(&self, id: DecisionId, value: f64) -> Result<Taken<()>, RewardError> {
        if let Some((low, high)) = self.host.seat().reward_range
            && usable(value)
            && !(low..=high).contains(&value)
        {
            return Err(RewardError::Outside { value, low, high });
        }
        match &self.outstanding {
            Some(outstanding) => outstanding.check(id, value),
            None if usable(value) => Err(RewardError::Unknown(id)),
            None => Err(RewardError::Unusable(value)),
        }
    }

    /// A reward came. What is refused changes nothing.
    pub fn reward(
        &mut self,
        now: Tick,
        id: DecisionId,
        value: f64,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) -> Result<Taken<()>, RewardError> {
        if let Taken::Repeated = self.check_reward(id, value)? {
            return Ok(Taken::Repeated);
        }
        let open = self.outstanding.as_mut().ok_or(RewardError::Unknown(id))?;
        if let Taken::Fresh(pending) = open.reward(id, value)? {
            self.host.step(now, keys, effects, out, |learner, cx| learner.observe(pending, value, cx));
        }
        Ok(Taken::Fresh(()))
    }

    /// Sends what has not been sent yet.
    pub fn drain(
        &mut self,
        now: Tick,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) {
        self.host.step(now, keys, effects, out, |learner, cx| learner.drain(cx));
    }

    /// Would this decision be given up? To be asked before it is logged.
    pub fn check_abandon(&self, id: DecisionId) -> Result<Taken<()>, RewardError> {
        self.outstanding.as_ref().map_or(Err(RewardError::Unknown(id)), |open| open.check_abandon(id))
    }

    /// A reward will not come. What is refused changes nothing.
    pub fn abandon(
        &mut self,
        now: Tick,
        id: DecisionId,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) -> Result<Taken<()>, RewardError> {
        let open = self.outstanding.as_mut().ok_or(RewardError::Unknown(id))?;
        let Taken::Fresh(pending) = open.abandon(id)? else { return Ok(Taken::Repeated) };
        self.host.step(now, keys, effects, out, |learner, cx| learner.abandon(pending, cx));
        Ok(Taken::Fresh(()))
    }

    /// What happens to any machine.
    pub fn apply<T: Incoming<L::Msg>>(
        &mut self,
        now: Tick,
        event: Event<T>,
        keys: &Keys,
        effects: &mut Effects<L::Msg>,
        out: &mut impl Outbox<L::Msg>,
    ) -> Result<Outcome, Misbehaviour> {
        self.host.apply(now, event, keys, effects, out)
    }

    /// The machine and its links.
    pub fn host(&self) -> &Host<L> {
        &self.host
    }

    pub(in crate::drive) fn host_mut(&mut self) -> &mut Host<L> {
        &mut self.host
    }

    /// The learner.
    pub fn machine(&self) -> &L {
        self.host.machine()
    }

    /// Number of open decisions.
    pub fn open(&self) -> usize {
        self.outstanding.as_ref().map_or(0, |open| open.len())
    }

    /// Number of decisions that were taken and wait no more.
    pub fn closed(&self) -> u64 {
        self.decisions - self.open() as u64
    }

    /// Open decisions that were taken before `tick`, oldest first.
    pub fn older_than(&self, tick: Tick) -> Vec<DecisionId> {
        self.outstanding.as_ref().map_or_else(Vec::new, |open| open.older_than(tick))
    }

    /// All but the decisions that are open or were just closed: what runs are compared by.
    pub fn state(&self) -> Vec<u8> {
        snapshot::save(&(self.host.parts(), self.decisions))
    }

    /// The whole replicated state, to be restored.
    pub fn save(&self) -> Vec<u8> {
        snapshot::save(&self.parts())
    }

    /// A learner as it was saved, at its seat.
    pub fn restore(seat: Seat, bytes: &[u8], remember: u32) -> Result<Self, SnapshotError> {
        Ok(LearnerHost::from_parts(seat, snapshot::restore(bytes)?, remember))
    }

    pub(super) fn parts(&self) -> impl Serialize {
        (self.host.parts(), self.decisions, &self.outstanding)
    }

    pub(super) fn from_parts(seat: Seat, parts: Parts<L>, remember: u32) -> Self {
        let (host, decisions, outstanding) = parts;
        LearnerHost { host: Host::from_parts(seat, host), decisions, outstanding, remember }
    }
}
