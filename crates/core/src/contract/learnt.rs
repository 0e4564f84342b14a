//! What a server has learned, for whoever watches it. It is made of what came to the server and of nothing else: of a
//! client's data, no more can be seen here than its machine released.

use serde::Serialize;

use crate::error::Misbehaviour;
use crate::ids::{ArmIndex, NodeId};
use crate::stats::LinearStats;
use crate::view::View;

/// A model that several clients share.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Learnt {
    /// Whose it is; everyone's where it does not say.
    pub clients: Option<Vec<NodeId>>,
    /// Observations in it, where the server knows.
    pub observations: Option<u64>,
    /// Weights of features, where it is linear.
    pub weights: Vec<Estimate>,
    /// What is known of plain arms.
    pub arms: Vec<KnownArm>,
    /// How sure it is that an arm's mean lies within its radius, where there are such.
    pub sure: Option<Sure>,
}

/// A number that was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// As it seems.
    pub value: f64,
    /// Its standard deviation, in those of a reward's noise; none where noise of another kind is in it.
    pub width: Option<f64>,
}

/// A plain arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KnownArm {
    /// Which.
    pub arm: ArmIndex,
    /// Whether it may still be the best.
    pub active: bool,
    /// Its mean, where the server was told enough to know one.
    pub mean: Option<ArmMean>,
}

/// The mean reward of an arm, over the clients that the server averages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ArmMean {
    /// As it seems.
    pub value: f64,
    /// What it seems and what it is are no farther apart than this, as surely as the model says; none where the server
    /// cannot tell.
    pub radius: Option<f64>,
    /// Pulls in it, where the server knows.
    pub pulls: Option<u64>,
}

/// How sure radii are, for each arm on its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Sure {
    /// They hold with this probability.
    Chance(f64),
    /// They are so many standard deviations of a mean of rewards whose noise has scale 1: who knows the scale knows the
    /// probability.
    Deviations(f64),
}

impl Sure {
    /// The probability, where rewards' noise is sub-Gaussian of this scale; none where nothing is certain.
    pub fn chance(self, reward_noise: f64) -> Option<f64> {
        let chance = match self {
            Sure::Chance(chance) => chance,
            Sure::Deviations(sides) => {
                let sides = sides / reward_noise;
                1.0 - 2.0 * libm::exp(-sides * sides / 2.0)
            }
        };
        (chance > 0.0).then_some(chance)
    }
}

impl Learnt {
    /// A ridge model of these statistics; nothing where they make none.
    pub fn linear(stats: &LinearStats, ridge: f64) -> Learnt {
        Learnt::of_view(&View::new(0, stats.clone()), ridge)
    }

    /// The ridge model of a view.
    pub fn of_view(view: &View, ridge: f64) -> Learnt {
        let weights = |view: &View| -> Result<Vec<Estimate>, Misbehaviour> {
            let factor = view.check(ridge)?;
            let theta = factor.theta();
            let mut unit = vec![0.0; theta.len()];
            Ok((0..theta.len())
                .map(|i| {
                    unit[i] = 1.0;
                    let (_, width2) = factor.mean_and_width2(&unit);
                    unit[i] = 0.0;
                    Estimate { value: theta[i], width: Some(libm::sqrt(width2)) }
                })
                .collect())
        };
        Learnt {
            observations: Some(view.stats().count),
            weights: weights(view).unwrap_or_default(),
            ..Learnt::default()
        }
    }

    /// The same, of some clients alone.
    pub fn of(self, clients: Vec<NodeId>) -> Learnt {
        Learnt { clients: Some(clients), ..self }
    }

    /// Arms of which some are still in the running.
    pub fn running(arms: impl Iterator<Item = ArmIndex>, active: &[ArmIndex]) -> Learnt {
        let arms = arms.map(|arm| KnownArm { arm, active: active.contains(&arm), mean: None }).collect();
        Learnt { arms, ..Learnt::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_as_sure_as_its_data() {
        let mut stats = LinearStats::empty(2);
        (0..100).for_each(|_| stats.observe(&[1.0, 0.0], 0.5));
        let learnt = Learnt::linear(&stats, 1.0);
        let [seen, unseen] = learnt.weights[..] else { panic!("{learnt:?}") };
        assert!((seen.value - 50.0 / 101.0).abs() < 1e-12);
        assert!((seen.width.unwrap() - 1.0 / 101f64.sqrt()).abs() < 1e-12);
        assert_eq!(unseen, Estimate { value: 0.0, width: Some(1.0) });
        assert_eq!((learnt.observations, learnt.clients), (Some(100), None));
    }

    #[test]
    fn a_radius_is_as_sure_as_the_noise_is_small() {
        let sure = Sure::Deviations(2.0);
        assert!((sure.chance(1.0).unwrap() - 0.729_329_433_526_774_6).abs() < 1e-12);
        assert!(sure.chance(0.5).unwrap() > 0.999);
        assert_eq!(sure.chance(0.0), Some(1.0), "without noise every mean is what it seems");
        assert_eq!(sure.chance(2.0), None, "one deviation says less than nothing");
        assert_eq!(Sure::Chance(0.9).chance(7.0), Some(0.9));
    }

    #[test]
    fn what_makes_no_model_is_not_shown_as_one() {
        let mut stats = LinearStats::empty(1);
        stats.moment[0] = f64::NAN;
        assert_eq!(Learnt::linear(&stats, 1.0).weights, []);
    }
}
