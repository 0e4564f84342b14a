//! What arms pay, by ridge regression: a model for every arm (in every position), on the features of the context.

use cahoots_kernel::{Factor, add_outer};

/// Sums for models that are fitted fold by fold: a row is never predicted by a model that saw it. Sums are added, never
/// taken away: the model of a fold is made from the sums of all others.
pub struct Ridge {
    cells: usize,
    dim: usize,
    ridge: f64,
    range: (f64, f64),
    folds: Vec<Fold>,
}

/// The sums of one fold.
struct Fold {
    grams: Vec<f64>,
    moments: Vec<f64>,
    count: f64,
    sum: f64,
}

/// Coefficients of every arm.
pub struct Fitted {
    dim: usize,
    mean: f64,
    range: (f64, f64),
    thetas: Vec<f64>,
}

impl Ridge {
    /// No data yet; predictions are kept within `range`.
    pub fn new(folds: usize, cells: usize, features: usize, ridge: f64, range: (f64, f64)) -> Ridge {
        let dim = features + 1;
        let fold = || Fold {
            grams: vec![0.0; cells * packed(dim)],
            moments: vec![0.0; cells * dim],
            count: 0.0,
            sum: 0.0,
        };
        Ridge { cells, dim, ridge, range, folds: (0..folds).map(|_| fold()).collect() }
    }

    /// Bytes of the sums of so many.
    pub fn bytes(folds: usize, cells: usize, features: usize) -> f64 {
        let dim = features + 1;
        8.0 * (folds * cells) as f64 * (packed(dim) + dim) as f64
    }

    /// Learns from a decision; `features` begin with a 1.
    pub fn learn(&mut self, fold: usize, cell: usize, features: &[f64], reward: f64) {
        let (dim, packed) = (self.dim, packed(self.dim));
        let fold = &mut self.folds[fold];
        add_outer(&mut fold.grams[cell * packed..][..packed], features);
        for (sum, x) in fold.moments[cell * dim..][..dim].iter_mut().zip(features) {
            *sum += x * reward;
        }
        fold.count += 1.0;
        fold.sum += reward;
    }

    /// How often a cell is in a fold, and what it paid on average.
    pub fn seen(&self, fold: usize, cell: usize) -> (f64, f64) {
        let fold = &self.folds[fold];
        let (count, sum) = (fold.grams[cell * packed(self.dim)], fold.moments[cell * self.dim]);
        (count, sum / count)
    }

    /// Models of some folds. Rewards are held against their mean, which an arm without data then predicts.
    pub fn fit(&self, takes: impl Fn(usize) -> bool) -> Fitted {
        let (dim, packed) = (self.dim, packed(self.dim));
        let taken: Vec<&Fold> =
            self.folds.iter().enumerate().filter(|(fold, _)| takes(*fold)).map(|(_, fold)| fold).collect();
        let count: f64 = taken.iter().map(|fold| fold.count).sum();
        let sum: f64 = taken.iter().map(|fold| fold.sum).sum();
        let middle = (self.range.0 + self.range.1) / 2.0;
        let mean = if count > 0.0 { sum / count } else { middle };
        let mut thetas = Vec::with_capacity(self.cells * dim);
        let (mut gram, mut moment) = (vec![0.0; packed], vec![0.0; dim]);
        for cell in 0..self.cells {
            gram.fill(0.0);
            moment.fill(0.0);
            for fold in &taken {
                add(&mut gram, &fold.grams[cell * packed..][..packed]);
                add(&mut moment, &fold.moments[cell * dim..][..dim]);
            }
            // The first feature is 1: row i of the triangle begins with the sum of feature i.
            for (i, value) in moment.iter_mut().enumerate() {
                *value -= mean * gram[i * (i + 1) / 2];
            }
            match Factor::of(&gram, &moment, self.ridge) {
                Ok(factor) => thetas.extend(factor.theta()),
                // What rounding has made indefinite says no more than the mean.
                Err(_) => thetas.extend(std::iter::repeat_n(0.0, dim)),
            }
        }
        Fitted { dim, mean, range: self.range, thetas }
    }
}

impl Fitted {
    /// What an arm pays in this context (`features` begin with a 1).
    pub fn predict(&self, cell: usize, features: &[f64]) -> f64 {
        let theta = &self.thetas[cell * self.dim..][..self.dim];
        let value = self.mean + theta.iter().zip(features).map(|(theta, x)| theta * x).sum::<f64>();
        value.clamp(self.range.0, self.range.1)
    }
}

fn packed(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

fn add(sums: &mut [f64], more: &[f64]) {
    for (sum, value) in sums.iter_mut().zip(more) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_a_fold_has_not_seen_it() {
        let mut ridge = Ridge::new(2, 1, 1, 1e-9, (-1e3, 1e3));
        for (x, reward) in [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)] {
            ridge.learn(0, 0, &[1.0, x], reward);
            ridge.learn(1, 0, &[1.0, x], -reward);
        }
        let (first, second) = (ridge.fit(|fold| fold != 1), ridge.fit(|fold| fold != 0));
        assert!((first.predict(0, &[1.0, 3.0]) - 7.0).abs() < 1e-6);
        assert!((second.predict(0, &[1.0, 3.0]) + 7.0).abs() < 1e-6);
        assert!(ridge.fit(|_| true).predict(0, &[1.0, 3.0]).abs() < 1e-6);
    }

    #[test]
    fn an_arm_without_data_pays_the_mean_and_none_leaves_the_range() {
        let mut ridge = Ridge::new(1, 2, 1, 1e-9, (0.0, 1.0));
        for (x, reward) in [(0.0, 0.0), (1.0, 0.5)] {
            ridge.learn(0, 0, &[1.0, x], reward);
        }
        let fitted = ridge.fit(|_| true);
        assert_eq!(fitted.predict(1, &[1.0, 5.0]), 0.25);
        assert_eq!(fitted.predict(0, &[1.0, 5.0]), 1.0);
    }
}
