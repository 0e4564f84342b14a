//! What a user writes for the fclub family.

use cahoots_core::policy::Radius;
use cahoots_privacy::calibration::Stated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fidelity;

/// Keys that all of the family take.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Common {
    /// Regularisation: each local cluster brings ridge I along; 1 when absent (`authors`: 2, private 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub ridge: Option<f64>,
    /// Probability alpha that a confidence ellipsoid may fail.
    #[serde(default = "tenth")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub failure_prob: f64,
    /// Sub-Gaussian scale sigma_0 of the reward noise; the environment's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub reward_noise: Option<f64>,
    /// Form of the confidence radius: Lemma 1 (`count`) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<Radius>,
    /// Factor on the confidence radius; 1 when absent (`authors`, private: 0.005).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub radius_scale: Option<f64>,
    /// Follow the paper's text or its authors' code where they differ.
    #[serde(default)]
    pub fidelity: Fidelity,
}

/// How users are told apart.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Clustering {
    /// alpha_1: two users part when their estimates differ by more than this times F(T_1) + F(T_2).
    #[serde(default = "three_halves")]
    #[schemars(range(min = 0.0))]
    pub deletion: f64,
    /// alpha_2: two local clusters are one when their estimates differ by less than this times F(T_1) + F(T_2).
    #[serde(default = "two")]
    #[schemars(range(min = 0.0))]
    pub merge: f64,
    /// eta of footnote 2: users of one cluster may differ by this much.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub tolerance: f64,
    /// May clusters of one local server be merged again too? Algorithm 2 prints "of different servers".
    #[serde(default = "yes")]
    pub merge_within: bool,
}

/// When to communicate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Delays {
    /// Sets both ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0), extend("x-infinite" = true))]
    pub ratio: Option<f64>,
    /// U: a local cluster uploads when its determinant has grown by this factor (where there is noise: when it would
    /// have, were all its observations alike, as counts are public and determinants are not); 1.01 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0), extend("x-infinite" = true))]
    pub upload_ratio: Option<f64>,
    /// D: a local cluster is sent a view when the global determinant is larger by this factor; 1.01 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0), extend("x-infinite" = true))]
    pub download_ratio: Option<f64>,
}

/// How noise is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Privacy {
    /// No more than it takes.
    #[default]
    Analytic,
    /// Algorithm 5 of the paper.
    Alg5,
    /// Section 3 of the paper.
    Text,
    /// No noise.
    None,
}

/// What keeps perturbed Gram matrices positive definite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Shift {
    /// 2 rho I, once for each local cluster: the tree's noise telescopes.
    #[default]
    Once,
    /// As printed: 3 rho I more at every upload.
    Paper,
}

/// What is promised about users' data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// What is promised.
    #[serde(flatten)]
    pub stated: Stated,
    /// Where the scale of the noise comes from.
    #[serde(default)]
    pub privacy: Privacy,
    /// What keeps perturbed Gram matrices positive definite.
    #[serde(default)]
    pub shift: Shift,
    /// t_c: uploads of a local cluster that noise is made for; it uploads no more than these. As many as `upload_ratio`
    /// leads to when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub planned_uploads: Option<u64>,
    /// How often an observation's cluster may fall apart: its history is then released again, and noise is made for
    /// that. A cluster that has used them up stays as it is.
    #[serde(default = "renewals")]
    pub renewals: u32,
}

fn renewals() -> u32 {
    2
}

fn yes() -> bool {
    true
}

fn tenth() -> f64 {
    0.1
}

fn two() -> f64 {
    2.0
}

fn three_halves() -> f64 {
    1.5
}

/// Keys of `fclub`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FclubParams {
    /// Common keys.
    #[serde(flatten)]
    pub common: Common,
    /// How users are told apart.
    #[serde(flatten)]
    pub clustering: Clustering,
}

/// Keys of `fclub-dc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FclubDcParams {
    /// Common keys.
    #[serde(flatten)]
    pub common: Common,
    /// How users are told apart.
    #[serde(flatten)]
    pub clustering: Clustering,
    /// When to communicate.
    #[serde(flatten)]
    pub delays: Delays,
}

/// Keys of `cdp-fclub-dc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CdpParams {
    /// Common keys.
    #[serde(flatten)]
    pub common: Common,
    /// How users are told apart.
    #[serde(flatten)]
    pub clustering: Clustering,
    /// When to communicate.
    #[serde(flatten)]
    pub delays: Delays,
    /// What is promised about users' data.
    #[serde(flatten)]
    pub promise: Promise,
}

/// Keys of `homo`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HomoParams {
    /// Common keys.
    #[serde(flatten)]
    pub common: Common,
}

/// Keys of `homo-dc`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HomoDcParams {
    /// Common keys.
    #[serde(flatten)]
    pub common: Common,
    /// When to communicate.
    #[serde(flatten)]
    pub delays: Delays,
}
