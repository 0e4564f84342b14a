//! What all worlds with features share: an offer is a pure function of (seed,
//! tick, user), and the noise of its reward is keyed by the same three, whatever
//! arm is pulled.

use cahoots_core::{ArmBuffer, ArmIndex, Setting, Tick, UserId};

use super::{Pull, World};
use crate::draw::{Draw, Purpose};

/// How arms are drawn, and what they are worth.
pub(crate) trait Law: Send {
    /// The tick of the next offer; only laws that change over time care.
    fn at(&mut self, _tick: Tick) {}

    /// Draws the arms of one offer and sets their expected rewards.
    fn draw(&mut self, user: UserId, draw: &mut Draw, expected: &mut [f64]);

    /// Copies the arms that were drawn last.
    fn copy(&self, arms: &mut ArmBuffer);
}

/// How a reward scatters around its expectation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RewardNoise {
    /// Normal, with this standard deviation.
    Gaussian(f64),
    /// 0 or 1.
    Bernoulli,
}

/// A world with features.
pub(crate) struct Contextual<L> {
    setting: Setting,
    seed: u64,
    noise: RewardNoise,
    law: L,
    /// Whose arms `law` and `expected` hold.
    holds: Option<(Tick, UserId)>,
    expected: Vec<f64>,
}

impl<L: Law> Contextual<L> {
    pub(crate) fn new(setting: Setting, seed: u64, noise: RewardNoise, law: L) -> Contextual<L> {
        let expected = vec![0.0; setting.arms];
        Contextual { setting, seed, noise, law, holds: None, expected }
    }

    fn hold(&mut self, tick: Tick, user: UserId) {
        if self.holds != Some((tick, user)) {
            self.law.at(tick);
            let mut draw = Draw::keyed(self.seed, Purpose::Arms, tick, user.0.into());
            self.law.draw(user, &mut draw, &mut self.expected);
            self.holds = Some((tick, user));
        }
    }
}

impl<L: Law> World for Contextual<L> {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.hold(tick, user);
        self.law.copy(arms);
    }

    fn pull(&mut self, tick: Tick, user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        self.hold(tick, user);
        let expected = self.expected[arm.index()];
        let best = largest(&self.expected);
        let mut draw = Draw::keyed(self.seed, Purpose::RewardNoise, tick, user.0.into());
        let reward = match self.noise {
            RewardNoise::Gaussian(deviation) => expected + deviation * draw.normal(),
            RewardNoise::Bernoulli => f64::from(draw.uniform() < expected),
        };
        Pull { reward, expected, best, sides: None }
    }
}

/// The largest of numbers that are not NaN; several at a time, since each comparison waits for the last.
fn largest(values: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let (eights, rest) = values.as_chunks::<8>();
    let mut most = [f64::NEG_INFINITY; 8];
    for eight in eights {
        for k in 0..8 {
            most[k] = larger(eight[k], most[k]);
        }
    }
    for (most, value) in most.iter_mut().zip(rest) {
        *most = larger(*value, *most);
    }
    most.into_iter().fold(f64::NEG_INFINITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_any_number() {
        assert_eq!(largest(&[]), f64::NEG_INFINITY);
        for count in 1..40 {
            for at in 0..count {
                let mut values: Vec<f64> = (0..count).map(|k| -2.0 - f64::from(k % 7)).collect();
                values[at as usize] = -1.5;
                assert_eq!(largest(&values), -1.5, "{values:?}");
            }
        }
    }
}
