//! What one federation can hand on to the next: sums over everyone, and nobody's own state.

use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::linalg::Symmetric;
use crate::stats::LinearStats;

/// What a federation begins from: what another has merged, or what was logged before there was one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Prior {
    /// Sums of a linear model.
    Linear(LinearStats),
}

impl Prior {
    /// The kind of sums of whole contexts and whole rewards: what a log gives, and what most linear servers merge
    /// ([`Algorithm::prior_kind`](crate::Algorithm::prior_kind)).
    pub const LINEAR: &str = "linear";

    /// Observations in it.
    pub fn observations(&self) -> u64 {
        match self {
            Prior::Linear(stats) => stats.count,
        }
    }

    /// The same data, each observation counting for this part of one: above 0, at most 1. Their number is rounded up, so
    /// that no sum is larger than so many observations can make it.
    pub fn weighed(self, weight: f64) -> Prior {
        if weight == 1.0 {
            return self;
        }
        let Prior::Linear(stats) = self;
        let scaled = |values: &[f64]| values.iter().map(|value| value * weight).collect::<Vec<_>>();
        let gram = Symmetric::from_packed(stats.dim(), scaled(stats.gram.packed()));
        Prior::Linear(LinearStats {
            gram: gram.expect("as many numbers as before"),
            moment: scaled(&stats.moment).into(),
            contexts: scaled(&stats.contexts).into(),
            count: (stats.count as f64 * weight).ceil() as u64,
        })
    }

    /// Sums of the shape that a server keeps. A sum of contexts that it has no use for is left out; one that is missing
    /// cannot be made up.
    pub fn linear(&self, shape: &LinearStats) -> Result<LinearStats, String> {
        let Prior::Linear(stats) = self;
        if stats.dim() != shape.dim() {
            return Err(format!(
                "it is about {} features, and this federation's arms have {}",
                stats.dim(),
                shape.dim()
            ));
        }
        if stats.is_empty() {
            return Err("there is no observation in it".into());
        }
        // Bytes of a log may say anything.
        let of_all = |values: &[f64]| values.len() == stats.dim();
        if !of_all(&stats.moment) || !(stats.contexts.is_empty() || of_all(&stats.contexts)) {
            return Err("its sums are of different numbers of features".into());
        }
        let mut stats = stats.clone();
        if shape.contexts.is_empty() {
            stats.contexts = Box::default();
        }
        stats.check(shape.dim(), !shape.contexts.is_empty()).map_err(|error| match error {
            Misbehaviour::Unexpected(_) => {
                "this federation's policy needs the sum of all features, which it does not have: make it from logged data, or \
                 from a federation of the same policy"
                    .to_string()
            }
            other => other.to_string(),
        })?;
        Ok(stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(dim: usize, contexts: bool) -> LinearStats {
        let mut stats =
            if contexts { LinearStats::empty_with_contexts(dim) } else { LinearStats::empty(dim) };
        for i in 0..3 {
            let x: Vec<f64> = (0..dim).map(|j| (i + j) as f64).collect();
            stats.observe(&x, 1.0);
        }
        stats
    }

    #[test]
    fn half_the_weight_is_half_of_every_sum_and_no_fewer_observations() {
        let whole = Prior::Linear(sums(2, true));
        assert_eq!(whole.clone().weighed(1.0), whole);
        let Prior::Linear(half) = whole.clone().weighed(0.5);
        let Prior::Linear(all) = whole;
        assert_eq!(half.count, 2, "of three, rounded up");
        let mut twice = half.clone();
        twice.merge(&half);
        assert_eq!((twice.gram, twice.moment, twice.contexts), (all.gram, all.moment, all.contexts));
    }

    #[test]
    fn sums_take_the_shape_of_a_server_or_are_refused() {
        let with = Prior::Linear(sums(2, true));
        let without = Prior::Linear(sums(2, false));
        let (plain, contexts) = (LinearStats::empty(2), LinearStats::empty_with_contexts(2));
        assert_eq!(with.linear(&plain), Ok(sums(2, false)));
        assert_eq!(with.linear(&contexts), Ok(sums(2, true)));
        assert!(without.linear(&contexts).unwrap_err().contains("sum of all features"));
        assert!(with.linear(&LinearStats::empty(3)).unwrap_err().contains("about 2 features"));
        assert!(Prior::Linear(plain.clone()).linear(&plain).unwrap_err().contains("no observation"));
        let longer = LinearStats { moment: vec![1.0; 3].into(), ..sums(2, false) };
        assert!(Prior::Linear(longer).linear(&plain).unwrap_err().contains("different numbers"));
        let mut broken = sums(2, false);
        broken.moment[0] = f64::NAN;
        assert!(Prior::Linear(broken).linear(&plain).unwrap_err().contains("finite"));
    }
}
