//! What is compared of a run.

use cahoots_lab::run::Record;

/// Pseudo-regret, with what the algorithm's paper counts into it.
pub(crate) fn regret(record: &Record) -> f64 {
    record.regret
}

/// Messages with statistics.
pub(crate) fn transfers(record: &Record) -> f64 {
    record.traffic.transfers() as f64
}
