//! How much noise a tree needs for what is promised: three answers.

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gaussian::{Gaussian, ratio_of};
use crate::grid::Grid;

/// How far one observation moves a Gram matrix and a moment, in deviations of their noise times its scale (s off the
/// diagonal and in the moment, sqrt 2 s on the diagonal), where `|x| <= 1` and `|y| <= b`.
///
/// For (x, y) and (w, v) that is half the squared norm of `x x' - w w'` plus the squared norm of `y x - v w`. Both grow
/// with |x| and |w|; with unit vectors, `c = x'w` and `y = b = -v` it is `1 - c^2 + 2 b^2 (1 + c)`, largest at
/// `c = min(b^2, 1)`: `(1 + b^2)^2`, or `4 b^2` from b = 1 on.
pub const fn sensitivity(b: f64) -> f64 {
    if b <= 1.0 { 1.0 + b * b } else { 2.0 * b }
}

/// The same for one node of a tree, whose rewards are at most 1.
pub const NODE_SENSITIVITY: f64 = sensitivity(1.0);

/// Where the scale of the noise comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Calibration {
    /// Section 3 of the paper: variance 64 nu ln(2/delta)^2 / epsilon^2.
    Text,
    /// Algorithm 5 of the paper: variance 64 nu ln(2/delta) / epsilon^2.
    Alg5,
    /// No more than it takes: the whole tree is one Gaussian mechanism of sensitivity 2 sqrt(nu).
    #[default]
    Analytic,
}

/// What a tree must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Privacy loss asked for; infinite: no noise.
    pub epsilon: f64,
    /// Probability that the loss is larger.
    pub delta: f64,
    /// How the noise is found.
    pub calibration: Calibration,
}

/// What a user states of a promise: keys of every algorithm that makes one about sums.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stated {
    /// Privacy loss epsilon, of all that is ever released (inf: no noise).
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-infinite" = true))]
    pub dp_epsilon: f64,
    /// Probability delta that the loss is larger. To be stated wherever there is noise; at most 1e-5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub dp_delta: Option<f64>,
    /// Insist on a `dp_delta` above 1e-5.
    #[serde(default)]
    pub large_delta: bool,
}

fn one() -> f64 {
    1.0
}

/// A promise may fail with this probability at most, unless one insists: with many observations, one that fails once
/// in a few thousand fails for somebody.
pub const LARGEST_DELTA: f64 = 1e-5;

impl Stated {
    /// The budget. `dp_delta` is no matter of taste, so it has no default, and a large one needs `large_delta = true`.
    pub fn budget(&self, calibration: Calibration) -> Result<Budget, ParamError> {
        let Stated { dp_epsilon: epsilon, dp_delta: delta, large_delta } = *self;
        if epsilon == f64::INFINITY {
            return Budget::check(epsilon, delta.unwrap_or(LARGEST_DELTA), calibration);
        }
        let delta = delta.ok_or_else(|| {
            ParamError::new(
                "dp_delta",
                "state how often the promise may fail: dp_delta = 1e-5, or less (for one in n observations, below 1 / n)",
            )
        })?;
        let budget = Budget::check(epsilon, delta, calibration)?;
        if delta > LARGEST_DELTA && !large_delta {
            let problem = format!(
                "{delta} is a promise that may fail for one observation in {:.0}: at most {LARGEST_DELTA}, unless you \
                 insist with large_delta = true",
                1.0 / delta
            );
            return Err(ParamError::new("dp_delta", problem));
        }
        Ok(budget)
    }
}

impl Budget {
    /// Refuses what is no budget.
    pub fn check(epsilon: f64, delta: f64, calibration: Calibration) -> Result<Budget, ParamError> {
        if epsilon != f64::INFINITY {
            ParamError::positive("dp_epsilon", epsilon)?;
        }
        ParamError::open_unit("dp_delta", delta)?;
        Ok(Budget { epsilon, delta, calibration })
    }

    /// Scale s of the noise of one node (off the diagonal; on it, sqrt 2 times as much), where an observation may
    /// be in `trees` trees of `levels` levels, one after the other, and nodes hold `values` numbers. The published
    /// scales speak of one tree; where that is not enough for all of them, they are raised.
    pub fn deviation(&self, levels: u32, trees: u32, values: usize) -> Result<f64, ParamError> {
        if self.epsilon == f64::INFINITY {
            return Ok(0.0);
        }
        let nodes = levels as usize * trees as usize;
        let needed = self.needed(NODE_SENSITIVITY * (nodes as f64).sqrt(), nodes.saturating_mul(values))?;
        // Algorithm 5 counts one level more than there is.
        let root = f64::from(levels + 1).sqrt();
        let log = libm::log(2.0 / self.delta);
        Ok(match self.calibration {
            Calibration::Text => needed.max(8.0 * root * log / self.epsilon),
            Calibration::Alg5 => needed.max(8.0 * root * log.sqrt() / self.epsilon),
            Calibration::Analytic => needed,
        })
    }

    /// The noise that is needed for a sensitivity, over `values` numbers that are rounded before they get it.
    pub fn gaussian(&self, sensitivity: f64, values: usize) -> Result<Gaussian, ParamError> {
        if self.epsilon == f64::INFINITY {
            return Ok(Gaussian::NONE);
        }
        Gaussian::of_deviation("dp_epsilon", self.needed(sensitivity, values)?)
    }

    /// s = (sensitivity + rounding) / ratio, where rounding grows with s: each of the values moves by up to one step of
    /// a grid of [`Grid::FINENESS`] binary places below s.
    fn needed(&self, sensitivity: f64, values: usize) -> Result<f64, ParamError> {
        let ratio = ratio_of(self.epsilon, self.delta);
        let rounding = (values as f64).sqrt() * libm::ldexp(1.0, -Grid::FINENESS) / ratio;
        if rounding > 0.5 {
            let problem = format!("{} asks for noise too coarse for {values} numbers at once", self.epsilon);
            return Err(ParamError::new("dp_epsilon", problem));
        }
        Ok(sensitivity / ratio / (1.0 - rounding))
    }
}

impl Calibration {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Calibration::Text => "the paper's text, 8 sqrt(levels) ln(2/delta) / epsilon per node",
            Calibration::Alg5 => "the paper's Algorithm 5, 8 sqrt(levels ln(2/delta)) / epsilon per node",
            Calibration::Analytic => "analytic Gaussian, no more noise than it takes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussian::epsilon_of;
    use cahoots_core::{Keys, NodeId};

    /// The largest that a search over pairs of observations finds is what the formula says.
    #[test]
    fn no_pair_of_observations_is_further_apart_than_the_sensitivity() {
        let mut rng = Keys::from_seed(4).policy(NodeId(0), 0);
        for b in [0.25f64, 0.5, 1.0, 1.5] {
            let mut largest = 0.0f64;
            for _ in 0..200_000 {
                let mut observation = || {
                    let (p, q) = (rng.normal(), rng.normal());
                    let scale = libm::pow(rng.uniform(), 0.1) / (p * p + q * q).sqrt();
                    (
                        [p * scale, q * scale],
                        if rng.uniform() < 0.5 { b } else { b * (2.0 * rng.uniform() - 1.0) },
                    )
                };
                let ((x, y), (w, v)) = (observation(), observation());
                let gram: f64 =
                    (0..4).map(|at| x[at / 2] * x[at % 2] - w[at / 2] * w[at % 2]).map(|e| e * e).sum();
                let moment: f64 = (0..2).map(|at| y * x[at] - v * w[at]).map(|e| e * e).sum();
                largest = largest.max((0.5 * gram + moment).sqrt());
            }
            let bound = sensitivity(b);
            assert!(largest <= bound && largest > 0.97 * bound, "b = {b}: {largest} of {bound}");
        }
    }

    /// The table of the reading guide: epsilon 1, ten levels, as each counts them.
    #[test]
    fn the_three_scales_at_ten_levels() {
        for (calibration, delta, expected) in [
            (Calibration::Text, 0.1, 75.8),
            (Calibration::Text, 1e-5, 308.8),
            (Calibration::Alg5, 0.1, 43.8),
            (Calibration::Alg5, 1e-5, 88.4),
            (Calibration::Analytic, 0.1, 6.87),
            (Calibration::Analytic, 1e-5, 23.6),
        ] {
            let levels = if calibration == Calibration::Analytic { 10 } else { 9 };
            let found = Budget { epsilon: 1.0, delta, calibration }.deviation(levels, 1, 1).unwrap();
            assert!((found - expected).abs() < 0.006 * expected, "{calibration:?} {delta}: {found}");
        }
    }

    #[test]
    fn the_published_scales_lose_less_than_they_say_and_the_analytic_one_exactly_that() {
        let truth = |calibration, delta| {
            let deviation = Budget { epsilon: 1.0, delta, calibration }.deviation(10, 1, 1).unwrap();
            epsilon_of(NODE_SENSITIVITY * 10f64.sqrt() / deviation, delta)
        };
        assert!((truth(Calibration::Analytic, 1e-5) - 1.0).abs() < 1e-4);
        assert!(truth(Calibration::Text, 1e-5) < 0.1);
        assert!(truth(Calibration::Alg5, 1e-5) < 0.3);
    }

    /// Many trees, many numbers, little privacy loss: what rounding and renewals add is within what was asked for.
    #[test]
    fn no_calibration_spends_more_than_was_asked_for() {
        for calibration in [Calibration::Text, Calibration::Alg5, Calibration::Analytic] {
            for (epsilon, delta) in [(1.0, 0.1), (1.0, 1e-5), (0.05, 1e-6), (8.0, 1e-5)] {
                for (levels, trees, values) in [(1, 1, 2), (12, 40, 350), (17, 3, 20_000)] {
                    let budget = Budget { epsilon, delta, calibration };
                    let noise = Gaussian::of_deviation("s", budget.deviation(levels, trees, values).unwrap());
                    let noise = noise.unwrap();
                    let one = NODE_SENSITIVITY + (values as f64).sqrt() * noise.step();
                    let all = one * f64::from(levels * trees).sqrt() / noise.deviation();
                    let spent = epsilon_of(all, delta);
                    assert!(spent <= epsilon, "{budget:?} {levels} {trees} {values}: {spent}");
                }
            }
        }
    }

    #[test]
    fn a_delta_is_stated_and_small_unless_one_insists() {
        let stated = |dp_delta, large_delta| {
            Stated { dp_epsilon: 1.0, dp_delta, large_delta }.budget(Calibration::Analytic)
        };
        assert_eq!(stated(Some(1e-5), false).unwrap().delta, 1e-5);
        assert_eq!(stated(Some(0.1), true).unwrap().delta, 0.1);
        for refused in
            [stated(None, false), stated(None, true), stated(Some(0.1), false), stated(Some(1.0), true)]
        {
            assert_eq!(refused.unwrap_err().key, "dp_delta");
        }
        assert!(
            Stated { dp_epsilon: f64::INFINITY, dp_delta: None, large_delta: false }
                .budget(Calibration::Analytic)
                .is_ok(),
            "nothing is promised"
        );
    }

    #[test]
    fn what_is_no_budget_is_refused_by_name() {
        assert_eq!(Budget::check(0.0, 0.1, Calibration::Text).unwrap_err().key, "dp_epsilon");
        assert_eq!(Budget::check(1.0, 0.0, Calibration::Text).unwrap_err().key, "dp_delta");
        let none = Budget::check(f64::INFINITY, 0.1, Calibration::Analytic).unwrap();
        assert_eq!(none.deviation(10, 1, 1), Ok(0.0));
        let fine = Budget::check(1e-6, 1e-6, Calibration::Analytic).unwrap();
        assert_eq!(fine.deviation(10, 1, 20_000).unwrap_err().key, "dp_epsilon");
    }
}
