//! The client of hetofed-async.

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::{Due, Valid};
use crate::kit::clusters::RandomPulls;
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg, Signal};

/// Explores, asks to be found its clusters, then asks for what they know when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    me: NodeId,
    model: FederatedLinear,
    random_pulls: RandomPulls,
    /// Has asked to be found its clusters, or been told them.
    entered: bool,
    /// Was told its clusters before it had explored: what is left of that exploration is not random.
    excused: bool,
    /// Clients whose data it is given, itself among them; 0 before it has been told.
    partners: u32,
    due: Due,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            me: seat.me,
            model: FederatedLinear::new(&valid.linear, valid.refresh, seat),
            random_pulls: RandomPulls::new(valid.plan),
            entered: false,
            excused: false,
            partners: 0,
            due: valid.trigger.of(seat.me),
        }
    }

    /// Asks at another threshold from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.due = valid.trigger.of(self.me);
    }

    /// What this client knows.
    pub fn known(&self) -> &Buffered {
        self.model.known()
    }

    /// Clients whose data it has been told that it is given, itself among them.
    pub fn partners(&self) -> u32 {
        self.partners
    }

    fn is_random(&self) -> bool {
        !self.excused && self.random_pulls.is_random()
    }

    /// All that it has goes to the server, who is to find those that are like it.
    fn enter(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.entered = true;
        self.model.upload(cx);
        self.model.signal(Signal::Request, self.known().uploads(), cx);
    }

    /// A reward came, or never will; true if that ended a phase of exploration (of no length, perhaps).
    fn resolve(&mut self, cx: &mut Cx<'_, LinearMsg>) -> bool {
        let ended = self.random_pulls.resolve();
        let ended = ended || self.random_pulls.is_done() && !self.entered;
        if ended {
            self.excused = false;
            self.enter(cx);
        }
        ended
    }

    /// Line 12 of Algorithm 2, from the last upload on: what is on its way is not asked for again.
    fn ask_if_due(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if self.partners == 0 || !(self.excused || self.random_pulls.is_done()) {
            return;
        }
        let due = match self.due {
            Due::Weight(threshold) => self.model.pending_weight() >= threshold.of(self.partners),
            Due::Gain(least) => self.model.pending_gain() > least,
        };
        if due {
            self.model.upload(cx);
        }
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
            LinearMsg::Clusters { sizes, .. } => {
                self.partners = sizes.first().copied().unwrap_or(0);
                self.excused |= !self.entered;
                self.entered = true;
            }
            // What it asked may have been lost while it was not believed.
            LinearMsg::Signal { signal: Signal::Ask, .. } => {
                if self.entered {
                    self.enter(cx);
                }
            }
            other => self.model.take(other, cx)?,
        }
        Ok(())
    }
}

impl Learner for Client {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        if self.is_random() {
            self.model.renew();
            let arm = arms.draw(rng);
            return Picked::any(arm, arms.open()).keeping(Chosen { context: arms.context(arm) });
        }
        self.model.choose(arms, rng)
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        if self.is_random() {
            self.model.renew();
            return Some(Distribution::uniform(arms));
        }
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
        self.random_pulls.decide();
    }

    fn observe(&mut self, pending: Chosen, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        self.model.observe(&pending.context, reward);
        if !self.resolve(cx) {
            self.ask_if_due(cx);
        }
    }

    fn abandon(&mut self, _pending: Chosen, cx: &mut Cx<'_, LinearMsg>) {
        self.resolve(cx);
    }
}
