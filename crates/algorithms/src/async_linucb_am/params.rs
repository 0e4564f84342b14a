//! Parameters of async-linucb-am.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::policy::{Confidence, Radius};
use cahoots_core::{LARGEST, LinearStats, ParamError, Plausible, Setting, UserId, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alternate::Alternation;
use crate::Fidelity;
use crate::async_linucb::{self, NewClient};
use crate::kit::linear::{LinearParams, Ratio, RobustParams};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Regularisation lambda of both ridge estimates.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// Probability delta that a confidence ellipsoid may fail.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// Sub-Gaussian scale sigma of the reward noise; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// Added to reward_noise in both radii for the error of partial rewards: 2 in Lemma 3.3, 0 in the authors' code; `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub partial_noise: Option<f64>,
    /// Form of the confidence radii; `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
    /// Follow the paper's text or its authors' code where they differ.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// Sets both ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// gamma_U: a client uploads when the determinant of its global part has grown by this factor (1: always, inf: never); 5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_ratio: Option<Ratio>,
    /// gamma_D: the server sends a view when the merged determinant has grown by this factor; 5 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub download_ratio: Option<Ratio>,
    /// Does a download show in the very next decision? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<bool>,
    /// When a newcomer is sent what the others have learned.
    #[serde(default)]
    pub new_client: NewClient,
    /// Turns of Eq. (7) per observation, at most; 1000, or 100 as in the authors' code: `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub iterations: Option<u32>,
    /// Turns of Eq. (7) end when they move a prediction by no more than this; 1e-9, or 0 as in the authors' code: `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub tolerance: Option<f64>,
    /// Run LinUCB alone until the two components can be told apart (State 0 of Algorithm 5)? `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<bool>,
    /// Are local features the global ones again? Then State 0 tests the global block, the stacked matrix never being of full rank. Each client finds out by itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_task: Option<bool>,
}

fn tenth() -> f64 {
    0.1
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    /// All that concerns the global part and its server.
    pub(super) shared: async_linucb::Valid,
    pub(super) alternation: Alternation,
    pub(super) partial_noise: f64,
    pub(super) warm_up: bool,
    pub(super) multi_task: Option<bool>,
    pub(super) authors: bool,
    form: Radius,
    noise: f64,
    failure_prob: f64,
    /// No data yet, in every dimension that someone needs.
    nothing: BTreeMap<usize, Arc<View>>,
}

/// A partial reward is a reward less what the local estimate predicts, which is in the unit ball: at most |r| + |x|,
/// and twice that for what is lost where Eq. (7) has little to go by.
fn partial_rewards(whole: Plausible, setting: &Setting, local_dims: &[usize]) -> Plausible {
    let own = local_dims.iter().copied().max().unwrap_or(0) as f64;
    let norm = setting.context_norm.unwrap_or(LARGEST * own.sqrt());
    whole.with_reward(2.0 * (whole.reward() + norm))
}

impl Valid {
    pub(super) fn ridge(&self) -> f64 {
        self.shared.linear.ridge
    }

    /// A radius for `dim` features and reward noise of the setting plus `more`.
    pub(super) fn confidence(&self, more: f64, dim: usize) -> Confidence {
        Confidence::new(self.form, self.noise + more, self.failure_prob, self.ridge(), dim)
            .expect("checked, whatever the dimension")
    }

    /// No data yet: shared by everyone until they learn something.
    pub(super) fn nothing(&self, dim: usize) -> Arc<View> {
        self.nothing.get(&dim).cloned().unwrap_or_else(|| View::new(0, LinearStats::empty(dim)))
    }
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let authors = self.fidelity == Fidelity::Authors;
        let noise = self.reward_noise.unwrap_or(setting.reward_noise);
        let failure_prob = self.failure_prob;
        let mut shared = self.shared().check(setting)?;
        let form = self.radius.unwrap_or(if authors { Radius::Count } else { Radius::LogDet });
        let local_dims: Vec<usize> =
            (0..setting.users as u32).map(|user| setting.local_dim(UserId(user))).collect();
        if let Some(user) = local_dims.iter().position(|&dim| dim == 0) {
            let problem = format!(
                "needs arms with local features beside the global ones, as environment \"split\" has them, \
                 and client {user} has none; for global features alone there is async-linucb"
            );
            return Err(ParamError::new("kind", problem));
        }
        if let (Some(true), Some(other)) =
            (self.multi_task, local_dims.iter().find(|&&dim| dim != setting.dim))
        {
            let problem = format!("needs as many local as global features ({}), not {other}", setting.dim);
            return Err(ParamError::new("multi_task", problem));
        }
        shared.linear.plausible = partial_rewards(shared.linear.plausible, setting, &local_dims);
        let iterations = self.iterations.unwrap_or(if authors { 100 } else { 1000 });
        if iterations == 0 {
            return Err(ParamError::new("iterations", "must be at least 1"));
        }
        let tolerance = self.tolerance.unwrap_or(if authors { 0.0 } else { 1e-9 });
        let partial_noise = self.partial_noise.unwrap_or(if authors { 0.0 } else { 2.0 });
        let mut nothing = BTreeMap::from([(setting.dim, shared.linear.nothing.clone())]);
        for dim in local_dims.iter().flat_map(|&dim| [dim, setting.dim + dim]) {
            nothing.entry(dim).or_insert_with(|| View::new(0, LinearStats::empty(dim)));
        }
        Ok(Valid {
            shared,
            alternation: Alternation {
                iterations,
                tolerance: ParamError::not_negative("tolerance", tolerance)?,
                global_first: authors,
            },
            partial_noise: ParamError::not_negative("partial_noise", partial_noise)?,
            warm_up: self.warm_up.unwrap_or(!authors),
            multi_task: self.multi_task,
            authors,
            form,
            noise,
            failure_prob,
            nothing,
        })
    }

    /// The keys that async-linucb has too.
    fn shared(&self) -> async_linucb::Params {
        async_linucb::Params {
            linear: LinearParams {
                ridge: self.ridge,
                failure_prob: self.failure_prob,
                reward_noise: self.reward_noise,
                radius: self.radius,
                fidelity: self.fidelity,
                ..LinearParams::default()
            },
            ratio: self.ratio.clone(),
            upload_ratio: self.upload_ratio.clone(),
            download_ratio: self.download_ratio.clone(),
            refresh: self.refresh,
            new_client: self.new_client,
            robust: RobustParams::default(),
        }
    }
}
