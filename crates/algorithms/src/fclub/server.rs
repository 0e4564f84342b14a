//! The global server: the clock of the phases, the merging of local clusters, a group for each global one.

mod gone;

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::graph::Graph;
use cahoots_core::{
    Cx, Fact, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Private, Ruling, View,
};
use serde::{Deserialize, Serialize};

use super::definite;
use super::group::{Due, Group, LEGACY, Local, definite_view};
use super::message::FclubMsg;
use super::rules::{ClusteringRules, Rules, Valid};
use crate::kit::clusters::{distance, novelty};

/// Clusters that one local server can have: no more than it has users.
const MOST_CLUSTERS: u32 = 1 << 20;

/// Merges local clusters that are alike, and what they upload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GlobalServer {
    rules: Rules,
    phase: u64,
    versions: u64,
    groups: Vec<Group>,
    /// Which group each local cluster is in.
    places: BTreeMap<Local, u32>,
    joined: BTreeSet<NodeId>,
    /// What each local cluster has told so far, for those that are away when a phase begins.
    told: BTreeMap<Local, LinearStats>,
    gathering: Option<Gathering>,
    shifts: u64,
    shifted: f64,
}

/// A phase that has begun: reports are coming in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gathering {
    phase: u64,
    waiting: BTreeSet<NodeId>,
    /// Local clusters that a server has announced, and the reports it has sent.
    reports: BTreeMap<NodeId, (u32, Vec<LinearStats>)>,
}

impl GlobalServer {
    pub(super) fn new(valid: &Valid) -> Self {
        let rules = valid.rules.clone();
        let ridge = rules.base * f64::from(rules.servers);
        let nothing = View::new(0, LinearStats::empty(rules.dim));
        GlobalServer {
            groups: vec![Group::new(ridge, rules.ln_download, nothing)],
            rules,
            phase: 0,
            versions: 0,
            places: BTreeMap::new(),
            joined: BTreeSet::new(),
            told: BTreeMap::new(),
            gathering: None,
            shifts: 0,
            shifted: 0.0,
        }
    }

    /// Downloads at another ratio from now on: those who are past it are served with the next upload.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.rules.ln_upload = valid.rules.ln_upload;
        self.rules.ln_download = valid.rules.ln_download;
        self.groups.iter_mut().for_each(|group| group.change(valid.rules.ln_download));
    }

    /// Global clusters.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Phases that have been completed.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    fn note_shift(&mut self, shift: f64, cx: &mut Cx<'_, FclubMsg>) {
        if shift > 0.0 {
            self.shifts += 1;
            self.shifted += shift;
            cx.level("psd_shifts", self.shifts as f64);
            cx.level("psd_shift_total", self.shifted);
        }
    }

    /// The server's half of Algorithm 3, then Algorithm 4.
    fn upload(
        &mut self,
        local: Local,
        number: u64,
        stats: Private<LinearStats>,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Result<(), Misbehaviour> {
        let place = self.places.get(&local).copied().filter(|_| local.1 < LEGACY);
        let place = place.ok_or_else(|| Misbehaviour::Unexpected("an upload from a stranger".into()))?;
        let noisy = self.rules.is_noisy();
        self.rules.check(stats.get())?;
        let group = &mut self.groups[place as usize];
        let shift = group.upload(local, number, stats.get(), self.versions + 1, noisy)?;
        self.versions += 1;
        let dim = self.rules.dim;
        self.told.entry(local).or_insert_with(|| LinearStats::empty(dim)).merge(stats.get());
        let due = group.serve();
        let sender_served = due.iter().any(|due| due.local == local);
        self.send(due, cx);
        if !sender_served {
            cx.send(local.0, FclubMsg::Taken { phase: self.phase, cluster: local.1, number });
        }
        self.note_shift(shift, cx);
        Ok(())
    }

    fn structure(&mut self, from: NodeId, phase: u64, clusters: u32) -> Result<(), Misbehaviour> {
        let gathering = self.gathering.as_mut().filter(|gathering| gathering.phase == phase);
        let gathering =
            gathering.ok_or_else(|| Misbehaviour::Unexpected("a structure out of turn".into()))?;
        if !gathering.waiting.contains(&from) || gathering.reports.contains_key(&from) {
            return Err(Misbehaviour::Unexpected("a second structure, or one from a stranger".into()));
        }
        if !(1..=MOST_CLUSTERS).contains(&clusters) {
            let problem = format!("{clusters} local clusters, where there are 1 to {MOST_CLUSTERS}");
            return Err(Misbehaviour::Implausible(problem));
        }
        gathering.reports.insert(from, (clusters, Vec::new()));
        Ok(())
    }

    fn report(
        &mut self,
        from: NodeId,
        phase: u64,
        cluster: u32,
        stats: Private<LinearStats>,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Result<(), Misbehaviour> {
        let (base, noisy) = (self.rules.base, self.rules.is_noisy());
        let gathering = self.gathering.as_mut().filter(|gathering| gathering.phase == phase);
        let reports = gathering
            .and_then(|gathering| gathering.reports.get_mut(&from).map(|r| (&mut gathering.waiting, r)));
        let (waiting, (clusters, reports)) =
            reports.ok_or_else(|| Misbehaviour::Unexpected("a report out of turn".into()))?;
        if cluster as usize != reports.len() || cluster >= *clusters {
            return Err(Misbehaviour::Gap { expected: reports.len() as u64, got: cluster.into() });
        }
        self.rules.check(stats.get())?;
        let (view, shift) = definite_view(0, stats.into_inner(), base, noisy)?;
        reports.push(view.stats().clone());
        if reports.len() == *clusters as usize {
            waiting.remove(&from);
        }
        self.note_shift(shift, cx);
        self.complete(cx);
        Ok(())
    }

    /// Lines 7 to 19 of Algorithm 2, once all reports are there.
    fn complete(&mut self, cx: &mut Cx<'_, FclubMsg>) {
        let Some(gathering) = self.gathering.take_if(|gathering| gathering.waiting.is_empty()) else {
            return;
        };
        // Those who were away are taken as they were last known; those who came meanwhile wait.
        let away = |(node, cluster): &Local| {
            *cluster >= LEGACY || !self.joined.contains(node) && !gathering.reports.contains_key(node)
        };
        let mut known: BTreeMap<Local, LinearStats> =
            self.told.iter().filter(|(local, _)| away(local)).map(|(l, stats)| (*l, stats.clone())).collect();
        for (node, (_, reports)) in &gathering.reports {
            known.extend(reports.iter().cloned().enumerate().map(|(i, stats)| ((*node, i as u32), stats)));
        }
        let partition = match self.rules.clustering {
            Some(clustering) => self.merge(&known, clustering),
            None => vec![known.keys().copied().collect()],
        };
        let places: BTreeMap<Local, u32> = (0..)
            .zip(&partition)
            .flat_map(|(place, group)| group.iter().map(move |local| (*local, place)))
            .collect();
        self.phase = gathering.phase;
        let renewed = places != self.places;
        if renewed {
            self.renew(&known, &partition, cx);
            self.places = places;
        }
        cx.report(Fact::Clusters(partition.len() as u64));
        for (&node, (clusters, _)) in &gathering.reports {
            self.tell(node, *clusters, renewed, cx);
        }
        if renewed {
            let late: Vec<NodeId> =
                self.joined.iter().copied().filter(|node| !gathering.reports.contains_key(node)).collect();
            late.into_iter().for_each(|node| self.welcome(node, cx));
        }
    }

    /// Line 7: Eq. (4) for all pairs; what hangs together is one cluster.
    fn merge(&self, known: &BTreeMap<Local, LinearStats>, clustering: ClusteringRules) -> Vec<Vec<Local>> {
        let locals: Vec<Local> = known.keys().copied().collect();
        let estimates: Vec<Vec<f64>> =
            known.values().map(|stats| definite::model(stats, self.rules.base).0.theta()).collect();
        let counts: Vec<f64> = known.values().map(|stats| novelty(stats.count)).collect();
        let mut graph = Graph::new(locals.len());
        for i in 0..locals.len() {
            for j in (0..i).filter(|&j| clustering.merge_within || locals[i].0 != locals[j].0) {
                let limit = clustering.merge * (counts[i] + counts[j]) + clustering.tolerance;
                graph.set(i, j, distance(&estimates[i], &estimates[j]) < limit);
            }
        }
        let group = |component: Vec<u32>| component.into_iter().map(|i| locals[i as usize]).collect();
        graph.components().into_iter().map(group).collect()
    }

    /// Lines 9 to 18.
    fn renew(
        &mut self,
        known: &BTreeMap<Local, LinearStats>,
        partition: &[Vec<Local>],
        cx: &mut Cx<'_, FclubMsg>,
    ) {
        self.groups.clear();
        for members in partition {
            let mut sum = LinearStats::empty(self.rules.dim);
            members.iter().for_each(|local| sum.merge(&known[local]));
            self.versions += 1;
            let ridge = self.rules.base * members.len() as f64;
            // Each report is definite with its own share of the ridge, so the sum is up to rounding.
            let fallback = || (View::new(self.versions, LinearStats::empty(self.rules.dim)), 0.0);
            let (view, shift) = definite_view(self.versions, sum, ridge, true).unwrap_or_else(|_| fallback());
            self.note_shift(shift, cx);
            let mut group = Group::new(ridge, self.rules.ln_download, view);
            members.iter().for_each(|local| group.join(*local));
            self.groups.push(group);
        }
        self.told = known.clone();
    }

    /// Line 13: where a server's clusters belong now.
    fn tell(&self, node: NodeId, clusters: u32, renewed: bool, cx: &mut Cx<'_, FclubMsg>) {
        if !self.joined.contains(&node) {
            return;
        }
        let group = |cluster: u32| &self.groups[self.places.get(&(node, cluster)).map_or(0, |p| *p as usize)];
        let members = (0..clusters).map(|cluster| group(cluster).members().count().max(1) as u32).collect();
        let total = self.groups.len() as u32;
        cx.send(node, FclubMsg::Merged { phase: self.phase, clusters: total, members, renewed });
        if renewed {
            for cluster in 0..clusters {
                let view = group(cluster).view().clone();
                cx.send(node, FclubMsg::Download { phase: self.phase, cluster, view, merged: 0 });
            }
        }
    }

    /// Views for those who are here.
    fn send(&self, due: Vec<Due>, cx: &mut Cx<'_, FclubMsg>) {
        for Due { local: (node, cluster), view, merged } in due {
            if self.joined.contains(&node) && cluster < LEGACY {
                cx.send(node, FclubMsg::Download { phase: self.phase, cluster, view, merged });
            }
        }
    }

    /// Someone new: part of the first cluster before the first phase, on its own after it.
    fn welcome(&mut self, node: NodeId, cx: &mut Cx<'_, FclubMsg>) {
        let local = (node, 0);
        if self.phase == 0 {
            self.places.insert(local, 0);
            self.groups[0].join_with_nothing(local, self.rules.dim);
            return;
        }
        self.versions += 1;
        let view = View::new(self.versions, LinearStats::empty(self.rules.dim));
        let mut group = Group::new(self.rules.base, self.rules.ln_download, view);
        group.join(local);
        self.places.insert(local, self.groups.len() as u32);
        self.groups.push(group);
        self.told.insert(local, LinearStats::empty(self.rules.dim));
        self.tell(node, 1, true, cx);
    }
}

impl Machine for GlobalServer {
    type Msg = FclubMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, FclubMsg>) {
        // Phase s begins at t = 2^s - 1, before its arrivals; in the first there is nothing to tell apart.
        if self.rules.clustering.is_some() && self.rules.horizon > 2 {
            cx.wake_at(2);
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, FclubMsg>) {
        let next = 2 * cx.now() + 2;
        if next < self.rules.horizon {
            cx.wake_at(next);
        }
        // A phase whose reports are still on their way is not overtaken.
        if self.gathering.is_some() || self.joined.is_empty() {
            return;
        }
        let phase = self.phase + 1;
        self.joined.iter().for_each(|&node| cx.send(node, FclubMsg::Begin { phase }));
        self.gathering = Some(Gathering { phase, waiting: self.joined.clone(), reports: BTreeMap::new() });
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: FclubMsg,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            FclubMsg::Upload { phase, cluster, number, stats } => match phase.cmp(&self.phase) {
                std::cmp::Ordering::Equal => self.upload((from, cluster), number, stats, cx),
                // Part of what its sender has reported, or will report.
                std::cmp::Ordering::Less => Ok(()),
                std::cmp::Ordering::Greater => Err(Misbehaviour::Gap { expected: self.phase, got: phase }),
            },
            FclubMsg::Structure { phase, clusters } => self.structure(from, phase, clusters),
            FclubMsg::Report { phase, cluster, stats } => self.report(from, phase, cluster, stats, cx),
            other => Err(other.unexpected()),
        }
    }

    fn forgets(&self) -> Result<(), String> {
        Ok(())
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, FclubMsg>) {
        match ruling {
            Ruling::Quarantined(node) => self.on_membership(Membership::Left(node), cx),
            Ruling::Forgotten(node) => self.forget(node, cx),
            Ruling::Restored(_) => {}
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(self.groups.iter().map(|group| group.view().stats().count).sum())
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        if self.rules.clustering.is_none() {
            return Vec::new();
        }
        self.groups.iter().map(Group::clients).collect()
    }

    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize) {
        let model = |group: &Group| {
            let mut learnt = Learnt::of_view(group.view(), group.ridge());
            if self.rules.is_noisy() {
                // The width of an estimate from perturbed sums is another.
                learnt.weights.iter_mut().for_each(|weight| weight.width = None);
            }
            learnt.of(group.clients())
        };
        (self.groups.iter().take(most).map(model).collect(), self.groups.len())
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, FclubMsg>) {
        match change {
            Membership::Joined(node) => {
                if self.joined.insert(node) {
                    self.bequeath(node);
                    self.welcome(node, cx);
                }
            }
            Membership::Left(node) => {
                self.joined.remove(&node);
                if let Some(gathering) = &mut self.gathering {
                    gathering.waiting.remove(&node);
                    let half = gathering.reports.get(&node).is_some_and(|(n, r)| r.len() < *n as usize);
                    if half {
                        gathering.reports.remove(&node);
                    }
                }
                self.complete(cx);
            }
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.gathering.iter().flat_map(|gathering| gathering.waiting.iter().copied()).collect()
    }
}
