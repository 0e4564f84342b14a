//! Worlds: they offer arms, pay rewards, and know what would have been best.
//!
//! Every draw is keyed by what it is for (see [`crate::draw`]), never by how
//! often something was drawn before, so that algorithms in one experiment meet
//! the same world whatever they do.

use cahoots_core::{ArmBuffer, ArmIndex, Setting, Tick, UserId};

/// What a pull paid, and what could have been had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// The reward, noise included.
    pub reward: f64,
    /// Its expectation.
    pub expected: f64,
    /// The best expectation among the arms on offer.
    pub best: f64,
}

/// What a block of pulls of one arm paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockPull {
    /// Sum of the rewards, drawn at once.
    pub sum: f64,
    /// Expectation of one pull.
    pub expected: f64,
    /// The best expectation of any arm.
    pub best: f64,
}

/// A world with an oracle.
pub trait World: Send {
    /// What algorithms may know in advance.
    fn setting(&self) -> &Setting;

    /// Fills in the arms on offer to `user` at `tick`.
    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer);

    /// Pulls an arm of the last offer to this user.
    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull;

    /// Pulls one arm `pulls` times at once; only K-armed worlds can.
    fn pull_block(&mut self, _user: UserId, _arm: ArmIndex, _pulls: u64) -> Option<BlockPull> {
        None
    }
}
