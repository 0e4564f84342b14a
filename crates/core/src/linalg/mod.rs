//! Matrices as machines keep them. Factors and the hot step live in
//! `cahoots-kernel`; no algorithm does its own linear algebra.

mod eigen;
mod pseudo;
mod symmetric;

pub use eigen::Eigen;
pub use pseudo::{PseudoInverse, RANK_TOLERANCE, dot, rank};
pub use symmetric::Symmetric;

use crate::error::Misbehaviour;

/// log det(gram + ridge I), or the news that no data can have led to this matrix.
pub fn log_det(gram: &Symmetric, ridge: f64) -> Result<f64, Misbehaviour> {
    cahoots_kernel::log_det(gram.packed(), gram.dim(), ridge)
        .map_err(|e| Misbehaviour::Indefinite(e.to_string()))
}
