//! The parameter that most clients agree on, and who does not fit it.

use cahoots_core::Factor;
use cahoots_core::homogeneity::chi_square::upper_quantile;
use cahoots_core::linalg::Symmetric;
use serde::{Deserialize, Serialize};

use super::Robust;
use super::caps::{add_scaled, middle};
use super::votes::Vote;

/// Steps toward the geometric median: each solves a weighted least squares (Weiszfeld).
const MEDIAN_STEPS: usize = 60;

/// Rounds of leaving out and fitting again.
const TRIM_ROUNDS: usize = 20;

/// How likely an honest client is to be found not to fit, each time that all are looked at.
const FALSE_VERDICT: f64 = 1e-3;

/// Squared distances below this part of an estimate's squared length are rounding.
const ROUNDING: f64 = 1e-16;

/// Squared distances below this part weigh alike on the way to the median: what is rounding in a vote is not made large.
const TIP: f64 = 1e-6;

/// Of the parameter's squared length, what it may still move.
const SETTLED: f64 = 1e-12;

/// What clients are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fit {
    /// The parameter, in the coordinates of the caps.
    pub(super) phi: Vec<f64>,
    /// The variance of the noise, as the median client shows it.
    variance: f64,
    /// By degrees of freedom: the median misfit of noise of variance 1, and the one that is exceeded by chance alone
    /// with probability [`FALSE_VERDICT`].
    quantiles: Vec<(f64, f64)>,
}

/// A vote, and how many observations are behind it.
pub(super) type Counted = (Vote, u64);

impl Fit {
    /// Of all who have a vote, with those who do not fit left out if it is to be so.
    pub(super) fn of(votes: &[Counted], rule: Robust) -> Option<Fit> {
        let dim = votes.first()?.0.pull.len();
        let quantile = |tail, freedom: f64| upper_quantile(tail, freedom, 0.0) / freedom;
        let quantiles =
            (1..=dim).map(|freedom| freedom as f64).map(|f| (quantile(0.5, f), quantile(FALSE_VERDICT, f)));
        let mut fit = Fit { phi: vec![0.0; dim], variance: 0.0, quantiles: quantiles.collect() };
        fit.find_median(votes)?;
        if let Robust::Trim(share) = rule {
            fit.trim(votes, (share * votes.len() as f64).floor() as usize)?;
        }
        Some(fit)
    }

    /// From the parameter 0, which nobody chooses: those who are far off hardly count from the first step on.
    fn find_median(&mut self, votes: &[Counted]) -> Option<()> {
        let mut sizes: Vec<f64> = votes.iter().map(|(vote, _)| vote.size()).collect();
        let least = ROUNDING * middle(&mut sizes) + f64::MIN_POSITIVE;
        let tip = TIP * middle(&mut sizes) + least;
        for _ in 0..MEDIAN_STEPS {
            let before = self.phi.clone();
            self.phi = solve(votes, |vote| 1.0 / vote.misfit(&before).max(tip).sqrt())?;
            if settled(&before, &self.phi) {
                break;
            }
        }
        self.estimate_variance(votes, least);
        // The tip is rounded: whoever is nearer than noise explains counts in full.
        for _ in 0..MEDIAN_STEPS {
            let before = self.phi.clone();
            self.phi = solve(votes, |vote| pull(vote.misfit(&before), self.variance))?;
            if settled(&before, &self.phi) {
                break;
            }
        }
        self.estimate_variance(votes, least);
        Some(())
    }

    /// Leaves out who does not fit, the worst first and no more than `most`; fits again; until nothing changes.
    fn trim(&mut self, votes: &[Counted], most: usize) -> Option<()> {
        let mut sizes: Vec<f64> = votes.iter().map(|(vote, _)| vote.size()).collect();
        let least = ROUNDING * middle(&mut sizes) + f64::MIN_POSITIVE;
        let mut before = vec![false; votes.len()];
        for _ in 0..TRIM_ROUNDS {
            let mut worst: Vec<(f64, usize)> = votes
                .iter()
                .enumerate()
                .map(|(index, vote)| (self.excess(vote), index))
                .filter(|(excess, _)| *excess > 1.0)
                .collect();
            worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut out = vec![false; votes.len()];
            worst.iter().take(most).for_each(|(_, index)| out[*index] = true);
            if out == before {
                break;
            }
            let mut turn = out.iter();
            self.phi = solve(votes, |_| if turn.next() == Some(&true) { 0.0 } else { 1.0 })?;
            self.estimate_variance(votes, least);
            before = out;
        }
        Some(())
    }

    fn estimate_variance(&mut self, votes: &[Counted], least: f64) {
        let shown = |(vote, count): &Counted| vote.misfit(&self.phi) / self.quantiles(*count).0;
        let mut shown: Vec<f64> = votes.iter().map(shown).collect();
        self.variance = middle(&mut shown).max(least);
    }

    fn quantiles(&self, count: u64) -> (f64, f64) {
        let freedom = count.clamp(1, self.quantiles.len() as u64);
        self.quantiles[freedom as usize - 1]
    }

    /// How badly a client fits: above 1, worse than noise explains.
    fn excess(&self, (vote, count): &Counted) -> f64 {
        vote.misfit(&self.phi) / (self.variance * self.quantiles(*count).1)
    }

    /// The weight of a client.
    pub(super) fn weight(&self, vote: &Counted, rule: Robust) -> f64 {
        match rule {
            Robust::Trim(_) => f64::from(u8::from(self.excess(vote) <= 1.0)),
            Robust::GeometricMedian => pull(vote.0.misfit(&self.phi), self.variance),
        }
    }
}

/// So little has changed that what noise leaves open is larger by far.
fn settled(before: &[f64], after: &[f64]) -> bool {
    let change: f64 = before.iter().zip(after).map(|(a, b)| (a - b) * (a - b)).sum();
    change <= SETTLED * after.iter().map(|value| value * value).sum::<f64>()
}

/// The weight with which a vote's pull does not grow beyond what noise explains.
fn pull(misfit: f64, variance: f64) -> f64 {
    if misfit > variance { (variance / misfit).sqrt() } else { 1.0 }
}

/// Weighted least squares of votes. Directions that nobody knows of are left where they are: at 0.
fn solve(votes: &[Counted], mut weight: impl FnMut(&Vote) -> f64) -> Option<Vec<f64>> {
    let dim = votes.first()?.0.pull.len();
    let (mut sum, mut moment) = (Symmetric::zero(dim), vec![0.0; dim]);
    for (vote, _) in votes {
        let weight = weight(vote);
        add_scaled(&mut sum, &vote.weight, weight);
        moment.iter_mut().zip(&vote.pull).for_each(|(to, from)| *to += weight * from);
    }
    let largest = (0..dim).map(|i| sum.get(i, i)).fold(0.0, f64::max);
    let factor = Factor::of(sum.packed(), &moment, largest * 1e-9).ok()?;
    let phi = factor.theta();
    phi.iter().all(|value| value.is_finite()).then_some(phi)
}
