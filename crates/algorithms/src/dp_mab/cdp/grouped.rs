//! A client's part of sums over all who report: each of its rewards leaves once, under a share of the noise and masks.

use cahoots_core::{Cx, Misbehaviour, NodeId};
use cahoots_privacy::aggregation::{Down, LaplaceShares, MaskedSums, Masks, Member, OBSERVER, Up};
use serde::{Deserialize, Serialize};

use super::super::epochs::Epochs;
use super::super::message::MabMsg;
use super::super::noise::UNIT;

/// Where it stands in the server's rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grouped {
    member: Member,
    shares: LaplaceShares,
    /// The round that the server began last, and the epoch that it is about.
    begun: (u32, u64),
    /// The last epoch of which something was sent.
    sent: u64,
}

impl Grouped {
    pub(super) fn new(me: NodeId, shares: LaplaceShares) -> Grouped {
        Grouped { member: Member::new(me, *shares.terms()), shares, begun: (0, 0), sent: 0 }
    }

    /// Whatever round is under way goes on without it.
    pub(super) fn leave(&mut self) {
        self.member.leave();
    }

    /// The server adds up what was explored in `epoch`, its latest.
    pub(super) fn begins(&mut self, round: u32, epoch: u64, epochs: &mut Epochs) {
        if round <= self.begun.0 {
            return;
        }
        self.begun = (round, epoch);
        if self.sent == epoch {
            // What was sent has come to nothing. It may have been seen all the same: it is not sent again.
            epochs.explore_again();
        }
    }

    /// Keys, once what the round is about has been explored.
    pub(super) fn keys(&mut self, epochs: &Epochs, cx: &mut Cx<'_, MabMsg>) -> Option<Up> {
        let (round, about) = self.begun;
        let due = epochs.explored() && about == epochs.epoch();
        due.then(|| cx.secret(|rng| self.member.begin(round, rng)))?
    }

    /// The round goes on.
    pub(super) fn on(
        &mut self,
        message: &Down,
        epochs: &mut Epochs,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<Option<Up>, Misbehaviour> {
        if let Some(left) = self.member.away(message) {
            return Ok(Some(left));
        }
        Ok(match message {
            // Whoever begins a round is told when there is something to add.
            Down::Begin { .. } => None,
            Down::Roster { round, members } => cx.secret(|rng| self.member.roster(*round, members, rng))?,
            Down::Shares { round, sealed } => {
                let masks = self.member.shares(*round, sealed)?;
                masks.map(|masks| self.vector(*round, masks, epochs, cx))
            }
            Down::Unmask { round, survivors } => self.member.unmask(*round, survivors)?,
        })
    }

    fn vector(&mut self, round: u32, masks: Masks, epochs: &mut Epochs, cx: &mut Cx<'_, MabMsg>) -> Up {
        self.sent = epochs.epoch();
        let (counts, sums): (Vec<u64>, Vec<f64>) = epochs.take_unsent().into_iter().unzip();
        let Some(mut values) = self.shares.encode(&sums, masks.size) else {
            self.member.leave();
            cx.count("vectors_too_large", 1.0);
            return Up::Left { round };
        };
        values.extend(counts);
        let masked = MaskedSums {
            shares: &self.shares,
            masks: Some(masks),
            sums: sums.len(),
            unit: UNIT,
            observer: OBSERVER,
        };
        let values = cx.release(&mut { masked }, values);
        Up::Masked { round, values }
    }
}
