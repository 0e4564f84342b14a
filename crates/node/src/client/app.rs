//! What an app does with a client: arms that it tells of once, decisions, rewards.

use super::ask::{Ask, Decider, NewArm, Registered, Reply, Reward, Which};
use super::inside::Durable;
use super::offer::Arms;
use super::registry::Known;
use super::state::{Chosen, State};
use super::{Client, settle};
use crate::error::NodeError;
use crate::limits::Counters;
use cahoots_core::decision::Taken;
use cahoots_core::{ArmIndex, DecisionId, Picked};
use serde::Serialize;

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Its name, to be given back with the reward.
    pub id: DecisionId,
    /// The chosen arm, and how sure the policy is of it.
    pub picked: Picked,
    /// A number that grows whenever what is known does.
    pub model: u64,
    /// By what it was taken.
    pub decided: Decider,
}

impl Decision {
    /// The chosen arm.
    pub fn arm(&self) -> ArmIndex {
        self.picked.arm
    }

    /// How likely the policy was to choose it of these arms, with what it knew: 1 where nothing was drawn, `None`
    /// where the policy cannot tell. Whoever keeps a log of decisions keeps this with each.
    pub fn probability(&self) -> Option<f64> {
        self.picked.probability
    }
}

/// What became of a reward; it is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ack {
    /// It was learned from.
    Learned,
    /// It had come before.
    Repeated,
    /// It will be learned from: with the other parts, or once the decision is activated.
    Kept,
}

impl Client {
    /// Chooses an arm. Not yet on disk: after a crash the decision may be
    /// unknown, and so may its reward be.
    pub fn decide(&self, user: Option<u32>, arms: Arms<'_>) -> Result<Decision, NodeError> {
        let decided = self.taking(|state| {
            let member = state.member.as_ref().expect("looked at by the caller");
            let user = member.user(user)?;
            member.shape().fill(&mut state.arms, arms, &state.registry)?;
            state.baseline(&state.arms, None)?;
            let chosen = state.decide(user, None)?;
            state.record(&chosen, user, None);
            Ok(chosen)
        });
        let Chosen { id, picked, model, decided } = decided?;
        Ok(Decision { id, picked, model, decided })
    }

    /// Chooses an arm, by whatever names the app has for things. Who asks again under the same event is told the same again.
    pub fn ask(&self, ask: &Ask<'_>) -> Result<Reply, NodeError> {
        let mut told = self.decide_all(std::slice::from_ref(ask))?;
        Ok(told.remove(0))
    }

    /// Takes several decisions: all of them, or none.
    pub fn decide_all(&self, asks: &[Ask<'_>]) -> Result<Vec<Reply>, NodeError> {
        self.check_batch("decisions", asks.len())?;
        self.taking(|state| state.ask_all(asks))
    }

    fn taking<T>(&self, take: impl FnOnce(&mut State) -> Result<T, NodeError>) -> Result<T, NodeError> {
        let mut state = self.deciding()?;
        let taken = take(&mut state);
        if let Err(NodeError::TooManyOpen { .. } | NodeError::TooMuchKept { .. }) = &taken {
            Counters::count(&self.shared.counters.open_decisions);
        }
        if state.flush {
            self.shared.work.notify_one();
        }
        taken
    }

    /// The state, if its app may have something done.
    fn deciding(&self) -> Result<std::sync::MutexGuard<'_, State>, NodeError> {
        let mut state = self.shared.lock();
        match state.ready()?.lockstep {
            Some(_) => Err(NodeError::Lockstep),
            None => Ok(state),
        }
    }

    fn check_batch(&self, what: &str, length: usize) -> Result<(), NodeError> {
        let most = self.shared.limits.batch;
        match length {
            0 => Err(NodeError::Request(format!("no {what} were asked for: give at least one"))),
            length if length > most => Err(NodeError::Request(format!(
                "{length} {what} at once, where {most} are the most (limits.batch): send them in parts"
            ))),
            _ => Ok(()),
        }
    }

    /// Tells of arms that are then known by their ids, and of others that are gone; all of it or nothing. Gives how many
    /// there are, when that is on disk. Blocks.
    pub fn register(&self, arms: &[NewArm<'_>], retire: &[&str]) -> Result<usize, NodeError> {
        let (count, durable) = self.take_arms(arms, retire)?;
        settle(durable.blocking_recv()).map(|()| count)
    }

    /// [`Client::register`] for callers that must not block.
    pub async fn register_async(&self, arms: &[NewArm<'_>], retire: &[&str]) -> Result<usize, NodeError> {
        let (count, durable) = self.take_arms(arms, retire)?;
        settle(durable.await).map(|()| count)
    }

    pub(super) fn take_arms(
        &self,
        arms: &[NewArm<'_>],
        retire: &[&str],
    ) -> Result<(usize, Durable), NodeError> {
        let mut guard = self.deciding()?;
        let state = &mut *guard;
        let shape = state.member.as_ref().expect("looked at above").shape();
        let changes = state.registry.change(arms, retire, &shape, self.shared.limits.registered_arms)?;
        changes.into_iter().for_each(|(name, value)| state.journal.set(name, value));
        Ok((state.registry.len(), self.durable(state)))
    }

    /// All arms that are registered, by id.
    pub fn registered<T>(&self, mut each: impl FnMut(&str, Registered<'_>) -> T) -> Vec<T> {
        let state = self.shared.lock();
        let known = |(id, known): (&std::sync::Arc<str>, &Known)| match known {
            Known::Features(features) => each(id, Registered::Features(features)),
            Known::Index(index) => each(id, Registered::Index(*index)),
        };
        state.registry.iter().map(known).collect()
    }

    /// Learns from a reward; returns when it is on disk. Blocks.
    pub fn reward<'a>(&self, which: impl Into<Which<'a>>, value: f64) -> Result<Ack, NodeError> {
        let (ack, durable) = self.take_reward(&Reward::of(which, value))?;
        settle(durable.blocking_recv()).map(|()| ack)
    }

    /// [`Client::reward`] for callers that must not block; parts of rewards too.
    pub async fn reward_async(&self, reward: &Reward<'_>) -> Result<Ack, NodeError> {
        let (ack, durable) = self.take_reward(reward)?;
        settle(durable.await).map(|()| ack)
    }

    pub(super) fn take_reward(&self, reward: &Reward<'_>) -> Result<(Ack, Durable), NodeError> {
        let mut state = self.deciding()?;
        let ack = state.credit(reward)?;
        Ok((ack, self.durable(&mut state)))
    }

    /// Learns from several rewards, whole or in parts, each of which is taken or refused on its own; returns when all that
    /// were taken are on disk. Blocks.
    pub fn reward_all(&self, rewards: &[Reward<'_>]) -> Result<Vec<Result<Ack, NodeError>>, NodeError> {
        let (acks, durable) = self.take_rewards(rewards)?;
        settle(durable.blocking_recv()).map(|()| acks)
    }

    /// [`Client::reward_all`] for callers that must not block.
    pub async fn reward_all_async(
        &self,
        rewards: &[Reward<'_>],
    ) -> Result<Vec<Result<Ack, NodeError>>, NodeError> {
        let (acks, durable) = self.take_rewards(rewards)?;
        settle(durable.await).map(|()| acks)
    }

    #[allow(clippy::type_complexity, reason = "an answer for each, and when they count")]
    pub(super) fn take_rewards(
        &self,
        rewards: &[Reward<'_>],
    ) -> Result<(Vec<Result<Ack, NodeError>>, Durable), NodeError> {
        self.check_batch("rewards", rewards.len())?;
        let mut state = self.deciding()?;
        let acks = rewards.iter().map(|reward| state.credit(reward)).collect();
        Ok((acks, self.durable(&mut state)))
    }

    /// A deferred decision counts from now on; returns when that is on disk. Blocks.
    pub fn activate<'a>(&self, which: impl Into<Which<'a>>) -> Result<Taken<()>, NodeError> {
        let (taken, durable) = self.take_activation(which.into())?;
        settle(durable.blocking_recv()).map(|()| taken)
    }

    /// [`Client::activate`] for callers that must not block.
    pub async fn activate_async(&self, which: Which<'_>) -> Result<Taken<()>, NodeError> {
        let (taken, durable) = self.take_activation(which)?;
        settle(durable.await).map(|()| taken)
    }

    pub(super) fn take_activation(&self, which: Which<'_>) -> Result<(Taken<()>, Durable), NodeError> {
        let mut state = self.deciding()?;
        let taken = state.activate(which)?;
        Ok((taken, self.durable(&mut state)))
    }

    /// Gives a decision up: its reward will not come.
    pub fn abandon<'a>(&self, which: impl Into<Which<'a>>) -> Result<Taken<()>, NodeError> {
        let mut state = self.deciding()?;
        let taken = state.give_up(which.into())?;
        if state.flush {
            self.shared.work.notify_one();
        }
        Ok(taken)
    }

    fn durable(&self, state: &mut State) -> Durable {
        let durable = state.wait();
        self.shared.work.notify_one();
        durable
    }
}
