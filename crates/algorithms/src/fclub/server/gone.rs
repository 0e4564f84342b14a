//! What becomes of what a local server has shared, once it is gone.

use std::collections::BTreeSet;

use cahoots_core::{Cx, LinearStats, NodeId};

use super::super::group::{LEGACY, Local, definite_view};
use super::super::message::FclubMsg;
use super::GlobalServer;

impl GlobalServer {
    /// What this server's number has shared stays, as that of a server which is away; the number is free for
    /// the new machine that has come.
    pub(super) fn bequeath(&mut self, node: NodeId) {
        let reports = self.gathering.as_mut().and_then(|gathering| gathering.reports.remove(&node));
        let of_node = self.places.range((node, 0)..=(node, u32::MAX));
        let (mine, older): (Vec<_>, Vec<_>) =
            of_node.map(|(local, place)| (*local, *place)).partition(|((_, cluster), _)| *cluster < LEGACY);
        let told = self.told.range((node, LEGACY)..=(node, u32::MAX)).next_back().map(|((_, last), _)| *last);
        let last = older.last().map(|((_, last), _)| *last).max(told);
        let mut free = last.map_or(LEGACY, |last| last + 1);
        for (local, place) in mine {
            let legacy = (node, free);
            free += 1;
            self.places.remove(&local);
            self.places.insert(legacy, place);
            self.groups[place as usize].rename(local, legacy);
            // What it has reported for the phase that is about to begin says more.
            if let Some(told) = self.told.remove(&local).filter(|_| reports.is_none()) {
                self.told.insert(legacy, told);
            }
        }
        let reports = reports.into_iter().flat_map(|(_, reports)| reports);
        self.told.extend((free..).zip(reports).map(|(cluster, stats)| ((node, cluster), stats)));
    }

    /// All that came under a server's number is gone: the groups it was in are the sums of the others'.
    pub(super) fn forget(&mut self, node: NodeId, cx: &mut Cx<'_, FclubMsg>) {
        let all = || (node, 0)..=(node, u32::MAX);
        let places: Vec<(Local, u32)> =
            self.places.range(all()).map(|(local, place)| (*local, *place)).collect();
        let told: Vec<Local> = self.told.range(all()).map(|(local, _)| *local).collect();
        told.iter().for_each(|local| drop(self.told.remove(local)));
        if let Some(gathering) = &mut self.gathering {
            gathering.reports.remove(&node);
        }
        let mut changed = BTreeSet::new();
        for (local, place) in places {
            self.places.remove(&local);
            self.groups[place as usize].remove(local);
            changed.insert(place);
        }
        for place in changed {
            let mut sum = LinearStats::empty(self.rules.dim);
            let members: Vec<Local> = self.groups[place as usize].members().collect();
            members.iter().filter_map(|local| self.told.get(local)).for_each(|stats| sum.merge(stats));
            self.versions += 1;
            let group = &mut self.groups[place as usize];
            let Ok((view, shift)) = definite_view(self.versions, sum, group.ridge(), true) else { continue };
            let due = group.renew(view);
            self.send(due, cx);
            self.note_shift(shift, cx);
        }
        self.complete(cx);
    }
}
