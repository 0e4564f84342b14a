//! Clients that leave, are not believed for a while, or are forgotten.

use cahoots_core::{Cx, NodeId};

use super::super::Variant;
use super::super::member::Member;
use super::Server;
use crate::kit::clusters::Clusters;
use crate::kit::linear::{LinearMsg, Signal};

impl Server {
    /// Nobody waits for a client any more, and nothing is sent to it.
    pub(super) fn dismiss(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        if let Some(member) = self.members.get_mut(&client) {
            member.left = true;
            member.asked = false;
        }
        self.requests.remove(&client);
        self.rounds.iter_mut().for_each(|round| round.gather.excuse(client));
        self.poll.iter_mut().for_each(|poll| poll.excuse(client));
        self.finish_complete(cx);
    }

    /// The same machine as before goes on, whose messages were not heard for a while.
    pub(super) fn readmit(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let Some(member) = self.members.get_mut(&client) else { return };
        member.left = false;
        tell_clusters(&self.clusters, self.variant, client, member, cx);
        if !self.variant.recluster && !member.explored {
            // Its exploration may have been among them: it ends now.
            cx.send(client, LinearMsg::signal(Signal::Ask, self.asked_rounds));
        }
        self.stir(cx);
    }

    /// One client's data are gone: the others' clusters without it, and their sums for all who have been served.
    pub(super) fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        self.members.remove(&client);
        self.changed.remove(&client);
        self.clusters.forget(client);
        if self.clusters.estimates() == 0 {
            return;
        }
        self.estimate(cx);
        let served =
            |client: &NodeId| self.members.get(client).is_some_and(|member| member.served.version() > 0);
        let clusters: Vec<Vec<NodeId>> =
            self.clusters.list().iter().filter(|cluster| cluster.iter().any(served)).cloned().collect();
        clusters.iter().for_each(|cluster| self.serve(cluster, cx));
    }
}

/// Someone who is back learns which clusters it is in, where those are estimated once.
pub(super) fn tell_clusters(
    clusters: &Clusters,
    variant: Variant,
    client: NodeId,
    member: &mut Member,
    cx: &mut Cx<'_, LinearMsg>,
) {
    if member.explored && !variant.recluster && clusters.estimates() > 0 {
        member.told = clusters.sizes(client);
        let (phase, sizes) = (clusters.estimates(), member.told.clone());
        cx.send(client, LinearMsg::Clusters { phase, sizes });
    }
}
