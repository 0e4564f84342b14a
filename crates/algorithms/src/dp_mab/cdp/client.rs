//! A client that reports to the server.

use std::collections::{BTreeSet, VecDeque};

use cahoots_core::{ArmIndex, Custom, Cx, Machine, Misbehaviour, NodeId};
use cahoots_privacy::aggregation::Down;
use serde::{Deserialize, Serialize};

use super::super::REPORT;
use super::super::epochs::{Epochs, explores};
use super::super::message::{MabMsg, Sum};
use super::super::rules::Rules;
use super::grouped::Grouped;
use crate::kit::arms::ArmMsg;

/// Explores, reports if it is its turn, goes on with what the server leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    epochs: Epochs,
    server: NodeId,
    /// Everyone reports in every round; otherwise only those who are asked.
    everyone: bool,
    /// The rounds it is asked to report in, and the last it did report in.
    asked: BTreeSet<u64>,
    reported: u64,
    /// Where others were quicker: what the server has left after this epoch and later ones.
    ahead: VecDeque<Vec<ArmIndex>>,
    /// Its part of sums, where nobody is to see more than those.
    group: Option<Grouped>,
}

impl Client {
    pub(in super::super) fn new(rules: Rules, me: NodeId, server: NodeId, everyone: bool) -> Self {
        Client {
            group: rules.group.map(|shares| Grouped::new(me, shares)),
            epochs: Epochs::new(rules),
            server,
            everyone,
            asked: BTreeSet::new(),
            reported: 0,
            ahead: VecDeque::new(),
        }
    }

    /// I(r-1).
    pub fn active(&self) -> &[ArmIndex] {
        self.epochs.active()
    }

    /// Active arms, own statistics and protected means, in words: to compare.
    pub fn learned(&self) -> String {
        self.epochs.learned()
    }

    fn explored(&mut self, cx: &mut Cx<'_, MabMsg>) {
        if self.group.is_none() {
            // Also those who are not asked draw their noise now, and keep it.
            self.epochs.protect(cx);
        }
        match self.ahead.pop_front() {
            // Decided without this client: its means would come too late.
            Some(next) => {
                self.asked.remove(&self.epochs.epoch());
                self.epochs.advance(next);
            }
            None => self.report(cx),
        }
    }

    /// A sum goes on, or begins.
    fn step(
        &mut self,
        step: &Down,
        epoch: u64,
        playing: bool,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        let Some(group) = &mut self.group else { return Ok(()) };
        if let (Down::Begin { round }, true) = (step, playing) {
            group.begins(*round, epoch, &mut self.epochs);
            self.report(cx);
            return Ok(());
        }
        if let Some(answer) = group.on(step, &mut self.epochs, cx)? {
            cx.send(self.server, answer.into());
        }
        Ok(())
    }

    /// Line 11.
    fn report(&mut self, cx: &mut Cx<'_, MabMsg>) {
        if let Some(group) = &mut self.group {
            let keys = group.keys(&self.epochs, cx);
            keys.into_iter().for_each(|keys| cx.send(self.server, keys.into()));
            return;
        }
        let epoch = self.epochs.epoch();
        if self.reported == epoch || !(self.everyone || self.asked.contains(&epoch)) {
            return;
        }
        if let Some(values) = self.epochs.protected() {
            self.reported = epoch;
            self.asked.remove(&epoch);
            let values = values.clone();
            cx.send(self.server, MabMsg::Arms(ArmMsg::Upload { number: epoch, values }));
        }
    }
}

impl Machine for Client {
    type Msg = MabMsg;

    fn on_new_secrets(&mut self) {
        // A copy of this machine may have hidden a vector with the masks of a round that is under way.
        self.group.iter_mut().for_each(Grouped::leave);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: MabMsg,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        if from != self.server {
            return Err(Misbehaviour::Unexpected(format!("{from} is not the server")));
        }
        // The server's round, which is later than this client's epoch where others were quicker.
        let round = self.epochs.epoch() + self.ahead.len() as u64;
        let active = self.ahead.back().map_or(self.epochs.active(), |arms| arms);
        match &message {
            MabMsg::Arms(ArmMsg::Signal { signal: REPORT, phase })
                if *phase == round && !self.everyone && self.reported < round && active.len() > 1 =>
            {
                self.asked.insert(round);
                self.report(cx);
            }
            MabMsg::Sum(Custom(Sum::Down(step))) if self.group.is_some() => {
                let playing = active.len() > 1;
                self.step(step, round, playing, cx)?;
            }
            MabMsg::Arms(ArmMsg::DownloadActive(next)) if active.len() > 1 => {
                next.check(round + 1, active)?;
                if next.arms.is_empty() {
                    return Err(Misbehaviour::Unexpected("no arm at all".into()));
                }
                if let Some(group) = &mut self.group {
                    // A round that is over: what was not sent in it goes into the next.
                    group.leave();
                }
                if self.epochs.explored() {
                    self.epochs.advance(next.arms.clone());
                } else {
                    self.ahead.push_back(next.arms.clone());
                }
            }
            _ => return Err(message.unexpected()),
        }
        Ok(())
    }
}

explores!(Client, MabMsg);
