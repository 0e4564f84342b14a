//! Parameters of dyclu.

use cahoots_core::homogeneity::{HomogeneityTest, Noncentrality};
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::linear::{LinearParams, LinearValid, some_noise};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = some_noise)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// Two users differ if their data are less likely than this.
    #[serde(default = "hundredth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub cut: f64,
    /// An observation is an outlier, and not learned from, if its user's model finds it less likely than this.
    #[serde(default = "hundredth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub outlier: f64,
    /// Observations that the change detector looks back on.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1))]
    pub window: usize,
    /// Probability that the detector ever sees a change where there is none; failure_prob when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub false_alarm: Option<f64>,
    /// Do models from before a change stay, for whoever is like them?
    #[serde(default = "yes")]
    pub keep_past: bool,
}

fn hundredth() -> f64 {
    0.01
}

fn fifty() -> usize {
    50
}

fn yes() -> bool {
    true
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) test: HomogeneityTest,
    pub(super) variance: f64,
    pub(super) outlier: f64,
    pub(super) window: usize,
    /// Outliers in the window beyond which a change is seen.
    pub(super) alarm: f64,
    pub(super) keep_past: bool,
}

impl Params {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let linear = self.linear.check(setting)?;
        let noise = self.linear.reward_noise.unwrap_or(setting.reward_noise);
        if noise <= 0.0 {
            let problem = "the homogeneity test divides by it: give a number above 0";
            return Err(ParamError::new("reward_noise", problem));
        }
        if self.window == 0 {
            return Err(ParamError::new("window", "must be at least 1, not 0"));
        }
        let cut = ParamError::open_unit("cut", self.cut)?;
        let outlier = ParamError::open_unit("outlier", self.outlier)?;
        let false_alarm = self.false_alarm.unwrap_or(self.linear.failure_prob);
        // Hoeffding's inequality, for all users and ticks together.
        let each = ParamError::open_unit("false_alarm", false_alarm)?
            / (setting.users as f64 * setting.horizon as f64);
        let window = self.window as f64;
        Ok(Valid {
            test: HomogeneityTest::new(noise * noise, cut, Noncentrality::Fixed(0.0), setting.dim),
            linear,
            variance: noise * noise,
            outlier,
            window: self.window,
            alarm: outlier * window + (-0.5 * window * libm::log(each)).sqrt(),
            keep_past: self.keep_past,
        })
    }
}
