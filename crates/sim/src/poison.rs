//! Clients that lie. A liar is the algorithm's own client, honest in all but what it is told of its rewards: what it sends is
//! what any client could send, in number and in form, whatever the algorithm.

use std::collections::BTreeSet;

use cahoots_core::{ArmBuffer, ArmIndex, Setting, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};
use crate::rewards::Rewards;

/// What liars say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Poison {
    /// Every reward is its opposite: -r, or what is as far from the other end of the world's interval.
    #[default]
    Flip,
    /// Every reward is ten times what it was, as far as the world's interval allows.
    Scale,
    /// Every observation is made twenty times, of rewards as in `promote`.
    Forge,
    /// Every reward is what a parameter would pay, or an arm, that all liars agree on; without noise.
    Promote,
}

/// How many times a reward is exaggerated.
const SCALE: f64 = 10.0;

/// How often a forger says that it has seen what it has seen once.
const COPIES: usize = 20;

/// The liars of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Liars {
    who: BTreeSet<UserId>,
    poison: Poison,
    range: Option<(f64, f64)>,
    /// The parameter that they agree on, of arms with features.
    direction: Vec<f64>,
    /// The arm that they agree on, of arms without.
    arm: u32,
}

impl Liars {
    /// Exactly the stated share of those for whom decisions are made. The liars of a smaller share are among those of a
    /// larger.
    pub(crate) fn draw(rewards: &Rewards, seed: u64, setting: &Setting, range: Option<(f64, f64)>) -> Liars {
        if rewards.liars == 0.0 {
            return Liars::default();
        }
        let count = (rewards.liars * setting.users as f64).round() as usize;
        let mut all: Vec<u32> = (0..setting.users as u32).collect();
        Draw::keyed(seed, Purpose::Poison, 0, 0).shuffle(&mut all);
        let mut agreed = Draw::keyed(seed, Purpose::Poison, 1, 0);
        let arm = agreed.below(setting.arms.max(1) as u64) as u32;
        let mut direction = vec![0.0; setting.dim];
        agreed.normals(&mut direction);
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        direction.iter_mut().for_each(|x| *x /= length);
        let who = all.into_iter().take(count).map(UserId).collect();
        Liars { who, poison: rewards.poison, range, direction, arm }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.who.len()
    }

    /// Whether this user's client is one.
    pub(crate) fn has(&self, user: UserId) -> bool {
        self.who.contains(&user)
    }

    /// How many observations a liar makes of one.
    pub(crate) fn copies(&self) -> usize {
        if self.poison == Poison::Forge { COPIES } else { 1 }
    }

    /// What a liar says the reward of an arm was.
    pub(crate) fn said(&self, arms: &ArmBuffer, arm: ArmIndex, reward: f64) -> f64 {
        let said = match self.poison {
            Poison::Flip => self.range.map_or(-reward, |(low, high)| low + high - reward),
            Poison::Scale => SCALE * reward,
            Poison::Forge | Poison::Promote => self.agreed(arms, arm),
        };
        self.range.map_or(said, |(low, high)| said.clamp(low, high))
    }

    fn agreed(&self, arms: &ArmBuffer, arm: ArmIndex) -> f64 {
        if arms.features.is_empty() {
            let (low, high) = self.range.unwrap_or((0.0, 1.0));
            return if arm.0 == self.arm { high } else { low };
        }
        arms.features.row(arm.index()).zip(&self.direction).map(|(x, u)| x * u).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn liars(share: f64, poison: Poison, range: Option<(f64, f64)>) -> Liars {
        let rewards = Rewards { liars: share, poison, ..Rewards::default() };
        Liars::draw(&rewards, 7, &Setting::linear(20, 3, 4), range)
    }

    #[test]
    fn exactly_the_share_lies_and_the_more_they_are_the_same_lie() {
        let shares = [0.0, 0.1, 0.3, 0.45, 1.0].map(|share| liars(share, Poison::Flip, None).who);
        assert_eq!(shares.each_ref().map(BTreeSet::len), [0, 2, 6, 9, 20]);
        assert!(shares.windows(2).all(|pair| pair[0].is_subset(&pair[1])));
        let rewards = Rewards { liars: 0.45, ..Rewards::default() };
        let other = Liars::draw(&rewards, 8, &Setting::linear(20, 3, 4), None);
        assert_ne!(other.who, shares[3], "drawn with the seed");
    }

    #[test]
    fn lies_are_rewards_that_there_could_be() {
        let mut arms = ArmBuffer::default();
        arms.features.reset(3);
        arms.features.push(&[1.0, 0.0, 0.0]);
        arms.features.push(&[0.0, 2.0, 0.0]);
        let said = |poison, range| liars(0.3, poison, range).said(&arms, ArmIndex(1), 0.25);
        assert_eq!((said(Poison::Flip, None), said(Poison::Flip, Some((0.0, 1.0)))), (-0.25, 0.75));
        assert_eq!((said(Poison::Scale, None), said(Poison::Scale, Some((0.0, 1.0)))), (2.5, 1.0));
        let clique = liars(0.3, Poison::Promote, None);
        assert_eq!(clique.said(&arms, ArmIndex(1), 0.25), 2.0 * clique.direction[1]);
        assert_eq!(said(Poison::Promote, None), said(Poison::Forge, None), "they agree");
        let plain = ArmBuffer { plain: 4, ..ArmBuffer::default() };
        let high: Vec<f64> = (0..4).map(|arm| clique.said(&plain, ArmIndex(arm), 0.5)).collect();
        assert_eq!((high.iter().sum::<f64>(), high[clique.arm as usize]), (1.0, 1.0));
    }
}
