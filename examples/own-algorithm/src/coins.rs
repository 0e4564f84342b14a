//! A world of one's own: coins to toss, the same for all clients, each with a bias of its own.

use cahoots::prelude::*;
use cahoots::world::{ArrivalLaw, Arrivals, Draw, Pull, Purpose, World, WorldKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `[environment]` says.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Coins {
    /// Those who toss, all of them at every tick.
    #[schemars(range(min = 1))]
    clients: usize,
    /// Coins to choose from.
    #[schemars(range(min = 2))]
    coins: usize,
}

impl Default for Coins {
    fn default() -> Self {
        Coins { clients: 3, coins: 5 }
    }
}

impl WorldKind for Coins {
    const NAME: &'static str = "coins";
    const SUMMARY: &'static str = "coins with biases, the same for all";

    fn check(&self) -> Result<(), ParamError> {
        let positive = |key, value: usize| ParamError::positive(key, value as f64).map(|_| ());
        positive("clients", self.clients).and(positive("coins", self.coins))
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        // Draws are keyed by what they are for, never counted: all algorithms meet the same coins and tosses.
        let bias = |coin| Draw::keyed(seed, Purpose::World, coin as u64, 0).uniform();
        let setting = Setting::k_armed(self.clients, self.coins).with_horizon(horizon);
        let world = Tosses { setting, biases: (0..self.coins).map(bias).collect(), seed };
        Ok((Box::new(world), Arrivals::new(&ArrivalLaw::All, self.clients, seed)))
    }
}

struct Tosses {
    setting: Setting,
    biases: Vec<f64>,
    seed: u64,
}

impl World for Tosses {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, _tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        arms.plain = self.biases.len();
    }

    fn pull(&mut self, tick: Tick, user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let toss = Draw::keyed(self.seed, Purpose::RewardNoise, tick, user.0.into()).uniform();
        let expected = self.biases[arm.index()];
        let best = self.biases.iter().copied().fold(0.0, f64::max);
        Pull { reward: f64::from(u8::from(toss < expected)), expected, best, sides: None }
    }
}
