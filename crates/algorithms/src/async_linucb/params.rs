//! Parameters of async-linucb.

use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fidelity;
use crate::kit::linear::{LinearParams, LinearValid, Ratio, Ratios, Robust, RobustParams};

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// Sets both ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// gamma_U: a client uploads when its determinant has grown by this factor (1: always, inf: never); 5 when absent.
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
    /// Whom the server believes.
    #[serde(flatten)]
    pub robust: RobustParams,
}

/// When a newcomer is sent what the others have learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NewClient {
    /// When its download event fires, as in the paper.
    #[default]
    Buffer,
    /// When it joins.
    AtOnce,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(crate) linear: LinearValid,
    pub(crate) upload: Ratios,
    pub(crate) download: Ratios,
    pub(crate) refresh: bool,
    pub(crate) new_client: NewClient,
    pub(crate) robust: Option<Robust>,
}

impl Params {
    pub(crate) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        let ratio = |key, own: Option<Ratio>| {
            own.or_else(|| self.ratio.clone()).unwrap_or(Ratio::Same(5.0)).check(key, setting.users)
        };
        let linear = self.linear.check(setting)?;
        Ok(Valid {
            upload: ratio("upload_ratio", self.upload_ratio.clone())?,
            download: ratio("download_ratio", self.download_ratio.clone())?,
            refresh: self.refresh.unwrap_or(self.linear.fidelity == Fidelity::Paper),
            new_client: self.new_client,
            robust: self.robust.check(&linear.policy)?,
            linear,
        })
    }
}
