//! The world of the demo: shops whose customers have one of a few tastes, which nobody is told. It is the simulator's own
//! `clustered` world, so that whoever learns in it, live or in memory, meets the same offers and the same noise.

use cahoots_core::ParamError;
use cahoots_sim::world::clustered::{Assignment, ClusteredParams};
use cahoots_sim::world::{Pull, World, WorldKind};

/// Features of an arm.
pub(super) const DIM: usize = 8;
/// Arms on offer at each decision.
pub(super) const ARMS: usize = 20;
/// Standard deviation of a reward around its expectation.
pub(super) const REWARD_NOISE: f64 = 1.0;
/// Clients of one taste, about.
const ALIKE: usize = 12;
/// Tastes at most: in so few features, more would not lie so far apart.
const MOST: usize = 6;
/// How far tastes lie apart, where 2 is as far as can be.
const SEPARATION: f64 = 1.2;

/// Who likes what, and the seed of it all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tastes {
    pub(super) clients: usize,
    pub(super) seed: u64,
}

impl Tastes {
    /// How many there are.
    pub(super) fn count(self) -> usize {
        (self.clients / ALIKE).clamp(2, MOST)
    }

    /// A world of these tastes. The n-th offer to a client is that of tick n, whenever it comes.
    pub(super) fn world(self) -> Result<Box<dyn World>, ParamError> {
        let keys = ClusteredParams {
            clients: self.clients,
            dim: DIM,
            arms: ARMS,
            reward_noise: REWARD_NOISE,
            clusters: Some(self.count()),
            separation: SEPARATION,
            assignment: Assignment::Even,
            ..ClusteredParams::default()
        };
        keys.check()?;
        // How long it will go on is nobody's to know.
        keys.build(u64::from(u32::MAX), self.seed).map(|(world, _)| world)
    }
}

/// What the decisions of one client gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Earned {
    pub(super) decisions: u64,
    pub(super) reward: f64,
    /// What the best of the arms on offer would have given each time.
    pub(super) best: f64,
}

impl Earned {
    /// One more decision. The noise of an offer is the same whichever arm is taken.
    pub(super) fn add(&mut self, pull: &Pull) {
        self.decisions += 1;
        self.reward += pull.reward;
        self.best += pull.reward - pull.expected + pull.best;
    }
}
