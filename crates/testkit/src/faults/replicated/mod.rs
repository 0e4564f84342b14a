//! The same for coordinators whose log others keep: two or three of them share a stream that loses answers, answers from the past, takes an
//! append late and goes back; they are killed, paused for longer than their lease, cut off, and come back believing that they lead.
//!
//! What must hold, whatever goes wrong, and at every moment:
//!
//! - no coordinator tells a client what is not in the log: no message, no confirmation, no welcome; so two that lead say the same under
//!   one number, and one that leads no longer says nothing that was not logged;
//! - a coordinator that ends by itself says why, and has a reason: a log that went back or has other bits than were written.
//!
//! And once nothing goes wrong any more, and whoever looks after it has done what the words say (`--accept-rollback`, where what was
//! acknowledged is lost):
//!
//! - one leads, the others stand by, and all come to the same bytes: those of a reader that never met a fault, and of one that begins at
//!   the newest snapshot;
//! - every client is what its inputs make of it, and what was taken from it is what it sent, each message once;
//! - every reward that was acknowledged is merged, once, even if the log had lost it: clients send again what was lost.

mod app;
mod audit;
mod client;
mod coordinator;
mod keeper;
mod plan;
mod settle;
mod shrink;
mod trouble;
mod truth;
mod wire;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use self::plan::{KINDS, Plan, Trouble, Whom};
pub use self::shrink::{report, shrink};
use super::{Bug, Cases, Failure};
use world::World;

/// What schedules came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Schedules.
    pub schedules: u64,
    /// Things that happened.
    pub events: u64,
    /// Troubles, by kind.
    pub troubles: [u64; KINDS.len()],
    /// Rewards that were acknowledged.
    pub acknowledged: u64,
    /// Records that were read of logs.
    pub records: u64,
    /// Epochs that were begun.
    pub epochs: u64,
    /// Leaders that found that another leads.
    pub deposed: u64,
    /// Coordinators that halted, because of what they found in the log.
    pub halted: u64,
    /// Messages of logs that were lost after they had been acknowledged.
    pub lost: u64,
    /// Snapshots behind which a log was trimmed.
    pub trimmed: u64,
}

impl Totals {
    /// Both together.
    pub fn plus(mut self, other: &Totals) -> Totals {
        self.schedules += other.schedules;
        self.events += other.events;
        self.troubles.iter_mut().zip(other.troubles).for_each(|(all, more)| *all += more);
        self.acknowledged += other.acknowledged;
        self.records += other.records;
        self.epochs += other.epochs;
        self.deposed += other.deposed;
        self.halted += other.halted;
        self.lost += other.lost;
        self.trimmed += other.trimmed;
        self
    }
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
