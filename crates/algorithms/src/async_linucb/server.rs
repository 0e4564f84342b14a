//! The server of async-linucb: an upload costs two factorisations plus the
//! downloads it triggers, however many clients there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{Cx, LinearStats, Machine, Membership, Misbehaviour, NodeId, Private, Symmetric, View};
use serde::{Deserialize, Serialize};

use super::params::{NewClient, Valid};
use crate::kit::linear::{LinearMsg, Order, Ratios, Signal};

/// Merges uploads, sends views to those that lag behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    download: Ratios,
    new_client: NewClient,
    nothing: Arc<View>,
    view: Arc<View>,
    clients: Vec<Option<Standing>>,
    /// Clients by the log-det of the merged data beyond which they are served.
    due: BTreeSet<(Order, NodeId)>,
}

/// What a client last had: V_g minus its download buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Standing {
    view: Arc<View>,
    /// Its own uploads since that view.
    own: Option<Symmetric>,
    /// Its last merged upload.
    merged: u64,
    due: Order,
}

impl Server {
    pub(crate) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            download: valid.download.clone(),
            new_client: valid.new_client,
            nothing: valid.linear.nothing.clone(),
            view: valid.linear.nothing.clone(),
            clients: Vec::new(),
            due: BTreeSet::new(),
        }
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    fn knows(&self, client: NodeId) -> bool {
        self.clients.get(client.index()).is_some_and(Option::is_some)
    }

    /// Algorithm 1, line 4, after everything has been checked.
    fn merge(&mut self, from: NodeId, number: u64, stats: Private<LinearStats>) -> Result<(), Misbehaviour> {
        let standing = self.clients.get(from.index()).and_then(Option::as_ref);
        let standing = standing.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        if number != standing.merged + 1 {
            return Err(Misbehaviour::Gap { expected: standing.merged + 1, got: number });
        }
        let stats = stats.get();
        let present = self.view.stats();
        stats.check(present.dim(), !present.contexts.is_empty())?;
        let mut merged = present.clone();
        merged.merge(stats);
        let view = View::new(self.view.version() + 1, merged);
        let log_det = view.check(self.ridge)?.log_det();

        // The sender has what it had, and now also this upload.
        let up_to_date = standing.own.is_none() && standing.view.version() == self.view.version();
        let (base, own, had) = if up_to_date {
            (view.clone(), None, log_det)
        } else {
            let mut own = standing.own.clone().unwrap_or_else(|| Symmetric::zero(stats.dim()));
            own.add(&stats.gram);
            let mut gram = standing.view.stats().gram.clone();
            gram.add(&own);
            let had = cahoots_core::linalg::log_det(&gram, self.ridge)?;
            (standing.view.clone(), Some(own), had)
        };
        self.view = view;
        self.place(from, Standing { view: base, own, merged: number, due: Order::of(0.0) }, had);
        Ok(())
    }

    /// Records what a client has, and when it is to be served next.
    fn place(&mut self, client: NodeId, mut standing: Standing, had: f64) {
        standing.due = Order::of(had + self.download.ln(client));
        if self.clients.len() <= client.index() {
            self.clients.resize(client.index() + 1, None);
        }
        let slot = &mut self.clients[client.index()];
        if let Some(before) = slot.take() {
            self.due.remove(&(before.due, client));
        }
        self.due.insert((standing.due, client));
        *slot = Some(standing);
    }

    /// Eq. (4): a view to every client that lags too far behind.
    fn serve(&mut self, sender: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let log_det = self.view.factor(self.ridge).log_det();
        let now = Order::of(log_det);
        let mut sender_served = false;
        while let Some(&(due, client)) = self.due.first()
            && due < now
        {
            let merged = self.clients[client.index()].as_ref().map_or(0, |standing| standing.merged);
            self.send_view(client, merged, log_det, cx);
            sender_served |= client == sender;
        }
        if !sender_served {
            let merged = self.clients[sender.index()].as_ref().map_or(0, |standing| standing.merged);
            cx.send(sender, LinearMsg::signal(Signal::Merged, merged));
        }
    }

    fn send_view(&mut self, client: NodeId, merged: u64, log_det: f64, cx: &mut Cx<'_, LinearMsg>) {
        let view = self.view.clone();
        cx.send(client, LinearMsg::Download { view: view.clone(), merged });
        self.place(client, Standing { view, own: None, merged, due: Order::of(0.0) }, log_det);
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
                self.merge(from, number, stats)?;
                self.serve(from, cx);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, LinearMsg>) {
        match change {
            Membership::Joined(client) if self.knows(client) => {}
            Membership::Joined(client) => {
                // Algorithm 2, line 7: all of V_g is in a newcomer's buffer.
                let had = self.nothing.factor(self.ridge).log_det();
                let standing =
                    Standing { view: self.nothing.clone(), own: None, merged: 0, due: Order::of(0.0) };
                self.place(client, standing, had);
                if self.new_client == NewClient::AtOnce && self.view.version() > 0 {
                    let log_det = self.view.factor(self.ridge).log_det();
                    self.send_view(client, 0, log_det, cx);
                }
            }
            Membership::Left(client) => {
                if let Some(standing) = self.clients.get_mut(client.index()).and_then(Option::take) {
                    self.due.remove(&(standing.due, client));
                }
            }
        }
    }
}
