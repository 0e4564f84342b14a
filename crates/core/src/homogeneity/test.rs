//! Eq. (1): the statistic, its degrees of freedom, and the decision.

use cahoots_kernel::Factor;
use serde::{Deserialize, Serialize};

use super::chi_square::{survival, upper_quantile};
use super::sample::Sample;
use crate::arms::Context;
use crate::linalg::{PseudoInverse, Symmetric, dot};

/// Shortcuts must be clear of rounding: a closer call is computed in full.
const MARGIN: f64 = 1e-6;

/// Where the reject shortcut would cost more to prepare than it saves.
const LARGEST_PREPARED: f64 = 1e5;

/// How far apart two similar clients may lie, as the non-centrality of the test's law.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Noncentrality {
    /// The same for all pairs; 0 tests for equality.
    Fixed(f64),
    /// `scale` times the largest eigenvalue of V2 (V1 + V2)^- V1.
    Spectral {
        /// Squared distance allowed, in units of the noise variance.
        scale: f64,
        /// What is usually not exceeded: prepares a shortcut, decides nothing.
        ceiling: f64,
    },
    /// `scale` times the same eigenvalue, divided by the larger of the two clients' own.
    Relative {
        /// As above, for data whose largest eigenvalue is 1.
        scale: f64,
    },
}

/// The test's view of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// delta' V1 (V1 + V2)^- V2 delta over the noise variance.
    pub statistic: f64,
    /// rank V1 + rank V2 - rank (V1 + V2); 0 says nothing against similarity.
    pub df: usize,
}

/// A checked test: similar unless the statistic is less likely than `cut`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HomogeneityTest {
    variance: f64,
    cut: f64,
    noncentrality: Noncentrality,
    /// By degrees of freedom: below this the central law already accepts.
    accept: Vec<f64>,
    /// By degrees of freedom: above this the widest law rejects.
    reject: Vec<f64>,
}

impl HomogeneityTest {
    /// For rewards with this noise variance (above 0), in this dimension.
    pub fn new(variance: f64, cut: f64, noncentrality: Noncentrality, dim: usize) -> Self {
        let widest = match noncentrality {
            Noncentrality::Fixed(value) => value,
            Noncentrality::Spectral { ceiling, .. } => ceiling,
            Noncentrality::Relative { scale } => scale,
        };
        let table = |noncentrality: f64| {
            let quantile = move |df| upper_quantile(cut, df as f64, noncentrality);
            std::iter::once(f64::INFINITY).chain((1..=dim).map(quantile)).collect::<Vec<f64>>()
        };
        let accept = table(0.0);
        let reject = if widest <= 0.0 {
            accept.clone()
        } else if widest <= LARGEST_PREPARED {
            table(widest)
        } else {
            vec![f64::INFINITY; dim + 1]
        };
        HomogeneityTest { variance, cut, noncentrality, accept, reject }
    }

    /// May these two share? The same answer as `difference` and [`survival`] would
    /// give, mostly from bounds that cost O(d^2).
    pub fn similar(&self, a: &Sample, b: &Sample) -> bool {
        let (pair, dim) = (Pair::of(a, b), a.stats().dim());
        if a.rank() == 0 || b.rank() == 0 {
            return true;
        }
        // Degrees of freedom are at least this; where they are 0, all is accepted.
        let known = a.is_full() || b.is_full();
        let least = if known { a.rank().min(b.rank()) } else { (a.rank() + b.rank()).saturating_sub(dim) };
        if pair.upper_bound() <= (1.0 - MARGIN) * self.variance * self.accept[least.max(1)] {
            return true;
        }
        if known
            && self.ceiling_holds(a, b)
            && pair.lower_bound().is_some_and(|s| s > (1.0 + MARGIN) * self.variance * self.reject[least])
        {
            return false;
        }
        self.decide(&pair)
    }

    /// The statistic in full.
    pub fn difference(&self, a: &Sample, b: &Sample) -> Difference {
        Pair::of(a, b).solve().difference(self.variance)
    }

    fn decide(&self, pair: &Pair<'_>) -> bool {
        let solved = pair.solve();
        let Difference { statistic, df } = solved.difference(self.variance);
        // The first entry is infinite: without a degree of freedom nothing speaks against similarity.
        if statistic <= self.accept[df] {
            return true;
        }
        let likely = |noncentrality| survival(statistic, df as f64, noncentrality) >= self.cut;
        match self.noncentrality {
            Noncentrality::Fixed(value) => statistic <= self.reject[df] && likely(value),
            // The eigenvalue costs more than the survival function: first with a bound on it.
            Noncentrality::Spectral { scale, .. } => {
                let bound = pair.a.trace().min(pair.b.trace());
                likely(scale * bound) && likely(scale * solved.largest_eigenvalue())
            }
            Noncentrality::Relative { scale } => {
                likely(scale) && {
                    let own = |sample: &Sample| {
                        largest_eigenvalue(sample.stats().dim(), |x| times(&sample.stats().gram, x))
                    };
                    likely(scale * solved.largest_eigenvalue() / own(pair.a).max(own(pair.b)))
                }
            }
        }
    }

    fn ceiling_holds(&self, a: &Sample, b: &Sample) -> bool {
        match self.noncentrality {
            Noncentrality::Spectral { scale, ceiling } => scale * a.trace().min(b.trace()) <= ceiling,
            Noncentrality::Fixed(_) | Noncentrality::Relative { .. } => true,
        }
    }
}

/// Two samples and what their estimates differ by.
struct Pair<'a> {
    a: &'a Sample,
    b: &'a Sample,
    delta: Context,
    /// V1 delta and V2 delta.
    images: [Context; 2],
}

impl<'a> Pair<'a> {
    fn of(a: &'a Sample, b: &'a Sample) -> Self {
        let delta: Context = a.theta().iter().zip(b.theta()).map(|(x, y)| x - y).collect();
        let images = [times(&a.stats().gram, &delta), times(&b.stats().gram, &delta)];
        Pair { a, b, delta, images }
    }

    /// delta' V1 delta and delta' V2 delta.
    fn forms(&self) -> [f64; 2] {
        [dot(&self.images[0], &self.delta), dot(&self.images[1], &self.delta)]
    }

    /// The parallel sum of two matrices is below the parallel sum of their forms (Anderson and Duffin 1969).
    fn upper_bound(&self) -> f64 {
        let [first, second] = self.forms();
        if first + second > 0.0 { first * second / (first + second) } else { 0.0 }
    }

    /// For any c, (c' delta)^2 / (c' V1^-1 c + c' V2^-1 c); this c is the best where V1 = V2.
    fn lower_bound(&self) -> Option<f64> {
        let c: Context = self.images[0].iter().zip(&self.images[1]).map(|(x, y)| x + y).collect();
        let [first, second] = self.forms();
        let width = self.a.inverse_form(&c)? + self.b.inverse_form(&c)?;
        Some((first + second) * (first + second) / width)
    }

    fn solve(&self) -> Solved<'_> {
        let mut gram = self.a.stats().gram.clone();
        gram.add(&self.b.stats().gram);
        let full = (self.a.is_full() || self.b.is_full())
            .then(|| Factor::of(gram.packed(), &self.images[0], 0.0).ok())
            .flatten();
        let inverse = match full {
            Some(factor) => Inverse::Full(Box::new(factor)),
            None => Inverse::General(PseudoInverse::of(&gram)),
        };
        Solved { pair: self, inverse }
    }
}

enum Inverse {
    Full(Box<Factor>),
    General(PseudoInverse),
}

/// A pair with the generalised inverse of V1 + V2.
struct Solved<'a> {
    pair: &'a Pair<'a>,
    inverse: Inverse,
}

impl Solved<'_> {
    fn difference(&self, variance: f64) -> Difference {
        let Pair { a, b, images: [first, second], .. } = self.pair;
        let (form, rank) = match &self.inverse {
            Inverse::Full(factor) => (factor.mean_and_width2(second).0, factor.dim()),
            Inverse::General(inverse) => (dot(first, &inverse.solve(second)), inverse.rank()),
        };
        // What is not a number comes from statistics that no data have led to.
        let form = if form.is_nan() { f64::INFINITY } else { form.max(0.0) };
        Difference {
            statistic: form / variance,
            df: (a.rank() + b.rank()).saturating_sub(rank).min(a.stats().dim()),
        }
    }

    /// Of V2 (V1 + V2)^- V1.
    fn largest_eigenvalue(&self) -> f64 {
        let (a, b) = (&self.pair.a.stats().gram, &self.pair.b.stats().gram);
        largest_eigenvalue(a.dim(), |x| {
            let image = times(a, x);
            let solved = match &self.inverse {
                Inverse::Full(factor) => factor.solve(&image),
                Inverse::General(inverse) => inverse.solve(&image),
            };
            times(b, &solved)
        })
    }
}

/// V x.
fn times(matrix: &Symmetric, x: &[f64]) -> Context {
    let mut out: Context = smallvec::smallvec![0.0; x.len()];
    let mut rest = matrix.packed();
    for i in 0..x.len() {
        let (row, below) = rest.split_at(i + 1);
        rest = below;
        let (head, xi) = (&row[..i], x[i]);
        out[i] += dot(head, &x[..i]) + row[i] * xi;
        for (entry, value) in out[..i].iter_mut().zip(head) {
            *entry += value * xi;
        }
    }
    out
}

/// Power iteration for a positive semi-definite map, from a start that no symmetry makes special.
fn largest_eigenvalue(dim: usize, map: impl Fn(&[f64]) -> Context) -> f64 {
    let mut x: Context = (0..dim).map(|i| 1.0 + 0.1 * (i % 7) as f64).collect();
    let mut value = 0.0;
    for _ in 0..1000 {
        let norm = dot(&x, &x).sqrt();
        if norm <= 0.0 || !norm.is_finite() {
            return 0.0;
        }
        x.iter_mut().for_each(|entry| *entry /= norm);
        let image = map(&x);
        let next = dot(&x, &image);
        x = image;
        if (next - value).abs() <= 1e-12 * next {
            return next;
        }
        value = next;
    }
    value
}
