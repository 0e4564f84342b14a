//! Rewards that come late or never. The default is the papers': at once.

use cahoots_core::{ParamError, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};

/// When a reward comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rewards {
    /// A reward comes up to this many ticks late, drawn per decision.
    #[schemars(range(min = 0))]
    pub delay: u64,
    /// Probability that it never comes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Ticks after which a client gives up on a reward.
    #[schemars(range(min = 1))]
    pub patience: u64,
}

impl Default for Rewards {
    fn default() -> Self {
        Rewards { delay: 0, loss: 0.0, patience: 100 }
    }
}

/// What becomes of a reward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It comes with the decision.
    AtOnce,
    /// It comes at this tick.
    Late(Tick),
    /// It never comes; the client gives up at this tick.
    Lost(Tick),
}

impl Rewards {
    /// Refuses what cannot be.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(ParamError::new("loss", format!("must lie between 0 and 1, not {}", self.loss)));
        }
        if self.patience == 0 {
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
            return Fate::Lost(tick + self.patience);
        }
        match draw.below(self.delay + 1) {
            0 => Fate::AtOnce,
            late => Fate::Late(tick + late),
        }
    }
}
