//! Generalised inverses, for statistics that do not span all directions yet.
//!
//! Cholesky elimination with diagonal pivoting gives `V = A A'` up to the order
//! of rows, `A` of full column rank `r`. For `r = dim` that is plain Cholesky and
//! two triangular solves; otherwise `V^- b = A (A'A)^-1 (A'A)^-1 A' b`, the
//! solution of least norm (Moore and Penrose's inverse). Only separate
//! multiplications and additions in one fixed order: the same bits on every host.

use super::Symmetric;

/// A pivot below this part of the largest diagonal entry counts as zero. Far
/// above what rounding leaves behind (some 1e-13 after a million observations),
/// far below any direction that has been observed to some purpose.
pub const RANK_TOLERANCE: f64 = 1e-10;

/// Numerical rank of a positive semi-definite matrix, by [`RANK_TOLERANCE`].
pub fn rank(matrix: &Symmetric) -> usize {
    Root::of(matrix).rank
}

/// The generalised inverse of a positive semi-definite matrix: factored once,
/// applied as often as needed.
#[derive(Clone, Debug)]
pub struct PseudoInverse {
    root: Root,
    /// Cholesky factor of `A'A`, by columns; unused when the rank is full.
    normal: Columns,
}

impl PseudoInverse {
    /// Factors a matrix.
    pub fn of(matrix: &Symmetric) -> Self {
        let root = Root::of(matrix);
        let normal = if root.is_full() { Columns::zero(0, 0) } else { root.normal() };
        PseudoInverse { root, normal }
    }

    /// Rows (and columns) of the matrix.
    pub fn dim(&self) -> usize {
        self.root.order.len()
    }

    /// Directions that the matrix spans.
    pub fn rank(&self) -> usize {
        self.root.rank
    }

    /// `V^- b`: of all minimisers of `|V x - b|` the one of least norm.
    ///
    /// # Panics
    /// If `b.len() != self.dim()`.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        assert_eq!(b.len(), self.dim(), "a vector of the wrong dimension");
        let Root { order, columns, rank } = &self.root;
        let mut x: Vec<f64> = order.iter().map(|&from| b[from]).collect();
        if self.root.is_full() {
            columns.forward(&mut x);
            columns.backward(&mut x);
        } else {
            let mut inner: Vec<f64> = (0..*rank).map(|k| dot(&columns.column(k)[k..], &x[k..])).collect();
            for _ in 0..2 {
                self.normal.forward(&mut inner);
                self.normal.backward(&mut inner);
            }
            x.fill(0.0);
            for (k, &weight) in inner.iter().enumerate() {
                add_scaled(&mut x[k..], weight, &columns.column(k)[k..]);
            }
        }
        let mut out = vec![0.0; x.len()];
        for (&to, value) in order.iter().zip(x) {
            out[to] = value;
        }
        out
    }
}

/// `A` with `V = A A'`, its rows in pivot order: lower trapezoidal.
#[derive(Clone, Debug)]
struct Root {
    /// Which row of `V` each row of `A` is.
    order: Vec<usize>,
    columns: Columns,
    rank: usize,
}

impl Root {
    fn of(matrix: &Symmetric) -> Root {
        let dim = matrix.dim();
        let mut order: Vec<usize> = (0..dim).collect();
        // What is left of the diagonal, in pivot order.
        let mut left: Vec<f64> = (0..dim).map(|i| matrix.get(i, i)).collect();
        let mut columns = Columns::zero(dim, dim);
        let least = RANK_TOLERANCE * left.iter().copied().fold(0.0, f64::max);
        let mut rank = 0;
        for k in 0..dim {
            let mut pivot = k;
            for i in k + 1..dim {
                if left[i] > left[pivot] {
                    pivot = i;
                }
            }
            if left[pivot].is_nan() || left[pivot] <= least {
                break;
            }
            order.swap(k, pivot);
            left.swap(k, pivot);
            columns.swap_rows(k, k, pivot);
            let (done, column) = columns.split_at(k);
            for i in k + 1..dim {
                column[i] = matrix.get(order[i], order[k]);
            }
            for earlier in done.chunks_exact(dim.max(1)) {
                add_scaled(&mut column[k + 1..], -earlier[k], &earlier[k + 1..]);
            }
            let diagonal = left[k].sqrt();
            column[k] = diagonal;
            for (entry, left) in column[k + 1..].iter_mut().zip(&mut left[k + 1..]) {
                *entry /= diagonal;
                *left -= *entry * *entry;
            }
            rank = k + 1;
        }
        Root { order, columns, rank }
    }

    fn is_full(&self) -> bool {
        self.rank == self.order.len()
    }

    /// Cholesky factor of `A'A`.
    fn normal(&self) -> Columns {
        let rank = self.rank;
        let mut factor = Columns::zero(rank, rank);
        for k in 0..rank {
            let (done, column) = factor.split_at(k);
            for i in k..rank {
                column[i] = dot(&self.columns.column(k)[i..], &self.columns.column(i)[i..]);
            }
            for earlier in done.chunks_exact(rank) {
                add_scaled(&mut column[k..], -earlier[k], &earlier[k..]);
            }
            // Positive but for rounding; a column lost to it is left out.
            let diagonal = if column[k] > 0.0 { column[k].sqrt() } else { f64::INFINITY };
            for entry in &mut column[k + 1..] {
                *entry /= diagonal;
            }
            column[k] = diagonal;
        }
        factor
    }
}

/// A dense matrix by columns; those in here are lower triangular or trapezoidal.
#[derive(Clone, Debug)]
struct Columns {
    rows: usize,
    entries: Vec<f64>,
}

impl Columns {
    fn zero(rows: usize, columns: usize) -> Columns {
        Columns { rows, entries: vec![0.0; rows * columns] }
    }

    fn column(&self, k: usize) -> &[f64] {
        &self.entries[k * self.rows..][..self.rows]
    }

    /// The first `k` columns, and column `k` to be written.
    fn split_at(&mut self, k: usize) -> (&[f64], &mut [f64]) {
        let (done, rest) = self.entries.split_at_mut(k * self.rows);
        (done, &mut rest[..self.rows])
    }

    /// Swaps two rows of the first `columns` columns.
    fn swap_rows(&mut self, columns: usize, i: usize, j: usize) {
        for column in self.entries.chunks_exact_mut(self.rows).take(columns) {
            column.swap(i, j);
        }
    }

    /// `L^-1 x` in place.
    fn forward(&self, x: &mut [f64]) {
        for k in 0..x.len() {
            let column = self.column(k);
            x[k] /= column[k];
            let solved = x[k];
            add_scaled(&mut x[k + 1..], -solved, &column[k + 1..]);
        }
    }

    /// `L'^-1 x` in place.
    fn backward(&self, x: &mut [f64]) {
        for k in (0..x.len()).rev() {
            let column = self.column(k);
            x[k] = (x[k] - dot(&column[k + 1..], &x[k + 1..])) / column[k];
        }
    }
}

/// `to += weight from`.
fn add_scaled(to: &mut [f64], weight: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += weight * from;
    }
}

/// Inner product in four interleaved sums: a fixed order that does not wait for each addition.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, a_rest) = a.as_chunks::<4>();
    let (b4, b_rest) = b.as_chunks::<4>();
    for (a, b) in a4.iter().zip(b4) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += a * b;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Keys, NodeId};

    /// Dense `rows x columns`, row by row.
    type Dense = Vec<Vec<f64>>;

    fn times(a: &Dense, b: &Dense) -> Dense {
        a.iter()
            .map(|row| {
                (0..b.first().map_or(0, Vec::len))
                    .map(|j| row.iter().zip(b).map(|(x, other)| x * other[j]).sum())
                    .collect()
            })
            .collect()
    }

    fn transposed(a: &Dense) -> Dense {
        (0..a.first().map_or(0, Vec::len)).map(|j| a.iter().map(|row| row[j]).collect()).collect()
    }

    fn difference(a: &Dense, b: &Dense) -> f64 {
        a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    fn largest(a: &Dense) -> f64 {
        a.iter().flatten().map(|x| x.abs()).fold(0.0, f64::max)
    }

    /// `dim x rank` of full column rank and moderate condition: an identity among
    /// Gaussian rows, in random order.
    fn root(dim: usize, rank: usize, seed: u64, scale: f64) -> Dense {
        let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
        let mut rows: Dense = (0..dim)
            .map(|i| (0..rank).map(|j| if i < rank { f64::from(i == j) } else { rng.normal() }).collect())
            .collect();
        for i in (1..dim).rev() {
            rows.swap(i, rng.below(i as u64 + 1) as usize);
        }
        rows.iter_mut().flatten().for_each(|x| *x *= scale);
        rows
    }

    fn symmetric(dense: &Dense) -> Symmetric {
        let packed = dense.iter().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect();
        Symmetric::from_packed(dense.len(), packed).unwrap()
    }

    fn inverse(matrix: &Symmetric) -> Dense {
        let pseudo = PseudoInverse::of(matrix);
        let unit = |j: usize| (0..matrix.dim()).map(|i| f64::from(i == j)).collect::<Vec<_>>();
        transposed(&(0..matrix.dim()).map(|j| pseudo.solve(&unit(j))).collect())
    }

    /// (B'B)^-1 by Gauss and Jordan, for the reference B (B'B)^-1 (B'B)^-1 B'.
    fn dense_inverse(a: &Dense) -> Dense {
        let n = a.len();
        let mut work: Dense = a
            .iter()
            .enumerate()
            .map(|(i, row)| row.iter().copied().chain((0..n).map(|j| f64::from(i == j))).collect())
            .collect();
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| work[i][k].abs().total_cmp(&work[j][k].abs())).unwrap();
            work.swap(k, pivot);
            let head: Vec<f64> = work[k].iter().map(|x| x / work[k][k]).collect();
            for row in &mut work {
                let weight = row[k];
                row.iter_mut().zip(&head).for_each(|(x, h)| *x -= weight * h);
            }
            work[k] = head;
        }
        work.into_iter().map(|row| row[n..].to_vec()).collect()
    }

    proptest! {
        #[test]
        fn moore_and_penrose_hold_and_the_rank_is_found(
            dim in 1usize..14, part in 0.0f64..1.0, seed: u64, exponent in -4i32..5,
        ) {
            let rank = (part * (dim + 1) as f64) as usize;
            let scale = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4][(exponent + 4) as usize];
            let a = root(dim, rank, seed, scale);
            let v = if rank == 0 { vec![vec![0.0; dim]; dim] } else { times(&a, &transposed(&a)) };
            let matrix = symmetric(&v);
            prop_assert_eq!(PseudoInverse::of(&matrix).rank(), rank);
            prop_assert_eq!(super::rank(&matrix), rank);
            let m = inverse(&matrix);
            let (vm, mv) = (times(&v, &m), times(&m, &v));
            prop_assert!(difference(&times(&vm, &v), &v) <= 1e-8 * largest(&v));
            prop_assert!(difference(&times(&mv, &m), &m) <= 1e-8 * largest(&m));
            prop_assert!(difference(&vm, &transposed(&vm)) <= 1e-8);
            prop_assert!(difference(&mv, &transposed(&mv)) <= 1e-8);
            if rank > 0 {
                let square = dense_inverse(&times(&transposed(&a), &a));
                let reference = times(&times(&a, &times(&square, &square)), &transposed(&a));
                prop_assert!(difference(&m, &reference) <= 1e-8 * largest(&reference));
            }
        }

        /// As statistics grow: rank k after k generic observations, and never more than dim.
        #[test]
        fn observations_add_one_direction_each(dim in 1usize..26, seed: u64) {
            let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
            let mut gram = Symmetric::zero(dim);
            for seen in 1..=dim + 2 {
                let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
                gram.add_outer(&x);
                // Far from the end, where a square Gaussian matrix may be nearly singular.
                if seen + 2 <= dim || seen > dim + 1 {
                    prop_assert_eq!(super::rank(&gram), seen.min(dim));
                }
            }
        }
    }

    #[test]
    fn the_solution_has_least_norm() {
        // x + y = 2 seen twice: of all solutions (1, 1).
        let mut gram = Symmetric::zero(2);
        gram.add_outer(&[1.0, 1.0]);
        gram.add_outer(&[1.0, 1.0]);
        let solution = PseudoInverse::of(&gram).solve(&[4.0, 4.0]);
        assert!(solution.iter().all(|x| (x - 1.0).abs() < 1e-14), "{solution:?}");
    }

    #[test]
    fn nothing_observed_has_rank_zero_and_solves_to_zero() {
        assert_eq!(PseudoInverse::of(&Symmetric::zero(3)).solve(&[1.0, 2.0, 3.0]), [0.0; 3]);
        let none = PseudoInverse::of(&Symmetric::zero(0));
        assert_eq!((none.dim(), none.rank(), none.solve(&[])), (0, 0, vec![]));
    }

    #[test]
    fn one_vector_offered_twice_counts_once() {
        let mut rng = Keys::from_seed(5).policy(NodeId(0), 0);
        let mut gram = Symmetric::zero(24);
        for _ in 0..5_000 {
            let x: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
            gram.add_outer(&[x.clone(), x].concat());
        }
        assert_eq!(super::rank(&gram), 12);
    }

    #[test]
    fn matrices_that_no_data_can_have_led_to_do_no_harm() {
        let mut gram = Symmetric::from_packed(2, vec![1e-3, 1.0, 1e-3]).unwrap();
        assert!(PseudoInverse::of(&gram).solve(&[1.0, -1.0]).iter().all(|x| x.is_finite()));
        gram.packed_mut()[0] = f64::NAN;
        PseudoInverse::of(&gram).solve(&[1.0, -1.0]);
    }
}
