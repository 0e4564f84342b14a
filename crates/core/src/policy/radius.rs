//! How wide the confidence ellipsoid is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ParamError;

/// Form of the confidence radius.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Radius {
    /// From the determinant of the Gram matrix (self-normalised bound).
    LogDet,
    /// From the number of observations.
    Count,
    /// A fixed number.
    Fixed(#[schemars(range(min = 0.0))] f64),
}

/// A checked radius with the constants it needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    form: Radius,
    noise: f64,
    /// 2 ln(1 / failure probability).
    failure: f64,
    ridge: f64,
    dim: usize,
    /// log det(ridge I).
    prior_log_det: f64,
}

impl Confidence {
    /// For rewards with sub-Gaussian `noise`, right with probability `1 - failure_prob`.
    pub fn new(
        form: Radius,
        noise: f64,
        failure_prob: f64,
        ridge: f64,
        dim: usize,
    ) -> Result<Self, ParamError> {
        if let Radius::Fixed(value) = form {
            ParamError::not_negative("radius", value)?;
        }
        let failure = -2.0 * libm::log(ParamError::open_unit("failure_prob", failure_prob)?);
        let noise = ParamError::not_negative("reward_noise", noise)?;
        let prior_log_det = dim as f64 * libm::log(ridge);
        Ok(Confidence { form, noise, failure, ridge, dim, prior_log_det })
    }

    /// The sub-Gaussian scale of rewards that it was made for.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// The radius for a model with this log-det (ridge included) and this many observations.
    pub fn radius(&self, log_det: f64, count: u64) -> f64 {
        let gain = match self.form {
            Radius::Fixed(radius) => return radius,
            Radius::LogDet => log_det - self.prior_log_det,
            Radius::Count => {
                let dim = self.dim as f64;
                dim * libm::log1p(count as f64 / (dim * self.ridge))
            }
        };
        self.noise * (gain.max(0.0) + self.failure).sqrt() + self.ridge.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_agree_before_the_first_observation() {
        let radius = |form| Confidence::new(form, 0.1, 0.1, 0.5, 3).unwrap().radius(3.0 * libm::log(0.5), 0);
        assert!((radius(Radius::LogDet) - radius(Radius::Count)).abs() < 1e-15);
        assert_eq!(radius(Radius::Fixed(0.3)), 0.3);
        // 0.1 sqrt(2 ln 10) + sqrt(0.5)
        assert!((radius(Radius::Count) - 0.921_703_36).abs() < 1e-7);
    }

    #[test]
    fn the_count_form_divides_by_d_ridge() {
        let count = Confidence::new(Radius::Count, 1.0, 0.1, 0.1, 4).unwrap();
        // sqrt(4 ln(1 + 7 / 0.4) + 2 ln 10) + sqrt(0.1)
        assert!((count.radius(0.0, 7) - 4.350_611_6).abs() < 1e-6);
    }

    #[test]
    fn the_count_form_bounds_the_log_det_form() {
        // One unit context repeated n times: det = ridge^(d-1) (ridge + n).
        let (ridge, n, dim) = (0.1, 50u64, 4);
        let log_det = 3.0 * libm::log(ridge) + libm::log(ridge + n as f64);
        let form = |form| Confidence::new(form, 1.0, 0.1, ridge, dim).unwrap().radius(log_det, n);
        assert!(form(Radius::LogDet) < form(Radius::Count));
    }
}
