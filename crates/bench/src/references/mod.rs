//! The same step on a running inverse of `V + ridge I`, with general linear algebra.
//!
//! All keep the inverse and `theta`, score with one matrix product, reuse the chosen arm's column of
//! that product for the Sherman-Morrison update, and pick with the kernel's own
//! [`Scores::highest_bound`](cahoots_kernel::Scores::highest_bound), so that only the algebra differs.

pub mod faer_gemm;
pub mod faer_simple;
pub mod nalgebra_gemv;
