//! The client of async-linucb.

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg};

/// Learns locally, uploads when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    me: NodeId,
    model: FederatedLinear,
    /// ln gamma_U of this client.
    upload_gain: f64,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            me: seat.me,
            model: FederatedLinear::new(&valid.linear, valid.refresh, seat),
            upload_gain: valid.upload.ln(seat.me),
        }
    }

    /// Uploads at other ratios from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.upload_gain = valid.upload.ln(self.me);
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        self.model.known()
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
        self.model.take(message, cx)
    }
}

impl Learner for Client {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        self.model.choose(arms, rng)
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.model.odds(arms, rng)
    }

    fn drain(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.model.drain(cx);
    }

    fn unsent(&self) -> u64 {
        self.model.unsent()
    }

    fn commit(&mut self, _pending: &Chosen, _cx: &mut Cx<'_, LinearMsg>) {
        self.model.renew();
    }

    fn observe(&mut self, pending: Chosen, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        self.model.observe(&pending.context, reward);
        // Eq. (3): upload event
        if self.model.pending_gain() > self.upload_gain {
            self.model.upload(cx);
        }
    }
}
