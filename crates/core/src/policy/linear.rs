//! LinUCB, LinTS and LinPHE on a ridge model, and the uniform policy as a floor.

use cahoots_kernel::{Factor, Scores, Tiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pick::pick;
use super::radius::Confidence;
use crate::ids::ArmIndex;
use crate::rng::Stream;
use crate::stats::LinearStats;

/// Which policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicyKind {
    /// Optimism: mean plus radius times width.
    #[default]
    LinUcb,
    /// Thompson sampling: a model drawn from N(estimate, scale^2 V^-1).
    LinTs,
    /// Perturbed history: past rewards plus fresh pseudo-rewards (Gaussian limit).
    LinPhe,
    /// Any arm.
    Uniform,
}

/// A checked policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearPolicy {
    /// Which policy.
    pub kind: PolicyKind,
    /// LinUCB's radius.
    pub confidence: Confidence,
    /// LinTS: standard deviation of the draw, in units of the model's width.
    pub sampling_scale: f64,
    /// LinPHE: pseudo-rewards per observation.
    pub perturbation: f64,
}

/// A model to choose with.
pub struct LinearModel<'a, S> {
    /// Factor of gram + ridge I, with the moment.
    pub factor: &'a Factor,
    /// Observations behind it.
    pub count: u64,
    /// The statistics themselves; only LinPHE asks.
    pub stats: S,
}

impl LinearPolicy {
    /// LinPHE needs the sum of contexts beside the usual statistics.
    pub fn needs_contexts(&self) -> bool {
        self.kind == PolicyKind::LinPhe
    }

    /// The arm to pull.
    pub fn choose<S: FnOnce() -> LinearStats>(
        &self,
        model: LinearModel<'_, S>,
        arms: &Tiles,
        rng: &mut Stream,
    ) -> ArmIndex {
        let factor = model.factor;
        match self.kind {
            PolicyKind::Uniform => super::uniform(arms.len(), rng),
            PolicyKind::LinUcb => {
                let radius = self.confidence.radius(factor.log_det(), model.count);
                let mut scores = Scores::default();
                factor.score(arms, &mut scores);
                pick(scores.mean.iter().zip(&scores.width2).map(|(mean, width2)| mean + radius * width2.sqrt()))
            }
            PolicyKind::LinTs => {
                // theta = W'(z + scale g), so x.theta = (W x).(z + scale g)
                let direction: Vec<f64> =
                    factor.z().iter().map(|z| z + self.sampling_scale * rng.normal()).collect();
                toward(factor, arms, &direction)
            }
            PolicyKind::LinPhe => {
                let theta = self.perturbed(factor, &(model.stats)(), rng);
                pick((0..arms.len()).map(|arm| {
                    let mut x = vec![0.0; arms.dim()];
                    arms.row_into(arm, &mut x);
                    x.iter().zip(&theta).map(|(a, b)| a * b).sum()
                }))
            }
        }
    }

    /// (a + 1)(G + ridge I) theta = b + sum x Z, Z ~ Binomial(a, 1/2): in the
    /// Gaussian limit sum x Z has mean (a/2) sum x and covariance (a/4) G.
    fn perturbed(&self, factor: &Factor, stats: &LinearStats, rng: &mut Stream) -> Vec<f64> {
        let (a, dim) = (self.perturbation, stats.dim());
        let root = cahoots_kernel::semidefinite_cholesky(stats.gram.packed(), dim);
        let normals: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let perturbed: Vec<f64> = (0..dim)
            .map(|i| {
                let row = &root[i * (i + 1) / 2..][..=i];
                let noise: f64 = row.iter().zip(&normals).map(|(l, g)| l * g).sum();
                (stats.moment[i] + 0.5 * a * stats.contexts[i] + 0.5 * a.sqrt() * noise) / (a + 1.0)
            })
            .collect();
        factor.solve(&perturbed)
    }
}

fn toward(factor: &Factor, arms: &Tiles, direction: &[f64]) -> ArmIndex {
    let mut scores = Scores::default();
    factor.score_toward(arms, direction, &mut scores);
    pick(scores.mean.iter().copied())
}
