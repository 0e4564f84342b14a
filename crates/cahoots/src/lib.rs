//! Federated bandit learning: many clients choose, see rewards, and learn from each other's experience.
//!
//! This is the door for programs outside the repository. An algorithm is an [`Algorithm`] (parameters, a
//! [`Learner`] for its clients, a [`Machine`] for its server, a [`Message`] between them); a world is a
//! [`world::WorldKind`]. [`Cli`] makes of them a command that can do all that `cahoots` can: experiment files,
//! sweeps, figures, a live federation. [`lab`] runs experiments from Rust, [`node`] is a live federation's
//! coordinator and client.
//!
//! A whole algorithm, which keeps to itself: greedy, but for a pull now and then.
//!
//! ```
//! use cahoots::Experiment;
//! use cahoots::prelude::*;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! struct NowAndThen;
//!
//! #[derive(Clone, Serialize, Deserialize, JsonSchema)]
//! struct Params {
//!     /// Chance of any arm.
//!     #[serde(default)]
//!     #[schemars(range(min = 0.0, max = 1.0))]
//!     explore: f64,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Client {
//!     stats: ArmStats,
//!     explore: f64,
//! }
//!
//! cahoots::hears_nothing!(Client);
//!
//! impl Learner for Client {
//!     type Pending = ArmIndex;
//!
//!     fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ArmIndex> {
//!         let best = (0..arms.len() as u32).map(|arm| self.stats.mean(ArmIndex(arm)).unwrap_or(f64::INFINITY));
//!         let arm = if rng.uniform() < self.explore { arms.draw(rng) } else { policy::pick(best) };
//!         Picked::arm(arm).keeping(arm)
//!     }
//!
//!     fn observe(&mut self, arm: ArmIndex, reward: f64, _cx: &mut Cx<'_, Silence>) {
//!         self.stats.observe(arm, reward);
//!     }
//! }
//!
//! impl Algorithm for NowAndThen {
//!     const NAME: &'static str = "now-and-then";
//!     const SUMMARY: &'static str = "the best arm so far, now and then another";
//!     type Params = Params;
//!     type Valid = (Params, usize);
//!     type Msg = Silence;
//!     type Client = Client;
//!     type Server = Silent<Silence>;
//!
//!     fn check(params: Params, setting: &Setting) -> Result<(Params, usize), ParamError> {
//!         Ok((params, setting.arms))
//!     }
//!     fn client((params, arms): &(Params, usize), _seat: &Seat) -> Client {
//!         Client { stats: ArmStats::empty(*arms), explore: params.explore }
//!     }
//!     fn server(_valid: &(Params, usize), _seat: &Seat) -> Silent<Silence> {
//!         Silent::default()
//!     }
//! }
//!
//! // Beside one of ours, in one of our worlds.
//! let catalogue = cahoots::catalogue().algorithm::<NowAndThen>();
//! let folder = tempfile::tempdir().unwrap();
//! let outcome = Experiment::builder("beside-ours", 500)
//!     .seeds(2)
//!     .environment("arms", json!({ "clients": 3, "arms": 4, "arrivals": "all" }))
//!     .algorithm("now-and-then", json!({ "explore": [0.1, 0.3] }))
//!     .algorithm("ucb-alone", json!({}))
//!     .run(catalogue, &folder.path().join("out"))
//!     .unwrap();
//! let labels: Vec<&str> = outcome.summaries.iter().map(|summary| summary.label.as_str()).collect();
//! assert_eq!(labels, ["now-and-then explore=0.1", "now-and-then explore=0.3", "ucb-alone"]);
//! assert!(outcome.summaries.iter().all(|summary| summary.regret().mean < 500.0));
//! ```
//!
//! Parameters derive `Serialize`, `Deserialize` and `JsonSchema`: a crate of one's own depends on `serde` and
//! `schemars` (version 1 of both) too. `examples/own-algorithm` is such a crate, with messages and a world.

mod arguments;
mod cli;
mod commands;
mod print;

pub use cli::Cli;

pub use cahoots_core::{
    Algorithm, ArmBuffer, ArmIndex, ArmSet, ArmStats, Arrived, Buffered, Choice, Claim, Composition, Context,
    Custom, Cx, DecisionId, Effects, Fact, Factor, Gather, Keys, Kind, Learner, LinearStats, Machine,
    Mechanism, Membership, Message, Misbehaviour, NodeId, Noise, ParamError, Picked, Private, ReleaseFact,
    Scores, Seat, Seating, Setting, Silence, Silent, Stream, Symmetric, Tick, Tiles, Topology, Traffic,
    Unprotected, UserId, View, custom, drive, graph, hears_nothing, homogeneity, linalg, link, message, plan,
    policy, snapshot, topology, wire,
};

pub use {
    cahoots_algorithms as algorithms, cahoots_lab as lab, cahoots_node as node, cahoots_privacy as privacy,
    cahoots_sim as sim,
};

#[cfg(feature = "contract")]
pub use cahoots_testkit as testkit;

pub use cahoots_lab::experiment::Experiment;
pub use cahoots_sim::catalogue::Catalogue;

/// Our algorithms and our worlds, to which others can be added.
pub fn catalogue() -> Catalogue {
    Catalogue::clone(&cahoots_lab::catalogue())
}

/// What an algorithm needs, for `use cahoots::prelude::*`.
pub mod prelude {
    pub use cahoots_core::plan::Schedule;
    pub use cahoots_core::{
        Algorithm, ArmBuffer, ArmIndex, ArmSet, ArmStats, Choice, Custom, Cx, Fact, Gather, Kind, Learner,
        Machine, Membership, Misbehaviour, NodeId, ParamError, Picked, Private, Seat, Seating, Setting,
        Silence, Silent, Stream, Tick, Unprotected, UserId, custom, policy,
    };
}

/// What a world needs.
pub mod world {
    pub use cahoots_sim::arrivals::{Admission, ArrivalLaw, Arrivals};
    pub use cahoots_sim::draw::{Draw, Purpose};
    pub use cahoots_sim::environment::Environment;
    pub use cahoots_sim::world::{BlockPull, Pull, Sides, World, WorldKind, Worth};
    pub use cahoots_sim::worlds::Worlds;
}
