//! The server of fed-linucb: it answers an upload with the sum, and speaks to nobody else.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{
    Cx, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Plausible, Prior, Private, Ruling,
    View,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Kept, LinearMsg, check_upload, prior as kit};

/// Merges an upload, sends the sum back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    plausible: Plausible,
    /// What everyone begins from: no data, or what others have handed on.
    nothing: Arc<View>,
    view: Arc<View>,
    members: BTreeMap<NodeId, Member>,
    apart: Kept,
}

/// What is known of a client.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Member {
    /// Its last merged upload.
    merged: u64,
    /// It is not believed for now, and sent nothing.
    paused: bool,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            nothing: valid.linear.nothing.clone(),
            view: valid.linear.nothing.clone(),
            members: BTreeMap::new(),
            apart: Kept::new(valid.linear.keep_apart, valid.robust),
        }
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Line 10 of Algorithm 1, after everything has been checked.
    fn merge(&mut self, from: NodeId, number: u64, stats: Private<LinearStats>) -> Result<(), Misbehaviour> {
        let member = self.members.get_mut(&from);
        let member = member.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        // Numbers between were refused; links lose none.
        if number <= member.merged {
            return Err(Misbehaviour::Gap { expected: member.merged + 1, got: number });
        }
        let stats = stats.get();
        let present = self.view.stats();
        stats.check(present.dim(), !present.contexts.is_empty())?;
        self.plausible.check(stats)?;
        let (merged, upload) = self.apart.with(from, stats, self.nothing.stats(), present);
        let view = View::new(self.view.version() + 1, merged);
        view.check(self.ridge)?;
        member.merged = number;
        self.view = view;
        self.apart.take(upload);
        Ok(())
    }

    /// The same where not everyone is believed.
    fn merge_robustly(
        &mut self,
        from: NodeId,
        number: u64,
        stats: Private<LinearStats>,
    ) -> Result<(), Misbehaviour> {
        let member = self.members.get_mut(&from);
        let member = member.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        let (stats, nothing) = (stats.get(), self.nothing.stats());
        check_upload(number, member.merged, stats, nothing, &self.plausible, self.ridge)?;
        member.merged = number;
        self.apart.add(from, stats);
        let believed = self.apart.believed(&[from], nothing);
        let view = View::new(self.view.version() + 1, believed.unwrap_or_else(|| nothing.clone()));
        // What each says was checked, and what is believed of it is less.
        self.view = match view.check(self.ridge) {
            Ok(_) => view,
            Err(_) => View::new(view.version(), self.view.stats().clone()),
        };
        Ok(())
    }

    fn send_view(&self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        if let Some(Member { merged, paused: false }) = self.members.get(&client) {
            cx.send(client, LinearMsg::Download { view: self.view.clone(), merged: *merged });
        }
    }

    /// The sum of all but one, and a view of it for everyone: what is to be forgotten cannot wait until each
    /// of them asks.
    fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let Some(sum) = self.apart.forget(client, self.nothing.stats()) else { return };
        let view = View::new(self.view.version() + 1, sum);
        if view.check(self.ridge).is_err() {
            // Uploads are checked one by one, in the sum of all; other sums of them can be wrong by rounding.
            cx.level("refused_views", 1.0);
            return;
        }
        self.view = view;
        self.members.keys().for_each(|&member| self.send_view(member, cx));
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
            LinearMsg::Upload { number, stats } => {
                if self.apart.is_robust() {
                    self.merge_robustly(from, number, stats)?;
                    self.apart.report(cx);
                } else {
                    self.merge(from, number, stats)?;
                }
                // Line 12: the sender alone
                self.send_view(from, cx);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        self.apart.check()
    }

    fn prior(&self) -> Result<Prior, String> {
        Ok(Prior::Linear(self.view.stats().clone()))
    }

    fn takes_prior(&self, prior: &Prior) -> Result<(), String> {
        if self.view.version() > 0 || !self.members.is_empty() {
            return Err(kit::BEGUN.into());
        }
        kit::begin_from(prior, self.nothing.stats(), &self.plausible, self.ridge).map(|_| ())
    }

    /// It takes the place of nothing, for everyone who joins and when someone is forgotten.
    fn on_prior(&mut self, prior: Prior, _cx: &mut Cx<'_, LinearMsg>) {
        if let Ok(view) = kit::begin_from(&prior, self.nothing.stats(), &self.plausible, self.ridge) {
            (self.nothing, self.view) = (view.clone(), view);
        }
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, LinearMsg>) {
        match ruling {
            Ruling::Quarantined(client) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.paused = true;
                }
            }
            Ruling::Restored(client) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.paused = false;
                }
                // Someone may have been forgotten meanwhile.
                if self.view.version() > 0 {
                    self.send_view(client, cx);
                }
            }
            Ruling::Forgotten(client) => self.forget(client, cx),
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
            Membership::Joined(client) if self.members.contains_key(&client) => {}
            Membership::Joined(client) => {
                self.members.insert(client, Member::default());
                if self.nothing.version() > 0 {
                    cx.send(client, LinearMsg::Download { view: self.nothing.clone(), merged: 0 });
                }
            }
            Membership::Left(client) => {
                self.members.remove(&client);
            }
        }
    }
}
