//! Worlds: they offer arms, pay rewards, and know what would have been best.
//!
//! Every draw is keyed by what it is for (see [`crate::draw`]), never by how
//! often something was drawn before, so that algorithms in one experiment meet
//! the same world whatever they do. Worlds with features share `contextual`
//! and differ in their law of arms; [`arms`] is the K-armed world. A
//! [`WorldKind`] says how an experiment file asks for one; the list of those that
//! a program knows is [`crate::worlds::Worlds`].

pub mod arms;
pub(crate) mod check;
pub mod clustered;
mod contextual;
pub mod linear;
pub mod means;
pub mod objective;
pub mod pool;
pub mod split;
#[cfg(test)]
mod tests;
pub mod users;
mod vectors;

use cahoots_core::{ArmBuffer, ArmIndex, ParamError, Setting, Tick, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::objective::Aim;
use crate::arrivals::Arrivals;
use crate::draw::{Draw, Purpose};
use crate::files::Files;

/// What a pull paid, and what could have been had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// The reward, noise included.
    pub reward: f64,
    /// Its expectation; where the world has another objective, the arm's worth under that.
    pub expected: f64,
    /// The best expectation (or worth) among the arms on offer.
    pub best: f64,
    /// The same for the client alone and for all of them, where these are two things.
    pub sides: Option<Sides>,
}

/// An arm's expected reward, and the best that could have been had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worth {
    /// Of the arm.
    pub expected: f64,
    /// Of the best arm.
    pub best: f64,
}

/// Two views of one pull: the puller's own reward, and the average of what all
/// clients would have had from that arm.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sides {
    /// To the client alone.
    pub local: Worth,
    /// To all clients, on average.
    pub global: Worth,
}

/// What a block of pulls of one arm paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockPull {
    /// Sum of the rewards, drawn at once.
    pub sum: f64,
    /// Expectation of one pull; where the world has another objective, the arm's worth under that.
    pub expected: f64,
    /// The best expectation (or worth) of any arm.
    pub best: f64,
    /// The same for the client alone and for all of them, where these are two things.
    pub sides: Option<Sides>,
}

/// A world with an oracle.
pub trait World: Send {
    /// What algorithms may know in advance.
    fn setting(&self) -> &Setting;

    /// Fills in the arms on offer to `user` at `tick`.
    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer);

    /// Whether it can say what this arm pays `user` at `tick`. Where it cannot, the decision is as if it had not been
    /// asked for: who logged the decisions of another policy knows what the logged arms paid, and nothing else.
    fn answers(&mut self, _tick: Tick, _user: UserId, _arm: ArmIndex) -> bool {
        true
    }

    /// Pulls an arm of what `user` was offered at `tick`.
    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull;

    /// The algorithm pursues this much of the client's own reward, and the average of all clients' for
    /// the rest. Regret is then measured against that, unless the experiment states its objective.
    fn pursue(&mut self, _own: f64) {}

    /// What regret can be measured against here.
    fn aim(&self) -> Aim {
        Aim::default()
    }

    /// Whether the next pulls are made only because others are waited for. Where noise is numbered by pull,
    /// theirs is numbered apart, so that how long is waited changes no other reward.
    fn set_waiting(&mut self, _waiting: bool) {}

    /// The interval that no reward leaves, where there is one.
    fn reward_range(&self) -> Option<(f64, f64)> {
        None
    }

    /// What an arm drawn uniformly from what `user` was offered at `tick` would have paid in expectation, where rewards are to
    /// be seen beside that. Only worlds whose rewards mean little by themselves say so.
    fn random_reward(&mut self, _tick: Tick, _user: UserId, _arms: &ArmBuffer) -> Option<f64> {
        None
    }

    /// Whether [`World::pull_block`] can be used. Where it cannot, planned pulls are made one by one.
    fn has_blocks(&self) -> bool {
        false
    }

    /// Pulls one arm `pulls` times at once; only K-armed worlds can.
    fn pull_block(&mut self, _user: UserId, _arm: ArmIndex, _pulls: u64) -> Option<BlockPull> {
        None
    }
}

/// A kind of world as an experiment file asks for it: the keys below `[environment]`, and the world they
/// make. Whoever has another one implements this and adds it to the list of a program's worlds.
pub trait WorldKind: Serialize + DeserializeOwned + JsonSchema + 'static {
    /// What `kind` says in an experiment file.
    const NAME: &'static str;
    /// One line for `cahoots environments`.
    const SUMMARY: &'static str;

    /// Puts what is in the files that its keys name into the keys, which then say it all; of what is too large for
    /// that, its hash. `files` are the caller's, who knows where they are and keeps account of what was in them.
    fn read_files(self, _files: &dyn Files) -> Result<Self, ParamError> {
        Ok(self)
    }

    /// Refuses what cannot be built, without drawing anything.
    fn check(&self) -> Result<(), ParamError>;

    /// The least memory that its world takes, in bytes; 0 where that is not known. Known before anything is built.
    fn bytes(&self) -> f64 {
        0.0
    }

    /// How many ticks there are, where that is not for an experiment to say: an experiment may then leave its horizon out.
    /// Only called with keys that passed their check.
    fn ticks(&self) -> Result<Option<u64>, ParamError> {
        Ok(None)
    }

    /// The world of a seed, and who acts in it when. Only called with keys that passed their check, and
    /// with a horizon of at least one tick.
    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError>;
}

/// The parts of a world that are drawn once per seed, each from a key of its own.
#[derive(Clone, Copy)]
enum WorldPart {
    Theta = 1,
    Pool = 2,
    Assignment = 3,
    LocalTheta = 4,
    Layout = 5,
    Means = 6,
    Deviation = 7,
}

impl WorldPart {
    /// The generator of this part, or of its `index`-th piece.
    fn draw(self, seed: u64, index: u64) -> Draw {
        Draw::keyed(seed, Purpose::World, self as u64, index)
    }
}
