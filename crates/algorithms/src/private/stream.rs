//! One growing sum of a client: what was observed, what was released of it.

use cahoots_core::{Cx, LinearStats, NodeId, Private};
use cahoots_privacy::correlated::RandomisedRelease;
use cahoots_privacy::{Correlated, Randomised};
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
        }
    }

    /// Releases so far.
    pub(super) fn releases(&self) -> u32 {
        match &self.noised {
            Noised::Sums { correlated, .. } => correlated.releases(),
            Noised::Observations { sent, .. } => sent.len() as u32,
            Noised::Group(_) => 0,
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
        let stats = match &mut self.noised {
            Noised::Sums { open, correlated, .. } => {
                if open.is_empty() && correlated.releases() == 0 {
                    return None;
                }
                let empty = open.emptied();
                let leaf = std::mem::replace(open, empty);
                cx.release(&mut correlated.mechanism(rules.unit_in_words(), rules.observer()), leaf)
            }
            Noised::Observations { total, sent, .. } => {
                let total = total.clone()?;
                sent.push(total.get().clone());
                total
            }
            Noised::Group(_) => return None,
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
        };
        let variance = rules.variance(number, sum.count);
        Some((sum, variance))
    }

    /// All that was observed, where it is known.
    pub(super) fn exact(&self) -> Option<&LinearStats> {
        match &self.noised {
            Noised::Sums { exact, .. } => Some(exact),
            Noised::Group(grouped) => Some(grouped.exact()),
            Noised::Observations { .. } => None,
        }
    }
}

fn add_up(parts: Vec<LinearStats>, (): ()) -> LinearStats {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().expect("one at least");
    parts.for_each(|part| sum.merge(&part));
    sum
}
