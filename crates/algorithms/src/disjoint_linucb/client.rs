//! A model for each arm.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::policy::{pick, pick_open};
use cahoots_core::{
    ArmIndex, ArmSet, Buffered, Choice, Context, Cx, Learner, Picked, Scores, Silence, Stream, Tiles, UserId,
    View, hears_nothing,
};
use serde::{Deserialize, Serialize};

/// Models by the index of an arm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    /// Of those that were ever pulled.
    models: BTreeMap<ArmIndex, Buffered>,
    /// The model of an arm that was never pulled.
    untried: Buffered,
    alpha: f64,
}

/// What a decision keeps until its reward comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pulled {
    /// The arm.
    pub arm: ArmIndex,
    /// Its features.
    pub context: Context,
}

impl Client {
    pub(super) fn new(ridge: f64, alpha: f64, nothing: Arc<View>) -> Client {
        Client { models: BTreeMap::new(), untried: Buffered::new(ridge, nothing), alpha }
    }

    /// What is known of an arm.
    pub fn known(&self, arm: ArmIndex) -> &Buffered {
        self.models.get(&arm).unwrap_or(&self.untried)
    }

    /// The arm that is chosen of the first `arms` in each of many contexts that all of them see, and its bound: what
    /// [`Learner::choose`] gives one by one, with the same bits. Contexts lie in SIMD lanes here, so that this is faster.
    pub fn choose_each(&self, contexts: &Tiles, arms: usize) -> Vec<(ArmIndex, f64)> {
        let mut bounds = vec![0.0; contexts.len() * arms];
        Scores::lend(|scores| {
            for arm in 0..arms {
                self.known(ArmIndex(arm as u32)).model().score(contexts, scores);
                let own = bounds.iter_mut().skip(arm).step_by(arms);
                for (bound, (mean, width2)) in own.zip(scores.mean.iter().zip(&scores.width2)) {
                    *bound = mean + self.alpha * width2.sqrt();
                }
            }
        });
        let chosen = |of: &[f64]| {
            let arm = pick(of.iter().copied());
            (arm, of[arm.index()])
        };
        bounds.chunks_exact(arms).map(chosen).collect()
    }

    /// Lines 8 and 9 of Algorithm 1: mean and alpha times the width of an arm's features under its own model.
    fn estimate(&self, arm: ArmIndex, context: &[f64]) -> (f64, f64) {
        let (mean, width2) = self.known(arm).model().mean_and_width2(context);
        (mean, self.alpha * width2.sqrt())
    }
}

hears_nothing!(Client);

impl Learner for Client {
    type Pending = Pulled;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Choice<Pulled> {
        let mut x = vec![0.0; arms.features().dim()];
        let bounds = (0..arms.len()).map(|arm| {
            arms.features().row_into(arm, &mut x);
            let (mean, width) = self.estimate(ArmIndex(arm as u32), &x);
            mean + width
        });
        let arm = pick_open(bounds, arms);
        let context = arms.context(arm);
        let (mean, width) = self.estimate(arm, &context);
        Picked::optimistic(arm, mean, width).keeping(Pulled { arm, context })
    }

    fn observe(&mut self, pulled: Pulled, reward: f64, _cx: &mut Cx<'_, Silence>) {
        let model = self.models.entry(pulled.arm).or_insert_with(|| self.untried.clone());
        model.observe(&pulled.context, reward);
    }
}
