//! One growing sum of a client: what was observed, what was released of it.

use std::collections::VecDeque;

use cahoots_core::{Cx, LinearStats, NodeId, Private};
use cahoots_privacy::correlated::RandomisedRelease;
use cahoots_privacy::{Batched, Correlated, Randomised};
use serde::{Deserialize, Serialize};

use super::group::Grouped;
use super::message::{Part, PrivateMsg};
use super::rules::{Noising, Rules};

/// A sum, of one user or of all of a client's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sum {
    noised: Noised,
    /// Observations since the last release.
    unsent: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Noised {
    /// Exact until it is released.
    Sums {
        exact: LinearStats,
        /// Since the last release.
        open: LinearStats,
        correlated: Correlated,
    },
    /// Never exact.
    Observations { randomised: Randomised, total: Option<Private<LinearStats>>, sent: Vec<LinearStats> },
    /// Released as a part of a sum over a group.
    Group(Box<Grouped>),
    /// Exact until it is known to be part of what all have released.
    Batches {
        /// Since the last release.
        open: LinearStats,
        /// Released, and not in any sum that came back yet: which release, and what was new in it.
        unmerged: VecDeque<(u32, LinearStats)>,
        batched: Batched,
    },
}

impl Sum {
    pub(super) fn new(rules: &Rules, me: NodeId) -> Sum {
        let noised = match rules.noise {
            Noising::Sums(schedule) => Noised::Sums {
                exact: LinearStats::empty(rules.dim),
                open: LinearStats::empty(rules.dim),
                correlated: Correlated::new(schedule),
            },
            Noising::Observations(randomised) => {
                Noised::Observations { randomised, total: None, sent: Vec::new() }
            }
            Noising::Group(noise) => Noised::Group(Box::new(Grouped::new(me, &noise, rules.dim))),
            Noising::Batches(batches) => Noised::Batches {
                open: LinearStats::empty(rules.dim),
                unmerged: VecDeque::new(),
                batched: Batched::new(batches, rules.dim),
            },
        };
        Sum { noised, unsent: 0 }
    }

    /// An observation that is to be released, within the bounds that the noise is made for.
    pub(super) fn observe(&mut self, x: &[f64], reward: f64, rules: &Rules, cx: &mut Cx<'_, PrivateMsg>) {
        self.unsent += 1;
        match &mut self.noised {
            Noised::Sums { exact, open, .. } => {
                exact.observe(x, reward);
                open.observe(x, reward);
            }
            Noised::Group(grouped) => grouped.observe(x, reward),
            Noised::Observations { randomised, total, .. } => {
                let mut one = LinearStats::empty(rules.dim);
                one.observe(x, reward);
                let (unit, observer) = (rules.unit_in_words(), rules.observer());
                let mut mechanism = RandomisedRelease { randomised, unit, observer, dim: rules.dim };
                let one = cx.release(&mut mechanism, one);
                *total = Some(match total.take() {
                    Some(total) => Private::process(total, vec![one], (), add_up),
                    None => one,
                });
            }
            Noised::Batches { open, .. } => open.observe(x, reward),
        }
    }

    /// Releases so far.
    pub(super) fn releases(&self) -> u32 {
        match &self.noised {
            Noised::Sums { correlated, .. } => correlated.releases(),
            Noised::Observations { sent, .. } => sent.len() as u32,
            Noised::Group(_) => 0,
            Noised::Batches { batched, .. } => batched.releases(),
        }
    }

    pub(super) fn unsent(&self) -> u64 {
        match &self.noised {
            Noised::Group(grouped) => grouped.unsent(),
            _ => self.unsent,
        }
    }

    /// Its part of sums over a group, where it is released in no other way.
    pub(super) fn grouped(&mut self) -> Option<&mut Grouped> {
        match &mut self.noised {
            Noised::Group(grouped) => Some(grouped),
            _ => None,
        }
    }

    /// The next release, if one is left and there is something to release.
    pub(super) fn release(
        &mut self,
        stream: u32,
        rules: &Rules,
        cx: &mut Cx<'_, PrivateMsg>,
    ) -> Option<Part> {
        if self.releases() >= rules.releases() {
            return None;
        }
        let (unit, observer) = (rules.unit_in_words(), rules.observer());
        let stats = match &mut self.noised {
            Noised::Sums { open, correlated, .. } => {
                if open.is_empty() && correlated.releases() == 0 {
                    return None;
                }
                let empty = open.emptied();
                let leaf = std::mem::replace(open, empty);
                cx.release(&mut correlated.mechanism(unit, observer), leaf)
            }
            Noised::Observations { total, sent, .. } => {
                let total = total.clone()?;
                sent.push(total.get().clone());
                total
            }
            Noised::Group(_) => return None,
            Noised::Batches { open, unmerged, batched } => {
                if open.is_empty() && batched.releases() == 0 {
                    return None;
                }
                let empty = open.emptied();
                let leaf = std::mem::replace(open, empty);
                unmerged.push_back((batched.releases() + 1, leaf.clone()));
                cx.release(&mut batched.mechanism(unit, observer), leaf)
            }
        };
        self.unsent = 0;
        Some(Part { stream, number: self.releases(), stats })
    }

    /// The sum as it was released for the `number`-th time, and the variance of its noise.
    pub(super) fn released(&self, number: u32, rules: &Rules) -> Option<(LinearStats, f64)> {
        let sum = match &self.noised {
            Noised::Sums { correlated, .. } => correlated.sum(number)?,
            Noised::Observations { sent, .. } => sent.get((number as usize).checked_sub(1)?)?.clone(),
            Noised::Group(grouped) => return Some(grouped.part(number)),
            Noised::Batches { .. } => return None,
        };
        let variance = rules.variance(number, sum.count);
        Some((sum, variance))
    }

    /// All that was observed after the `number`-th release, where that is known.
    pub(super) fn since(&self, number: u32) -> Option<LinearStats> {
        let Noised::Batches { open, unmerged, batched } = &self.noised else { return None };
        if !(1..=batched.releases()).contains(&number) {
            return None;
        }
        let mut since = open.clone();
        unmerged.iter().filter(|(at, _)| *at > number).for_each(|(_, leaf)| since.merge(leaf));
        Some(since)
    }

    /// Its first `number` releases are part of what is known of all.
    pub(super) fn merged_up_to(&mut self, number: u32) {
        if let Noised::Batches { unmerged, .. } = &mut self.noised {
            unmerged.retain(|(at, _)| *at > number);
        }
    }

    /// All that was observed, where it is known.
    pub(super) fn exact(&self) -> Option<&LinearStats> {
        match &self.noised {
            Noised::Sums { exact, .. } => Some(exact),
            Noised::Group(grouped) => Some(grouped.exact()),
            Noised::Observations { .. } | Noised::Batches { .. } => None,
        }
    }
}

fn add_up(parts: Vec<LinearStats>, (): ()) -> LinearStats {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().expect("one at least");
    parts.for_each(|part| sum.merge(&part));
    sum
}
