//! The client of sync-linucb.

use cahoots_core::policy::LinearPolicy;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Chosen, LinearMsg, Signal, choose, upload};

/// Learns locally, asks for a synchronisation when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    known: Buffered,
    policy: LinearPolicy,
    server: NodeId,
    threshold: f64,
    /// The event fires at the threshold too.
    inclusive: bool,
    refresh: bool,
    /// A request is on its way.
    requested: bool,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            known: Buffered::new(valid.linear.ridge, valid.linear.nothing.clone()),
            policy: valid.linear.policy,
            server: seat.server,
            threshold: valid.threshold,
            inclusive: valid.inclusive,
            refresh: valid.refresh,
            requested: false,
        }
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        &self.known
    }

    fn renew(&mut self) {
        if self.refresh {
            self.known.refresh();
        }
    }

    /// Algorithm 4, line 10.
    fn event(&mut self) -> bool {
        let weight = self.known.pending_count() as f64 * self.known.pending_gain();
        weight > self.threshold || self.inclusive && weight == self.threshold
    }
}

impl Machine for Client {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            LinearMsg::Download { view, merged } => self.known.download(view, merged),
            LinearMsg::Signal { signal: Signal::Ask, .. } => {
                self.requested = false;
                upload(&mut self.known, self.server, cx);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }
}

impl Learner for Client {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        self.renew();
        choose(&self.known, &self.policy, arms, rng)
    }

    fn commit(&mut self, _pending: &Chosen, _cx: &mut Cx<'_, LinearMsg>) {
        self.renew();
    }

    fn observe(&mut self, pending: Chosen, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        self.known.observe(&pending.context, reward);
        if !self.requested && self.event() {
            self.requested = true;
            cx.send(self.server, LinearMsg::signal(Signal::Request, 0));
        }
    }
}
