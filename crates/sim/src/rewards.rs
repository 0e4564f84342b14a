//! Rewards that come late, or never, or are lied about. The default is the papers': at once, and true.

use cahoots_core::{ParamError, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::poison::Poison;

/// When a reward comes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// A reward comes up to this many ticks late, drawn per decision.
    #[schemars(range(min = 0))]
    pub delay: u64,
    /// Probability that it never comes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Ticks after which a client gives up on a reward, be it lost or late; what comes later is counted, and nothing
    /// is learned from it. When absent, a late reward is waited for, and a lost one is given up after 100 ticks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub patience: Option<u64>,
    /// Share of the users whose clients lie, as `poison` says: rounded to whole users, drawn with the seed. Steps, regret and
    /// reward are those of the others; liars' messages are counted like any.
    #[serde(skip_serializing_if = "nobody")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub liars: f64,
    /// What liars tell their own learners, whose messages are lies then: that a reward was the opposite of what it was
    /// (`flip`), ten times as much (`scale`), that they have seen twenty times as much as they have, all for a parameter
    /// or an arm that they agree on (`forge`), or that each reward was what such a parameter or arm would pay (`promote`).
    #[serde(skip_serializing_if = "is_default")]
    pub poison: Poison,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn nobody(liars: &f64) -> bool {
    *liars == 0.0
}

/// What is as ever is written as ever: runs keep their keys.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_default(poison: &Poison) -> bool {
    *poison == Poison::default()
}

/// Ticks after which a lost reward is given up where no patience is stated.
const PATIENCE: u64 = 100;

/// What becomes of a reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It comes with the decision.
    AtOnce,
    /// It comes at this tick.
    Late(Tick),
    /// It never comes; the client gives up at this tick.
    Lost(Tick),
    /// It comes when the client has given up.
    TooLate {
        /// When the client gives up.
        given_up: Tick,
        /// When the reward comes.
        comes: Tick,
    },
}

impl Rewards {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(ParamError::new("loss", format!("must lie between 0 and 1, not {}", self.loss)));
        }
        if !(0.0..=1.0).contains(&self.liars) {
            return Err(ParamError::new("liars", format!("must lie between 0 and 1, not {}", self.liars)));
        }
        if self.patience == Some(0) {
            return Err(ParamError::new("patience", "must be at least 1 tick"));
        }
        Ok(())
    }

    /// The fate of the reward of `user`'s decision at `tick`.
    pub fn fate(&self, seed: u64, tick: Tick, user: UserId) -> Fate {
        if self.delay == 0 && self.loss == 0.0 {
            return Fate::AtOnce;
        }
        let mut draw = Draw::keyed(seed, Purpose::Rewards, tick, user.0.into());
        if draw.uniform() < self.loss {
            return Fate::Lost(tick.saturating_add(self.patience.unwrap_or(PATIENCE)));
        }
        match (draw.below(self.delay + 1), self.patience) {
            (0, _) => Fate::AtOnce,
            (late, Some(patience)) if late > patience => {
                Fate::TooLate { given_up: tick + patience, comes: tick + late }
            }
            (late, _) => Fate::Late(tick + late),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_alike_for_what_is_lost_and_what_is_late() {
        let fates = |rewards: &Rewards| -> Vec<Fate> {
            (1..=200).map(|tick| rewards.fate(1, tick, UserId(3))).collect()
        };
        let patient = Rewards { delay: 9, loss: 0.3, ..Rewards::default() };
        let tired = Rewards { patience: Some(4), ..patient.clone() };
        let mut seen = [0; 4];
        for ((tick, patient), tired) in (1..).zip(fates(&patient)).zip(fates(&tired)) {
            let (kind, expected) = match patient {
                Fate::Late(comes) if comes > tick + 4 => (0, Fate::TooLate { given_up: tick + 4, comes }),
                Fate::Late(comes) => (1, Fate::Late(comes)),
                Fate::Lost(given_up) => {
                    assert_eq!(given_up, tick + 100);
                    (2, Fate::Lost(tick + 4))
                }
                other => (3, other),
            };
            assert_eq!(tired, expected);
            seen[kind] += 1;
        }
        assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
        // Who waits as long as anything takes gives up on nothing that comes.
        assert!(
            !fates(&Rewards { patience: Some(9), ..patient })
                .iter()
                .any(|fate| matches!(fate, Fate::TooLate { .. }))
        );
    }
}
