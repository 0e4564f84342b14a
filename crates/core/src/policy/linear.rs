//! Policies on a ridge model: LinUCB, LinTS, LinPHE, those that draw from a known distribution, and the uniform
//! one as a floor.

use cahoots_kernel::{Factor, Scores};
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::pick::pick_open;
use super::radius::Confidence;
use super::rule::{Base, Mixture, Rule};
use crate::contract::arms::ArmSet;
use crate::contract::choice::Picked;
use crate::ids::ArmIndex;
use crate::rng::Stream;
use crate::stats::LinearStats;

/// A checked policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearPolicy {
    /// How it picks.
    pub rule: Rule,
    /// LinUCB's radius.
    pub confidence: Confidence,
    /// LinTS: standard deviation of the draw, in units of the model's width.
    pub sampling_scale: f64,
    /// LinPHE: pseudo-rewards per observation.
    pub perturbation: f64,
}

/// A model to choose with.
pub struct LinearModel<'a, S> {
    /// Factor of gram + ridge I, with the moment.
    pub factor: &'a Factor,
    /// Observations behind it.
    pub count: u64,
    /// The statistics themselves; only LinPHE asks.
    pub stats: S,
}

impl LinearPolicy {
    /// LinPHE needs the sum of contexts beside the usual statistics.
    pub fn needs_contexts(&self) -> bool {
        self.rule == Rule::LinPhe
    }

    /// The arm to pull.
    pub fn choose<S: FnOnce() -> LinearStats>(
        &self,
        model: LinearModel<'_, S>,
        arms: ArmSet<'_>,
        rng: &mut Stream,
    ) -> Picked {
        let factor = model.factor;
        match self.rule {
            Rule::Uniform => Picked::any(arms.draw(rng), arms.open()),
            Rule::LinUcb => {
                let radius = self.confidence.radius(factor.log_det(), model.count);
                Scores::lend(|scores| {
                    factor.score(arms.features(), scores);
                    let best = scores.highest_bound(radius, arms.offered().as_deref());
                    Picked::optimistic(ArmIndex(best.arm as u32), best.mean, radius * best.width)
                })
            }
            Rule::LinTs => Scores::lend(|scores| {
                Picked::arm(self.best_of_a_drawn_model(factor, arms, arms.offered().as_deref(), scores, rng))
            }),
            Rule::LinPhe => {
                let theta = self.perturbed(factor, &(model.stats)(), rng);
                let features = arms.features();
                let mut x = vec![0.0; features.dim()];
                let values = (0..arms.len()).map(|arm| {
                    features.row_into(arm, &mut x);
                    x.iter().zip(&theta).map(|(a, b)| a * b).sum()
                });
                Picked::arm(pick_open(values, arms))
            }
            Rule::Drawn(mixture) => {
                let radius = self.confidence.radius(factor.log_det(), model.count);
                let picked = Picked::drawn(&self.mixture(mixture, factor, model.count, arms, rng), rng);
                let (mean, width2) = factor.mean_and_width2(&arms.context(picked.arm));
                let width = radius * width2.sqrt();
                Picked {
                    score: match mixture.base {
                        Base::Estimates(_) => Some(mean),
                        Base::Bound => Some(mean + width),
                        Base::Models { .. } => None,
                    },
                    interval: Some((mean - width, mean + width)),
                    ..picked
                }
            }
        }
    }

    /// How likely [`LinearPolicy::choose`] is to take each arm, given the same stream at the same position; `None` where
    /// that is not known. All that comes of the stream here are the models of [`Base::Models`]: the probabilities
    /// are given those, and it is them that the arm is then drawn with.
    pub fn distribution<S: FnOnce() -> LinearStats>(
        &self,
        model: LinearModel<'_, S>,
        arms: ArmSet<'_>,
        rng: &mut Stream,
    ) -> Option<Distribution> {
        match self.rule {
            Rule::LinTs | Rule::LinPhe => None,
            Rule::Uniform => Some(Distribution::uniform(arms)),
            Rule::LinUcb => Some(self.bound(model.factor, model.count, arms)),
            Rule::Drawn(mixture) => Some(self.mixture(mixture, model.factor, model.count, arms, rng)),
        }
    }

    fn mixture(
        &self,
        Mixture { base, epsilon }: Mixture,
        factor: &Factor,
        count: u64,
        arms: ArmSet<'_>,
        rng: &mut Stream,
    ) -> Distribution {
        let drawn = match base {
            Base::Estimates(leaning) => Scores::lend(|scores| {
                factor.score(arms.features(), scores);
                leaning.over(&scores.mean, count, arms)
            }),
            Base::Bound => self.bound(factor, count, arms),
            Base::Models { samples } => {
                let (mut votes, offered) = (vec![0; arms.len()], arms.offered());
                Scores::lend(|scores| {
                    for _ in 0..samples {
                        let best = self.best_of_a_drawn_model(factor, arms, offered.as_deref(), scores, rng);
                        votes[best.index()] += 1;
                    }
                });
                Distribution::of_votes(&votes)
            }
        };
        drawn.mixed(epsilon, arms)
    }

    fn bound(&self, factor: &Factor, count: u64, arms: ArmSet<'_>) -> Distribution {
        let radius = self.confidence.radius(factor.log_det(), count);
        let best = Scores::lend(|scores| {
            factor.score(arms.features(), scores);
            scores.highest_bound(radius, arms.offered().as_deref()).arm
        });
        Distribution::certain(ArmIndex(best as u32), arms)
    }

    /// theta = W'(z + scale g), so x.theta = (W x).(z + scale g)
    fn best_of_a_drawn_model(
        &self,
        factor: &Factor,
        arms: ArmSet<'_>,
        offered: Option<&[bool]>,
        scores: &mut Scores,
        rng: &mut Stream,
    ) -> ArmIndex {
        let direction: Vec<f64> = factor.z().iter().map(|z| z + self.sampling_scale * rng.normal()).collect();
        factor.score_toward(arms.features(), &direction, scores);
        ArmIndex(scores.highest_mean(offered).arm as u32)
    }

    /// (a + 1)(G + ridge I) theta = b + sum x Z, Z ~ Binomial(a, 1/2): in the
    /// Gaussian limit sum x Z has mean (a/2) sum x and covariance (a/4) G.
    fn perturbed(&self, factor: &Factor, stats: &LinearStats, rng: &mut Stream) -> Vec<f64> {
        let (a, dim) = (self.perturbation, stats.dim());
        let root = cahoots_kernel::semidefinite_cholesky(stats.gram.packed(), dim);
        let normals: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let perturbed: Vec<f64> = (0..dim)
            .map(|i| {
                let row = &root[i * (i + 1) / 2..][..=i];
                let noise: f64 = row.iter().zip(&normals).map(|(l, g)| l * g).sum();
                (stats.moment[i] + 0.5 * a * stats.contexts[i] + 0.5 * a.sqrt() * noise) / (a + 1.0)
            })
            .collect();
        factor.solve(&perturbed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tiles;
    use crate::policy::Radius;
    use crate::{Keys, NodeId};

    const RIDGE: f64 = 0.5;

    fn policy(rule: Rule) -> LinearPolicy {
        let confidence = Confidence::new(Radius::Fixed(0.7), 0.1, 0.1, RIDGE, 2).unwrap();
        LinearPolicy { rule, confidence, sampling_scale: 0.4, perturbation: 2.0 }
    }

    fn some_data() -> LinearStats {
        let mut stats = LinearStats::empty_with_contexts(2);
        for i in 0..12 {
            let x = [0.2 + 0.1 * f64::from(i % 4), 0.9 - 0.15 * f64::from(i % 3)];
            stats.observe(&x, 0.6 * x[0] + 0.5 * x[1]);
        }
        stats
    }

    fn two_arms() -> Tiles {
        let mut arms = Tiles::new(2);
        arms.push(&[0.9, 0.1]);
        arms.push(&[0.3, 0.75]);
        arms
    }

    /// How often arm 0 is chosen, of `n`.
    fn share_of_arm_0(policy: &LinearPolicy, stats: &LinearStats, n: u64) -> f64 {
        let factor = Factor::of(stats.gram.packed(), &stats.moment, RIDGE).unwrap();
        let keys = Keys::from_seed(5);
        let arms = two_arms();
        let chosen = (0..n).filter(|&number| {
            let model = LinearModel { factor: &factor, count: stats.count, stats: || stats.clone() };
            let mut rng = keys.choice(NodeId(0), number);
            policy.choose(model, ArmSet::featured(&arms).unwrap(), &mut rng).arm == ArmIndex(0)
        });
        chosen.count() as f64 / n as f64
    }

    /// V^-1 applied to b, and b' V^-1 b.
    fn solve(stats: &LinearStats, b: [f64; 2]) -> ([f64; 2], f64) {
        let g = &stats.gram;
        let (p, q, r) = (g.get(0, 0) + RIDGE, g.get(1, 0), g.get(1, 1) + RIDGE);
        let det = p * r - q * q;
        let x = [(r * b[0] - q * b[1]) / det, (p * b[1] - q * b[0]) / det];
        (x, x[0] * b[0] + x[1] * b[1])
    }

    fn assert_share(found: f64, mean: f64, variance: f64, n: u64) {
        let expected = 0.5 * libm::erfc(-mean / (2.0 * variance).sqrt());
        let error = (expected * (1.0 - expected) / n as f64).sqrt();
        assert!(expected > 0.05 && expected < 0.95, "the test must be able to fail: {expected}");
        assert!((found - expected).abs() < 5.0 * error, "{found} against {expected} +- {error}");
    }

    #[test]
    fn lints_draws_the_difference_of_two_arms_from_its_posterior() {
        let (stats, n) = (some_data(), 40_000);
        let difference = [0.6, -0.65];
        let (direction, width2) = solve(&stats, difference);
        let mean = direction[0] * stats.moment[0] + direction[1] * stats.moment[1];
        let found = share_of_arm_0(&policy(Rule::LinTs), &stats, n);
        assert_share(found, mean, 0.4 * 0.4 * width2, n);
    }

    #[test]
    fn linphe_perturbs_with_the_moments_of_binomial_pseudo_rewards() {
        let (stats, n, a) = (some_data(), 40_000, 2.0);
        let (d, _) = solve(&stats, [0.6, -0.65]);
        // theta = V^-1 (b + sum x Z) / (a + 1)
        let moment = |i: usize| (stats.moment[i] + 0.5 * a * stats.contexts[i]) / (a + 1.0);
        let mean = d[0] * moment(0) + d[1] * moment(1);
        let g = &stats.gram;
        let square = d[0] * d[0] * g.get(0, 0) + 2.0 * d[0] * d[1] * g.get(1, 0) + d[1] * d[1] * g.get(1, 1);
        let found = share_of_arm_0(&policy(Rule::LinPhe), &stats, n);
        assert_share(found, mean, a / 4.0 * square / ((a + 1.0) * (a + 1.0)), n);
    }

    #[test]
    fn linucb_takes_the_highest_bound_and_uniform_takes_any() {
        let stats = some_data();
        let bound = |x: [f64; 2]| {
            let (direction, width2) = solve(&stats, x);
            direction[0] * stats.moment[0] + direction[1] * stats.moment[1] + 0.7 * width2.sqrt()
        };
        let best = bound([0.9, 0.1]) > bound([0.3, 0.75]);
        assert_eq!(share_of_arm_0(&policy(Rule::LinUcb), &stats, 10) == 1.0, best);
        let share = share_of_arm_0(&policy(Rule::Uniform), &stats, 10_000);
        assert!((share - 0.5).abs() < 5.0 * 0.005, "{share}");
    }
}
