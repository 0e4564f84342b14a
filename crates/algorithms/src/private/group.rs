//! A client's part of sums over a group: several steps in each round, one vector.

use cahoots_core::{Custom, Cx, LinearStats, Misbehaviour, NodeId};
use cahoots_privacy::aggregation::{Contribution, Down, GroupNoise, MaskedRelease, Masks, Member, Up};
use serde::{Deserialize, Serialize};

use super::message::{Body, PrivateMsg};
use super::rules::{Noising, Rules};

/// What was observed, and what of it was sent under masks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grouped {
    member: Member,
    contribution: Contribution,
    exact: LinearStats,
    /// Since the last vector.
    open: LinearStats,
    /// A vector was sent before.
    again: bool,
}

impl Grouped {
    pub(super) fn new(me: NodeId, noise: &GroupNoise, dim: usize) -> Grouped {
        Grouped {
            member: Member::new(me, *noise.terms()),
            contribution: Contribution::new(noise.schedule().releases),
            exact: LinearStats::empty(dim),
            open: LinearStats::empty(dim),
            again: false,
        }
    }

    pub(super) fn observe(&mut self, x: &[f64], reward: f64) {
        self.exact.observe(x, reward);
        self.open.observe(x, reward);
    }

    pub(super) fn unsent(&self) -> u64 {
        self.open.count
    }

    pub(super) fn exact(&self) -> &LinearStats {
        &self.exact
    }

    /// What of this client is in the sum of a round, and the variance of its noise.
    pub(super) fn part(&self, round: u32) -> (LinearStats, f64) {
        self.contribution.sum(round).unwrap_or_else(|| (self.exact.emptied(), 0.0))
    }

    /// These rounds of all that it took part in have a sum.
    pub(super) fn came_through(&mut self, rounds: &[u32]) {
        self.contribution.came_through(rounds);
    }

    /// Whatever round is under way goes on without it.
    pub(super) fn leave(&mut self) {
        self.member.leave();
    }

    /// A round begins, or goes on.
    pub(super) fn on(
        &mut self,
        message: &Down,
        rules: &Rules,
        server: NodeId,
        cx: &mut Cx<'_, PrivateMsg>,
    ) -> Result<(), Misbehaviour> {
        if let Some(left) = self.member.away(message) {
            cx.send(server, Custom(Body::Up(left)));
            return Ok(());
        }
        let answer = match message {
            Down::Begin { round } if *round > rules.releases() => {
                return Err(Misbehaviour::Unexpected(format!("round {round} of {}", rules.releases())));
            }
            Down::Begin { round } => cx.secret(|rng| self.member.begin(*round, rng)),
            Down::Roster { round, members } => cx.secret(|rng| self.member.roster(*round, members, rng))?,
            Down::Shares { round, sealed } => {
                self.member.shares(*round, sealed)?.and_then(|masks| self.vector(*round, masks, rules, cx))
            }
            Down::Unmask { round, survivors } => self.member.unmask(*round, survivors)?,
        };
        if let Some(answer) = answer {
            cx.send(server, Custom(Body::Up(answer)));
        }
        Ok(())
    }

    fn vector(&mut self, round: u32, masks: Masks, rules: &Rules, cx: &mut Cx<'_, PrivateMsg>) -> Option<Up> {
        let Noising::Group(noise) = &rules.noise else { return None };
        let (size, dim) = (masks.size, rules.dim);
        let since = std::mem::replace(&mut self.open, self.exact.emptied());
        let row = self.contribution.next(round, since);
        let Some(values) = noise.encode(&row, size) else {
            self.member.leave();
            cx.count("vectors_too_large", 1.0);
            return Some(Up::Left { round });
        };
        let (unit, observer) = (rules.unit_in_words(), rules.observer());
        let mut mechanism = MaskedRelease {
            noise,
            masks: Some(masks),
            dim,
            again: self.again,
            unit,
            observer,
            sent: Vec::new(),
        };
        let values = cx.release(&mut mechanism, values);
        let sent = noise.decode(&mechanism.sent, dim).expect("as it was encoded");
        self.contribution.sent(round, sent, noise.variance_of_share(size));
        self.again = true;
        Some(Up::Masked { round, values })
    }
}
