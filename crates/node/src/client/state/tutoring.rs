//! Decisions of an apprentice: whose pick is taken, and what came of it.

use cahoots_core::arms::ArmError;
use cahoots_core::decision::Taken;
use cahoots_core::drive::Looked;
use cahoots_core::{ArmBuffer, ArmIndex, DecisionId, Picked, UserId};

use super::State;
use crate::client::apprentice::Plan;
use crate::client::ask::ArmRef;
use crate::client::gain::{self, Beside};
use crate::client::member::Member;
use crate::client::offer;
use crate::error::NodeError;
use cahoots_core::apprentice::Turn;

impl State {
    /// Which of these arms the app would take, where it is to be compared with that.
    pub(in crate::client) fn baseline(
        &self,
        arms: &ArmBuffer,
        given: Option<&ArmRef>,
    ) -> Result<Option<ArmIndex>, NodeError> {
        match (given, &self.apprentice) {
            (Some(arm), Some(_)) => offer::baseline(arms, arm).map(Some),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(NodeError::Request(
                "this client is an apprentice ([apprentice] in its file): say what the app would have done itself, as `baseline`".into(),
            )),
            (Some(_), None) => Err(NodeError::Request(
                "`baseline` is for a client that is an apprentice, and this one would decide without regard to it: put [apprentice] \
                 into its file, or leave `baseline` out"
                    .into(),
            )),
        }
    }

    /// What would be decided of these arms next: by what all know, or by own data where the others were found to hurt.
    pub(super) fn looked(&mut self, user: UserId, arms: &ArmBuffer) -> Result<Looked, NodeError> {
        let epoch = self.starts.epoch();
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let id = member.machine.next_id(epoch);
        Ok(look(member, &mut self.beside, id, user, arms)?)
    }

    /// Whose pick will be taken of the arms in place.
    pub(super) fn plan(&mut self, user: UserId, baseline: ArmIndex) -> Result<Plan, NodeError> {
        let arms = std::mem::take(&mut self.arms);
        let looked = self.looked(user, &arms);
        self.arms = arms;
        let looked = looked?;
        let (own, epoch) = (looked.picked.arm, self.starts.epoch());
        let member = self.member.as_ref().ok_or(NodeError::NotJoined)?;
        let id = member.machine.next_id(epoch);
        let mut coin = member.keys.coin(member.header.from, id.number);
        let expected = self.beside.shadowed().map(|shadowed| {
            let expects = |arm| shadowed.expects(&self.arms.row(arm));
            (expects(own), expects(baseline))
        });
        let tutored = self.apprentice.as_ref().expect("who plans is an apprentice");
        Ok(tutored.plan(&mut coin, baseline, looked, expected))
    }

    /// What is known of the arm that will be taken.
    pub(super) fn first(&mut self, user: UserId, plan: &Plan) -> Result<Picked, NodeError> {
        let mut arms = std::mem::take(&mut self.arms);
        let masked = arms.mask_all_but(plan.taken());
        let looked = self.looked(user, &arms);
        arms.masked = masked;
        self.arms = arms;
        Ok(plan.with_odds(looked?.picked))
    }

    /// A reward that would be taken by the machine, and by whoever compares.
    pub(super) fn would_take(&self, id: DecisionId, value: f64) -> Result<Taken<()>, NodeError> {
        let member = self.member.as_ref().ok_or(NodeError::NotJoined)?;
        let taken = member.machine.would_take(id, value)?;
        if let (Taken::Fresh(()), Some(tutored)) = (&taken, &self.apprentice) {
            tutored.check(value)?;
        }
        Ok(taken)
    }

    /// A reward came, or none will.
    pub(super) fn compared(&mut self, id: DecisionId, reward: Option<f64>) {
        let Some(tutored) = &mut self.apprentice else { return };
        let turn = match reward {
            Some(reward) => tutored.rewarded(id, reward),
            None => tutored.abandoned(id),
        };
        let Some(turn) = turn else { return };
        let words = match turn {
            Turn::TookOver => "this client was found to be better than its app, and is in charge from now on",
            Turn::GaveBack => "it is not certain any more that this client is better: its app decides again",
            Turn::Restarted => {
                "its app was found to be better of late: it decides again, and a new round begins"
            }
        };
        tracing::info!(decision = %id, "{words}");
        self.flush = true;
    }
}

/// What would be decided next.
pub(super) fn look(
    member: &mut Member,
    beside: &mut Beside,
    id: DecisionId,
    user: UserId,
    arms: &ArmBuffer,
) -> Result<Looked, ArmError> {
    let left = beside.has_left();
    match beside.shadowed().filter(|_| left) {
        Some(shadowed) => {
            let rng = || gain::stream(member, member.header.from, id);
            shadowed.look(arms, member.machine.seat(), rng)
        }
        None => member.machine.look(user, arms, &member.keys),
    }
}
