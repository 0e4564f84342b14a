//! A whole simulated step beside the kernel's part of it: what the world, the driver and the
//! bookkeeping of statistics add to score, pick and learn.

use std::time::Instant;

use cahoots_algorithms::linucb_alone::LinucbAlone;
use cahoots_kernel::Level;
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use serde::Serialize;
use serde_json::json;

use crate::hot_step::KernelStep;
use crate::problem::{Contestant, Problem};

/// One client that learns alone, on a finite pool; times are minima per step.
#[derive(Clone, Debug, Serialize)]
pub struct WholeStepRow {
    /// Coordinates of an arm.
    pub dim: usize,
    /// Arms on offer at every step.
    pub arms: usize,
    /// Offer, choose, pull, observe, and the ledger.
    pub whole_ns: f64,
    /// Score, pick, learn: the kernel alone, at its best level.
    pub kernel_ns: f64,
    /// `whole_ns / kernel_ns`.
    pub ratio: f64,
}

/// Steps that are timed together: a few milliseconds, most of which pass undisturbed on a busy machine.
const BATCH: u64 = 1024;

/// Times `linucb-alone` with one client and the kernel alone, interleaved; the fastest batch of `rounds`
/// runs of `batches` each.
pub fn measure(dim: usize, arms: usize, batches: u64, rounds: usize) -> WholeStepRow {
    let environment = json!({ "kind": "linear", "clients": 1, "dim": dim, "arms": arms, "pool": "authors" });
    let scenario = json!({ "horizon": (batches + 1) * BATCH, "environment": environment });
    let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario that can be read");
    let problem = Problem::new(dim, arms, 4);
    let mut kernel = KernelStep::new(&problem, Level::best());
    let (mut whole_ns, mut kernel_ns) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds.max(1) {
        let mut start = None;
        let mut simulation =
            prepare::<LinucbAlone>(&Worlds::ours(), &json!({}), &scenario, 1, Options::default())
                .expect("a scenario that fits");
        simulation
            .run(&mut |tick| {
                if tick % BATCH == 0 {
                    whole_ns = whole_ns.min(start.map_or(f64::INFINITY, per_step));
                    start = Some(Instant::now());
                }
                true
            })
            .expect("nobody stops it");
        kernel.reset();
        for _ in 0..batches {
            let start = Instant::now();
            for step in 0..BATCH as usize {
                kernel.step(step % problem.sets.len());
            }
            kernel_ns = kernel_ns.min(per_step(start));
        }
    }
    WholeStepRow { dim, arms, whole_ns, kernel_ns, ratio: whole_ns / kernel_ns }
}

fn per_step(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_takes_longer_than_its_part() {
        let row = measure(5, 5, 4, 3);
        assert_eq!((row.dim, row.arms), (5, 5));
        assert!(row.kernel_ns > 0.0 && row.ratio > 1.0, "{row:?}");
    }
}
