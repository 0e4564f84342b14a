//! What the paper promises for thresholds, and thresholds for a promise.
//!
//! Regret is given as a factor over the d sqrt(T) log T of talking all the time, the
//! constant of which the paper's bounds leave open.

/// A federation to plan for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Federation {
    /// Clients N.
    pub clients: f64,
    /// Features d.
    pub dim: f64,
    /// Interactions T, of all clients together.
    pub horizon: f64,
    /// Regularisation lambda.
    pub ridge: f64,
}

/// Thresholds of async-linucb.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// gamma_U.
    pub upload: f64,
    /// gamma_D.
    pub download: f64,
}

impl Ratios {
    /// The same ratio for both.
    pub fn equal(ratio: f64) -> Ratios {
        Ratios { upload: ratio, download: ratio }
    }

    /// Both logarithms times a factor: along the line from "always" to these and beyond.
    pub fn scaled(self, factor: f64) -> Ratios {
        Ratios { upload: self.upload.powf(factor), download: self.download.powf(factor) }
    }
}

impl Federation {
    /// d ln(1 + T / (d lambda)): how much the log-determinant can grow.
    fn growth(&self) -> f64 {
        self.dim * (self.horizon / (self.dim * self.ridge)).ln_1p()
    }

    /// d log T, as in the paper's Table 1.
    fn d_log_t(&self) -> f64 {
        self.dim * self.horizon.max(2.0).ln()
    }

    /// Transfers of async-linucb, at most. Every upload multiplies a determinant of its client by
    /// more than the ratio, every download one of its receiver's view, and neither can grow by more
    /// than `growth` (the proof of Theorem 3.2, with its constants). No ratio makes a step send more
    /// than one upload and N downloads.
    pub fn async_transfers(&self, ratios: Ratios) -> f64 {
        let events = |ratio: f64, most: f64| {
            if ratio.is_infinite() { 0.0 } else { (self.clients * self.growth() / ratio.ln()).min(most) }
        };
        events(ratios.upload, self.horizon) + events(ratios.download, self.horizon * self.clients)
    }

    /// Regret factor of async-linucb (Theorem 3.2).
    pub fn async_factor(&self, ratios: Ratios) -> f64 {
        let shared = ratios.download * (1.0 + (self.clients - 1.0) * (ratios.upload - 1.0));
        shared.min(self.clients).max(1.0).sqrt()
    }

    /// The smallest equal ratios that keep to so many transfers.
    pub fn async_for_transfers(&self, transfers: f64) -> Ratios {
        Ratios::equal((2.0 * self.clients * self.growth() / transfers).exp())
    }

    /// Ratios that keep to so many transfers with the smallest bound on regret: as N - 1 clients can
    /// hold back, but only one is behind, uploads get the smaller one.
    pub fn async_split_for_transfers(&self, transfers: f64) -> Ratios {
        let per_unit = transfers / (self.clients * self.growth());
        let ratios = |share: f64| Ratios {
            upload: (1.0 / (share * per_unit)).exp(),
            download: (1.0 / ((1.0 - share) * per_unit)).exp(),
        };
        // ln of the bound: overflow aside, the square of `async_factor`.
        let bound = |share: f64| {
            let (up, down) = (1.0 / (share * per_unit), 1.0 / ((1.0 - share) * per_unit));
            let held_back = (self.clients - 1.0) * up.exp_m1();
            down + if held_back.is_finite() {
                held_back.ln_1p()
            } else {
                (self.clients - 1.0).max(1.0).ln() + up
            }
        };
        let best = (1..1000)
            .map(|step| f64::from(step) / 1000.0)
            .min_by(|a, b| bound(*a).total_cmp(&bound(*b)))
            .unwrap_or(0.5);
        ratios(best)
    }

    /// The largest equal ratios with at most this regret factor: (N-1) x^2 + (2-N) x = F^2.
    pub fn async_for_factor(&self, factor: f64) -> Ratios {
        let (n, target) = (self.clients, factor * factor);
        if target >= n {
            return Ratios::equal(f64::INFINITY);
        }
        let (a, b) = (n - 1.0, 2.0 - n);
        Ratios::equal(((-b + (b * b + 4.0 * a * target).sqrt()) / (2.0 * a)).max(1.0))
    }

    /// Transfers of sync-linucb by Appendix D, constants kept: 2N for each of T/alpha + R alpha/(D s)
    /// rounds at the best alpha, where s is N for uniform clients and 1 in the worst case.
    pub fn sync_transfers(&self, threshold: f64, uniform: bool) -> f64 {
        let spread = if uniform { self.clients } else { 1.0 };
        let rounds = 2.0 * (self.horizon * self.growth() / (threshold * spread)).sqrt();
        2.0 * self.clients * rounds.min(self.horizon)
    }

    /// Regret factor of sync-linucb (Appendix D): 1 + sqrt(d log T) N sqrt(D) / sqrt(T), and no worse
    /// than clients that never talk.
    pub fn sync_factor(&self, threshold: f64) -> f64 {
        let factor = 1.0 + (self.d_log_t() * threshold / self.horizon).sqrt() * self.clients;
        factor.min(self.clients.sqrt()).max(1.0)
    }

    /// The smallest threshold that keeps to so many transfers.
    pub fn sync_for_transfers(&self, transfers: f64, uniform: bool) -> f64 {
        let spread = if uniform { self.clients } else { 1.0 };
        16.0 * self.clients * self.clients * self.horizon * self.growth() / (transfers * transfers * spread)
    }

    /// The largest threshold with at most this regret factor.
    pub fn sync_for_factor(&self, factor: f64) -> f64 {
        (factor - 1.0).powi(2) * self.horizon / (self.clients * self.clients * self.d_log_t())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Federation = Federation { clients: 1000.0, dim: 25.0, horizon: 30_000.0, ridge: 0.1 };

    #[test]
    fn thresholds_and_promises_are_each_others_inverse() {
        // Long enough that no step sends as much as it can.
        let long = Federation { horizon: 1e9, ..PAPER };
        for budget in [5e3, 5e4, 5e5, 5e6] {
            let ratios = PAPER.async_for_transfers(budget);
            assert!(PAPER.async_transfers(ratios) <= budget * (1.0 + 1e-9));
            let ratios = long.async_for_transfers(budget);
            assert!((long.async_transfers(ratios) / budget - 1.0).abs() < 1e-9);
            let split = long.async_split_for_transfers(budget);
            assert!((long.async_transfers(split) / budget - 1.0).abs() < 1e-9);
            assert!(long.async_factor(split) <= long.async_factor(ratios));
            for uniform in [true, false] {
                let threshold = long.sync_for_transfers(budget, uniform);
                assert!((long.sync_transfers(threshold, uniform) / budget - 1.0).abs() < 1e-9);
            }
        }
        for factor in [1.5, 3.0, 10.0, 30.0] {
            assert!((PAPER.async_factor(PAPER.async_for_factor(factor)) - factor).abs() < 1e-9);
            assert!((PAPER.sync_factor(PAPER.sync_for_factor(factor)) - factor).abs() < 1e-9);
        }
        assert_eq!(PAPER.async_for_factor(40.0), Ratios::equal(f64::INFINITY));
    }

    #[test]
    fn table_1_is_met() {
        let longer = Federation { horizon: 1e9, ..PAPER };
        let d_log_t = 25.0 * 1e9f64.ln();
        // gamma = exp(N^-1/2): regret N^(1/4), transfers N^(3/2) d log T up to a constant.
        let ratios = Ratios::equal(1000f64.powf(-0.5).exp());
        assert!((longer.async_factor(ratios) / 1000f64.powf(0.25) - 1.0).abs() < 0.05);
        let ratio = longer.async_transfers(ratios) / (1000f64.powf(1.5) * d_log_t);
        assert!((1.0..2.5).contains(&ratio), "{ratio}");
        // D = T / (N^(3/2) d log T): regret N^(1/4), transfers N^(5/4) or N^(7/4) d log T.
        let threshold = 1e9 / (1000f64.powf(1.5) * d_log_t);
        assert!((longer.sync_factor(threshold) - 1.0 - 1000f64.powf(0.25)).abs() < 1e-9);
        for (uniform, power) in [(true, 1.25), (false, 1.75)] {
            let ratio = longer.sync_transfers(threshold, uniform) / (1000f64.powf(power) * d_log_t);
            assert!((2.0..5.0).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn one_client_needs_no_plan() {
        let alone = Federation { clients: 1.0, ..PAPER };
        assert_eq!(alone.async_for_factor(1.0), Ratios::equal(f64::INFINITY));
        assert!(alone.async_split_for_transfers(100.0).upload.is_finite());
    }
}
