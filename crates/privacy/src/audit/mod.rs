//! Measured privacy: run a mechanism many times on two inputs that differ in one unit, and see how well what an
//! observer sees can be told apart. What can be told apart with certainty bounds the loss from below.
//!
//! Runs are used once. On an eighth of them a [`Score`](score) is trained, on a sixteenth a threshold is chosen on the
//! best of several scores, its side, the input it speaks for and the kind of [`Test`]; the rest certify, with one
//! Clopper-Pearson interval for each of two rates. [`canaries`] has the other way: one run with many units.

pub mod canaries;
mod cut;
mod interval;
mod score;

use serde::{Deserialize, Serialize};

use self::cut::Cut;
pub use self::cut::Test;
pub use self::interval::{DOUBT, clopper_pearson, interval, normal_quantile};
use self::score::{Score, Uses};

/// What an observer sees of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// Times, counts, phases and structure: what is the same whatever was protected, if all is well.
    pub structure: Vec<u64>,
    /// The numbers that were released, in order.
    pub numbers: Vec<f64>,
}

impl Transcript {
    /// Numbers alone.
    pub fn numbers(numbers: Vec<f64>) -> Transcript {
        Transcript { structure: Vec::new(), numbers }
    }
}

/// What a mechanism promises.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// Privacy loss.
    pub epsilon: f64,
    /// Probability of a larger one.
    pub delta: f64,
    /// Its noise is Gaussian, and its promise rests on that: the stronger test applies.
    pub gaussian: bool,
}

/// How a measured loss stands to a stated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// More was measured than was stated.
    Contradicts,
    /// At least half of what was stated was measured, and no more than that.
    Agrees,
    /// Less than half was measured: the audit may be too weak to tell.
    SaysNothing,
}

impl Verdict {
    /// Of a lower bound on a loss and what was stated.
    pub fn of(measured: f64, stated: f64) -> Verdict {
        if measured > stated {
            Verdict::Contradicts
        } else if measured < 0.5 * stated {
            Verdict::SaysNothing
        } else {
            Verdict::Agrees
        }
    }
}

/// What was stated, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Stated loss.
    pub epsilon: f64,
    /// Stated probability of a larger one.
    pub delta: f64,
    /// Runs on each of the two inputs, those of training included.
    pub trials: usize,
    /// Lower bound on the loss, right with 95% confidence; 0 where nothing can be told.
    pub measured: f64,
    /// What it rests on.
    pub test: Test,
    /// The bound of the threshold test on the same score, for comparison.
    pub by_threshold: f64,
    /// Scores on this side of the threshold speak for one of the inputs.
    pub threshold: f64,
    /// Above the threshold or below it.
    pub above: bool,
    /// How often that side came up, on the input it speaks for and on the other.
    pub rates: [f64; 2],
}

impl Audit {
    /// Compares numbers that came out on the first input with those on the second.
    pub fn new(epsilon: f64, delta: f64, first: &[f64], second: &[f64]) -> Audit {
        let runs = |values: &[f64]| -> Vec<Transcript> {
            values.iter().map(|value| Transcript::numbers(vec![*value])).collect()
        };
        Audit::of(Stated { epsilon, delta, gaussian: false }, &runs(first), &runs(second))
    }

    /// Compares whole transcripts: trains on some, certifies on the rest.
    pub fn of(stated: Stated, first: &[Transcript], second: &[Transcript]) -> Audit {
        let split = |runs: &[Transcript]| training_of(runs.len());
        let (first_train, first_rest) = first.split_at(split(first));
        let (second_train, second_rest) = second.split_at(split(second));
        Trained::on(stated, first_train, second_train).certify(first_rest, second_rest)
    }

    /// The measured loss does not contradict the stated one.
    pub fn agrees(&self) -> bool {
        self.measured <= self.epsilon
    }

    /// How it stands to what was stated.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.measured, self.epsilon)
    }
}

/// Of more numbers than these, a score on the first half of them is tried too: observers put first what tells most.
const FEW: usize = 6;

/// How many of so many runs are for training: three sixteenths.
pub fn training_of(trials: usize) -> usize {
    (trials * 3 / 16).max(1)
}

/// A score and a cut, ready to certify on runs that they have not seen.
#[derive(Clone, Debug)]
pub struct Trained {
    stated: Stated,
    score: Score,
    cut: Cut,
    /// The best cut of the threshold test, on the same score.
    plain: Cut,
    /// What the cut would have certified where it was chosen, with more doubt.
    promise: f64,
    trials: usize,
}

impl Trained {
    /// Trains on two thirds of these runs, and chooses on the rest.
    pub fn on(stated: Stated, first: &[Transcript], second: &[Transcript]) -> Trained {
        let (first_fit, first_choose) = first.split_at(first.len() * 2 / 3);
        let (second_fit, second_choose) = second.split_at(second.len() * 2 / 3);
        let whole = Score::train(first_fit, second_fit, usize::MAX);
        // Of those that promise the same, the first: structure can be told after few runs, numbers cannot.
        let mut scores = Vec::new();
        if whole.sees_structure() && whole.numbers() > 0 {
            scores.extend([whole.using(Uses::Structure), whole.using(Uses::Numbers)]);
        }
        scores.push(whole.using(Uses::Both));
        if whole.numbers() > FEW {
            scores.push(Score::train(first_fit, second_fit, whole.numbers().div_ceil(2)));
        }
        let trials = first.len().min(second.len());
        let mut best: Option<Trained> = None;
        for score in scores {
            let scores = |runs: &[Transcript]| -> Vec<f64> { runs.iter().map(|run| score.of(run)).collect() };
            let (on_first, on_second) = (scores(first_choose), scores(second_choose));
            let choose = |test| Cut::choose(test, &on_first, &on_second, stated.delta);
            let (plain, by_threshold) = choose(Test::Threshold);
            let mut chosen = (plain, by_threshold);
            if stated.gaussian {
                let gaussian = choose(Test::Gaussian);
                // The stronger test, unless the other has seen more than is stated, and this one has not.
                if by_threshold <= stated.epsilon || gaussian.1 >= by_threshold {
                    chosen = gaussian;
                }
            }
            let (cut, promise) = chosen;
            if best.as_ref().is_none_or(|best| promise > best.promise) {
                best = Some(Trained { stated, score, cut, plain, promise, trials });
            }
        }
        best.expect("there is at least one score")
    }

    /// How much seems to be there to certify: to choose between pairs of inputs.
    pub fn promise(&self) -> f64 {
        self.promise
    }

    /// The score of a run, large where the second input is likely.
    pub fn score(&self, run: &Transcript) -> f64 {
        self.score.of(run)
    }

    /// Certifies on fresh runs.
    pub fn certify(&self, first: &[Transcript], second: &[Transcript]) -> Audit {
        let scores = |runs: &[Transcript]| -> Vec<f64> { runs.iter().map(|run| self.score(run)).collect() };
        self.certify_scores(&scores(first), &scores(second))
    }

    /// Certifies on the scores of fresh runs.
    pub fn certify_scores(&self, first: &[f64], second: &[f64]) -> Audit {
        let Stated { epsilon, delta, .. } = self.stated;
        let (measured, rates) = self.cut.certify(first, second, delta, DOUBT);
        let (by_threshold, _) = self.plain.certify(first, second, delta, DOUBT);
        Audit {
            epsilon,
            delta,
            trials: self.trials + first.len().min(second.len()),
            measured,
            test: self.cut.test,
            by_threshold,
            threshold: self.cut.threshold,
            above: self.cut.above,
            rates,
        }
    }
}

#[cfg(test)]
mod tests;
