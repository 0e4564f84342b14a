//! Algorithm 2: the GIS protocol at one client. In every slot, whoever has something new tells its
//! neighbours (ADV), they ask for what they lack (REQ), and get it (DATA). A slot is a tick: what came in
//! one is told in the next, so that means travel one hop per slot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{ArmIndex, Cx, Misbehaviour, NodeId, Private, Tick};
use serde::{Deserialize, Serialize};

use super::super::message::{Labels, MabMsg, Row, Table, values_of};
use crate::kit::arms::ArmValues;

/// One round at one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Gis {
    round: u64,
    clients: u32,
    arms: Vec<ArmIndex>,
    /// l_i: protected means by client, and when they came.
    list: BTreeMap<NodeId, (Row, Tick)>,
    /// Clients whose means are to be told of in the next slot.
    new: BTreeSet<NodeId>,
    /// The slot that the following are about, and with whom this client has exchanged what in it: an edge
    /// that is used both ways counts once.
    slot: Tick,
    advertised: BTreeSet<NodeId>,
    served: BTreeSet<NodeId>,
}

impl Gis {
    /// A round opens with one's own means.
    pub(super) fn new(me: NodeId, clients: u32, own: &Private<ArmValues>, now: Tick) -> Self {
        let (round, arms) = (own.get().phase, own.get().arms.clone());
        let row = Arc::new(values_of(own.clone()));
        Gis {
            round,
            clients,
            arms,
            list: BTreeMap::from([(me, (row, now))]),
            new: BTreeSet::from([me]),
            slot: now,
            advertised: BTreeSet::new(),
            served: BTreeSet::new(),
        }
    }

    /// The round.
    pub(super) fn round(&self) -> u64 {
        self.round
    }

    /// Line 11: everyone's means are here.
    pub(super) fn is_complete(&self, gone: &BTreeSet<NodeId>) -> bool {
        self.missing(gone).next().is_none()
    }

    /// Whose means are not, of those who have not left.
    pub(super) fn missing(&self, gone: &BTreeSet<NodeId>) -> impl Iterator<Item = NodeId> {
        let here = move |node: &NodeId| !self.list.contains_key(node) && !gone.contains(node);
        (0..self.clients).map(NodeId).filter(here)
    }

    /// Whether there is something to tell.
    pub(super) fn has_news(&self) -> bool {
        !self.new.is_empty()
    }

    /// Everyone's means, in node order. Those of who has left are not everywhere, and so count nowhere.
    pub(super) fn rows(&self, gone: &BTreeSet<NodeId>) -> impl Iterator<Item = &[f64]> {
        self.list.iter().filter(|(node, _)| !gone.contains(node)).map(|(_, (row, _))| &row.get()[..])
    }

    fn enter(&mut self, slot: Tick) {
        if self.slot != slot {
            self.slot = slot;
            self.advertised.clear();
            self.served.clear();
        }
    }

    /// Lines 4 and 5: tells the neighbours what came before this slot.
    pub(super) fn advertise(&mut self, neighbours: &[NodeId], cx: &mut Cx<'_, MabMsg>) {
        let now = cx.now();
        self.enter(now);
        let list = &self.list;
        let before = |node: &NodeId| list.get(node).is_some_and(|(_, since)| *since < now);
        let nodes: Vec<NodeId> = self.new.iter().copied().filter(before).collect();
        if nodes.is_empty() {
            return;
        }
        self.new.retain(|node| nodes.binary_search(node).is_err());
        for neighbour in neighbours {
            if self.advertised.insert(*neighbour) {
                cx.count("advertising_link_slots", 1.0);
            }
            let labels = Labels { phase: self.round, nodes: nodes.clone() };
            cx.send(*neighbour, MabMsg::Advertise(labels));
        }
    }

    /// Lines 8 and 9: asks for what is not in the list yet; what came in this very slot does not count,
    /// because all advertisements of a slot come before its data.
    pub(super) fn advertised(
        &mut self,
        from: NodeId,
        labels: &Labels,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        self.check_clients(labels.nodes.iter())?;
        let now = cx.now();
        self.enter(now);
        self.advertised.insert(from);
        let list = &self.list;
        let missing = |node: &NodeId| list.get(node).is_none_or(|(_, since)| *since >= now);
        let own = cx.me();
        let nodes: Vec<NodeId> =
            labels.nodes.iter().copied().filter(|node| *node != own && missing(node)).collect();
        if !nodes.is_empty() {
            cx.send(from, MabMsg::Request(Labels { phase: self.round, nodes }));
        }
        Ok(())
    }

    /// Lines 6 and 7: sends what was asked for.
    pub(super) fn requested(
        &mut self,
        from: NodeId,
        labels: &Labels,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        let row = |node: &NodeId| self.list.get(node).map(|(row, _)| (*node, row.clone()));
        let rows: Option<Vec<(NodeId, Row)>> = labels.nodes.iter().map(row).collect();
        let Some(rows) = rows else {
            return Err(Misbehaviour::Unexpected("a request for means that were not advertised".into()));
        };
        self.enter(cx.now());
        if self.served.insert(from) {
            cx.count("data_link_slots", 1.0);
        }
        cx.send(from, MabMsg::Data(Table { phase: self.round, arms: self.arms.clone(), rows }));
        Ok(())
    }

    /// Line 10: takes what came, once.
    pub(super) fn received(&mut self, from: NodeId, table: &Table, now: Tick) -> Result<(), Misbehaviour> {
        self.check_clients(table.rows.iter().map(|(node, _)| node))?;
        if table.arms != self.arms {
            return Err(Misbehaviour::Unexpected("means of other arms".into()));
        }
        self.enter(now);
        self.served.insert(from);
        for (node, row) in &table.rows {
            if !self.list.contains_key(node) {
                self.list.insert(*node, (row.clone(), now));
                self.new.insert(*node);
            }
        }
        Ok(())
    }

    fn check_clients<'a>(&self, mut nodes: impl Iterator<Item = &'a NodeId>) -> Result<(), Misbehaviour> {
        match nodes.find(|node| node.0 >= self.clients) {
            Some(node) => Err(Misbehaviour::Unexpected(format!("there is no {node}"))),
            None => Ok(()),
        }
    }
}
