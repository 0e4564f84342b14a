//! The sum that is believed.

use std::collections::BTreeMap;

use cahoots_core::linalg::{Eigen, Symmetric};
use cahoots_core::{Factor, LinearStats, NodeId};
use serde::{Deserialize, Serialize};

use super::Robust;
use super::caps::{Caps, add_scaled};
use super::fit::{Counted, Fit};
use super::votes::Vote;
use crate::kit::linear::Apart;

/// Whoever knows so many times what votes are held against has all of a vote.
const SATURATED: f64 = 1e8;

/// What is believed of whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RobustSum {
    rule: Robust,
    reference: Option<Reference>,
    /// Of all who have contributed anything.
    believed: BTreeMap<NodeId, Believed>,
    /// Contributions since all were looked at. Once there are as many as clients, all are looked at anew; until then those
    /// who contribute are held against what was found.
    since: usize,
}

/// What clients are held against, until all are looked at anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reference {
    caps: Caps,
    fit: Fit,
    /// The estimate itself.
    theta: Vec<f64>,
}

/// What is believed of one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Believed {
    weight: f64,
    /// What does not exceed the caps of it, where it is not all.
    capped: Option<LinearStats>,
}

impl RobustSum {
    /// Nobody has said anything.
    pub fn new(rule: Robust) -> RobustSum {
        RobustSum { rule, reference: None, believed: BTreeMap::new(), since: 0 }
    }

    /// Clients of whom nothing is believed.
    pub fn left_out(&self) -> usize {
        self.believed.values().filter(|believed| believed.weight == 0.0).count()
    }

    /// The sum of what is believed, on top of `base`, once these clients have contributed more.
    pub fn merge(&mut self, apart: &Apart, changed: &[NodeId], base: &LinearStats) -> LinearStats {
        self.since += changed.len();
        if self.reference.is_none() || self.since >= self.believed.len() {
            return self.renew(apart, base);
        }
        for (client, stats) in apart.clients().filter(|(client, _)| changed.contains(client)) {
            let judged = self.reference.as_ref().map(|reference| reference.judge(stats, self.rule));
            self.believed.insert(client, judged.unwrap_or(Believed::NOTHING));
        }
        self.sum(apart, base)
    }

    /// The same, with all clients looked at anew.
    pub fn renew(&mut self, apart: &Apart, base: &LinearStats) -> LinearStats {
        self.since = 0;
        let all: Vec<(NodeId, &LinearStats)> = judged(apart).collect();
        let stats: Vec<&LinearStats> = all.iter().map(|(_, stats)| *stats).collect();
        self.believed.clear();
        self.reference = None;
        if let Some((reference, votes)) = Reference::of(&stats, self.rule) {
            for ((client, stats), vote) in all.iter().zip(&votes) {
                let weight = vote.as_ref().map_or(0.0, |vote| reference.fit.weight(vote, self.rule));
                self.believed.insert(*client, reference.believe(stats, weight));
            }
            self.reference = Some(reference);
        } else {
            self.believed.extend(all.iter().map(|(client, _)| (*client, Believed::NOTHING)));
        }
        self.sum(apart, base)
    }

    fn sum(&self, apart: &Apart, base: &LinearStats) -> LinearStats {
        let mut sum = base.clone();
        if let Some((_, prior)) = apart.clients().find(|(client, _)| *client == NodeId::SERVER) {
            sum.merge(prior);
        }
        let (mut clients, mut count) = (base.emptied(), 0.0);
        for (client, stats) in judged(apart) {
            let Some(Believed { weight, capped }) = self.believed.get(&client) else { continue };
            let stats = capped.as_ref().unwrap_or(stats);
            if *weight == 1.0 {
                clients.merge(stats);
            } else if *weight > 0.0 {
                add_scaled(&mut clients.gram, &stats.gram, *weight);
                let add = |to: &mut [f64], from: &[f64]| {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
                };
                add(&mut clients.moment, &stats.moment);
                add(&mut clients.contexts, &stats.contexts);
                count += weight * stats.count as f64;
            }
        }
        clients.count = clients.count.saturating_add(count as u64);
        if let (Robust::GeometricMedian, Some(reference)) = (self.rule, &self.reference) {
            // A weighted sum would have another estimate: the pulls in it are bounded, and do not vanish.
            clients.moment = times(&clients.gram, &reference.theta).into();
        }
        sum.merge(&clients);
        sum
    }
}

/// Who is judged: whoever has observed anything. What a federation began from is no client's.
fn judged(apart: &Apart) -> impl Iterator<Item = (NodeId, &LinearStats)> {
    apart.clients().filter(|(client, stats)| *client != NodeId::SERVER && stats.count > 0)
}

impl Believed {
    const NOTHING: Believed = Believed { weight: 0.0, capped: None };
}

impl Reference {
    /// From all contributions, with their votes; who has none is not believed.
    fn of(all: &[&LinearStats], rule: Robust) -> Option<(Reference, Vec<Option<Counted>>)> {
        let caps = Caps::of(all, rule.share())?;
        let votes: Vec<Option<Counted>> = all.iter().map(|stats| vote(&caps, stats)).collect();
        let (places, cast): (Vec<usize>, Vec<Counted>) =
            votes.into_iter().enumerate().filter_map(|(at, vote)| Some((at, vote?))).unzip();
        let fit = Fit::of(&cast, rule)?;
        let mut votes: Vec<Option<Counted>> = all.iter().map(|_| None).collect();
        for (at, vote) in places.into_iter().zip(cast) {
            votes[at] = Some(vote);
        }
        let theta = caps.parameter(&fit.phi);
        Some((Reference { caps, fit, theta }, votes))
    }

    fn judge(&self, stats: &LinearStats, rule: Robust) -> Believed {
        if stats.count == 0 {
            return Believed::NOTHING;
        }
        let weight = vote(&self.caps, stats).map_or(0.0, |vote| self.fit.weight(&vote, rule));
        self.believe(stats, weight)
    }

    /// No more of it than the caps allow.
    fn believe(&self, stats: &LinearStats, weight: f64) -> Believed {
        if weight == 0.0 {
            return Believed::NOTHING;
        }
        let gram = self.caps.gram(&stats.gram);
        let dim = gram.dim();
        let mut room = Symmetric::zero(dim);
        add_scaled(&mut room, &gram, -1.0);
        room.add_diagonal(1.0);
        if Factor::of(room.packed(), &vec![0.0; dim], 0.0).is_ok() {
            return Believed { weight, capped: None };
        }
        let eigen = Eigen::of(&gram);
        let known: f64 = eigen.values.iter().map(|value| value.max(0.0)).sum();
        let part = eigen.values.iter().map(|value| value.clamp(0.0, 1.0)).sum::<f64>() / known;
        if !part.is_finite() {
            return Believed::NOTHING;
        }
        let mut capped = stats.emptied();
        for (index, value) in eigen.values.iter().enumerate() {
            let direction = self.caps.undo(eigen.vector(index));
            let root = value.clamp(0.0, 1.0).sqrt();
            let scaled: Vec<f64> = direction.iter().map(|x| x * root).collect();
            capped.gram.add_outer(&scaled);
        }
        let shrink = |value: f64| if value > 1.0 { 1.0 / value } else { 1.0 };
        let moment = eigen.apply(shrink, &self.caps.vector(&stats.moment));
        capped.moment = self.caps.undo(&moment).into();
        capped.contexts = stats.contexts.iter().map(|x| x * part).collect();
        capped.count = (stats.count as f64 * part) as u64;
        Believed { weight, capped: Some(capped) }
    }
}

fn vote(caps: &Caps, stats: &LinearStats) -> Option<Counted> {
    let (mut gram, mut moment) = (caps.gram(&stats.gram), caps.vector(&stats.moment));
    let most = (0..gram.dim()).map(|i| gram.get(i, i) / caps.scale[i]).fold(0.0, f64::max);
    if most > SATURATED {
        // The same estimate. Of more than this a vote would be rounding, which a liar could choose.
        let part = SATURATED / most;
        gram.packed_mut().iter_mut().chain(&mut moment).for_each(|value| *value *= part);
    }
    let finite = gram.packed().iter().chain(&moment).all(|value| value.is_finite());
    finite.then(|| Vote::of(&gram, &moment, &caps.scale)).flatten().map(|vote| (vote, stats.count))
}

fn times(gram: &Symmetric, x: &[f64]) -> Vec<f64> {
    let dim = gram.dim();
    (0..dim).map(|i| (0..dim).map(|j| gram.get(i, j) * x[j]).sum()).collect()
}
