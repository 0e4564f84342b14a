//! The coordinator's side of a round: it passes on what members seal for each other, adds up what they mask, and takes
//! the masks off the sum.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::{Keys, Misbehaviour, NodeId, Stream};
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::keys::is_key;
use super::message::{Advert, Down, Up};
use super::terms::Terms;

/// Rounds, one after the other; in each, one group or several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Collector {
    terms: Terms,
    /// Numbers in a vector.
    length: usize,
    round: u32,
    /// What groups are drawn from.
    order: u64,
    stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    Idle,
    Gathering(BTreeMap<NodeId, Advert>),
    Groups(Vec<Group>),
}

/// What comes of a round.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// To be sent.
    Send(NodeId, Down),
    /// The sum over a group.
    Sum(GroupSum),
    /// A group came to nothing.
    Failed(String),
}

/// The sum over a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSum {
    /// Modulo 2^64, as signed numbers.
    pub values: Vec<i64>,
    /// Whose values are in it.
    pub members: Vec<NodeId>,
    /// Those who were there when the group was made.
    pub size: u32,
}

impl Collector {
    /// Steps of a round that wait for members: keys, shares, values, and shares again.
    pub const WAITS: u32 = 4;

    /// For vectors of so many numbers.
    pub fn new(terms: Terms, length: usize) -> Collector {
        Collector { terms, length, round: 0, order: 0, stage: Stage::Idle }
    }

    /// The present round, or the last.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Whether a round is under way.
    pub fn is_busy(&self) -> bool {
        !matches!(self.stage, Stage::Idle)
    }

    /// A later round begins, for all who are present; whatever was under way is over. Where there are too many for one
    /// group, chance decides who is in which.
    pub fn begin(&mut self, round: u32, present: &BTreeSet<NodeId>, rng: &mut Stream) -> Vec<Step> {
        self.order = rng.bits();
        (self.round, self.stage) = (round, Stage::Gathering(BTreeMap::new()));
        present.iter().map(|node| Step::Send(*node, Down::Begin { round })).collect()
    }

    /// A member's message. What comes too late, or again, is passed over: its sender could not know.
    pub fn take(&mut self, from: NodeId, message: Up) -> Result<(), Misbehaviour> {
        let round = message.round();
        if round > self.round {
            return Err(Misbehaviour::Unexpected(format!(
                "a message about round {round}, which has not begun"
            )));
        }
        if round < self.round {
            return Ok(());
        }
        match (&mut self.stage, message) {
            (Stage::Gathering(keys), Up::Keys { advert, .. }) => {
                if !is_key(&advert.sealing) || !is_key(&advert.masking) {
                    return Err(Misbehaviour::Unexpected("keys that are none".into()));
                }
                keys.entry(from).or_insert(advert);
                Ok(())
            }
            (Stage::Groups(groups), message) => {
                let group = groups.iter_mut().find(|group| group.has(from));
                group.map_or(Ok(()), |group| group.take(from, message, self.length))
            }
            _ => Ok(()),
        }
    }

    /// Those whose messages are waited for.
    pub fn waiting_for(&self, present: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        match &self.stage {
            Stage::Idle => BTreeSet::new(),
            Stage::Gathering(keys) => {
                present.iter().filter(|node| !keys.contains_key(node)).copied().collect()
            }
            Stage::Groups(groups) => {
                groups.iter().flat_map(|group| group.waiting_for(&self.terms, present)).collect()
            }
        }
    }

    /// Goes on as far as nobody is waited for among those who are present. Of the four waits, the first `over` are over:
    /// there, it goes on with what has come.
    pub fn advance(&mut self, present: &BTreeSet<NodeId>, over: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Stage::Gathering(keys) = &self.stage {
            if over < 1 && present.iter().any(|node| !keys.contains_key(node)) {
                return steps;
            }
            let sizes = self.terms.split(keys.len() as u32);
            if sizes.is_empty() {
                let reason = format!("{} clients, where {} is the least", keys.len(), self.terms.least);
                steps.push(Step::Failed(reason));
                self.stage = Stage::Idle;
                return steps;
            }
            let mut members: Vec<(NodeId, Advert)> =
                keys.iter().map(|(node, advert)| (*node, *advert)).collect();
            if sizes.len() > 1 {
                let order = Keys::from_seed(self.order);
                members.sort_by_cached_key(|(node, _)| order.policy(*node, 0).bits());
            }
            let mut members = members.into_iter();
            let groups: Vec<Group> = sizes
                .iter()
                .map(|size| Group::new(members.by_ref().take(*size as usize).collect()))
                .collect();
            for group in &groups {
                steps.extend(group.invitations(self.round));
            }
            self.stage = Stage::Groups(groups);
        }
        if let Stage::Groups(groups) = &mut self.stage {
            for group in &mut *groups {
                group.advance(&self.terms, self.round, present, over, &mut steps);
            }
            groups.retain(|group| !group.is_over());
            if groups.is_empty() {
                self.stage = Stage::Idle;
            }
        }
        steps
    }
}
