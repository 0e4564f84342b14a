//! The "additional synchronization clock": knows who is ready and who has everything, and nothing about
//! what anyone has learned.

use std::collections::BTreeSet;

use cahoots_core::{Cx, Fact, Gather, Machine, Membership, Misbehaviour, NodeId, Tick};
use serde::{Deserialize, Serialize};

use super::super::message::{Labels, MabMsg};
use super::super::shares::Shares;
use super::super::{END, FULL, READY, START};
use crate::kit::arms::{ArmMsg, FORGETS_NOT};

/// Says when a round begins and when it ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Synchroniser {
    /// Those who have not left.
    present: BTreeSet<NodeId>,
    /// |E|: for the count of link-slots.
    edges: u64,
    /// r.
    round: u64,
    /// When the present round began; none while clients explore.
    since: Option<Tick>,
    waiting: Gather<()>,
    /// Whose shares of the noise have come, where it takes all of them to keep what is promised.
    shares: Option<Shares>,
}

impl Synchroniser {
    pub(in super::super) fn new(clients: u32, edges: u64, shares: Option<Shares>) -> Self {
        let present: BTreeSet<NodeId> = (0..clients).map(NodeId).collect();
        Synchroniser { waiting: everyone(&present), present, edges, round: 1, since: None, shares }
    }
}

impl Synchroniser {
    fn broadcast(&self, signal: u32, cx: &mut Cx<'_, MabMsg>) {
        let phase = self.round;
        for client in &self.present {
            cx.send(*client, MabMsg::Arms(ArmMsg::Signal { signal, phase }));
        }
    }

    fn start(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.waiting = everyone(&self.present);
        self.since = Some(cx.now());
        self.broadcast(START, cx);
        cx.wake_at(cx.now() + 1);
    }

    fn end_if_full(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let Some(since) = self.since.filter(|_| self.waiting.is_complete(cx.now())) else { return };
        if let Some(shares) = &mut self.shares {
            shares.arrived(self.present.iter().copied(), cx);
        }
        let slots = cx.now() - since;
        cx.report(Fact::Rounds(1));
        cx.count("slots", slots as f64);
        // Theorem 3 counts every edge in every slot of a round.
        cx.count("link_slots", (self.edges * slots) as f64);
        self.broadcast(END, cx);
        self.waiting = everyone(&self.present);
        self.since = None;
        self.round += 1;
    }
}

fn everyone(present: &BTreeSet<NodeId>) -> Gather<()> {
    Gather::open(present.iter().copied(), None)
}

impl Machine for Synchroniser {
    type Msg = MabMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: MabMsg,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        if !self.present.contains(&from) {
            // Came back when the others had gone on: it plays by itself.
            return Ok(());
        }
        let expected = if self.since.is_none() { READY } else { FULL };
        match &message {
            MabMsg::Arms(ArmMsg::Signal { signal, phase })
                if *signal == expected && *phase == self.round && self.waiting.expects(from) => {}
            _ => return Err(message.unexpected()),
        }
        let _ = self.waiting.offer(from, ());
        match self.since {
            None if self.waiting.is_complete(cx.now()) => self.start(cx),
            // Nobody had anything to send: a round without a slot.
            Some(since) if since == cx.now() => self.end_if_full(cx),
            _ => {}
        }
        Ok(())
    }

    /// A slot is over: everyone's turn in a tick comes before the synchroniser's.
    fn on_wake(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.end_if_full(cx);
        if self.since.is_some() {
            cx.wake_at(cx.now() + 1);
        }
    }

    /// The others are told, so that they wait no more for the means of who has left. Whoever comes back is not
    /// waited for again: it has not explored what the others have, and nobody keeps their means for it.
    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, MabMsg>) {
        let Membership::Left(client) = change else { return };
        if !self.present.remove(&client) {
            return;
        }
        self.waiting.excuse(client);
        for other in &self.present {
            cx.send(*other, MabMsg::Gone(Labels { phase: self.round, nodes: vec![client] }));
        }
        if self.since.is_none() && !self.present.is_empty() && self.waiting.is_complete(cx.now()) {
            self.start(cx);
        }
    }

    fn forgets(&self) -> Result<(), String> {
        Err(FORGETS_NOT.into())
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.waiting.waiting().collect()
    }
}
