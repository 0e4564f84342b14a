//! Who is alike, from what was released and nothing else.
//!
//! One after the other, the best known first, joins the group that it is closest to in units of what uncertainty
//! explains, or opens a new one: `|theta_1 - theta_2|^2` against `separation` times the sum of both expected squared
//! errors. Estimates start from `theta ~ N(0, S^2 / d)`, whose expected squared error is S^2: who is not known well enough
//! to be told apart from another kind of user is put together with nobody, as data of the wrong kind does harm that
//! no amount of it mends.

use cahoots_core::{Factor, LinearStats};

use super::rules::{Apart, Rules, Weighing};

/// A released sum and the variance of its noise.
pub(super) struct Released<'a> {
    pub(super) stats: &'a LinearStats,
    pub(super) variance: f64,
}

/// An estimate and its expected squared error.
struct Estimate {
    theta: Vec<f64>,
    error: f64,
}

impl Estimate {
    fn of(stats: &LinearStats, variance: f64, weighing: &Weighing) -> Estimate {
        let dim = stats.dim();
        let worth = weighing.effective(stats, variance);
        let prior = weighing.reward_variance * dim as f64 / weighing.preference2;
        let Ok(factor) = Factor::of(worth.gram.packed(), &worth.moment, prior) else {
            return Estimate { theta: vec![0.0; dim], error: weighing.preference2 };
        };
        // tr V^-1, by the squared widths of unit vectors.
        let mut unit = vec![0.0; dim];
        let trace: f64 = (0..dim)
            .map(|i| {
                unit[i] = 1.0;
                let (_, width2) = factor.mean_and_width2(&unit);
                unit[i] = 0.0;
                width2
            })
            .sum();
        Estimate { theta: factor.theta(), error: weighing.reward_variance * trace }
    }

    /// Squared distance in units of what uncertainty explains.
    fn from(&self, other: &Estimate) -> f64 {
        let squares = self.theta.iter().zip(&other.theta).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f64>() / (self.error + other.error)
    }
}

/// Groups of places in `released`, each in rising order.
pub(super) fn groups(released: &[Released<'_>], rules: &Rules) -> Vec<Vec<usize>> {
    let (Some(Apart { separation, certainty }), Some(weighing)) = (rules.apart, &rules.weighing) else {
        return vec![(0..released.len()).collect()];
    };
    let estimates: Vec<Estimate> =
        released.iter().map(|one| Estimate::of(one.stats, one.variance, weighing)).collect();
    let mut order: Vec<usize> = (0..released.len()).collect();
    order.sort_by(|&a, &b| estimates[a].error.total_cmp(&estimates[b].error).then(a.cmp(&b)));
    let mut groups: Vec<(Vec<usize>, LinearStats, f64, Estimate)> = Vec::new();
    for place in order {
        let Released { stats, variance } = &released[place];
        let known =
            groups.iter().enumerate().filter(|(_, g)| g.3.error + estimates[place].error <= certainty);
        let distances = known.map(|(at, group)| (at, group.3.from(&estimates[place])));
        let closest = distances.min_by(|a, b| a.1.total_cmp(&b.1));
        match closest {
            Some((group, distance)) if distance <= separation => {
                let (members, sum, noise, estimate) = &mut groups[group];
                members.push(place);
                sum.merge(stats);
                *noise += variance;
                *estimate = Estimate::of(sum, *noise, weighing);
            }
            _ => {
                let estimate = Estimate::of(stats, *variance, weighing);
                groups.push((vec![place], (*stats).clone(), *variance, estimate));
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|(members, ..)| members).collect();
    groups.iter_mut().for_each(|members| members.sort_unstable());
    groups.sort_unstable();
    groups
}
