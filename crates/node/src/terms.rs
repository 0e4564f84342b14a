//! What all members of a federation must agree on: the algorithm, its checked
//! parameters, the setting and the seed of its decisions. A client is told by
//! its coordinator when it first joins, and keeps them in its store.

use cahoots_core::{Algorithm, ParamError, Seats, Setting};
use serde::{Deserialize, Serialize};

use crate::error::NodeError;
use crate::live::{Known, Live};

/// The terms of a federation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Name in the registry.
    pub algorithm: String,
    /// Seed of the decisions. Privacy noise never follows from it, except in lockstep.
    pub seed: u64,
    /// Parameters with every default filled in.
    pub params: toml::Table,
    /// What is given before anything is learned.
    pub setting: Setting,
    /// A run in lockstep: its scenario, which only a [`Lockstep`](crate::lockstep::Lockstep) can read. For
    /// tests alone, because privacy noise then follows from the seed, as in the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lockstep: Option<toml::Table>,
}

impl Terms {
    /// Checked terms of a deployment.
    pub fn new(
        known: &Known,
        algorithm: &str,
        params: &toml::Table,
        setting: Setting,
        seed: u64,
    ) -> Result<Terms, NodeError> {
        let wrong = |e: ParamError| NodeError::Config(format!("algorithm: {e}"));
        let live = known.find(algorithm)?;
        let params = live.complete(params.clone()).map_err(wrong)?;
        live.check(params.clone(), &setting).map_err(wrong)?;
        Ok(Terms { algorithm: algorithm.into(), seed, params, setting, lockstep: None })
    }

    /// The same with parameters that have changed since, in TOML.
    pub(crate) fn with_params(&self, params: &str) -> Result<Terms, NodeError> {
        let params = params.parse().map_err(|e: toml::de::Error| {
            NodeError::Config(format!("{}: {}", self.algorithm, e.message()))
        })?;
        Ok(Terms { params, ..self.clone() })
    }

    /// For the wire and the store.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("terms can be written")
    }

    /// From the wire or the store.
    pub fn from_toml(text: &str) -> Result<Terms, NodeError> {
        toml::from_str(text)
            .map_err(|e| NodeError::Config(format!("terms that this version cannot read: {}", e.message())))
    }

    /// Names the terms in every envelope: the fingerprint of their text.
    pub fn hash(&self) -> u64 {
        cahoots_core::fingerprint(self.to_toml().as_bytes())
    }

    /// The algorithm of these terms.
    pub fn live<'a>(&self, known: &'a Known) -> Result<&'a Live, NodeError> {
        known.algorithms.get(&self.algorithm).ok_or_else(|| {
            NodeError::Config(format!(
                "this version has no algorithm {:?}; see `cahoots algorithms`",
                self.algorithm
            ))
        })
    }

    /// Who sits where, and who hears whom.
    pub fn seats(&self, known: &Known) -> Result<Seats, NodeError> {
        self.live(known)?.seats(self)
    }

    /// Parameters by type.
    pub(crate) fn valid<A: Algorithm>(&self) -> Result<A::Valid, NodeError> {
        let params: A::Params = self.params.clone().try_into().map_err(|e: toml::de::Error| {
            NodeError::Config(format!("{}: {}", self.algorithm, e.message()))
        })?;
        A::check(params, &self.setting).map_err(|e| NodeError::Config(format!("{}: {e}", self.algorithm)))
    }
}
