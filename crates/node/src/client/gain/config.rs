//! What a client's file says about its gain.

use serde::{Deserialize, Serialize};

/// `[gain]` in a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GainConfig {
    /// Is a shadow kept? It makes a decision cost about half as much again.
    pub shadow: bool,
    /// Decides by its own data alone from when federation is known to hurt.
    pub leave_when_hurt: bool,
    /// Sub-Gaussian scale of the reward noise; half the terms' `reward_range` when absent, or what the algorithm was told.
    pub noise: Option<f64>,
    /// What is learned is no longer than this; what the algorithm takes for granted when absent, which is 1 as a rule.
    pub norm: Option<f64>,
    /// How sure the interval is to be.
    pub confidence: f64,
}

impl Default for GainConfig {
    fn default() -> GainConfig {
        GainConfig { shadow: true, leave_when_hurt: false, noise: None, norm: None, confidence: 0.95 }
    }
}

impl GainConfig {
    /// Refuses what cannot be meant.
    pub fn check(&self) -> Result<(), String> {
        if self.noise.is_some_and(|noise| !(noise >= 0.0 && noise.is_finite())) {
            return Err(format!("[gain] noise must be a number from 0, not {}", self.noise.unwrap_or(0.0)));
        }
        if self.norm.is_some_and(|norm| !(norm > 0.0 && norm.is_finite())) {
            return Err(format!("[gain] norm must be a number above 0, not {}", self.norm.unwrap_or(0.0)));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(format!(
                "[gain] confidence must be between 0 and 1, such as 0.95, not {}",
                self.confidence
            ));
        }
        if self.leave_when_hurt && !self.shadow {
            return Err("[gain] leave_when_hurt needs the shadow: without `shadow = false`".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        let usual = GainConfig::default();
        assert_eq!(usual.check(), Ok(()));
        for (config, key) in [
            (GainConfig { noise: Some(-1.0), ..usual }, "noise"),
            (GainConfig { noise: Some(f64::NAN), ..usual }, "noise"),
            (GainConfig { norm: Some(0.0), ..usual }, "norm"),
            (GainConfig { confidence: 1.0, ..usual }, "confidence"),
            (GainConfig { leave_when_hurt: true, shadow: false, ..usual }, "leave_when_hurt"),
        ] {
            assert!(config.check().unwrap_err().contains(key), "{config:?}");
        }
    }
}
