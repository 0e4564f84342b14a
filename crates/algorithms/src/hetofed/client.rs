//! The client of the hetofed family.

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Seat, Stream, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::clusters::{RandomPulls, Threshold};
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg, Signal};

/// Explores, then learns with its clusters: asks for them when it has learned enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    model: FederatedLinear,
    random_pulls: RandomPulls,
    threshold: Threshold,
    /// Requests are for whatever clusters the server will find, and are repeated until one is served.
    recluster: bool,
    /// Sizes of the clusters this client is in, largest first: D_k rises along the list.
    sizes: Vec<u32>,
    /// How many of them have been asked for since the last exchange.
    asked_for: usize,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            model: FederatedLinear::new(&valid.linear, valid.refresh, seat),
            random_pulls: RandomPulls::new(valid.plan),
            threshold: valid.threshold,
            recluster: valid.variant.recluster,
            // Before the first estimate of Algorithm 5 all clients are one cluster.
            sizes: if valid.variant.recluster { vec![valid.users] } else { Vec::new() },
            asked_for: 0,
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

    /// Sizes of the clusters it has been told it is in, largest first.
    pub fn cluster_sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Steps since the last exchange times gain in log-det: line 12 of Algorithm 2. An upload that has
    /// only been looked at counts as not exchanged.
    fn weight(&mut self) -> f64 {
        self.model.unsynced_weight()
    }

    /// Lines 11 to 15 of Algorithm 2, line 11 of Algorithm 5.
    fn request_if_due(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if self.asked_for == self.sizes.len() || !self.random_pulls.is_done() {
            return;
        }
        let weight = self.weight();
        let due = self.sizes.iter().take_while(|&&size| weight >= self.threshold.of(size)).count();
        if due <= self.asked_for {
            return;
        }
        if self.recluster {
            // Says which view it was made with, so that a request overtaken by a view can be told.
            self.model.signal(Signal::Request, self.known().version(), cx);
        } else {
            // For all its clusters of at least this size.
            self.asked_for = due;
            self.model.signal(Signal::Request, self.sizes[due - 1].into(), cx);
        }
    }

    /// A reward came, or never will.
    fn resolve(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        // The end of Algorithm 3: what was explored goes to the server.
        if self.random_pulls.resolve() && !self.recluster {
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
            LinearMsg::Download { view, merged } => {
                self.model.download(view, merged)?;
                self.asked_for = 0;
            }
            LinearMsg::Clusters { sizes, .. } => {
                self.random_pulls.end();
                self.sizes = sizes;
                self.asked_for = 0;
            }
            LinearMsg::Signal { signal: Signal::Ask, .. } => {
                self.random_pulls.end();
                self.model.upload(cx);
            }
            LinearMsg::Signal { signal: Signal::Merged, number } => self.model.merged_up_to(number)?,
            LinearMsg::Refused { number, reason } => {
                // Whoever asked for it waits for an answer all the same.
                if self.model.refused(number, reason, cx)? {
                    self.model.upload(cx);
                }
            }
            LinearMsg::Signal { signal: Signal::Weigh, .. } => {
                let weight = self.weight();
                self.model.signal(Signal::Weight, weight.max(0.0).to_bits(), cx);
            }
            other => return Err(other.unexpected()),
        }
        Ok(())
    }
}

impl Learner for Client {
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        if self.random_pulls.is_random() {
            self.model.renew();
            let arm = arms.draw(rng);
            return Picked::any(arm, arms.open()).keeping(Chosen { context: arms.context(arm) });
        }
        self.model.choose(arms, rng)
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        if self.random_pulls.is_random() {
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
        self.resolve(cx);
        self.request_if_due(cx);
    }

    fn abandon(&mut self, _pending: Chosen, cx: &mut Cx<'_, LinearMsg>) {
        self.resolve(cx);
    }
}
