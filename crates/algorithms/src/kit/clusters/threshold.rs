//! D_k: how much a member must have learned before its cluster is to be served.

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pairs::Constants;

/// A communication threshold, as a user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SyncThreshold {
    /// The same for clusters of all sizes (`inf`: never).
    Value(#[schemars(range(min = 0.0), extend("x-infinite" = true))] f64),
    /// The authors' T / ((N / M) d ln T).
    Known {
        /// M, the true number of clusters.
        #[schemars(range(min = 1))]
        clusters: usize,
    },
}

/// A checked threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Threshold {
    Fixed(f64),
    /// Line 5 of Algorithm 2: T ln(|C_k| T) / (d |C_k|).
    BySize {
        horizon: f64,
        dim: f64,
    },
}

impl SyncThreshold {
    pub(crate) fn check(threshold: Option<Self>, c: &Constants) -> Result<Threshold, ParamError> {
        let key = "sync_threshold";
        match threshold {
            None => Ok(Threshold::BySize { horizon: c.horizon, dim: c.dim }),
            Some(SyncThreshold::Value(value)) if value >= 0.0 => Ok(Threshold::Fixed(value)),
            Some(SyncThreshold::Value(value)) => {
                Err(ParamError::new(key, format!("must be 0 or more (inf: never), not {value}")))
            }
            Some(SyncThreshold::Known { clusters: 0 }) => {
                Err(ParamError::new(key, "clusters must be at least 1, not 0"))
            }
            Some(SyncThreshold::Known { clusters }) => {
                let share = c.clients / clusters as f64;
                Ok(Threshold::Fixed(c.horizon / (share * c.dim * libm::log(c.horizon))))
            }
        }
    }
}

impl Threshold {
    /// D_k of a cluster with this many members. Falls with the size.
    pub(crate) fn of(&self, size: u32) -> f64 {
        match self {
            Threshold::Fixed(value) => *value,
            Threshold::BySize { horizon, dim } => {
                let size = f64::from(size);
                horizon * libm::log(size * horizon) / (dim * size)
            }
        }
    }
}
