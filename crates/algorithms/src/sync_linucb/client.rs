//! The client of sync-linucb.

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg, Signal};

/// Learns locally, asks for a synchronisation when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    model: FederatedLinear,
    threshold: f64,
    /// The event fires at the threshold too.
    inclusive: bool,
    /// A request is on its way.
    requested: bool,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            model: FederatedLinear::new(&valid.linear, valid.refresh, seat),
            threshold: valid.threshold,
            inclusive: valid.inclusive,
            requested: false,
        }
    }

    /// Asks at another threshold from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.threshold = valid.threshold;
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        self.model.known()
    }

    /// Algorithm 4, line 10.
    fn event(&mut self) -> bool {
        let weight = self.model.pending_weight();
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
            LinearMsg::Refused { number, reason } => {
                // The round waits for an answer all the same.
                if self.model.refused(number, reason, cx)? {
                    self.model.upload(cx);
                }
                Ok(())
            }
            LinearMsg::Download { view, merged } => self.model.download(view, merged),
            LinearMsg::Signal { signal: Signal::Ask, .. } => {
                self.requested = false;
                self.model.upload(cx);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
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
        if !self.requested && self.event() {
            self.requested = true;
            self.model.signal(Signal::Request, 0, cx);
        }
    }
}
