//! How much noise a tree needs for what is promised: three answers.

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gaussian::{epsilon_of, ratio_of};

/// How far one observation moves one node, in standard deviations of that node's noise times its scale:
/// half the squared Frobenius norm of z z' - w w' with |z|^2, |w|^2 <= 2 is at most 4.
pub const NODE_SENSITIVITY: f64 = 2.0;

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

impl Budget {
    /// Refuses what is no budget.
    pub fn check(epsilon: f64, delta: f64, calibration: Calibration) -> Result<Budget, ParamError> {
        if epsilon != f64::INFINITY {
            ParamError::positive("dp_epsilon", epsilon)?;
        }
        ParamError::open_unit("dp_delta", delta)?;
        Ok(Budget { epsilon, delta, calibration })
    }

    /// Scale s of the noise of one node (off the diagonal; on it, sqrt 2 times as much), for a tree of
    /// `levels` levels.
    pub fn deviation(&self, levels: u32) -> f64 {
        if self.epsilon == f64::INFINITY {
            return 0.0;
        }
        let root = f64::from(levels).sqrt();
        let log = libm::log(2.0 / self.delta);
        match self.calibration {
            Calibration::Text => 8.0 * root * log / self.epsilon,
            Calibration::Alg5 => 8.0 * root * log.sqrt() / self.epsilon,
            Calibration::Analytic => NODE_SENSITIVITY * root / ratio_of(self.epsilon, self.delta),
        }
    }

    /// What a tree of `levels` levels with this noise really loses.
    pub fn true_epsilon(&self, levels: u32) -> f64 {
        epsilon_of(NODE_SENSITIVITY * f64::from(levels).sqrt() / self.deviation(levels), self.delta)
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

    /// The table of the reading guide: epsilon 1, ten levels.
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
            let found = Budget { epsilon: 1.0, delta, calibration }.deviation(10);
            assert!((found - expected).abs() < 0.006 * expected, "{calibration:?} {delta}: {found}");
        }
    }

    #[test]
    fn the_published_scales_lose_less_than_they_say_and_the_analytic_one_exactly_that() {
        let truth = |calibration, delta| Budget { epsilon: 1.0, delta, calibration }.true_epsilon(10);
        assert!((truth(Calibration::Analytic, 1e-5) - 1.0).abs() < 1e-6);
        assert!(truth(Calibration::Text, 1e-5) < 0.1);
        assert!(truth(Calibration::Alg5, 1e-5) < 0.3);
    }

    #[test]
    fn what_is_no_budget_is_refused_by_name() {
        assert_eq!(Budget::check(0.0, 0.1, Calibration::Text).unwrap_err().key, "dp_epsilon");
        assert_eq!(Budget::check(1.0, 0.0, Calibration::Text).unwrap_err().key, "dp_delta");
        let none = Budget::check(f64::INFINITY, 0.1, Calibration::Analytic).unwrap();
        assert_eq!(none.deviation(10), 0.0);
    }
}
