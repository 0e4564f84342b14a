//! A client on a graph: explores, exchanges means with its neighbours, eliminates by itself.

use std::collections::BTreeSet;

use cahoots_core::{ArmIndex, Cx, Machine, Misbehaviour, NodeId, Tick};
use serde::{Deserialize, Serialize};

use super::super::epochs::{Epochs, explores};
use super::super::message::MabMsg;
use super::super::rules::{Rules, average};
use super::super::{END, FULL, READY, START};
use super::gis::Gis;
use crate::kit::arms::ArmMsg;

/// Algorithm 3 at one client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    epochs: Epochs,
    me: NodeId,
    clients: u32,
    neighbours: Vec<NodeId>,
    /// Clients that have left.
    gone: BTreeSet<NodeId>,
    synchroniser: NodeId,
    stage: Stage,
    /// The round that is open here; none while exploring.
    gis: Option<Gis>,
    wake: Option<Tick>,
}

/// Where in a round a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Exploring,
    /// Waits until all have explored.
    Ready,
    /// The slots of the round are running.
    Exchanging,
    /// Has everyone's means, waits until all have.
    Full,
}

impl Client {
    pub(in super::super) fn new(
        rules: Rules,
        me: NodeId,
        clients: u32,
        neighbours: Vec<NodeId>,
        synchroniser: NodeId,
    ) -> Self {
        let epochs = Epochs::new(rules);
        let (stage, gis, gone) = (Stage::Exploring, None, BTreeSet::new());
        Client { epochs, me, clients, neighbours, gone, synchroniser, stage, gis, wake: None }
    }

    /// I(r-1).
    pub fn active(&self) -> &[ArmIndex] {
        self.epochs.active()
    }

    /// Active arms, own statistics and protected means, in words: to compare.
    pub fn learned(&self) -> String {
        self.epochs.learned()
    }

    fn signal(&self, signal: u32, cx: &mut Cx<'_, MabMsg>) {
        let phase = self.epochs.epoch();
        cx.send(self.synchroniser, MabMsg::Arms(ArmMsg::Signal { signal, phase }));
    }

    fn explored(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.epochs.protect(cx);
        let own = self.epochs.protected().expect("protected a moment ago");
        self.gis = Some(Gis::new(self.me, self.clients, own, cx.now()));
        self.stage = Stage::Ready;
        self.signal(READY, cx);
    }

    /// Asks for the next slot if there is something to tell in it, or all is here.
    fn go_on(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let Some(gis) = &self.gis else { return };
        if self.stage == Stage::Ready {
            return;
        }
        if gis.has_news() && self.wake.is_none() {
            let next = cx.now() + 1;
            self.wake = Some(next);
            cx.wake_at(next);
        }
        if self.stage == Stage::Exchanging && gis.is_complete(&self.gone) {
            self.stage = Stage::Full;
            self.signal(FULL, cx);
        }
    }

    fn synchronised(&mut self, signal: u32, phase: u64, cx: &mut Cx<'_, MabMsg>) -> Result<(), Misbehaviour> {
        match (self.stage, signal) {
            (Stage::Ready, START) if phase == self.epochs.epoch() => {
                self.stage = Stage::Exchanging;
                self.go_on(cx);
            }
            (Stage::Full, END) if phase == self.epochs.epoch() => self.eliminate(cx),
            _ => {
                let problem = format!("signal {signal} of round {phase}");
                return Err(Misbehaviour::Unexpected(problem));
            }
        }
        Ok(())
    }

    /// Goes on without those who have left.
    fn left(&mut self, nodes: &[NodeId], cx: &mut Cx<'_, MabMsg>) -> Result<(), Misbehaviour> {
        if nodes.contains(&self.me) {
            return Err(Misbehaviour::Unexpected("this client has not left".into()));
        }
        self.gone.extend(nodes);
        self.neighbours.retain(|node| !nodes.contains(node));
        self.go_on(cx);
        Ok(())
    }

    /// Lines 9 and 10: everyone computes the same from the same means.
    fn eliminate(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let Some(gis) = self.gis.take() else { return };
        let (epoch, pulls) = (self.epochs.epoch(), self.epochs.pulls());
        let (rules, active) = (self.epochs.rules(), self.epochs.active());
        let means = average(active.len(), gis.rows(&self.gone).map(|row| (1.0, row)));
        let radius = rules.radius(epoch, active.len(), pulls);
        let separated = Rules::separated(&means, radius);
        let next = rules.survivors(epoch, active, &means, radius);
        cx.level("active_arms", next.len() as f64);
        cx.level("finished", f64::from(separated));
        self.stage = Stage::Exploring;
        self.epochs.advance_knowing(next, &means);
    }
}

impl Machine for Client {
    type Msg = MabMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, MabMsg>) {
        cx.level("active_arms", self.epochs.active().len() as f64);
        cx.level("finished", f64::from(self.epochs.settled().is_some()));
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: MabMsg,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        if let (true, MabMsg::Arms(ArmMsg::Signal { signal, phase })) = (from == self.synchroniser, &message)
        {
            return self.synchronised(*signal, *phase, cx);
        }
        if let (true, MabMsg::Gone(labels)) = (from == self.synchroniser, &message) {
            return self.left(&labels.nodes, cx);
        }
        if self.neighbours.binary_search(&from).is_err() {
            return Err(Misbehaviour::Unexpected(format!("{from} is no neighbour")));
        }
        let round = match &message {
            MabMsg::Advertise(labels) | MabMsg::Request(labels) => labels.phase,
            MabMsg::Data(table) => table.phase,
            _ => return Err(message.unexpected()),
        };
        if round < self.epochs.epoch() {
            // A straggler of a round that is over: nobody needs it any more.
            return Ok(());
        }
        let Some(gis) = self.gis.as_mut().filter(|gis| gis.round() == round) else {
            return Err(message.unexpected());
        };
        if let MabMsg::Data(table) = &message {
            self.epochs.check_table(table)?;
        }
        match &message {
            MabMsg::Advertise(labels) => gis.advertised(from, labels, cx)?,
            MabMsg::Request(labels) => gis.requested(from, labels, cx)?,
            MabMsg::Data(table) => gis.received(from, table, cx.now())?,
            _ => {}
        }
        self.go_on(cx);
        Ok(())
    }

    /// A slot: tell the neighbours what came in the one before.
    fn on_wake(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.wake = None;
        if let Some(gis) = &mut self.gis {
            gis.advertise(&self.neighbours, cx);
            self.go_on(cx);
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        let exchanging = self.gis.iter().filter(|_| self.stage == Stage::Exchanging);
        exchanging.flat_map(|gis| gis.missing(&self.gone)).collect()
    }
}

explores!(Client, MabMsg);
