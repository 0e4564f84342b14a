//! What becomes of the parameters of the fclub family: checked, with all that follows from them.

use cahoots_core::plausible::Noised;
use cahoots_core::policy::Radius;
use cahoots_core::{Claim, LinearStats, Misbehaviour, ParamError, Plausible, Setting, UserId};
use cahoots_privacy::{Budget, Calibration, Gaussian, Plan, tree};
use serde::{Deserialize, Serialize};

use super::params::{Clustering, Common, Delays, Privacy, Promise, Shift};
use super::radius::Beta;
use crate::Fidelity;
use crate::kit::clusters::users_by_host;

/// What all machines of a federation go by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub(super) dim: usize,
    /// lambda of a user's own estimate.
    pub(super) ridge: f64,
    /// What each local cluster brings along inside S.
    pub(super) base: f64,
    pub(super) beta: Beta,
    /// Decide with S + dS, as the authors' code does.
    pub(super) decide_ahead: bool,
    /// Eq. (3), Eq. (4), footnote 2; `None`: all users are one cluster.
    pub(super) clustering: Option<ClusteringRules>,
    pub(super) ln_upload: f64,
    pub(super) ln_download: f64,
    pub(super) servers: u32,
    pub(super) horizon: u64,
    pub(super) privacy: Option<Noisy>,
    /// What an upload can hold under the terms, before noise.
    pub(super) plausible: Plausible,
}

impl Rules {
    /// What is uploaded has noise.
    pub(super) fn is_noisy(&self) -> bool {
        self.privacy.is_some_and(|privacy| !privacy.noise.is_none())
    }

    /// Refuses what no observations can have led to, but for noise of the scale that all know.
    pub(super) fn check(&self, stats: &LinearStats) -> Result<(), Misbehaviour> {
        stats.check(self.dim, false)?;
        let Some(Noisy { noise, rho, shift, .. }) = self.privacy.filter(|privacy| !privacy.noise.is_none())
        else {
            return self.plausible.check(stats);
        };
        let shift = if shift == Shift::Paper { 3.0 * rho } else { 0.0 };
        let noise = Noised { deviation: tree::spread(&noise), shift, step: noise.step() };
        // Local servers clip where there is noise.
        Plausible::CLIPPED.check_noised(stats, &noise)
    }
}

/// alpha_1, alpha_2 and eta.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ClusteringRules {
    pub(super) deletion: f64,
    pub(super) merge: f64,
    pub(super) tolerance: f64,
    pub(super) merge_within: bool,
}

/// The noise of a private federation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Noisy {
    pub(super) noise: Gaussian,
    /// What the noise is made for.
    pub(super) plan: Plan,
    /// Bound on the operator norm of the noise in a sum; 0 without noise.
    pub(super) rho: f64,
    pub(super) shift: Shift,
    pub(super) budget: Budget,
    /// Decisions use exact data that is not released, and show it to whoever sees them.
    decides_ahead: bool,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) rules: Rules,
    /// Users of each local server.
    pub(super) users: Vec<Vec<UserId>>,
}

impl Common {
    pub(super) fn check(
        &self,
        clustering: Option<&Clustering>,
        delays: Option<&Delays>,
        promise: Option<&Promise>,
        setting: &Setting,
    ) -> Result<Valid, ParamError> {
        if setting.dim == 0 {
            return Err(ParamError::new("kind", "needs arms with features; this environment has plain arms"));
        }
        let authors = self.fidelity == Fidelity::Authors;
        let ridge = self.ridge.unwrap_or(if authors && promise.is_none() { 2.0 } else { 1.0 });
        let ridge = ParamError::positive("ridge", ridge)?;
        let alpha = ParamError::open_unit("failure_prob", self.failure_prob)?;
        let users = users_by_host(setting);
        let servers = users.len() as f64;
        let ln = |key, own: Option<f64>, delays: &Delays| {
            let ratio = own.or(delays.ratio).unwrap_or(1.01);
            if ratio >= 1.0 {
                Ok(libm::log(ratio))
            } else {
                Err(ParamError::new(key, format!("must be at least 1 (inf: never), not {ratio}")))
            }
        };
        let (ln_upload, ln_download) = match delays {
            None => (0.0, 0.0),
            Some(delays) => (
                ln("upload_ratio", delays.upload_ratio, delays)?,
                ln("download_ratio", delays.download_ratio, delays)?,
            ),
        };
        let uploads = uploads_at_most(ln_upload.min(ln_download), setting);
        let privacy =
            promise.map(|promise| promise.check(setting, uploads, servers, alpha, authors)).transpose()?;
        let rho = privacy.map_or(0.0, |privacy| privacy.rho);
        let base = ridge.max(2.0 * rho);
        let beta = Beta {
            form: self.radius.unwrap_or(Radius::Count),
            scale: ParamError::not_negative(
                "radius_scale",
                self.radius_scale.unwrap_or(if authors && promise.is_some() { 0.005 } else { 1.0 }),
            )?,
            noise: ParamError::not_negative(
                "reward_noise",
                self.reward_noise.unwrap_or(setting.reward_noise),
            )?,
            failure_prob: alpha,
            dim: setting.dim as f64,
            servers,
            rho_min: if rho > 0.0 { base - rho } else { base },
            rho_max: base + rho + privacy.map_or(0.0, |privacy| privacy.growth(uploads)),
            kappa: privacy.map_or(0.0, |privacy| privacy.kappa(setting.dim, servers, alpha)),
            root: !authors,
        };
        if let Radius::Fixed(value) = beta.form {
            ParamError::not_negative("radius", value)?;
        }
        let clustering = clustering.map(Clustering::check).transpose()?;
        let rules = Rules {
            dim: setting.dim,
            ridge,
            base,
            beta,
            decide_ahead: authors,
            clustering,
            ln_upload,
            ln_download,
            servers: users.len() as u32,
            horizon: setting.horizon,
            privacy,
            plausible: Plausible::of(setting)?,
        };
        Ok(Valid { rules, users })
    }
}

/// Theorem 2's bound on the uploads of a local cluster. What is public counts uploads no less often than
/// determinants do: see `LocalCluster::upload_is_due`.
fn uploads_at_most(ln_ratio: f64, setting: &Setting) -> u64 {
    let observations = (setting.horizon.max(2) as f64) * setting.users.max(1) as f64;
    let bound = setting.dim as f64 * libm::log(observations) / ln_ratio;
    libm::ceil(bound.min(observations)).max(1.0) as u64
}

impl Clustering {
    fn check(&self) -> Result<ClusteringRules, ParamError> {
        Ok(ClusteringRules {
            deletion: ParamError::not_negative("deletion", self.deletion)?,
            merge: ParamError::not_negative("merge", self.merge)?,
            tolerance: ParamError::not_negative("tolerance", self.tolerance)?,
            merge_within: self.merge_within,
        })
    }
}

impl Promise {
    fn check(
        &self,
        setting: &Setting,
        uploads: u64,
        servers: f64,
        alpha: f64,
        authors: bool,
    ) -> Result<Noisy, ParamError> {
        let dim = setting.dim;
        let calibration = match self.privacy {
            Privacy::Text => Calibration::Text,
            Privacy::Alg5 => Calibration::Alg5,
            Privacy::Analytic | Privacy::None => Calibration::Analytic,
        };
        let mut stated = self.stated;
        if self.privacy == Privacy::None {
            stated.dp_epsilon = f64::INFINITY;
        }
        let budget = stated.budget(calibration)?;
        let planned = self.planned_uploads.unwrap_or(uploads);
        if planned == 0 || planned > 1 << 40 {
            return Err(ParamError::new("planned_uploads", format!("must be 1 to 2^40, not {planned}")));
        }
        let plan = Plan { uploads: planned, reports: phases(setting.horizon), renewals: self.renewals };
        let levels = plan.levels();
        let values = LinearStats::numbers(dim);
        let noise = Gaussian::of_deviation("dp_epsilon", budget.deviation(levels, plan.trees(), values)?)?;
        let root = (dim as f64).sqrt();
        // m is not known in advance; it is at most what L servers can tell apart, and enters by its logarithm.
        let rho = if noise.is_none() {
            0.0
        } else if self.privacy == Privacy::Text {
            // Eq. (7) as printed.
            let logs = 4.0 * root + 2.0 * libm::log(2.0 * servers * servers / alpha);
            8.0 * (2.0 * f64::from(levels)).sqrt() * libm::log(4.0 / budget.delta) * logs / budget.epsilon
        } else {
            // A symmetric Gaussian matrix with variance 1 off and 2 on the diagonal has E|N| <= 2 sqrt d and
            // is a sqrt 2-Lipschitz function of standard normals.
            let tail = 2.0 * libm::log(2.0 * servers * servers / alpha).sqrt();
            noise.deviation() * f64::from(levels).sqrt() * (2.0 * root + tail)
        };
        Ok(Noisy { noise, plan, rho, shift: self.shift, budget, decides_ahead: authors })
    }
}

/// Phases that begin at ticks 2, 6, 14, ... before the horizon.
fn phases(horizon: u64) -> u64 {
    u64::from(64 - (horizon / 2).leading_zeros())
}

impl Noisy {
    /// What 3 rho I at each of so many uploads adds to rho_max.
    fn growth(&self, uploads: u64) -> f64 {
        match self.shift {
            Shift::Once => 0.0,
            Shift::Paper => 3.0 * self.rho * uploads as f64,
        }
    }

    /// Bound on |h| / sqrt(rho), the moment's noise in the norm of the shifted matrix.
    fn kappa(&self, dim: usize, servers: f64, alpha: f64) -> f64 {
        if self.rho == 0.0 {
            return 0.0;
        }
        let tail = (2.0 * libm::log(servers * servers / alpha)).max(0.0).sqrt();
        let norm =
            self.noise.deviation() * f64::from(self.plan.levels()).sqrt() * ((dim as f64).sqrt() + tail);
        norm / self.rho.sqrt()
    }
}

impl Valid {
    /// What is promised about observations, and what is not. Nothing where decisions use data that is not released.
    pub(super) fn claim(&self) -> Option<Claim> {
        let noisy = self.rules.privacy.filter(|noisy| !noisy.decides_ahead)?;
        let calibration = if noisy.noise.is_none() { "none" } else { noisy.budget.calibration.describe() };
        Some(Claim {
            epsilon: noisy.budget.epsilon,
            delta: noisy.budget.delta,
            calibration: calibration.into(),
            not_protected: vec![
                "which users are alike: clusters are found from exact data, and how many a local server has is sent. \
                 An observation that moves a user into another cluster moves all that user's history from one report \
                 into another; the promise holds for observations that do not"
                    .into(),
                "that an observation was made, and when: counts are exact, and uploads follow from them".into(),
                "what a user's own local server learns, which sees all of it".into(),
                "a person as a whole: the promise is for one observation, and a person has many".into(),
            ],
        })
    }
}
