//! What the server does once the uploads are there: estimate the clusters, pick
//! one, add up its members' data.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{Cx, Fact, NodeId, View};

use super::member::Member;
use super::params::Sharing;
use super::server::Server;
use crate::kit::linear::LinearMsg;

impl Server {
    /// Lines 19 to 21 of Algorithm 2, lines 20 to 22 of Algorithm 5: those that did not answer in time are
    /// served all the same, with what they have uploaded before.
    pub(super) fn serve(&mut self, cluster: &[NodeId], cx: &mut Cx<'_, LinearMsg>) {
        let pick = match self.sharing {
            Sharing::Full => |member: &Member| member.own.clone(),
            Sharing::Buffers => |member: &Member| member.since.clone(),
        };
        let mut sum = self.nothing.stats().clone();
        for client in cluster {
            if let Some(member) = self.members.get(client) {
                sum.merge(&pick(member));
            }
        }
        // Members that had the same view have the same one again.
        let mut views: BTreeMap<u64, Arc<View>> = BTreeMap::new();
        for &client in cluster {
            let Some(member) = self.members.get_mut(&client) else { continue };
            let base = match self.sharing {
                Sharing::Full => 0,
                Sharing::Buffers => member.served.version(),
            };
            let view = views.entry(base).or_insert_with(|| {
                self.versions += 1;
                let mut stats = sum.clone();
                if self.sharing == Sharing::Buffers {
                    stats.merge(member.served.stats());
                }
                View::new(self.versions, stats)
            });
            if view.check(self.ridge).is_err() {
                // Uploads are checked one by one; together they can still be wrong by rounding or malice.
                cx.level("refused_views", 1.0);
                return;
            }
            self.requests.remove(&client);
            member.serve(view.clone());
            if !member.left {
                cx.send(client, LinearMsg::Download { view: view.clone(), merged: member.merged });
            }
        }
        cx.report(Fact::Rounds(1));
    }

    /// Algorithm 1 or 4 on what has changed, and the news of it.
    pub(super) fn estimate(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let changed = std::mem::take(&mut self.changed);
        let own = self.members.iter().filter(|(_, member)| member.explored);
        self.clusters.estimate(own.map(|(id, member)| (*id, &member.own)), &changed);
        self.queue.clear();
        self.poll = None;
        cx.report(Fact::Clusters(self.clusters.list().len() as u64));
        cx.level("clique_fallbacks", self.clusters.fallbacks() as f64);
        for (&client, member) in self.members.iter_mut().filter(|(_, member)| member.explored) {
            let mut sizes = self.clusters.sizes(client);
            if self.variant.recluster {
                // Any of its clusters will do, so the lowest threshold decides.
                sizes.truncate(1);
                if sizes == member.told {
                    continue;
                }
            }
            member.told = sizes.clone();
            if !member.left {
                cx.send(client, LinearMsg::Clusters { phase: self.clusters.estimates(), sizes });
            }
        }
    }

    /// Lines 13 to 15 of Algorithm 5, once all have uploaded; then line 18.
    pub(super) fn recluster(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.members.values_mut().for_each(|member| member.explored = true);
        self.estimate(cx);
        for client in std::mem::take(&mut self.requests) {
            self.clusters.of(client).for_each(|place| self.queue.push(place));
        }
        for _ in 0..self.per_step {
            let Some(cluster) = self.pop() else { break };
            self.serve(&cluster, cx);
        }
    }

    /// Takes the next cluster from the queue.
    pub(super) fn pop(&mut self) -> Option<Vec<NodeId>> {
        let Server { members, clusters, queue, variant, ridge, .. } = self;
        let place = if variant.priority {
            // Section 3.4.2: the sum of the members' determinant ratios.
            let mut learned: BTreeMap<NodeId, f64> = BTreeMap::new();
            queue.pop_heaviest(|place| {
                let weight = |client: &NodeId| {
                    *learned.entry(*client).or_insert_with(|| match members.get(client) {
                        Some(member) if variant.recluster => member.learned(*ridge),
                        Some(member) => member.weight,
                        None => 0.0,
                    })
                };
                clusters.list()[place].iter().map(weight).sum()
            })
        } else {
            queue.pop_first()
        };
        place.map(|place| clusters.list()[place].clone())
    }
}
