//! Do two clients have the same linear model? A chi-square test of homogeneity
//! (Chow 1960; Li, Wu and Wang 2021, Eq. (4)) that looks at `gram` and `moment`
//! of each client's own data and at nothing else.
//!
//! [`Sample`] is what one client has observed, [`HomogeneityTest`] compares two of
//! them, [`chi_square`] says how likely the difference is.

mod batch;
pub mod chi_square;
mod sample;
mod test;
#[cfg(test)]
mod tests;

pub use sample::Sample;
pub use test::{Difference, HomogeneityTest, Noncentrality};
