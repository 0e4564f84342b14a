//! A local server: many users, the graph of who may be alike, a cluster for each of its components.

use std::collections::BTreeMap;

use cahoots_core::message::Receipt;
use cahoots_core::{
    ArmSet, Choice, Cx, Fact, Factor, Learner, LinearStats, Machine, Misbehaviour, NodeId, Seat, Stream,
    UserId, View,
};
use cahoots_privacy::{Clip, ReleaseKind};
use serde::{Deserialize, Serialize};

use super::cluster::LocalCluster;
use super::message::FclubMsg;
use super::radius::GlobalCluster;
use super::rules::{ClusteringRules, Rules, Valid};
use crate::kit::clusters::{Alike, ChosenFor, distance, reach};

/// Decides for its users, with what their cluster shares with others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LocalServer {
    server: NodeId,
    rules: Rules,
    users: Vec<User>,
    alike: Alike,
    clusters: Vec<LocalCluster>,
    phase: u64,
    /// A cluster fell apart when this phase began.
    split: bool,
    clip: Clip,
    /// Nodes per observation that the accountant has on record.
    paid: u32,
}

/// A user's own data: V, b and T.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    id: UserId,
    own: LinearStats,
    cluster: u32,
}

impl LocalServer {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let rules = valid.rules.clone();
        let own = LinearStats::empty(rules.dim);
        let ids = valid.users.get(seat.me.index()).cloned().unwrap_or_default();
        let users: Vec<User> = ids.into_iter().map(|id| User { id, own: own.clone(), cluster: 0 }).collect();
        let everyone = (0..users.len() as u32).collect();
        let clusters = vec![LocalCluster::new(everyone, &rules, View::new(0, own))];
        let server = seat.server;
        LocalServer {
            server,
            rules,
            alike: Alike::everyone(users.len()),
            users,
            clusters,
            phase: 0,
            split: false,
            clip: Clip::default(),
            paid: 0,
        }
    }

    /// Uploads at another ratio from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.rules.ln_upload = valid.rules.ln_upload;
        self.rules.ln_download = valid.rules.ln_download;
    }

    /// Its clusters of users.
    pub fn clusters(&self) -> impl Iterator<Item = Vec<UserId>> {
        self.clusters
            .iter()
            .map(|cluster| cluster.users().iter().map(|&i| self.users[i as usize].id).collect())
    }

    /// What a cluster shares.
    pub fn cluster(&self, index: usize) -> Option<&LocalCluster> {
        self.clusters.get(index)
    }

    fn position(&self, user: UserId) -> Option<usize> {
        self.users.iter().position(|known| known.id == user)
    }

    fn cluster_of(&self, user: UserId) -> usize {
        self.position(user).map_or(0, |position| self.users[position].cluster as usize)
    }

    /// A user that nobody announced: like everyone until seen otherwise.
    fn admit(&mut self, user: UserId) {
        if self.position(user).is_none() {
            let position = self.users.len();
            self.users.push(User { id: user, own: LinearStats::empty(self.rules.dim), cluster: 0 });
            self.alike.admit();
            self.clusters[0].admit(position as u32);
        }
    }

    /// Line 3 of Algorithm 2.
    fn delete_edges(&mut self, clustering: ClusteringRules) {
        let estimates: Vec<Vec<f64>> = self
            .users
            .iter()
            .map(|user| {
                let (gram, moment) = (user.own.gram.packed(), &user.own.moment);
                let estimate = Factor::of(gram, moment, self.rules.ridge).map(|factor| factor.theta());
                estimate.unwrap_or_else(|_| vec![0.0; self.rules.dim])
            })
            .collect();
        for i in 0..self.users.len() {
            for j in (0..i).filter(|&j| self.alike.are(i, j)).collect::<Vec<_>>() {
                let limit = reach(clustering.deletion, self.users[i].own.count, self.users[j].own.count);
                // Eq. (3)
                if distance(&estimates[i], &estimates[j]) > limit + clustering.tolerance {
                    self.alike.part(i, j);
                }
            }
        }
    }

    /// Clusters are the components of the graph; those that are as they were keep what they have, and so do those whose
    /// history may not be released again.
    fn regroup(&mut self, cx: &mut Cx<'_, FclubMsg>) {
        let mut clusters: Vec<LocalCluster> = Vec::new();
        let mut kept = vec![false; self.clusters.len()];
        self.split = false;
        for users in self.components() {
            let place = self.users[users[0] as usize].cluster as usize;
            let whole = &self.clusters[place];
            let part = if whole.users().len() == users.len() {
                None
            } else {
                let mut observed = LinearStats::empty(self.rules.dim);
                users.iter().for_each(|&user| observed.merge(&self.users[user as usize].own));
                whole.part(users, observed)
            };
            match part {
                Some(part) => {
                    clusters.push(part);
                    self.split = true;
                }
                None if !std::mem::replace(&mut kept[place], true) => clusters.push(whole.clone()),
                None => {}
            }
        }
        for (index, cluster) in clusters.iter().enumerate() {
            cluster.users().iter().for_each(|&user| self.users[user as usize].cluster = index as u32);
        }
        let apart = self.components().len();
        if apart > clusters.len() {
            cx.level("splits_refused", (apart - clusters.len()) as f64);
        }
        self.clusters = clusters;
    }

    /// Users that hang together. Where there is noise, those of one cluster: what was released apart stays apart, as a
    /// newcomer, who is like everyone, would otherwise have all of it released again.
    fn components(&self) -> Vec<Vec<u32>> {
        let components = self.alike.clusters();
        if !self.rules.is_noisy() {
            return components;
        }
        let by_cluster = |users: Vec<u32>| {
            let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            users.into_iter().for_each(|user| {
                parts.entry(self.users[user as usize].cluster).or_default().push(user);
            });
            parts.into_values()
        };
        components.into_iter().flat_map(by_cluster).collect()
    }

    /// Algorithm 2, lines 2 to 6.
    fn begin(&mut self, phase: u64, cx: &mut Cx<'_, FclubMsg>) {
        self.phase = phase;
        if let Some(clustering) = self.rules.clustering {
            self.delete_edges(clustering);
            self.regroup(cx);
        }
        cx.send(self.server, FclubMsg::Structure { phase, clusters: self.clusters.len() as u32 });
        for (index, cluster) in self.clusters.iter_mut().enumerate() {
            let stats = cluster.report(&self.rules, &mut self.paid, cx);
            cx.send(self.server, FclubMsg::Report { phase, cluster: index as u32, stats });
        }
    }

    fn merged(
        &mut self,
        phase: u64,
        clusters: u32,
        members: &[u32],
        renewed: bool,
    ) -> Result<(), Misbehaviour> {
        let waiting = self.clusters.iter().any(LocalCluster::is_waiting);
        // A newcomer is told where it stands without having been asked.
        let newcomer = phase > self.phase && renewed && !waiting;
        if members.len() != self.clusters.len() || !(newcomer || phase == self.phase && waiting) {
            return Err(Misbehaviour::Unexpected("a partition that does not fit".into()));
        }
        if self.split && !renewed && phase == self.phase {
            return Err(Misbehaviour::Unexpected("the old partition, though a cluster fell apart".into()));
        }
        self.phase = phase;
        for (cluster, &members) in self.clusters.iter_mut().zip(members) {
            if renewed {
                cluster.announce(GlobalCluster { members, clusters });
            } else {
                cluster.resume();
            }
        }
        Ok(())
    }

    fn report_metrics(&self, cx: &mut Cx<'_, FclubMsg>) {
        let full = self.clusters.iter().filter(|cluster| !cluster.may(ReleaseKind::Upload)).count();
        if full > 0 {
            cx.level("clusters_without_uploads_left", full as f64);
        }
        let (count, largest) = self
            .clusters
            .iter()
            .map(LocalCluster::shifts)
            .fold((0, 0.0), |a, b| (a.0 + b.0, f64::max(a.1, b.1)));
        if count > 0 {
            cx.level("local_psd_shifts", count as f64);
            cx.level("local_psd_shift_largest", largest);
        }
    }
}

impl Machine for LocalServer {
    type Msg = FclubMsg;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: FclubMsg,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            FclubMsg::Begin { phase } => {
                if phase <= self.phase || self.clusters.iter().any(LocalCluster::is_waiting) {
                    return Err(Misbehaviour::Gap { expected: self.phase + 1, got: phase });
                }
                // A server that asks more often than there are phases asks for more than was agreed on.
                if !self.clusters.iter().all(|cluster| cluster.may(ReleaseKind::Report)) {
                    return Err(Misbehaviour::Unexpected("more phases than noise was made for".into()));
                }
                self.begin(phase, cx);
            }
            FclubMsg::Merged { phase, clusters, members, renewed } => {
                self.merged(phase, clusters, &members, renewed)?;
            }
            FclubMsg::Download { phase, cluster, view, merged } => {
                if phase > self.phase {
                    return Err(Misbehaviour::Gap { expected: self.phase, got: phase });
                }
                // What was sent before my report came, of clusters that are no more.
                let outdated = phase < self.phase && (self.split || phase + 1 < self.phase);
                let Some(known) = self.clusters.get_mut(cluster as usize) else {
                    return if outdated { Ok(()) } else { Err(unknown(cluster)) };
                };
                if outdated || phase < self.phase && !known.is_waiting() {
                    return Ok(());
                }
                known.download(view, merged, &self.rules)?;
            }
            FclubMsg::Refused { receipt: Receipt { number, phase, cluster }, reason } => {
                // What belongs to an earlier phase was reported since.
                if phase == self.phase {
                    let known = self.clusters.get_mut(cluster as usize).ok_or_else(|| unknown(cluster))?;
                    let observations = known.refused(number)?;
                    cx.report(Fact::Refused { observations, reason });
                }
            }
            FclubMsg::Taken { phase, cluster, number } => {
                if phase == self.phase {
                    self.clusters.get_mut(cluster as usize).ok_or_else(|| unknown(cluster))?.taken(number)?;
                } else if phase > self.phase {
                    return Err(Misbehaviour::Gap { expected: self.phase, got: phase });
                }
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

impl LocalServer {
    /// Lines 4, 8 to 10 of Algorithm 3.
    fn upload(&mut self, cluster: u32, cx: &mut Cx<'_, FclubMsg>) {
        let (number, stats) = self.clusters[cluster as usize].upload(&self.rules, &mut self.paid, cx);
        cx.send(self.server, FclubMsg::Upload { phase: self.phase, cluster, number, stats });
    }
}

fn unknown(cluster: u32) -> Misbehaviour {
    Misbehaviour::Unexpected(format!("there is no local cluster {cluster}"))
}

impl Learner for LocalServer {
    type Pending = ChosenFor;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Choice<ChosenFor> {
        let index = self.cluster_of(user);
        let cluster = &mut self.clusters[index];
        cluster.refresh(&self.rules);
        let picked = cluster.choose(&self.rules, arms);
        picked.keeping(ChosenFor { user, context: arms.context(picked.arm) })
    }

    fn commit(&mut self, pending: &ChosenFor, _cx: &mut Cx<'_, FclubMsg>) {
        let index = self.cluster_of(pending.user);
        self.clusters[index].refresh(&self.rules);
        self.admit(pending.user);
    }

    fn observe(&mut self, pending: ChosenFor, mut reward: f64, cx: &mut Cx<'_, FclubMsg>) {
        let ChosenFor { user, mut context } = pending;
        let noisy = self.rules.is_noisy();
        if noisy && self.clip.apply(&mut context, &mut reward, (-1.0, 1.0)) {
            cx.level("clipped", self.clip.clipped() as f64);
        }
        self.admit(user);
        let Some(position) = self.position(user) else { return };
        self.users[position].own.observe(&context, reward);
        let index = self.users[position].cluster;
        let cluster = &mut self.clusters[index as usize];
        cluster.observe(&context, reward, &self.rules);
        if cluster.upload_is_due(&self.rules) {
            self.upload(index, cx);
            if noisy {
                self.report_metrics(cx);
            }
        }
    }

    fn drain(&mut self, cx: &mut Cx<'_, FclubMsg>) {
        for index in 0..self.clusters.len() {
            // What waits for its place in a phase is in the report.
            if self.clusters[index].may_upload() && self.clusters[index].unsent() > 0 {
                self.upload(index as u32, cx);
            }
        }
    }

    fn unsent(&self) -> u64 {
        self.clusters.iter().map(LocalCluster::unsent).sum()
    }
}
