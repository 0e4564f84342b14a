//! What clients with one linear model that is learned together do alike: choose by it, learn, upload what
//! they have gained, take views. When they upload is what their papers are about.

use std::sync::Arc;

use cahoots_core::policy::{Distribution, LinearModel, LinearPolicy};
use cahoots_core::{
    ArmSet, Buffered, Choice, Cx, Fact, LinearStats, Misbehaviour, NodeId, Picked, Seat, Stream, Unprotected,
    View,
};
use serde::{Deserialize, Serialize};

use super::{Chosen, LinearMsg, LinearValid, Signal};

/// The policy's choice by what is known.
pub(crate) fn choose_by(
    known: &Buffered,
    policy: &LinearPolicy,
    arms: ArmSet<'_>,
    rng: &mut Stream,
) -> Picked {
    policy.choose(model_of(known), arms, rng)
}

/// How likely that is to be each arm.
pub(crate) fn odds_by(
    known: &Buffered,
    policy: &LinearPolicy,
    arms: ArmSet<'_>,
    rng: &mut Stream,
) -> Option<Distribution> {
    policy.distribution(model_of(known), arms, rng)
}

/// What was downloaded last, and nothing since.
fn downloaded(known: &Buffered) -> LinearModel<'_, impl FnOnce() -> LinearStats> {
    let view = known.synced();
    LinearModel {
        factor: view.factor(known.ridge()),
        count: view.stats().count,
        stats: || view.stats().clone(),
    }
}

fn model_of(known: &Buffered) -> LinearModel<'_, impl FnOnce() -> LinearStats> {
    LinearModel { factor: known.model(), count: known.model_count(), stats: || known.total() }
}

/// A linear model that is learned together with others, through a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FederatedLinear {
    known: Buffered,
    policy: LinearPolicy,
    server: NodeId,
    refresh: bool,
}

impl FederatedLinear {
    /// Knows nothing yet. `refresh`: a stale model is renewed before a decision (as papers have it) or left
    /// until the next own update (as some authors' code does).
    pub fn new(valid: &LinearValid, refresh: bool, seat: &Seat) -> Self {
        let known = Buffered::new(valid.ridge, valid.nothing.clone());
        FederatedLinear { known, policy: valid.policy, server: seat.server, refresh }
    }

    /// What it knows.
    pub fn known(&self) -> &Buffered {
        &self.known
    }

    /// What its policy adds to means is this times their width.
    pub fn radius(&self) -> f64 {
        self.policy.confidence.radius(self.known.model().log_det(), self.known.model_count())
    }

    /// Brings the model up to date before a decision, where it is to be; to be called by `choose` and by
    /// `commit`, so that a replay ends in the same state.
    pub fn renew(&mut self) {
        if self.refresh {
            self.known.refresh();
        }
    }

    /// The policy's choice, by a model that has been renewed.
    pub fn choose(&mut self, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        self.renew();
        let picked = choose_by(&self.known, &self.policy, arms, rng);
        picked.keeping(Chosen { context: arms.context(picked.arm) })
    }

    /// How likely that is to be each arm, by the same model.
    pub fn odds(&mut self, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.renew();
        odds_by(&self.known, &self.policy, arms, rng)
    }

    /// The policy's choice by what was downloaded last: its own observations since are not looked at.
    pub fn choose_by_download(&self, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
        let picked = self.policy.choose(downloaded(&self.known), arms, rng);
        picked.keeping(Chosen { context: arms.context(picked.arm) })
    }

    /// How likely that is to be each arm.
    pub fn odds_by_download(&self, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.policy.distribution(downloaded(&self.known), arms, rng)
    }

    /// Learns from one observation.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.known.observe(x, reward);
    }

    /// Learns from many observations at once, given as their sums.
    pub fn observe_all(&mut self, observations: &LinearStats) {
        self.known.observe_all(observations);
    }

    /// Gain in log-det since the last upload.
    pub fn pending_gain(&mut self) -> f64 {
        self.known.pending_gain()
    }

    /// Observations since the last upload times gain in log-det.
    pub fn pending_weight(&mut self) -> f64 {
        self.known.pending_count() as f64 * self.known.pending_gain()
    }

    /// Observations since the last view times gain in log-det, uploads that it does not hold included.
    pub fn unsynced_weight(&mut self) -> f64 {
        self.known.unsynced_count() as f64 * self.known.unsynced_gain()
    }

    /// Sends what has been observed since the last upload, unprotected.
    pub fn upload(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let (number, exact) = self.known.take_upload();
        let stats = cx.release(&mut Unprotected, exact);
        cx.send(self.server, LinearMsg::Upload { number, stats });
    }

    /// Sends what has been observed since the last upload, if anything has.
    pub fn drain(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if self.unsent() > 0 {
            self.upload(cx);
        }
    }

    /// Observations since the last upload.
    pub fn unsent(&self) -> u64 {
        self.known.pending_count()
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal, number: u64, cx: &mut Cx<'_, LinearMsg>) {
        cx.send(self.server, LinearMsg::signal(signal, number));
    }

    /// A view came that holds its uploads up to number `merged`. `Err` changes nothing.
    pub fn download(&mut self, view: Arc<View>, merged: u64) -> Result<(), Misbehaviour> {
        self.known.download(view, merged)
    }

    /// Its uploads up to `number` are merged, though no view has come. `Err` changes nothing.
    pub fn merged_up_to(&mut self, number: u64) -> Result<(), Misbehaviour> {
        self.known.merged_up_to(number)
    }

    /// Upload `number` was refused: what was in it stays here. `true` if there was anything in it. `Err`
    /// changes nothing.
    pub fn refused(
        &mut self,
        number: u64,
        reason: String,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<bool, Misbehaviour> {
        let observations = self.known.refused(number)?;
        cx.report(Fact::Refused { observations, reason });
        Ok(observations > 0)
    }

    /// Views, confirmations and refusals, which mean the same in every federation; refuses all else.
    pub fn take(&mut self, message: LinearMsg, cx: &mut Cx<'_, LinearMsg>) -> Result<(), Misbehaviour> {
        match message {
            LinearMsg::Download { view, merged } => self.download(view, merged),
            LinearMsg::Signal { signal: Signal::Merged, number } => self.merged_up_to(number),
            LinearMsg::Refused { number, reason } => self.refused(number, reason, cx).map(|_| ()),
            other => Err(other.unexpected()),
        }
    }
}
