//! Mean and spread of values that come one by one.

/// Count, mean and squared deviations (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moments {
    pub(crate) count: f64,
    pub(crate) mean: f64,
    squares: f64,
}

impl Moments {
    /// One more value.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    /// Standard error of the mean, from the sample variance.
    pub(crate) fn standard_error(&self) -> f64 {
        (self.squares / (self.count - 1.0).max(1.0) / self.count.max(1.0)).sqrt()
    }
}

/// Sums of a weighted mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weighted {
    pub(crate) weights: f64,
    rewards: f64,
    squares: f64,
    cross: f64,
    square_rewards: f64,
}

impl Weighted {
    /// One more.
    pub(crate) fn add(&mut self, weight: f64, reward: f64) {
        self.weights += weight;
        self.rewards += weight * reward;
        self.squares += weight * weight;
        self.cross += weight * weight * reward;
        self.square_rewards += weight * weight * reward * reward;
    }

    /// The weighted mean; 0 where nothing weighs.
    pub(crate) fn mean(&self) -> f64 {
        if self.weights > 0.0 { self.rewards / self.weights } else { 0.0 }
    }

    /// Its standard error by the delta method: sqrt(sum w^2 (r - mean)^2) / sum w (Owen 2013, eq. 9.9).
    pub(crate) fn standard_error(&self) -> f64 {
        let mean = self.mean();
        let squares = self.square_rewards - 2.0 * mean * self.cross + mean * mean * self.squares;
        squares.max(0.0).sqrt() / self.weights
    }

    /// (sum w)^2 / sum w^2 (Kong 1992).
    pub(crate) fn effective(&self) -> f64 {
        if self.squares > 0.0 { self.weights * self.weights / self.squares } else { 0.0 }
    }
}
