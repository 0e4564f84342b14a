//! A client of a component: explores, passes means on towards the sink, one hop per slot. The sink is
//! the one whose next hop is the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{ArmIndex, Cx, Machine, Misbehaviour, NodeId, Private, Tick};
use serde::{Deserialize, Serialize};

use super::super::epochs::{Epochs, explores};
use super::super::message::{MabMsg, Row, Table, values_of};
use super::super::rules::{Rules, average};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues};

/// Algorithm 5 at one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    epochs: Epochs,
    me: NodeId,
    server: NodeId,
    neighbours: Vec<NodeId>,
    /// Known once the server has picked the sinks.
    place: Option<Place>,
    /// Protected means that wait here, and when they came: at a sink for the others, elsewhere for the
    /// next slot.
    held: BTreeMap<NodeId, (Row, Tick)>,
    wake: Option<Tick>,
}

/// Where a client is in its component's tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Place {
    /// The next on the way to the server.
    up: NodeId,
    children: Vec<NodeId>,
    /// Clients whose means come through here, this one included, in rising order.
    through: Vec<NodeId>,
}

impl Client {
    pub(in super::super) fn new(rules: Rules, me: NodeId, server: NodeId, neighbours: Vec<NodeId>) -> Self {
        let epochs = Epochs::new(rules);
        Client { epochs, me, server, neighbours, place: None, held: BTreeMap::new(), wake: None }
    }

    /// I(r-1).
    pub fn active(&self) -> &[ArmIndex] {
        self.epochs.active()
    }

    /// Active arms, own statistics and protected means, in words: to compare.
    pub fn learned(&self) -> String {
        self.epochs.learned()
    }

    /// Whether it collects its component's means.
    pub fn is_sink(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.up == self.server)
    }

    fn explored(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.epochs.protect(cx);
        let own = self.epochs.protected().expect("protected a moment ago").clone();
        let row = Arc::new(values_of(own));
        self.held.insert(self.me, (row, cx.now()));
        self.go_on(cx);
    }

    /// Lines 8 to 10: uploads if all is here (a sink), or asks for the next slot (the others).
    fn go_on(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let Some(place) = &self.place else { return };
        if self.held.is_empty() {
            return;
        }
        if place.up != self.server {
            if self.wake.is_none() {
                let next = cx.now() + 1;
                self.wake = Some(next);
                cx.wake_at(next);
            }
        } else if self.held.len() == place.through.len() {
            self.upload(cx);
        }
    }

    /// Lines 9 and 10.
    fn upload(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let (epoch, arms) = (self.epochs.epoch(), self.epochs.active().to_vec());
        let mut rows = std::mem::take(&mut self.held).into_values().map(|(row, _)| (*row).clone());
        let first = rows.next().expect("a sink holds its own means");
        let values = Private::process(first, rows.collect(), (epoch, arms), |rows, (epoch, arms)| {
            let means = average(arms.len(), rows.iter().map(|row: &Vec<f64>| (1.0, &row[..])));
            ArmValues::new(epoch, arms, means)
        });
        cx.send(self.server, MabMsg::Arms(ArmMsg::Upload { number: epoch, values }));
    }

    /// The server has picked the sinks: a client learns its place, and tells those below theirs.
    fn placed(
        &mut self,
        from: NodeId,
        tree: &[(NodeId, NodeId)],
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        // Below each child, nearer ones first; whoever is listed must hang on someone listed before.
        let mut below: BTreeMap<NodeId, Vec<(NodeId, NodeId)>> = BTreeMap::new();
        let mut branch: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        for &(node, next) in tree {
            let child = if next == self.me { Some(node) } else { branch.get(&next).copied() };
            let known = node == self.me || branch.contains_key(&node);
            let far = next == self.me && self.neighbours.binary_search(&node).is_err();
            let Some(child) = child.filter(|_| !known && !far) else {
                return Err(Misbehaviour::Unexpected(format!("a tree in which {node} has no place")));
            };
            branch.insert(node, child);
            let links = below.entry(child).or_default();
            if node != child {
                links.push((node, next));
            }
        }
        let children: Vec<NodeId> = below.keys().copied().collect();
        let mut through: Vec<NodeId> = branch.into_keys().chain([self.me]).collect();
        through.sort_unstable();
        self.place = Some(Place { up: from, children, through });
        for (child, links) in below {
            cx.send(child, MabMsg::Tree(links));
        }
        self.go_on(cx);
        Ok(())
    }

    fn collect(&mut self, from: NodeId, table: &Table, cx: &mut Cx<'_, MabMsg>) -> Result<(), Misbehaviour> {
        let child = self.place.as_ref().is_some_and(|place| place.children.binary_search(&from).is_ok());
        if !child {
            return Err(Misbehaviour::Unexpected(format!(
                "means from {from}, which is not below this client"
            )));
        }
        if table.phase != self.epochs.epoch() {
            return Err(Misbehaviour::Gap { expected: self.epochs.epoch(), got: table.phase });
        }
        if table.arms != self.epochs.active() || self.epochs.settled().is_some() {
            return Err(Misbehaviour::Unexpected("means of other arms".into()));
        }
        if let Some((node, _)) = table.rows.iter().find(|(node, _)| self.held.contains_key(node)) {
            return Err(Misbehaviour::Unexpected(format!("the means of {node} once more")));
        }
        self.epochs.check_table(table)?;
        let now = cx.now();
        self.held.extend(table.rows.iter().map(|(node, row)| (*node, (row.clone(), now))));
        self.go_on(cx);
        Ok(())
    }

    /// Line 16: what the server has decided goes down the tree at once; the paper's broadcast takes no
    /// slot.
    fn decided(
        &mut self,
        from: NodeId,
        next: &Arc<ActiveArms>,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        let Some(place) = self.place.as_ref().filter(|place| place.up == from && self.epochs.explored())
        else {
            return Err(Misbehaviour::Unexpected(format!("a decision from {from} before its time")));
        };
        next.check(self.epochs.epoch() + 1, self.epochs.active())?;
        if next.arms.is_empty() {
            return Err(Misbehaviour::Unexpected("no arm at all".into()));
        }
        for child in &place.children {
            cx.send(*child, MabMsg::Arms(ArmMsg::DownloadActive(next.clone())));
        }
        self.epochs.advance(next.arms.clone());
        Ok(())
    }
}

impl Machine for Client {
    type Msg = MabMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: MabMsg,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        if from != self.server && self.neighbours.binary_search(&from).is_err() {
            return Err(Misbehaviour::Unexpected(format!("{from} is neither the server nor a neighbour")));
        }
        match &message {
            MabMsg::Tree(tree) if self.place.is_none() => self.placed(from, tree, cx),
            MabMsg::Data(table) => self.collect(from, table, cx),
            MabMsg::Arms(ArmMsg::DownloadActive(next)) => self.decided(from, next, cx),
            _ => Err(message.unexpected()),
        }
    }

    /// A slot: pass on what came in the one before.
    fn on_wake(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.wake = None;
        let Some(up) = self.place.as_ref().map(|place| place.up).filter(|up| *up != self.server) else {
            return;
        };
        let now = cx.now();
        let (rows, later): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.held).into_iter().partition(|(_, (_, since))| *since < now);
        self.held = later;
        if !rows.is_empty() {
            cx.count("data_link_slots", 1.0);
            cx.count("one_way_links", rows.len() as f64);
            let rows = rows.into_iter().map(|(node, (row, _))| (node, row)).collect();
            let (phase, arms) = (self.epochs.epoch(), self.epochs.active().to_vec());
            cx.send(up, MabMsg::Data(Table { phase, arms, rows }));
        }
        self.go_on(cx);
    }

    /// A sink's component, as far as its means have not come.
    fn waiting_for(&self) -> Vec<NodeId> {
        let Some(place) = self.place.as_ref().filter(|place| place.up == self.server) else {
            return Vec::new();
        };
        let missing = |node: &&NodeId| **node != self.me && !self.held.contains_key(node);
        let collecting = self.epochs.explored() && self.held.contains_key(&self.me);
        place.through.iter().filter(missing).filter(|_| collecting).copied().collect()
    }
}

explores!(Client, MabMsg);
