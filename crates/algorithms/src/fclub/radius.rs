//! Lemma 1: how far the estimate of a global cluster may be off.

use cahoots_core::policy::Radius;
use serde::{Deserialize, Serialize};

/// beta of Lemma 1, and what it needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Beta {
    /// `count` is Lemma 1; `log-det` the same with the determinant instead of its bound; or a number.
    pub(super) form: Radius,
    pub(super) scale: f64,
    pub(super) noise: f64,
    pub(super) failure_prob: f64,
    pub(super) dim: f64,
    pub(super) servers: f64,
    pub(super) rho_min: f64,
    pub(super) rho_max: f64,
    pub(super) kappa: f64,
    /// The bonus is beta times the norm; the authors' code multiplies with its square.
    pub(super) root: bool,
}

/// A global cluster as a local one knows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlobalCluster {
    /// L': local clusters that share, this one included.
    pub members: u32,
    /// m: global clusters in all.
    pub clusters: u32,
}

impl Beta {
    /// For a model with this log-det (everything included) and this many observations.
    pub(super) fn radius(&self, log_det: f64, count: u64, global: GlobalCluster) -> f64 {
        let (members, clusters) = (f64::from(global.members), f64::from(global.clusters));
        let failure = 2.0 * libm::log(clusters * self.servers / self.failure_prob);
        let gain = match self.form {
            Radius::Fixed(radius) => return self.scale * radius,
            Radius::Count => {
                let observed = count as f64 / (self.dim * members * self.rho_min);
                self.dim * libm::log(self.rho_max / self.rho_min + observed)
            }
            Radius::LogDet => (log_det - self.dim * libm::log(members * self.rho_min)).max(0.0),
        };
        let drift = (members * self.rho_max).sqrt() + members.sqrt() * self.kappa;
        self.scale * (self.noise * (failure.max(0.0) + gain).sqrt() + drift)
    }

    /// What is added to the mean of an arm with this squared width.
    pub(super) fn bonus(&self, radius: f64, width2: f64) -> f64 {
        radius * if self.root { width2.sqrt() } else { width2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beta() -> Beta {
        Beta {
            form: Radius::Count,
            scale: 1.0,
            noise: 0.5,
            failure_prob: 0.1,
            dim: 10.0,
            servers: 5.0,
            rho_min: 1.0,
            rho_max: 1.0,
            kappa: 0.0,
            root: true,
        }
    }

    #[test]
    fn lemma_1_without_privacy() {
        // 0.5 sqrt(2 ln(5 * 5 / 0.1) + 10 ln(1 + 2000 / 50)) + sqrt 5
        let radius = beta().radius(0.0, 2000, GlobalCluster { members: 5, clusters: 5 });
        let expected = 0.5 * (2.0 * libm::log(250.0) + 10.0 * libm::log(41.0)).sqrt() + 5f64.sqrt();
        assert!((radius - expected).abs() < 1e-12, "{radius} {expected}");
    }

    #[test]
    fn noise_widens_it() {
        let global = GlobalCluster { members: 2, clusters: 3 };
        let private = Beta { rho_min: 10.0, rho_max: 30.0, kappa: 4.0, ..beta() };
        let expected =
            0.5 * (2.0 * libm::log(150.0) + 10.0 * libm::log(3.5)).sqrt() + 60f64.sqrt() + 2f64.sqrt() * 4.0;
        assert!((private.radius(0.0, 100, global) - expected).abs() < 1e-12);
    }
}
