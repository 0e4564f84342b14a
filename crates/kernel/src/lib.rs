//! The hot step of every linear learner: score arms, pick one, learn its reward.
//!
//! The state is a [`Factor`]: `W = L^-1`, lower triangular, where `L L' = V + ridge I`, together with
//! `z = W b` and the running log-determinant. With `y = W x`, an arm's estimated mean is `y . z` and its
//! squared width `|y|^2`, which cannot turn negative; neither a triangular solve nor `theta` is needed.
//! Arms lie in SIMD lanes ([`Tiles`]), so that scoring never adds across lanes.
//!
//! Every operation has one fixed order of roundings, whatever the instruction set: the [`Level`]s
//! `Scalar`, `Avx2` and `Avx512` give the same bits ([`Profile::Fma`]). Hosts without fused
//! multiply-add get a fast level with bits of its own ([`Profile::Plain`]).
//!
//! What is not here: learners, exploration rules, randomness. This crate knows matrices only.

mod best;
mod factor;
mod level;
mod ops;
mod packed;
mod rows;
mod scores;
mod simd;
mod tiles;
mod wire;
mod workspace;

pub use best::Best;
pub use factor::Factor;
pub use level::{Level, Profile, profile};
pub use packed::{NotPositiveDefinite, add_outer, add_outer_with, eliminate, log_det, semidefinite_cholesky};
pub use rows::Rows;
pub use scores::{Picked, Scores};
pub use tiles::{LARGEST, Tiles};
