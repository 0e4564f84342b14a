//! The client of fed-linucb.

use cahoots_core::policy::{Distribution, pick_open};
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg};

/// Decides by what it last downloaded, synchronises when its own data have grown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    me: NodeId,
    model: FederatedLinear,
    /// ln(1 + alpha) of this client.
    upload_gain: f64,
    own_data: bool,
    from_zeros: bool,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            me: seat.me,
            model: FederatedLinear::new(&valid.linear, true, seat),
            upload_gain: valid.upload.ln(seat.me),
            own_data: valid.own_data,
            from_zeros: valid.from_zeros,
        }
    }

    /// Synchronises at other ratios from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.upload_gain = valid.upload.ln(self.me);
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        self.model.known()
    }

    /// Its own observations count in its decisions: by its parameters, or because its server would not merge
    /// some, so that no download will ever bring them back.
    fn by_all(&self) -> bool {
        self.own_data || self.known().keeps_refused()
    }

    /// The authors' code: all that was downloaded is a matrix of zeros, by which all arms are alike.
    fn at_zero(&self) -> bool {
        self.from_zeros && self.known().version() == 0 && !self.by_all()
    }

    /// Line 8 of Algorithm 1. Against zeros any first observation is growth; what is on its way counts as
    /// downloaded, or every reward that comes before the answer would ask again.
    fn event(&mut self) -> bool {
        let first = self.from_zeros && self.known().version() == 0 && self.known().uploads() == 0;
        first || self.model.pending_gain() > self.upload_gain
    }
}

/// The first arm that can be chosen.
fn first(arms: ArmSet<'_>) -> cahoots_core::ArmIndex {
    pick_open(std::iter::repeat_n(0.0, arms.len()), arms)
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
        if self.at_zero() {
            let arm = first(arms);
            return Picked::certain(arm).keeping(Chosen { context: arms.context(arm) });
        }
        if self.by_all() { self.model.choose(arms, rng) } else { self.model.choose_by_download(arms, rng) }
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        if self.at_zero() {
            return Some(Distribution::certain(first(arms), arms));
        }
        if self.by_all() { self.model.odds(arms, rng) } else { self.model.odds_by_download(arms, rng) }
    }

    fn drain(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.model.drain(cx);
    }

    fn unsent(&self) -> u64 {
        self.model.unsent()
    }

    fn commit(&mut self, _pending: &Chosen, _cx: &mut Cx<'_, LinearMsg>) {
        if self.by_all() {
            self.model.renew();
        }
    }

    fn observe(&mut self, pending: Chosen, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        // Line 7: local update
        self.model.observe(&pending.context, reward);
        if self.event() {
            self.model.upload(cx);
        }
    }
}
