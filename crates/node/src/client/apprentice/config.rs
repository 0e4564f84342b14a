//! What a client's file says about being an apprentice.

use cahoots_core::apprentice::Settings;
use serde::{Deserialize, Serialize};

use crate::client::member::Member;

/// `[apprentice]` in a client's file: the app goes on deciding until this client is certain to be better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprenticeConfig {
    /// The share of decisions that are this client's own while it is an apprentice, and the app's own once it is in charge.
    pub explore: f64,
    /// The probability with which an app that decides better may ever be displaced.
    pub error: f64,
    /// The smallest and the largest reward; the terms' `reward_range` when absent.
    pub reward_range: Option<(f64, f64)>,
}

impl Default for ApprenticeConfig {
    fn default() -> ApprenticeConfig {
        ApprenticeConfig { explore: 0.1, error: 0.05, reward_range: None }
    }
}

impl ApprenticeConfig {
    /// Refuses what cannot be meant, whatever the terms.
    pub fn check(&self) -> Result<(), String> {
        self.with_range(self.reward_range.unwrap_or((0.0, 1.0)))
            .check()
            .map_err(|words| format!("[apprentice] {words}"))
    }

    fn with_range(&self, range: (f64, f64)) -> Settings {
        Settings { explore: self.explore, error: self.error, range }
    }

    /// What is asked of the apprentice under a member's terms, or why it cannot be one.
    pub(super) fn settings(&self, member: &Member, default_reward: Option<f64>) -> Result<Settings, String> {
        self.check()?;
        let seat = member.machine.seat();
        let cannot = |why: String| Err(format!("[apprentice] cannot be done here: {why}"));
        if member.lockstep.is_some() {
            return cannot("this federation runs in lockstep, which makes its decisions itself".into());
        }
        if !seat.masks {
            return cannot(format!(
                "{} explores by a schedule and needs every arm at every decision, and an apprentice takes what the app would have \
                 taken. Leave [apprentice] out, or choose an algorithm that takes masks, such as async-linucb",
                member.terms.algorithm
            ));
        }
        let users = member.users();
        if users != 1 {
            return cannot(format!(
                "this client decides for {users} users, and who is better for one may be worse for another. Leave [apprentice] out, \
                 or give every user a client"
            ));
        }
        let range = match (self.reward_range, seat.reward_range) {
            (None, None) => {
                return Err("[apprentice] needs to know what rewards can be: say so as `reward_range = [0.0, 1.0]` below [apprentice], or \
                            give the federation a `reward_range`"
                    .into());
            }
            (Some((low, high)), Some(terms)) if low < terms.0 || high > terms.1 => {
                return Err(format!(
                    "[apprentice] reward_range = [{low}, {high}] is wider than the federation's terms allow, [{}, {}]: leave it out, \
                     or choose one within",
                    terms.0, terms.1
                ));
            }
            (Some(range), _) | (None, Some(range)) => range,
        };
        if let Some(reward) = default_reward.filter(|reward| !(range.0..=range.1).contains(reward)) {
            return Err(format!(
                "default_reward = {reward} is no reward for an apprentice: choose one between {} and {} ([apprentice] reward_range)",
                range.0, range.1
            ));
        }
        Ok(self.with_range(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        let usual = ApprenticeConfig::default();
        assert_eq!(usual.check(), Ok(()));
        for (config, key) in [
            (ApprenticeConfig { explore: 0.0, ..usual }, "explore"),
            (ApprenticeConfig { explore: 0.9, ..usual }, "explore"),
            (ApprenticeConfig { error: f64::NAN, ..usual }, "error"),
            (ApprenticeConfig { reward_range: Some((1.0, 0.0)), ..usual }, "reward_range"),
        ] {
            let words = config.check().unwrap_err();
            assert!(words.contains("[apprentice]") && words.contains(key), "{config:?}: {words}");
        }
    }
}
