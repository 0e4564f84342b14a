//! One thing a paper says, what is measured here, and whether the two agree.

use cahoots_lab::results::{Estimate, t_quantile};
use serde::Serialize;

/// Something a paper says, beside what is measured here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What it is about.
    pub what: String,
    /// Who says so: the paper, or its authors' code.
    pub source: String,
    /// What they say.
    pub paper: String,
    /// What is measured here, with its interval.
    pub ours: String,
    /// Whether the two agree.
    pub verdict: Verdict,
    /// The measured mean, where the claim is a number or a difference.
    pub mean: Option<f64>,
    /// Half the width of its 95% confidence interval.
    pub ci95: Option<f64>,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// It does not.
    DoesNotHold,
    /// These seeds cannot tell.
    Undecided,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided => "undecided",
        }
    }

    /// Whether a mean lies below zero, as far as its interval tells.
    pub fn below_zero(difference: &Estimate) -> Verdict {
        match difference.ci95 {
            Some(half) if difference.mean + half < 0.0 => Verdict::Holds,
            Some(half) if difference.mean - half > 0.0 => Verdict::DoesNotHold,
            _ => Verdict::Undecided,
        }
    }
}

/// A number that somebody else measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The mean.
    pub mean: f64,
    /// Spread of single runs, where it is given.
    pub sd: Option<f64>,
    /// How many runs it is the mean of.
    pub runs: u32,
}

impl Reference {
    /// A mean of so many runs.
    pub fn mean(mean: f64, runs: u32) -> Reference {
        Reference { mean, sd: None, runs }
    }

    /// A mean of so many runs, with their spread.
    pub fn with_sd(mean: f64, sd: f64, runs: u32) -> Reference {
        Reference { mean, sd: Some(sd), runs }
    }

    /// Whether a measurement agrees: the difference of the means lies within its 95% interval.
    /// A spread that is not given is taken to be ours; with one seed of ours there is no telling.
    pub fn verdict(&self, ours: &Estimate, seeds: usize) -> Verdict {
        let Some(sd) = ours.sd else { return Verdict::Undecided };
        let theirs = self.sd.unwrap_or(sd);
        let spread = (theirs * theirs / f64::from(self.runs.max(1)) + sd * sd / seeds as f64).sqrt();
        if (self.mean - ours.mean).abs() <= t_quantile(seeds) * spread {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_agree_within_both_spreads() {
        let ours = Estimate::new([9.0, 10.0, 11.0, 10.0, 10.0]); // sd 0.707, standard error 0.316
        assert_eq!(Reference::mean(10.5, 1).verdict(&ours, 5), Verdict::Holds);
        assert_eq!(Reference::mean(13.0, 1).verdict(&ours, 5), Verdict::DoesNotHold);
        assert_eq!(Reference::mean(12.0, 1000).verdict(&ours, 5), Verdict::DoesNotHold);
        assert_eq!(Reference::with_sd(12.0, 5.0, 4).verdict(&ours, 5), Verdict::Holds);
        assert_eq!(Reference::mean(10.0, 1).verdict(&Estimate::new([10.0]), 1), Verdict::Undecided);
    }

    #[test]
    fn differences_need_their_whole_interval() {
        assert_eq!(Verdict::below_zero(&Estimate::new([-3.0, -2.0, -4.0])), Verdict::Holds);
        assert_eq!(Verdict::below_zero(&Estimate::new([3.0, 2.0, 4.0])), Verdict::DoesNotHold);
        assert_eq!(Verdict::below_zero(&Estimate::new([3.0, -2.0])), Verdict::Undecided);
        assert_eq!(Verdict::below_zero(&Estimate::new([-3.0])), Verdict::Undecided);
    }
}
