#![doc = include_str!("aggregation.md")]

mod collector;
mod contribution;
mod group;
mod keys;
mod laplace;
mod member;
mod message;
mod noise;
mod terms;
#[cfg(test)]
mod tests;

pub use collector::{Collector, GroupSum, Step};
pub use contribution::{Contribution, GroupRows};
pub use keys::{Piece, Public};
pub use laplace::{LaplaceShares, MaskedSums};
pub use member::{Masks, Member};
pub use message::{Advert, Down, Up};
pub use noise::{GroupNoise, MaskedRelease};
pub use terms::{NOT_PROTECTED, OBSERVER, Terms};
