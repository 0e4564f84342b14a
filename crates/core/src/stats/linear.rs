//! Statistics of a linear model: all that ridge regression needs of the data.

use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::linalg::Symmetric;
use crate::wire;

/// `gram = sum x x'`, `moment = sum x y`, `count`; for LinPHE also `contexts = sum x`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearStats {
    /// Sum of outer products, without any ridge.
    pub gram: Symmetric,
    /// Sum of contexts weighted by their rewards.
    pub moment: Box<[f64]>,
    /// Sum of contexts; empty unless the policy needs it.
    pub contexts: Box<[f64]>,
    /// Observations.
    pub count: u64,
}

impl LinearStats {
    /// No data yet.
    pub fn empty(dim: usize) -> Self {
        LinearStats {
            gram: Symmetric::zero(dim),
            moment: vec![0.0; dim].into(),
            contexts: Box::default(),
            count: 0,
        }
    }

    /// No data yet, and the sum of contexts will be kept too.
    pub fn empty_with_contexts(dim: usize) -> Self {
        LinearStats { contexts: vec![0.0; dim].into(), ..Self::empty(dim) }
    }

    /// No data, of the same shape as `self`.
    pub fn emptied(&self) -> Self {
        if self.contexts.is_empty() { Self::empty(self.dim()) } else { Self::empty_with_contexts(self.dim()) }
    }

    /// Features of a context.
    pub fn dim(&self) -> usize {
        self.gram.dim()
    }

    /// No observation in here.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds one observation.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.gram.add_outer(x);
        for (m, xi) in self.moment.iter_mut().zip(x) {
            *m += xi * reward;
        }
        for (c, xi) in self.contexts.iter_mut().zip(x) {
            *c += xi;
        }
        self.count += 1;
    }

    /// Adds all of another's observations.
    pub fn merge(&mut self, other: &LinearStats) {
        self.gram.add(&other.gram);
        for (a, b) in self.moment.iter_mut().zip(&other.moment) {
            *a += b;
        }
        for (a, b) in self.contexts.iter_mut().zip(&other.contexts) {
            *a += b;
        }
        // What peers said is bounded one by one; whatever they say together, a sum never wraps around.
        self.count = self.count.saturating_add(other.count);
    }

    /// Refuses statistics of another shape or with values that are not finite.
    pub fn check(&self, dim: usize, with_contexts: bool) -> Result<(), Misbehaviour> {
        self.check_shape(dim, with_contexts)?;
        self.check_values()
    }

    /// Refuses statistics of another shape: in constant time.
    pub fn check_shape(&self, dim: usize, with_contexts: bool) -> Result<(), Misbehaviour> {
        if self.dim() != dim {
            return Err(Misbehaviour::Dimension { expected: dim, got: self.dim() });
        }
        if self.contexts.is_empty() == with_contexts {
            return Err(Misbehaviour::Unexpected("a sum of contexts is missing or uncalled for".into()));
        }
        Ok(())
    }

    /// Refuses values that are not finite.
    pub fn check_values(&self) -> Result<(), Misbehaviour> {
        let values = self.gram.packed().iter().chain(&self.moment).chain(&self.contexts);
        if values.into_iter().all(|v| v.is_finite()) {
            Ok(())
        } else {
            Err(Misbehaviour::NotFinite("linear statistics".into()))
        }
    }

    /// Numbers in a Gram matrix and a moment of this dimension.
    pub fn numbers(dim: usize) -> usize {
        Symmetric::packed_len(dim) + dim
    }

    /// The numbers sent: packed triangle and moment (and contexts).
    pub fn scalars(&self) -> u64 {
        (self.gram.packed().len() + self.moment.len() + self.contexts.len()) as u64
    }

    /// For the network.
    pub fn to_wire(&self) -> wire::LinearStats {
        wire::LinearStats {
            dim: self.dim() as u32,
            count: self.count,
            gram: self.gram.packed().to_vec(),
            moment: self.moment.to_vec(),
            contexts: self.contexts.to_vec(),
        }
    }

    /// From the network.
    pub fn from_wire(stats: wire::LinearStats) -> Result<Self, Misbehaviour> {
        let dim = stats.dim as usize;
        if dim > 1 << 20 || stats.moment.len() != dim {
            return Err(Misbehaviour::Dimension { expected: dim, got: stats.moment.len() });
        }
        if !stats.contexts.is_empty() && stats.contexts.len() != dim {
            return Err(Misbehaviour::Dimension { expected: dim, got: stats.contexts.len() });
        }
        let got = stats.gram.len();
        let gram = Symmetric::from_packed(dim, stats.gram)
            .ok_or(Misbehaviour::Dimension { expected: Symmetric::packed_len(dim), got })?;
        Ok(LinearStats {
            gram,
            moment: stats.moment.into(),
            contexts: stats.contexts.into(),
            count: stats.count,
        })
    }

    /// Encoded length of [`Self::to_wire`].
    pub fn wire_len(&self) -> usize {
        wire::varint_field(self.dim() as u64)
            + wire::varint_field(self.count)
            + wire::packed_field(self.gram.packed().len(), 8)
            + wire::packed_field(self.moment.len(), 8)
            + wire::packed_field(self.contexts.len(), 8)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message;

    use super::*;

    fn some_stats(dim: usize, seed: u64, contexts: bool) -> LinearStats {
        let mut stats =
            if contexts { LinearStats::empty_with_contexts(dim) } else { LinearStats::empty(dim) };
        let mut rng = crate::Keys::from_seed(seed).policy(crate::NodeId(0), 0);
        for _ in 0..seed % 5 {
            let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
            stats.observe(&x, rng.normal());
        }
        stats
    }

    proptest! {
        #[test]
        fn wire_round_trip_is_exact_and_its_length_is_known(dim in 1usize..30, seed: u64, contexts: bool) {
            let stats = some_stats(dim, seed, contexts);
            let wire = stats.to_wire();
            prop_assert_eq!(wire.encoded_len(), stats.wire_len());
            prop_assert_eq!(LinearStats::from_wire(wire).unwrap(), stats);
        }
    }

    #[test]
    fn statistics_that_do_not_fit_are_refused() {
        let mut stats = some_stats(3, 4, false);
        assert!(stats.check(3, false).is_ok());
        assert!(matches!(stats.check(4, false), Err(Misbehaviour::Dimension { expected: 4, got: 3 })));
        stats.moment[1] = f64::NAN;
        assert!(matches!(stats.check(3, false), Err(Misbehaviour::NotFinite(_))));
        let mut wire = some_stats(3, 4, false).to_wire();
        wire.gram.pop();
        assert!(LinearStats::from_wire(wire).is_err());
    }
}
