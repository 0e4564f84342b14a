//! Determinant ratios that trigger communication: one for all, or one per client.

use cahoots_core::{NodeId, ParamError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A ratio gamma >= 1 (`inf`: never), for all clients or for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ratio {
    /// The same for everyone.
    Same(#[schemars(range(min = 1.0), extend("x-infinite" = true))] f64),
    /// One value per client.
    Each {
        /// Ratios, client by client.
        #[schemars(schema_with = "each")]
        per_client: Vec<f64>,
    },
}

fn each(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "number", "minimum": 1.0, "x-infinite": true } })
}

/// Checked ratios, as logarithms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ratios {
    /// The same for everyone.
    Same(f64),
    /// One per client.
    Each(Vec<f64>),
}

impl Ratio {
    /// Refuses ratios below 1 and lists of the wrong length.
    pub fn check(&self, key: &str, clients: usize) -> Result<Ratios, ParamError> {
        let one = |ratio: f64| {
            if ratio >= 1.0 {
                Ok(libm::log(ratio))
            } else {
                Err(ParamError::new(key, format!("must be at least 1 (inf: never), not {ratio}")))
            }
        };
        match self {
            Ratio::Same(ratio) => Ok(Ratios::Same(one(*ratio)?)),
            Ratio::Each { per_client } if per_client.len() == clients => {
                per_client.iter().map(|r| one(*r)).collect::<Result<_, _>>().map(Ratios::Each)
            }
            Ratio::Each { per_client } => Err(ParamError::new(
                key,
                format!("per_client lists {} values for {clients} clients", per_client.len()),
            )),
        }
    }
}

impl Ratios {
    /// Logarithm of one client's ratio.
    pub fn ln(&self, client: NodeId) -> f64 {
        match self {
            Ratios::Same(ln) => *ln,
            Ratios::Each(list) => list.get(client.index()).copied().unwrap_or(f64::INFINITY),
        }
    }
}
