//! The server of sync-linucb: rounds in which everyone uploads and everyone
//! gets the sum.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{
    Cx, Fact, Gather, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Patience, Plausible,
    Prior, Ruling, View,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Kept, LinearMsg, Signal, prior as kit};

/// Gathers uploads, merges them in node order, sends the sum to all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    plausible: Plausible,
    patience: Patience,
    view: Arc<View>,
    members: BTreeSet<NodeId>,
    /// Last merged or gathered upload of each client.
    uploads: Vec<u64>,
    round: Option<Gather<LinearStats>>,
    rounds: u64,
    apart: Kept,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            patience: valid.patience,
            view: valid.linear.nothing.clone(),
            members: (0..valid.everyone.unwrap_or(0)).map(NodeId).collect(),
            uploads: Vec::new(),
            round: None,
            rounds: 0,
            apart: Kept::new(valid.linear.keep_apart, valid.robust),
        }
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    fn uploaded(&self, client: NodeId) -> u64 {
        self.uploads.get(client.index()).copied().unwrap_or(0)
    }

    /// Algorithm 4, line 11: everyone is asked.
    fn open(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.rounds += 1;
        let mut round = Gather::patient(self.members.iter().copied(), self.patience);
        if let Some(tick) = round.start(cx.now()) {
            cx.wake_at(tick);
        }
        self.round = Some(round);
        for &client in &self.members {
            cx.send(client, LinearMsg::signal(Signal::Ask, self.rounds));
        }
        // Nobody is there to answer.
        self.finish_if_complete(cx);
    }

    /// Lines 13 to 16, once all have answered, or enough at the deadline.
    fn finish_if_complete(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if !self.round.as_ref().is_some_and(|round| round.is_complete(cx.now())) {
            return;
        }
        let round = self.round.take().expect("looked at above");
        let late: Vec<NodeId> = round.waiting().collect();
        let parts = round.into_parts();
        self.merge(parts.iter().map(|(client, stats)| (*client, stats)));
        self.apart.report(cx);
        cx.report(Fact::Rounds(1));
        for client in parts.into_keys().chain(late).filter(|client| self.members.contains(client)) {
            let message = LinearMsg::Download { view: self.view.clone(), merged: self.uploaded(client) };
            cx.send(client, message);
        }
    }

    /// One more view, with these uploads.
    fn merge<'a>(&mut self, uploads: impl Iterator<Item = (NodeId, &'a LinearStats)>) {
        let (mut merged, mut changed) = (self.view.stats().clone(), Vec::new());
        for (client, stats) in uploads {
            merged.merge(stats);
            self.apart.add(client, stats);
            changed.push(client);
        }
        // Where contributions are kept apart, what is merged follows from them, and from nothing else.
        let kept = self.believed(&changed).or_else(|| self.apart.sum(&merged.emptied()));
        self.view = View::new(self.view.version() + 1, kept.unwrap_or(merged));
    }

    /// What is believed once these clients have contributed, where not everyone is; as it was, should that be no sum of
    /// any data.
    fn believed(&mut self, changed: &[NodeId]) -> Option<LinearStats> {
        let present = self.view.stats();
        let believed = self.apart.believed(changed, &present.emptied())?;
        let usable = cahoots_core::linalg::log_det(&believed.gram, self.ridge).is_ok()
            && believed.check_values().is_ok();
        Some(if usable { believed } else { present.clone() })
    }

    /// The sum of all but one, and a view of it for everyone: those who have answered in an open round have it
    /// when that is over.
    fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let nothing = self.view.stats().emptied();
        let Some(sum) = self.apart.forget(client, &nothing) else { return };
        self.view = View::new(self.view.version() + 1, sum);
        let answered: BTreeSet<NodeId> = match &mut self.round {
            Some(round) => {
                round.forget(client);
                round.answered().collect()
            }
            None => BTreeSet::new(),
        };
        for &member in self.members.difference(&answered) {
            let message = LinearMsg::Download { view: self.view.clone(), merged: self.uploaded(member) };
            cx.send(member, message);
        }
        self.finish_if_complete(cx);
    }

    /// Nobody waits for a client any more.
    fn dismiss(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        self.members.remove(&client);
        if let Some(round) = &mut self.round {
            round.excuse(client);
        }
        self.finish_if_complete(cx);
    }

    /// Takes an upload that was checked: into the round, or, too late for its
    /// round, straight into the sum.
    fn take(&mut self, from: NodeId, number: u64, stats: LinearStats) {
        if self.uploads.len() <= from.index() {
            self.uploads.resize(from.index() + 1, 0);
        }
        self.uploads[from.index()] = number;
        let late = match &mut self.round {
            Some(round) => round.offer(from, stats),
            None => Err(stats),
        };
        if let Err(stats) = late {
            self.merge(std::iter::once((from, &stats)));
        }
    }

    fn check(&self, from: NodeId, number: u64, stats: &LinearStats) -> Result<(), Misbehaviour> {
        if !self.members.contains(&from) {
            return Err(Misbehaviour::Unexpected(format!("{from} has not joined")));
        }
        let expected = self.uploaded(from) + 1;
        // Numbers between were refused; links lose none.
        if number < expected {
            return Err(Misbehaviour::Gap { expected, got: number });
        }
        let present = self.view.stats();
        stats.check(present.dim(), !present.contexts.is_empty())?;
        self.plausible.check(stats)?;
        // Each upload is positive definite with the ridge, so every sum of them is.
        cahoots_core::linalg::log_det(&stats.gram, self.ridge).map(|_| ())
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
        match message {
            LinearMsg::Signal { signal: Signal::Request, .. } => {
                if self.round.is_none() {
                    self.open(cx);
                }
                Ok(())
            }
            LinearMsg::Upload { number, stats } => {
                self.check(from, number, stats.get())?;
                self.take(from, number, stats.into_inner());
                self.finish_if_complete(cx);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.finish_if_complete(cx);
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        self.apart.check()
    }

    fn prior(&self) -> Result<Prior, String> {
        Ok(Prior::Linear(self.view.stats().clone()))
    }

    fn takes_prior(&self, prior: &Prior) -> Result<(), String> {
        if self.view.version() > 0 || self.rounds > 0 {
            return Err(kit::BEGUN.into());
        }
        kit::begin_from(prior, self.view.stats(), &self.plausible, self.ridge).map(|_| ())
    }

    /// As if a round had been held before anyone was there.
    fn on_prior(&mut self, prior: Prior, cx: &mut Cx<'_, LinearMsg>) {
        let Ok(view) = kit::begin_from(&prior, self.view.stats(), &self.plausible, self.ridge) else {
            return;
        };
        self.apart.add(NodeId::SERVER, view.stats());
        self.view = view;
        for &client in &self.members {
            cx.send(client, LinearMsg::Download { view: self.view.clone(), merged: 0 });
        }
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, LinearMsg>) {
        match ruling {
            Ruling::Quarantined(client) => self.dismiss(client, cx),
            Ruling::Forgotten(client) => self.forget(client, cx),
            Ruling::Restored(client) => {
                self.members.insert(client);
                // What it asked for meanwhile was not heard.
                if self.round.is_none() {
                    self.open(cx);
                }
            }
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(self.view.stats().count)
    }

    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        (vec![Learnt::of_view(&self.view, self.ridge)], 1)
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, LinearMsg>) {
        match change {
            Membership::Joined(client) => {
                self.members.insert(client);
                // What the federation began from is not kept back until the first round is over.
                if self.rounds == 0 && self.view.version() > 0 {
                    let merged = self.uploaded(client);
                    cx.send(client, LinearMsg::Download { view: self.view.clone(), merged });
                }
            }
            Membership::Left(client) => {
                // Whoever comes back under this number counts its uploads from 1; what it sent stays merged.
                if let Some(number) = self.uploads.get_mut(client.index()) {
                    *number = 0;
                }
                // Nothing tells that there was a higher one.
                let last = self.uploads.iter().rposition(|number| *number > 0);
                self.uploads.truncate(last.map_or(0, |last| last + 1));
                self.dismiss(client, cx);
            }
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.round.iter().flat_map(Gather::waiting).collect()
    }
}
