//! One group in a round, as the coordinator sees it.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::{Misbehaviour, NodeId};
use serde::{Deserialize, Serialize};

use super::collector::{GroupSum, Step};
use super::keys::{Piece, Purpose, Secret};
use super::member::adds;
use super::message::{Advert, Down, Up};
use super::terms::Terms;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Group {
    roster: Vec<(NodeId, Advert)>,
    /// Members that have said so.
    left: BTreeSet<NodeId>,
    stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// What each has sealed, in the order of the roster.
    Dealing(BTreeMap<NodeId, Vec<Vec<u8>>>),
    Summing {
        sharers: Vec<NodeId>,
        sum: Vec<u64>,
        came: BTreeSet<NodeId>,
    },
    Unmasking {
        sharers: Vec<NodeId>,
        sum: Vec<u64>,
        survivors: Vec<NodeId>,
        answers: BTreeMap<NodeId, Vec<Option<Piece>>>,
    },
    Over,
}

impl Group {
    pub(super) fn new(mut roster: Vec<(NodeId, Advert)>) -> Group {
        roster.sort_by_key(|(node, _)| *node);
        Group { roster, left: BTreeSet::new(), stage: Stage::Dealing(BTreeMap::new()) }
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.place(node).is_some()
    }

    fn place(&self, node: NodeId) -> Option<usize> {
        self.roster.binary_search_by_key(&node, |(node, _)| *node).ok()
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    pub(super) fn invitations(&self, round: u32) -> impl Iterator<Item = Step> {
        let members = &self.roster;
        members
            .iter()
            .map(move |(node, _)| Step::Send(*node, Down::Roster { round, members: members.clone() }))
    }

    pub(super) fn take(&mut self, from: NodeId, message: Up, length: usize) -> Result<(), Misbehaviour> {
        let (size, place) = (self.roster.len(), self.place(from));
        let wrong = |what: &str| Err(Misbehaviour::Unexpected(what.into()));
        match (&mut self.stage, message) {
            (_, Up::Left { .. }) => _ = self.left.insert(from),
            (Stage::Dealing(dealt), Up::Shares { sealed, .. }) => {
                if sealed.len() != size {
                    return wrong("shares for another group");
                }
                dealt.entry(from).or_insert(sealed);
            }
            (Stage::Summing { sharers, sum, came }, Up::Masked { values, .. }) => {
                if values.get().len() != length {
                    return Err(Misbehaviour::Dimension { expected: length, got: values.get().len() });
                }
                if sharers.binary_search(&from).is_ok() && came.insert(from) {
                    sum.resize(length, 0);
                    sum.iter_mut().zip(values.get()).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
                }
            }
            (Stage::Unmasking { sharers, survivors, answers, .. }, Up::Unmasking { pieces, .. }) => {
                if pieces.len() != sharers.len() {
                    return wrong("shares of another group");
                }
                if survivors.binary_search(&from).is_ok() {
                    // Whoever sends what is no share of its own has sent nothing.
                    let place = place.expect("survivors are in the group");
                    let own = |piece: Option<Piece>| {
                        piece.filter(|piece| Piece::read(piece.bytes(), place).is_some())
                    };
                    answers.entry(from).or_insert_with(|| pieces.into_iter().map(own).collect());
                }
            }
            // Too late, or again.
            _ => {}
        }
        Ok(())
    }

    pub(super) fn waiting_for(&self, terms: &Terms, present: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let size = self.roster.len() as u32;
        let there = |node: &NodeId| present.contains(node) && !self.left.contains(node);
        match &self.stage {
            Stage::Dealing(dealt) => {
                let members = self.roster.iter().map(|(node, _)| *node);
                members.filter(|node| there(node) && !dealt.contains_key(node)).collect()
            }
            Stage::Summing { sharers, came, .. } => {
                sharers.iter().filter(|node| there(node) && !came.contains(node)).copied().collect()
            }
            Stage::Unmasking { sharers, survivors, answers, .. } => {
                let pieces = |index: usize| answers.values().filter(|pieces| pieces[index].is_some()).count();
                let threshold = terms.threshold(size) as usize;
                if (0..sharers.len()).all(|index| pieces(index) >= threshold) {
                    return Vec::new();
                }
                survivors.iter().filter(|node| there(node) && !answers.contains_key(node)).copied().collect()
            }
            Stage::Over => Vec::new(),
        }
    }

    pub(super) fn advance(
        &mut self,
        terms: &Terms,
        round: u32,
        present: &BTreeSet<NodeId>,
        over: u32,
        steps: &mut Vec<Step>,
    ) {
        loop {
            let wait = match &self.stage {
                Stage::Dealing(_) => 2,
                Stage::Summing { .. } => 3,
                Stage::Unmasking { .. } => 4,
                Stage::Over => return,
            };
            if over < wait && !self.waiting_for(terms, present).is_empty() {
                return;
            }
            if let Err(reason) = self.step(terms, round, steps) {
                steps.push(Step::Failed(reason));
                self.stage = Stage::Over;
            }
        }
    }

    /// From one stage to the next, with what has come.
    fn step(&mut self, terms: &Terms, round: u32, steps: &mut Vec<Step>) -> Result<(), String> {
        let size = self.roster.len() as u32;
        let least = (size - terms.missing(size)) as usize;
        let enough = |what: &str, came: usize| {
            (came >= least)
                .then_some(())
                .ok_or(format!("{what} of {came} of {size}, where {least} is the least"))
        };
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Dealing(mut dealt) => {
                enough("shares", dealt.len())?;
                let sharers: Vec<NodeId> = dealt.keys().copied().collect();
                for (place, (node, _)) in self.roster.iter().enumerate() {
                    if !dealt.contains_key(node) {
                        continue;
                    }
                    let sealed =
                        dealt.iter_mut().map(|(from, sealed)| (*from, std::mem::take(&mut sealed[place])));
                    steps.push(Step::Send(*node, Down::Shares { round, sealed: sealed.collect() }));
                }
                self.stage = Stage::Summing { sharers, sum: Vec::new(), came: BTreeSet::new() };
            }
            Stage::Summing { sharers, sum, came } => {
                enough("values", came.len())?;
                let survivors: Vec<NodeId> = came.into_iter().collect();
                for node in &survivors {
                    steps.push(Step::Send(*node, Down::Unmask { round, survivors: survivors.clone() }));
                }
                self.stage = Stage::Unmasking { sharers, sum, survivors, answers: BTreeMap::new() };
            }
            Stage::Unmasking { sharers, mut sum, survivors, answers } => {
                for (index, of) in sharers.iter().enumerate() {
                    let pieces: Vec<&Piece> =
                        answers.values().filter_map(|pieces| pieces[index].as_ref()).collect();
                    let secret = Secret::recover(&pieces, terms.threshold(size))
                        .ok_or_else(|| format!("{} shares of what {of} had masked with", pieces.len()))?;
                    if survivors.binary_search(of).is_ok() {
                        secret.mask(&mut sum, false);
                    } else {
                        self.unmask_pairs(*of, &secret, &survivors, round, &mut sum)?;
                    }
                }
                let values = sum.into_iter().map(|value| value as i64).collect();
                steps.push(Step::Sum(GroupSum { values, members: survivors, size }));
            }
            Stage::Over => {}
        }
        Ok(())
    }

    /// Takes off what those in the sum have in common with one who is not.
    fn unmask_pairs(
        &self,
        missing: NodeId,
        masking: &Secret,
        survivors: &[NodeId],
        round: u32,
        sum: &mut [u64],
    ) -> Result<(), String> {
        let advert = |node: NodeId| self.roster[self.place(node).expect("it is in the group")].1;
        if masking.public() != advert(missing).masking {
            return Err(format!("shares that do not make up the key of {missing}"));
        }
        for &node in survivors {
            let purpose = Purpose::Masking(missing, node);
            let seed = masking.agree(&advert(node).masking, round, purpose);
            seed.ok_or_else(|| format!("a key of {node} that is none"))?.mask(sum, !adds(node, missing));
        }
        Ok(())
    }
}
