//! Parameters that every linear algorithm has.

use cahoots_core::policy::{Confidence, LinearPolicy, PolicyKind, Radius};
use cahoots_core::{Alone, LinearStats, ParamError, Plausible, Setting, View};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::draw::DrawParams;
use crate::Fidelity;

/// Keys that every linear algorithm takes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinearParams {
    /// Regularisation lambda of the ridge estimate.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: f64,
    /// Probability delta that the confidence ellipsoid may fail.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// Sub-Gaussian scale sigma of the reward noise; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// Form of the confidence radius; `fidelity` decides when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
    /// How arms are selected.
    #[serde(default)]
    pub policy: PolicyKind,
    /// LinTS: scale v of the draw N(estimate, v^2 V^-1); reward_noise when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub sampling_scale: Option<f64>,
    /// LinPHE: pseudo-rewards per observation.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub perturbation: f64,
    /// How arms are drawn.
    #[serde(flatten)]
    pub draw: DrawParams,
    /// Follow the paper's text or its authors' code where they differ.
    #[serde(default)]
    pub fidelity: Fidelity,
}

impl Default for LinearParams {
    fn default() -> LinearParams {
        LinearParams {
            ridge: tenth(),
            failure_prob: tenth(),
            reward_noise: None,
            radius: None,
            policy: PolicyKind::default(),
            sampling_scale: None,
            perturbation: one(),
            draw: DrawParams::default(),
            fidelity: Fidelity::default(),
        }
    }
}

/// For algorithms that divide by the noise: the schema says that it must be above 0.
pub(crate) fn some_noise(schema: &mut Schema) {
    if let Some(key) = schema.pointer_mut("/properties/reward_noise").and_then(|key| key.as_object_mut()) {
        key.remove("minimum");
        key.insert("exclusiveMinimum".into(), 0.0.into());
    }
}

pub(crate) fn tenth() -> f64 {
    0.1
}

fn one() -> f64 {
    1.0
}

/// Checked common parameters, with the view that all clients start from.
#[derive(Clone, Debug)]
pub struct LinearValid {
    /// Regularisation.
    pub ridge: f64,
    /// Arm selection.
    pub policy: LinearPolicy,
    /// No data yet: shared by everyone until they learn something.
    pub nothing: Arc<View>,
    /// What an upload can hold under the terms.
    pub plausible: Plausible,
    /// Whether servers keep apart what each client has contributed.
    pub keep_apart: bool,
}

impl LinearValid {
    /// The same policy and ridge on a client's own data.
    pub fn alone(&self) -> Option<Alone> {
        Alone::new(self.policy, self.ridge)
    }
}

impl LinearParams {
    /// Checks against a setting with features.
    pub fn check(&self, setting: &Setting) -> Result<LinearValid, ParamError> {
        if setting.dim == 0 {
            return Err(ParamError::new(
                "kind",
                "needs arms with features; this environment has plain arms (try ucb-alone)",
            ));
        }
        let ridge = ParamError::positive("ridge", self.ridge)?;
        let noise = self.reward_noise.unwrap_or(setting.reward_noise);
        let form = self.radius.unwrap_or(match self.fidelity {
            Fidelity::Paper => Radius::LogDet,
            Fidelity::Authors => Radius::Count,
        });
        let policy = LinearPolicy {
            rule: self.draw.rule(self.policy, setting.dim)?,
            confidence: Confidence::new(form, noise, self.failure_prob, ridge, setting.dim)?,
            sampling_scale: ParamError::not_negative("sampling_scale", self.sampling_scale.unwrap_or(noise))?,
            perturbation: ParamError::positive("perturbation", self.perturbation)?,
        };
        let stats = if policy.needs_contexts() {
            LinearStats::empty_with_contexts(setting.dim)
        } else {
            LinearStats::empty(setting.dim)
        };
        let nothing = View::new(0, stats);
        nothing.check(ridge).map_err(|e| ParamError::new("ridge", e.to_string()))?;
        Ok(LinearValid {
            ridge,
            policy,
            nothing,
            plausible: Plausible::of(setting)?,
            keep_apart: setting.keep_apart,
        })
    }
}
