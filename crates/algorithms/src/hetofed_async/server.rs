//! The server of hetofed-async: an upload is answered at once, from what there is. It waits for nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{
    Cx, Fact, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Plausible, Ruling, View,
};
use serde::{Deserialize, Serialize};

use super::member::Member;
use super::params::{Partners, Valid};
use crate::kit::clusters::Clusters;
use crate::kit::linear::{LinearMsg, Signal, check_upload};

/// Keeps each client's own data apart, and adds up for whoever asks those of clients that are like it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    plausible: Plausible,
    nothing: Arc<View>,
    partners: Partners,
    members: BTreeMap<NodeId, Member>,
    clusters: Clusters,
    /// Clients that have asked to be found their clusters since these were estimated.
    changed: BTreeSet<NodeId>,
    /// Uploads merged so far.
    uploads: u64,
    versions: u64,
    initial_uploads: u64,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            nothing: valid.linear.nothing.clone(),
            partners: valid.partners,
            members: BTreeMap::new(),
            clusters: Clusters::new(valid.test.clone(), valid.max_clusters),
            changed: BTreeSet::new(),
            uploads: 0,
            versions: 0,
            initial_uploads: 0,
        }
    }

    /// The estimated clusters.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }

    /// The clients whose data one is given, itself among them, in order.
    pub fn partners(&self, client: NodeId) -> Vec<NodeId> {
        self.partners.of(client, self.clusters.list())
    }

    /// What a client has uploaded so far.
    pub fn own(&self, client: NodeId) -> Option<&LinearStats> {
        self.members.get(&client).map(|member| &member.own)
    }

    /// The last view a client was sent.
    pub fn served(&self, client: NodeId) -> Option<&Arc<View>> {
        self.members.get(&client).map(|member| &member.served)
    }

    /// Line 20 of Algorithm 2 for one client: what all that are like it have uploaded so far. Added up anew in the
    /// order of their numbers, so that nothing is ever taken out of a sum.
    fn sum(&self, partners: &[NodeId]) -> LinearStats {
        let mut sum = self.nothing.stats().clone();
        partners.iter().filter_map(|partner| self.own(*partner)).for_each(|own| sum.merge(own));
        sum
    }

    /// Answers a client: with a view, if there is anything in it that the client has not.
    fn answer(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let partners = self.partners(client);
        let Some(member) = self.members.get(&client) else { return };
        let learned = |partner: &NodeId| self.members.get(partner).map_or(0, |partner| partner.learned_at);
        let others = partners.iter().filter(|partner| **partner != client).map(learned).max();
        let merged = member.merged;
        if !partners.is_empty() && (member.stale || others > Some(member.served_at)) {
            let view = View::new(self.versions + 1, self.sum(&partners));
            if view.check(self.ridge).is_ok() {
                self.versions += 1;
                if let Some(member) = self.members.get_mut(&client) {
                    member.serve(view.clone(), self.uploads);
                }
                cx.send(client, LinearMsg::Download { view, merged });
                return;
            }
            // Uploads are checked one by one; together they can still be wrong by rounding or malice.
            cx.level("refused_views", 1.0);
        }
        cx.send(client, LinearMsg::signal(Signal::Merged, merged));
    }

    /// Tells a client how many are like it, if that is news.
    fn tell(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let size = self.partners(client).len() as u32;
        let Some(member) = self.members.get_mut(&client) else { return };
        if !member.left && std::mem::replace(&mut member.told, size) != size {
            cx.send(client, LinearMsg::Clusters { phase: self.clusters.estimates(), sizes: vec![size] });
        }
    }

    /// Algorithm 1 on what has changed, and the news of it. Whose partners are others has an outdated view.
    fn estimate(&mut self, cx: &mut Cx<'_, LinearMsg>) -> BTreeSet<NodeId> {
        let before = self.clusters.list().to_vec();
        let changed = std::mem::take(&mut self.changed);
        let own = self.members.iter().filter(|(_, member)| member.explored);
        self.clusters.estimate(own.map(|(id, member)| (*id, &member.own)), &changed);
        cx.report(Fact::Clusters(self.clusters.list().len() as u64));
        cx.level("clique_fallbacks", self.clusters.fallbacks() as f64);
        for (&client, member) in &mut self.members {
            let had = self.partners.of(client, &before);
            let has = self.partners.of(client, self.clusters.list());
            member.stale |= had != has && (has.len() > 1 || member.has_view());
        }
        let clients: Vec<NodeId> = self.members.keys().copied().collect();
        clients.into_iter().for_each(|client| self.tell(client, cx));
        changed
    }

    fn take(&mut self, from: NodeId, number: u64, stats: &LinearStats, cx: &mut Cx<'_, LinearMsg>) {
        let Some(member) = self.members.get_mut(&from) else { return };
        self.uploads += 1;
        member.take(number, stats, self.uploads);
        self.answer(from, cx);
    }

    /// Its exploration is complete. Who enters in the same tick is tested together with it, at the end of the next.
    fn enter(&mut self, from: NodeId, number: u64, cx: &mut Cx<'_, LinearMsg>) {
        let Some(member) = self.members.get_mut(&from) else { return };
        // With an upload that was refused nobody enters.
        if number <= member.entered || number > member.merged {
            return;
        }
        member.entered = number;
        member.explored = true;
        self.initial_uploads += 1;
        cx.level("initial_uploads", self.initial_uploads as f64);
        if self.changed.is_empty() {
            cx.wake_at(cx.now() + 1);
        }
        self.changed.insert(from);
    }

    /// A client that is there again is told what it needs, and given all that it may have.
    fn resume(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        if self.members.get(&client).is_some_and(|member| !self.partners(client).is_empty() && !member.left) {
            self.tell(client, cx);
            self.answer(client, cx);
        }
    }

    fn readmit(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let Some(member) = self.members.get_mut(&client) else { return };
        (member.left, member.told) = (false, 0);
        if member.explored {
            self.resume(client, cx);
        } else {
            // That it has explored may have been among what was not heard: it has now.
            cx.send(client, LinearMsg::signal(Signal::Ask, 0));
        }
    }

    /// One client's data are gone: whoever may have been given them is given a view without them.
    fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        self.members.remove(&client);
        self.changed.remove(&client);
        self.clusters.forget(client);
        if self.clusters.estimates() == 0 {
            return;
        }
        // Who has entered and not been tested yet is so now.
        let mut due = self.estimate(cx);
        let outdated = self.members.iter().filter(|(_, member)| member.stale && member.has_view());
        due.extend(outdated.map(|(client, _)| *client));
        self.answer_all(due, cx);
    }

    fn answer_all(&mut self, clients: BTreeSet<NodeId>, cx: &mut Cx<'_, LinearMsg>) {
        for client in clients {
            if self.members.get(&client).is_some_and(|member| !member.left) {
                self.answer(client, cx);
            }
        }
    }
}

impl Machine for Server {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        let member = self.members.get(&from);
        let member = member.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        match message {
            LinearMsg::Signal { signal: Signal::Request, number } => self.enter(from, number, cx),
            LinearMsg::Upload { number, stats } => {
                let (merged, shape) = (member.merged, self.nothing.stats());
                check_upload(number, merged, stats.get(), shape, &self.plausible, self.ridge)?;
                self.take(from, number, stats.get(), cx);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }

    /// The clusters of those who have entered since the last estimate, and a view for each of them.
    fn on_wake(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if !self.changed.is_empty() {
            let entered = self.estimate(cx);
            self.answer_all(entered, cx);
        }
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        Ok(())
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, LinearMsg>) {
        match ruling {
            Ruling::Quarantined(client) => self.on_membership(Membership::Left(client), cx),
            Ruling::Restored(client) => self.readmit(client, cx),
            Ruling::Forgotten(client) => self.forget(client, cx),
        }
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, LinearMsg>) {
        match change {
            Membership::Joined(client) => {
                let member = self.members.entry(client).or_insert_with(|| Member::new(&self.nothing));
                if std::mem::take(&mut member.left) {
                    member.come_back(&self.nothing);
                    self.resume(client, cx);
                }
            }
            Membership::Left(client) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.left = true;
                }
            }
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(self.members.values().map(|member| member.own.count).sum())
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        self.clusters.list().to_vec()
    }

    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize) {
        let list = self.clusters.list();
        let model =
            |cluster: &Vec<NodeId>| Learnt::linear(&self.sum(cluster), self.ridge).of(cluster.clone());
        (list.iter().take(most).map(model).collect(), list.len())
    }
}
