//! Merging where some of those who contribute lie: what each client has contributed is bounded, held against what the
//! others say, and left out or given less weight.
//!
//! A federation of clients that share one model is a regression with many sources, each told as `V = X'X`, `b = X'r`.
//! A liar says any `V` and `b` that pass [`Plausible`](cahoots_core::Plausible), in any number of observations. Against
//! that stand three things, all of them functions of the contributions alone:
//!
//! - **Caps** ([`caps`]): no client counts for more, in any direction, than what keeps all liars together at no more than
//!   half of what is believed there, whoever of the clients they are (or than the lower half of the honest know, where
//!   that is more). It is this that keeps confidence widths honest: liars
//!   who claim to know a direction that nobody else has tried are not believed, so that it is tried.
//! - **Votes** ([`votes`]): every client's estimate is drawn toward with a force that is bounded, whatever it says
//!   (a geometric median, in the norm of what clients know).
//! - **Verdicts** ([`fit`]): how badly a client fits, in units of what noise explains. `trim` leaves out those who
//!   do not fit, the geometric median gives them less weight.

mod caps;
mod fit;
mod kept;
mod merge;
mod params;
#[cfg(test)]
mod tests;
mod votes;

pub use kept::Kept;
pub use merge::RobustSum;
pub use params::{Robust, RobustParams};
