//! What speaks for one input or the other, learned from runs: the released numbers by the best linear score, times,
//! counts and structure by how often each came up.

use std::collections::BTreeMap;

use super::Transcript;

/// A score: large where the second input is likely.
#[derive(Clone, Debug)]
pub(super) struct Score {
    pub uses: Uses,
    /// Log-odds of each structure that was seen in training.
    structures: BTreeMap<Vec<u64>, f64>,
    /// Weights of the numbers, and what they add up to in the middle between both inputs.
    weights: Vec<f64>,
    middle: f64,
}

/// What a score looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uses {
    Numbers,
    Structure,
    Both,
}

impl Score {
    /// Learns from runs on both inputs, of which it looks at no more than the first `most` numbers: what is learned from
    /// few runs about many numbers is mostly chance.
    pub(super) fn train(first: &[Transcript], second: &[Transcript], most: usize) -> Score {
        let (weights, middle) = discriminant(first, second, most);
        Score { uses: Uses::Both, structures: odds(first, second), weights, middle }
    }

    /// The same, looking at a part of it.
    pub(super) fn using(&self, uses: Uses) -> Score {
        Score { uses, ..self.clone() }
    }

    /// There is more than one structure.
    pub(super) fn sees_structure(&self) -> bool {
        self.structures.len() > 1
    }

    /// How many numbers it looks at.
    pub(super) fn numbers(&self) -> usize {
        self.weights.len()
    }

    /// How much a run speaks for the second input.
    pub(super) fn of(&self, transcript: &Transcript) -> f64 {
        let numbers = || {
            let pairs = transcript.numbers.iter().zip(&self.weights);
            pairs.map(|(number, weight)| number * weight).sum::<f64>() - self.middle
        };
        let structure = || self.structures.get(&transcript.structure).copied().unwrap_or(0.0);
        match self.uses {
            Uses::Numbers => numbers(),
            Uses::Structure => structure(),
            Uses::Both => numbers() + structure(),
        }
    }
}

/// How much more often each structure came up on the second input: ln of the ratio of counts, one added to each.
fn odds(first: &[Transcript], second: &[Transcript]) -> BTreeMap<Vec<u64>, f64> {
    let mut counts: BTreeMap<&[u64], [f64; 2]> = BTreeMap::new();
    for (side, runs) in [first, second].into_iter().enumerate() {
        for run in runs {
            counts.entry(&run.structure).or_insert([1.0; 2])[side] += 1.0;
        }
    }
    let log =
        |(structure, [first, second]): (&[u64], [f64; 2])| (structure.to_vec(), libm::log(second / first));
    counts.into_iter().map(log).collect()
}

/// Fisher's linear discriminant: weights C^-1 (m2 - m1) with the pooled covariance C, which is the log-likelihood
/// ratio of two normal laws. Runs with fewer numbers count those that are missing as 0.
fn discriminant(first: &[Transcript], second: &[Transcript], most: usize) -> (Vec<f64>, f64) {
    let length = first.iter().chain(second).map(|run| run.numbers.len()).max().unwrap_or(0).min(most);
    let at = |run: &Transcript, i: usize| run.numbers.get(i).copied().unwrap_or(0.0);
    let mean = |runs: &[Transcript]| -> Vec<f64> {
        (0..length).map(|i| runs.iter().map(|run| at(run, i)).sum::<f64>() / runs.len() as f64).collect()
    };
    let (mean_first, mean_second) = (mean(first), mean(second));
    let mut covariance = vec![0.0; length * length];
    for (runs, mean) in [(first, &mean_first), (second, &mean_second)] {
        for run in runs {
            let from: Vec<f64> = (0..length).map(|i| at(run, i) - mean[i]).collect();
            for i in 0..length {
                for j in 0..=i {
                    covariance[i * length + j] += from[i] * from[j];
                }
            }
        }
    }
    let runs = (first.len() + second.len()) as f64;
    covariance.iter_mut().for_each(|value| *value /= runs);
    let difference: Vec<f64> = mean_second.iter().zip(&mean_first).map(|(b, a)| b - a).collect();
    let weights = solve(covariance, &difference);
    let middle = weights.iter().zip(mean_first.iter().zip(&mean_second));
    let middle = middle.map(|(weight, (a, b))| 0.5 * weight * (a + b)).sum();
    (weights, middle)
}

/// Solves a positive semi-definite system by Cholesky's method; directions without any variance get a weight that
/// tells them apart at once, if they differ, and none otherwise.
fn solve(mut lower: Vec<f64>, right: &[f64]) -> Vec<f64> {
    let n = right.len();
    let scale: Vec<f64> = (0..n).map(|i| lower[i * n + i]).collect();
    for j in 0..n {
        // A trillionth of the variance, so that numbers that follow from others do no harm.
        let tiny = 1e-12 * scale[j] + 1e-24;
        for k in 0..j {
            let factor = lower[j * n + k];
            lower[j * n + j] -= factor * factor;
        }
        let pivot = lower[j * n + j].max(tiny).sqrt();
        lower[j * n + j] = pivot;
        for i in j + 1..n {
            for k in 0..j {
                lower[i * n + j] -= lower[i * n + k] * lower[j * n + k];
            }
            lower[i * n + j] /= pivot;
        }
    }
    let mut x = right.to_vec();
    for i in 0..n {
        for k in 0..i {
            x[i] -= lower[i * n + k] * x[k];
        }
        x[i] /= lower[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= lower[k * n + i] * x[k];
        }
        x[i] /= lower[i * n + i];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        // [[4, 2], [2, 3]] x = [2, 5] has the solution (-0.5, 2).
        let x = solve(vec![4.0, 0.0, 2.0, 3.0], &[2.0, 5.0]);
        assert!((x[0] + 0.5).abs() < 1e-12 && (x[1] - 2.0).abs() < 1e-12, "{x:?}");
    }

    #[test]
    fn a_number_that_repeats_another_does_no_harm() {
        let runs = |shift: f64| -> Vec<Transcript> {
            let number = |i: u32| f64::from(i * i % 7) + shift;
            (0..70).map(|i| Transcript::numbers(vec![number(i), number(i), 3.0])).collect()
        };
        let score = Score::train(&runs(0.0), &runs(1.0), 9).using(Uses::Numbers);
        let (low, high) = (score.of(&runs(0.0)[3]), score.of(&runs(1.0)[3]));
        assert!(high > low && (high - low).is_finite());
    }

    #[test]
    fn what_never_came_up_in_training_says_nothing() {
        let run = |time| Transcript { structure: vec![time], numbers: vec![] };
        let score = Score::train(&[run(37), run(37), run(5)], &[run(38), run(38), run(5)], 9);
        assert_eq!((score.of(&run(5)), score.of(&run(99))), (0.0, 0.0));
        assert!(score.of(&run(38)) > 1.0 && score.of(&run(37)) < -1.0);
    }
}
