//! Parameters of fed-linucb.

use cahoots_core::policy::Radius;
use cahoots_core::{ParamError, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fidelity;
use crate::kit::linear::{LinearParams, LinearValid, Ratio, Ratios, Robust, RobustParams};

/// The radius that the authors' code has.
const AUTHORS_RADIUS: Radius = Radius::Fixed(0.5);

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// 1 + alpha: a client synchronises when its determinant has grown by this factor (1: always, inf: never).
    #[serde(default = "two")]
    pub upload_ratio: Ratio,
    /// Does a client decide by its own newer observations too? The paper's decides by what it last downloaded alone.
    #[serde(default)]
    pub own_data: bool,
    /// Whom the server believes.
    #[serde(flatten)]
    pub robust: RobustParams,
}

fn two() -> Ratio {
    Ratio::Same(2.0)
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) upload: Ratios,
    pub(super) own_data: bool,
    /// Clients begin with a downloaded matrix of zeros, without the ridge.
    pub(super) from_zeros: bool,
    pub(super) robust: Option<Robust>,
}

impl Params {
    pub(super) fn check(mut self, setting: &Setting) -> Result<Valid, ParamError> {
        let authors = self.linear.fidelity == Fidelity::Authors;
        if authors {
            self.linear.radius.get_or_insert(AUTHORS_RADIUS);
        }
        let linear = self.linear.check(setting)?;
        Ok(Valid {
            upload: self.upload_ratio.check("upload_ratio", setting.users)?,
            own_data: self.own_data,
            from_zeros: authors,
            robust: self.robust.check(&linear.policy)?,
            linear,
        })
    }
}
