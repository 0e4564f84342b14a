//! The server of async-linucb: an upload costs two factorisations plus the
//! downloads it triggers, however many clients there are.

use std::sync::Arc;

use cahoots_core::{
    Cx, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Plausible, Prior, Private, Ruling,
    View,
};
use serde::{Deserialize, Serialize};

use super::params::{NewClient, Valid};
use crate::kit::linear::{DownloadIndex, Kept, LinearMsg, Signal, Standing, check_upload, prior as kit};

/// Merges uploads, sends views to those that lag behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    plausible: Plausible,
    new_client: NewClient,
    /// What everyone begins from: no data, or what others have handed on.
    nothing: Arc<View>,
    view: Arc<View>,
    clients: DownloadIndex<NodeId>,
    apart: Kept,
}

impl Server {
    pub(crate) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            new_client: valid.new_client,
            nothing: valid.linear.nothing.clone(),
            view: valid.linear.nothing.clone(),
            clients: DownloadIndex::new(valid.download.clone()),
            apart: Kept::new(valid.linear.keep_apart, valid.robust),
        }
    }

    /// Downloads at other ratios from now on: those who are past theirs are served with the next upload.
    pub(crate) fn change(&mut self, valid: &Valid) {
        self.clients.change(valid.download.clone());
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Algorithm 1, line 4, after everything has been checked.
    fn merge(&mut self, from: NodeId, number: u64, stats: Private<LinearStats>) -> Result<(), Misbehaviour> {
        let standing = self.clients.get(from);
        let standing = standing.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        // Numbers between were refused; links lose none.
        if number <= standing.merged() {
            return Err(Misbehaviour::Gap { expected: standing.merged() + 1, got: number });
        }
        let stats = stats.get();
        let present = self.view.stats();
        stats.check(present.dim(), !present.contexts.is_empty())?;
        self.plausible.check(stats)?;
        let (merged, upload) = self.apart.with(from, stats, self.nothing.stats(), present);
        let view = View::new(self.view.version() + 1, merged);
        view.check(self.ridge)?;

        // The sender has what it had, and now also this upload.
        let standing = if standing.is_at(&self.view) {
            Standing::with(view.clone(), number)
        } else {
            standing.and(&stats.gram, number)
        };
        let had = standing.log_det(self.ridge)?;
        self.view = view;
        self.apart.take(upload);
        self.clients.place(from, standing, had);
        Ok(())
    }

    /// The same where not everyone is believed: the view is of what is, which an upload can make less.
    fn merge_robustly(
        &mut self,
        from: NodeId,
        number: u64,
        stats: Private<LinearStats>,
    ) -> Result<(), Misbehaviour> {
        let standing = self.clients.get(from);
        let standing = standing.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        let (stats, nothing) = (stats.get(), self.nothing.stats());
        check_upload(number, standing.merged(), stats, nothing, &self.plausible, self.ridge)?;
        // The sender has all of what it said; the view may have less.
        let standing = standing.and(&stats.gram, number);
        let had = standing.log_det(self.ridge)?;
        self.apart.add(from, stats);
        let believed = self.apart.believed(&[from], nothing);
        let view = View::new(self.view.version() + 1, believed.unwrap_or_else(|| nothing.clone()));
        // What each says was checked, and what is believed of it is less.
        self.view = match view.check(self.ridge) {
            Ok(_) => view,
            Err(_) => View::new(view.version(), self.view.stats().clone()),
        };
        self.clients.place(from, standing, had);
        self.clients.lower(self.log_det());
        Ok(())
    }

    /// The sum of all but one, and a view of it for everyone.
    fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let Some(sum) = self.apart.forget(client, self.nothing.stats()) else { return };
        let view = View::new(self.view.version() + 1, sum);
        if view.check(self.ridge).is_err() {
            // Uploads are checked one by one, in the sum of all; other sums of them can be wrong by rounding.
            cx.level("refused_views", 1.0);
            return;
        }
        self.view = view.clone();
        // Who is paused counts as having no data at all, so that whatever there is makes up for what it missed.
        let (log_det, nothing) = (self.log_det(), View::new(0, self.nothing.stats().emptied()));
        self.clients.renew(&view, log_det, &nothing, self.ridge, |client, merged| {
            cx.send(client, LinearMsg::Download { view: view.clone(), merged });
        });
    }

    fn log_det(&self) -> f64 {
        self.view.factor(self.ridge).log_det()
    }

    /// Eq. (4): a view to every client that lags too far behind.
    fn serve(&mut self, sender: NodeId, number: u64, cx: &mut Cx<'_, LinearMsg>) {
        let (log_det, view) = (self.log_det(), &self.view);
        let mut sender_served = false;
        self.clients.serve(view, log_det, false, |client, merged| {
            cx.send(client, LinearMsg::Download { view: view.clone(), merged });
            sender_served |= client == sender;
        });
        if !sender_served {
            cx.send(sender, LinearMsg::signal(Signal::Merged, number));
        }
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
                self.serve(from, number, cx);
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
        if self.view.version() > 0 || self.clients.receivers().next().is_some() {
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
            Ruling::Quarantined(client) => self.clients.pause(client),
            Ruling::Restored(client) => self.clients.resume(client),
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
            Membership::Joined(client) if self.clients.get(client).is_some() => {}
            Membership::Joined(client) if self.new_client == NewClient::AtOnce && self.view.version() > 0 => {
                let view = self.view.clone();
                self.clients.place(client, Standing::with(view.clone(), 0), self.log_det());
                cx.send(client, LinearMsg::Download { view, merged: 0 });
            }
            Membership::Joined(client) => {
                // Algorithm 2, line 7: all of V_g is in a newcomer's buffer, but for what everyone begins from.
                let view = self.nothing.clone();
                self.clients.place(
                    client,
                    Standing::with(view.clone(), 0),
                    view.factor(self.ridge).log_det(),
                );
                if view.version() > 0 {
                    cx.send(client, LinearMsg::Download { view, merged: 0 });
                }
            }
            Membership::Left(client) => self.clients.remove(client),
        }
    }
}
