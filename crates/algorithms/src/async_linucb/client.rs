//! The client of async-linucb.

use cahoots_core::policy::LinearPolicy;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Chosen, LinearMsg, Signal, choose, upload};

/// Learns locally, uploads when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    known: Buffered,
    policy: LinearPolicy,
    server: NodeId,
    /// ln gamma_U of this client.
    upload_gain: f64,
    refresh: bool,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            known: Buffered::new(valid.linear.ridge, valid.linear.nothing.clone()),
            policy: valid.linear.policy,
            server: seat.server,
            upload_gain: valid.upload.ln(seat.me),
            refresh: valid.refresh,
        }
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        &self.known
    }

    /// A stale model is renewed before a decision (the paper) or left until the
    /// next own update (the authors' code).
    fn renew(&mut self) {
        if self.refresh {
            self.known.refresh();
        }
    }
}

impl Machine for Client {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: LinearMsg,
        _cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            LinearMsg::Download { view, merged } => self.known.download(view, merged),
            LinearMsg::Signal { signal: Signal::Merged, number } => self.known.merged_up_to(number),
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
        // Eq. (3): upload event
        if self.known.pending_gain() > self.upload_gain {
            upload(&mut self.known, self.server, cx);
        }
    }
}
