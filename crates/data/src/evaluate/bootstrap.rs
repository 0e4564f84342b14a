//! The bootstrap in bounded memory.

use cahoots_sim::draw::{Draw, Purpose};

/// Rows are dealt to so many groups, and groups are drawn: up to here that is the bootstrap of rows. Beyond, groups of
/// rows have the spread of their sums, which is what the interval is made of.
const GROUPS: usize = 10_000;

/// Sums of values, group by group.
pub(crate) struct Groups {
    width: usize,
    seen: usize,
    sums: Vec<f64>,
}

impl Groups {
    /// For rows of `width` values.
    pub(crate) fn new(width: usize) -> Groups {
        Groups { width, seen: 0, sums: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, values: &[f64]) {
        if self.seen < GROUPS {
            self.sums.extend_from_slice(values);
        } else {
            let group = self.seen % GROUPS;
            for (sum, value) in self.sums[group * self.width..].iter_mut().zip(values) {
                *sum += value;
            }
        }
        self.seen += 1;
    }

    /// What `statistic` makes of the sums of `resamples` resamples, in rising order.
    pub(crate) fn resampled(
        &self,
        resamples: usize,
        seed: u64,
        statistics: usize,
        statistic: impl Fn(&[f64], &mut [f64]),
    ) -> Vec<Vec<f64>> {
        let groups = self.seen.min(GROUPS);
        let mut found = vec![Vec::with_capacity(resamples); statistics];
        let (mut sums, mut values) = (vec![0.0; self.width], vec![0.0; statistics]);
        for resample in 0..resamples {
            let mut draw = Draw::keyed(seed, Purpose::World, 0xb007, resample as u64);
            sums.fill(0.0);
            for _ in 0..groups {
                let group = draw.below(groups as u64) as usize;
                for (sum, value) in sums.iter_mut().zip(&self.sums[group * self.width..][..self.width]) {
                    *sum += value;
                }
            }
            statistic(&sums, &mut values);
            for (list, value) in found.iter_mut().zip(&values) {
                list.push(*value);
            }
        }
        found.iter_mut().for_each(|list| list.sort_by(f64::total_cmp));
        found
    }
}

/// A quantile of values in rising order, between neighbours where it falls between them.
pub(crate) fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(quantile(&sorted, 0.0), 1.0);
        assert_eq!(quantile(&sorted, 0.5), 3.0);
        assert!((quantile(&sorted, 0.9) - 6.8).abs() < 1e-12);
        assert_eq!(quantile(&sorted, 1.0), 8.0);
    }

    #[test]
    fn more_rows_than_groups_have_the_spread_of_the_mean() {
        // 35,000 values of variance 1/12: the standard error of the mean is 0.001543; 400 resamples find a standard
        // deviation within 15% of it (its own relative error is 1/sqrt(800) = 3.5%; four of those and the groups').
        let mut groups = Groups::new(2);
        let mut draw = Draw::keyed(3, Purpose::World, 0, 0);
        for _ in 0..35_000 {
            groups.add(&[1.0, draw.uniform()]);
        }
        assert_eq!(groups.sums.len(), 2 * GROUPS);
        let means = groups.resampled(400, 1, 1, |sums, out| out[0] = sums[1] / sums[0]).remove(0);
        let mean = means.iter().sum::<f64>() / 400.0;
        let sd = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
        assert!((sd / 0.001_543 - 1.0).abs() < 0.15, "{sd}");
    }
}
