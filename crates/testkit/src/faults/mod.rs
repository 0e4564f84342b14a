//! Faults by the hundred thousand: the real cores of client and coordinator, their stores, links and queues, in virtual
//! time, over a virtual network and on virtual disks. All that happens follows from a seed.
//!
//! What must hold, whatever goes wrong:
//!
//! - what was acknowledged is in the log of its client, once, and (where the coordinator's sums can be read) in the sum,
//!   once; nothing is there that nobody gave;
//! - a node is what its inputs make of it, and so are its books: a machine that never met a fault, given the same inputs,
//!   ends in the same bytes;
//! - the same for rewards that apps give by their own names for decisions, in parts, or before a decision counts; and what is
//!   kept for that is what the store was told to keep;
//! - whatever anyone took is what someone sent, each message once and in order; numbers never go back, and a message that
//!   is sent again is the same, noise included; nobody draws the same noise for something else;
//! - whatever anyone has told the other side (a message, a confirmation, how far it has come) is still so when it starts
//!   again;
//! - a rotten log is refused, and an interrupted rejoin, reset or restore leaves a store that is whole, or none, or says
//!   that it is gone;
//! - once nothing goes wrong any more, everything comes to rest, everyone being told what to do by words alone;
//! - queues stay short, and whoever refuses says so: nothing honest is refused, nothing altered is taken.
//!
//! A disk that lies about a sync, and an old copy in the place of a store, can lose what was acknowledged. Where anyone
//! else had heard of it, this is noticed and refused aloud. The sum stays one of rewards that were given, each at most
//! once.

mod app;
mod audit;
mod cases;
pub mod command;
mod computer;
mod content;
mod dice;
mod disk;
pub mod interrupted;
mod network;
mod plan;
pub mod replicated;
mod shrink;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use audit::Totals;
pub use cahoots_node::inside::Bug;
pub use cases::{Case, Cases};
pub use plan::{Fault, LATER, Moment, NAMED, Plan, Who};
pub use shrink::{rerun, shrink};

use world::World;

/// A schedule that broke an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was broken.
    pub words: String,
    /// What happened, if that was asked for.
    pub trace: Vec<String>,
}

/// Runs a schedule, perhaps with a planted fault; with `trace`, a failure says what happened.
pub fn run(plan: &Plan, cases: &Cases, bug: Option<Bug>, trace: bool) -> Result<Totals, Failure> {
    let mut world = World::new(plan, cases, bug, trace);
    let result = catch_unwind(AssertUnwindSafe(|| world.run().and_then(|()| world.audit())));
    let result = result.unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(|words| (*words).into()));
        Err(format!("it panicked: {}", words.unwrap_or_default()))
    });
    result.map_err(|words| Failure { words, trace: world.trace() })
}

/// Runs the schedules of these seeds, until one fails.
pub fn run_all(
    seeds: std::ops::Range<u64>,
    cases: &Cases,
    bug: Option<Bug>,
) -> Result<Totals, (u64, Failure)> {
    let mut totals = Totals::default();
    for seed in seeds {
        let plan = Plan::of(seed, cases);
        totals = totals.plus(run(&plan, cases, bug, false).map_err(|failure| (seed, failure))?);
    }
    Ok(totals)
}
