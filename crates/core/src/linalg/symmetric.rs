//! A symmetric matrix as its lower triangle, row by row.

use serde::{Deserialize, Serialize};

/// Packed symmetric matrix: `dim * (dim + 1) / 2` values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Symmetric {
    dim: usize,
    packed: Box<[f64]>,
}

/// A matrix as it is read: bytes may come from anyone, and say anything about its size.
#[derive(Deserialize)]
struct Unchecked {
    dim: usize,
    packed: Box<[f64]>,
}

impl TryFrom<Unchecked> for Symmetric {
    type Error = String;

    fn try_from(Unchecked { dim, packed }: Unchecked) -> Result<Symmetric, String> {
        let expected = dim.checked_add(1).and_then(|more| dim.checked_mul(more)).map(|twice| twice / 2);
        if expected != Some(packed.len()) {
            return Err(format!("{} numbers for a symmetric matrix of dimension {dim}", packed.len()));
        }
        Ok(Symmetric { dim, packed })
    }
}

impl Symmetric {
    /// The zero matrix.
    pub fn zero(dim: usize) -> Self {
        Symmetric { dim, packed: vec![0.0; Self::packed_len(dim)].into() }
    }

    /// From a packed triangle; `None` if its length does not fit.
    pub fn from_packed(dim: usize, packed: Vec<f64>) -> Option<Self> {
        (packed.len() == Self::packed_len(dim)).then(|| Symmetric { dim, packed: packed.into() })
    }

    /// Values in the triangle of a matrix of this dimension.
    pub fn packed_len(dim: usize) -> usize {
        dim * (dim + 1) / 2
    }

    /// Rows (and columns).
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The triangle.
    pub fn packed(&self) -> &[f64] {
        &self.packed
    }

    /// The triangle, to be changed in place (a mechanism adds its noise here).
    pub fn packed_mut(&mut self) -> &mut [f64] {
        &mut self.packed
    }

    /// Entry at row `i`, column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = if i >= j { (i, j) } else { (j, i) };
        self.packed[Self::packed_len(row) + column]
    }

    /// Adds `x x'`.
    pub fn add_outer(&mut self, x: &[f64]) {
        assert_eq!(x.len(), self.dim, "context of another dimension");
        cahoots_kernel::add_outer(&mut self.packed, x);
    }

    /// Adds another matrix of the same dimension.
    pub fn add(&mut self, other: &Symmetric) {
        assert_eq!(self.dim, other.dim, "matrices of different dimension");
        for (a, b) in self.packed.iter_mut().zip(&other.packed) {
            *a += b;
        }
    }

    /// Adds `value` to the diagonal.
    pub fn add_diagonal(&mut self, value: f64) {
        for i in 0..self.dim {
            self.packed[Self::packed_len(i) + i] += value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_that_is_read_has_as_many_numbers_as_its_dimension_says() {
        let matrix = Symmetric::from_packed(2, vec![1.0, 0.5, 2.0]).unwrap();
        let bytes = postcard::to_stdvec(&matrix).unwrap();
        assert_eq!(postcard::from_bytes::<Symmetric>(&bytes), Ok(matrix));
        for dim in [0usize, 1, 3, usize::MAX] {
            let bytes = postcard::to_stdvec(&(dim, vec![1.0, 0.5, 2.0].into_boxed_slice())).unwrap();
            assert!(postcard::from_bytes::<Symmetric>(&bytes).is_err(), "{dim}");
        }
    }

    #[test]
    fn outer_products_add_up_entry_by_entry() {
        let mut m = Symmetric::zero(3);
        m.add_outer(&[1.0, 2.0, 3.0]);
        m.add_outer(&[0.5, 0.0, -1.0]);
        m.add_diagonal(10.0);
        assert_eq!(m.get(0, 0), 11.25);
        assert_eq!(m.get(2, 0), 2.5);
        assert_eq!(m.get(0, 2), 2.5);
        assert_eq!(m.get(2, 2), 20.0);
        assert_eq!(m.packed().len(), 6);
    }

    #[test]
    fn a_triangle_of_the_wrong_length_is_refused() {
        assert!(Symmetric::from_packed(3, vec![0.0; 5]).is_none());
    }
}
