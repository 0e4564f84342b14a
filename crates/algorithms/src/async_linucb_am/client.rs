//! The client of async-linucb-am.

use cahoots_core::policy::{Confidence, Distribution, LinearPolicy, pick_open};
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Scores, Seat, Stream,
    UserId,
};
use serde::{Deserialize, Serialize};

use super::alternate::{Alternation, Side};
use super::params::Valid;
use super::warm_up::WarmUp;
use crate::kit::linear::{Chosen, FederatedLinear, LinearMsg, LinearValid};

/// Learns a global part with the others and a local part on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    /// The global part: what is sent and received, with its radius of Lemma 3.3.
    global: FederatedLinear,
    /// Statistics of the local part: never sent.
    own: Buffered,
    /// State 0 of Algorithm 5, until it is over.
    warm_up: Option<WarmUp>,
    alternation: Alternation,
    /// The local radius of Lemma 3.3.
    local_radius: Confidence,
    /// The count form counts the observations behind the global part for both.
    count_all: bool,
    me: NodeId,
    /// ln gamma_U of this client.
    upload_gain: f64,
    /// The event fires at the threshold too.
    inclusive: bool,
    /// Global features, first in a stacked context.
    dim: usize,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let radius = |dim| valid.confidence(valid.partial_noise, dim);
        let shared = &valid.shared.linear;
        let policy = LinearPolicy { confidence: radius(seat.dim), ..shared.policy };
        let linear = LinearValid { policy, ..shared.clone() };
        Client {
            global: FederatedLinear::new(&linear, valid.shared.refresh, seat),
            own: Buffered::new(valid.ridge(), valid.nothing(seat.local_dim)),
            warm_up: valid.warm_up.then(|| WarmUp::new(valid, seat)),
            alternation: valid.alternation,
            local_radius: radius(seat.local_dim),
            count_all: valid.authors,
            me: seat.me,
            upload_gain: valid.shared.upload.ln(seat.me),
            inclusive: valid.authors,
            dim: seat.dim,
        }
    }

    /// Uploads at other ratios from now on.
    pub(super) fn change(&mut self, valid: &Valid) {
        self.upload_gain = valid.shared.upload.ln(self.me);
    }

    /// What this client knows of the global part.
    pub fn known(&self) -> &Buffered {
        self.global.known()
    }

    /// What this client knows of its local part.
    pub fn own(&self) -> &Buffered {
        &self.own
    }

    /// State(i) = 0: no alternation and no upload yet.
    pub fn is_warming_up(&self) -> bool {
        self.warm_up.is_some()
    }

    /// Eq. (8): the sum of two upper confidence bounds.
    fn optimistic(&self, arms: ArmSet<'_>) -> Picked {
        let (mut global, mut local) = (Scores::default(), Scores::default());
        let (global_radius, local_radius) = self.radii();
        self.known().model().score(arms.features(), &mut global);
        let features = arms.local().expect("clients without local features are refused");
        self.own.model().score(features, &mut local);
        let values = bounds(&global, global_radius).zip(bounds(&local, local_radius)).map(|(g, l)| g + l);
        let arm = pick_open(values, arms);
        let width = |scores: &Scores, radius: f64| radius * scores.width2[arm.index()].sqrt();
        let mean = global.mean[arm.index()] + local.mean[arm.index()];
        Picked::optimistic(arm, mean, width(&global, global_radius) + width(&local, local_radius))
    }

    /// Lemma 3.3: the radii of both parts as they stand, global and local.
    pub(super) fn radii(&self) -> (f64, f64) {
        let count = if self.count_all { self.known().model_count() } else { self.own.model_count() };
        (self.global.radius(), self.local_radius.radius(self.own.model().log_det(), count))
    }

    /// Algorithm 5, lines 17 and 18, with Eq. (7).
    fn learn(&mut self, context: &[f64], reward: f64) {
        let (global, local) = context.split_at(self.dim);
        let ridge_local = self.own.model().mean_and_width2(local).0;
        let sides = (Side::new(self.known().total(), global), Side::new(self.own.total(), local));
        let partial = self.alternation.one(reward, &sides.0, &sides.1, ridge_local);
        self.global.observe(global, partial.global);
        self.own.observe(local, partial.local);
    }

    /// Eq. (3): upload event, on the global part alone.
    fn upload_if_due(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if self.known().pending_count() == 0 {
            return;
        }
        let gain = self.global.pending_gain();
        if gain > self.upload_gain || self.inclusive && gain == self.upload_gain {
            self.global.upload(cx);
        }
    }
}

/// Mean plus radius times width of every arm.
fn bounds(scores: &Scores, radius: f64) -> impl Iterator<Item = f64> + '_ {
    scores.mean.iter().zip(&scores.width2).map(move |(mean, width2)| mean + radius * width2.sqrt())
}

impl Machine for Client {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        self.global.take(message, cx)
    }
}

impl Learner for Client {
    /// Stacked features: the global ones first.
    type Pending = Chosen;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        self.global.renew();
        let picked = match &self.warm_up {
            Some(warm_up) => warm_up.choose(arms, rng),
            None => self.optimistic(arms),
        };
        let mut context = arms.context(picked.arm);
        context.extend_from_slice(&arms.local_context(picked.arm));
        picked.keeping(Chosen { context })
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        match &self.warm_up {
            Some(warm_up) => {
                self.global.renew();
                warm_up.odds(arms, rng)
            }
            None => Distribution::if_certain(self.choose(user, arms, rng).picked, arms),
        }
    }

    fn drain(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.global.drain(cx);
    }

    fn unsent(&self) -> u64 {
        self.global.unsent()
    }

    fn commit(&mut self, _pending: &Chosen, _cx: &mut Cx<'_, LinearMsg>) {
        self.global.renew();
    }

    fn observe(&mut self, pending: Chosen, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        if let Some(warm_up) = &mut self.warm_up {
            warm_up.observe(&pending.context, reward);
            if let Some((global, local)) = warm_up.finish(&self.global.known().total(), &self.alternation) {
                // Algorithm 5, line 13.
                self.global.observe_all(&global);
                self.own.observe_all(&local);
                self.warm_up = None;
            }
        } else {
            self.learn(&pending.context, reward);
        }
        self.upload_if_due(cx);
    }
}
