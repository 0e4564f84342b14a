//! Each mechanism with its pseudocode, its sensitivity, how its releases compose, and what is public: what a reader
//! needs to check a guarantee against the code beside it. `cahoots audit` measures the same ones.

#[doc = include_str!("laplace.md")]
pub mod laplace {}

#[doc = include_str!("shares.md")]
pub mod shares {}

#[doc = include_str!("gaussian.md")]
pub mod gaussian {}

#[doc = include_str!("tree.md")]
pub mod tree {}

#[doc = include_str!("sums.md")]
pub mod sums {}
