//! Parameters of club and sclub.

use cahoots_core::{ParamError, Setting, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::clusters::users_by_host;
use crate::kit::linear::{LinearParams, LinearValid};

/// Keys of `club`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClubParams {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// alpha: two users part when their estimates differ by more than this times F(T_1) + F(T_2).
    #[serde(default = "quarter")]
    #[schemars(range(min = 0.0))]
    pub deletion: f64,
}

/// Keys of `sclub`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SclubParams {
    /// Common keys.
    #[serde(flatten)]
    pub linear: LinearParams,
    /// alpha: a user leaves its cluster when their estimates differ by more than this times F(T_i) + F(T_c);
    /// half of it decides about merging.
    #[serde(default = "three_halves")]
    #[schemars(range(min = 0.0))]
    pub deletion: f64,
    /// alpha_p: the same for how often users come.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub frequency: f64,
}

fn quarter() -> f64 {
    0.25
}

fn three_halves() -> f64 {
    1.5
}

fn one() -> f64 {
    1.0
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pub(super) linear: LinearValid,
    pub(super) deletion: f64,
    pub(super) frequency: f64,
    /// Users of each local server.
    pub(super) users: Vec<Vec<UserId>>,
}

impl ClubParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        valid(&self.linear, self.deletion, 0.0, setting)
    }
}

impl SclubParams {
    pub(super) fn check(self, setting: &Setting) -> Result<Valid, ParamError> {
        valid(&self.linear, self.deletion, self.frequency, setting)
    }
}

fn valid(
    linear: &LinearParams,
    deletion: f64,
    frequency: f64,
    setting: &Setting,
) -> Result<Valid, ParamError> {
    Ok(Valid {
        linear: linear.check(setting)?,
        deletion: ParamError::not_negative("deletion", deletion)?,
        frequency: ParamError::not_negative("frequency", frequency)?,
        users: users_by_host(setting),
    })
}
