//! What it costs to estimate the clusters of hetofed anew, as clients multiply
//! (all pairs tested, and only those of one client), and in whole runs.

use std::collections::BTreeSet;
use std::time::Instant;

use cahoots_algorithms::hetofed::{Clusters, HetofedE};
use cahoots_core::homogeneity::{HomogeneityTest, Noncentrality, Sample};
use cahoots_core::{Keys, LinearStats, NodeId};
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use serde::Serialize;
use serde_json::json;

/// One number of clients.
#[derive(Clone, Debug, Serialize)]
pub struct ReclusteringRow {
    /// Clients, in four clusters.
    pub clients: usize,
    /// Pairs of clients.
    pub pairs: usize,
    /// Fastest estimate with new data of everyone: factors, tests of all pairs on all cores, cliques.
    pub all_milliseconds: f64,
    /// One test, on one core.
    pub pair_nanoseconds: f64,
    /// Fastest estimate with new data of one client.
    pub one_milliseconds: f64,
    /// Clusters found.
    pub clusters: usize,
}

/// A whole run of hetofed-e.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// Clusters of the world.
    pub clusters: usize,
    /// How often they were estimated.
    pub estimates: u64,
    /// Fastest of the rounds.
    pub seconds: f64,
    /// The same, per interaction.
    pub step_microseconds: f64,
}

/// Table 1 of the HetoFedBandit paper: 30 clients, 3000 ticks, 1, 4 and 30 clusters.
pub fn runs(rounds: usize) -> Vec<RunRow> {
    [1, 4, 30].into_iter().map(|clusters| run(30, clusters, 3000, rounds)).collect()
}

fn run(clients: usize, clusters: usize, horizon: u64, rounds: usize) -> RunRow {
    let environment = json!({ "kind": "clustered", "clients": clients, "clusters": clusters,
        "separation": 0.85, "pool": "authors", "arrivals": "all" });
    let scenario: Scenario =
        serde_json::from_value(json!({ "horizon": horizon, "environment": environment }))
            .expect("a scenario that can be read");
    let mut row = RunRow { clusters, estimates: 0, seconds: f64::INFINITY, step_microseconds: 0.0 };
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        let mut simulation =
            prepare::<HetofedE>(&Worlds::ours(), &json!({}), &scenario, 1, Options::default())
                .expect("parameters that fit");
        simulation.run(&mut |_| true).expect("nobody stops it");
        row.seconds = row.seconds.min(start.elapsed().as_secs_f64());
        row.estimates = simulation.server().clusters().estimates();
    }
    row.step_microseconds = row.seconds * 1e6 / (clients as u64 * horizon) as f64;
    row
}

/// Pairs that are timed together.
const PART: usize = 500;

/// Estimates for several numbers of clients, each of which has `observations` of its own.
pub fn measure(clients: &[usize], dim: usize, observations: usize, rounds: usize) -> Vec<ReclusteringRow> {
    clients.iter().map(|&n| row(n, dim, observations, rounds)).collect()
}

fn row(clients: usize, dim: usize, observations: usize, rounds: usize) -> ReclusteringRow {
    // What clients hold, and what they hold one observation later: rounds change from one to the other.
    let held = |more| (0..clients).map(move |client| data(client, dim, observations + more)).collect();
    let held: [Vec<LinearStats>; 2] = [held(0), held(1)];
    let test = test_of_hetofed_e(clients, dim);
    let pairs: Vec<(u32, u32)> = (0..clients as u32).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let samples: Vec<Sample> = held[0].iter().cloned().map(Sample::of).collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    // Part by part, so that one interruption does not spoil a round.
    let one_core: f64 = pairs
        .chunks(PART)
        .map(|part| fastest(rounds, |_| drop(test.similar_pairs_on(1, &samples, part))))
        .sum();

    let mut clusters = Clusters::new(test, 1000);
    let mut present: Vec<&LinearStats> = held[0].iter().collect();
    let mut estimate = |changed: BTreeSet<NodeId>| {
        let clusters = &mut clusters;
        fastest(rounds, |round| {
            changed.iter().for_each(|id| present[id.index()] = &held[round % 2][id.index()]);
            clusters.estimate((0u32..).map(NodeId).zip(present.iter().copied()), &changed);
        })
    };
    let all_milliseconds = estimate((0..clients as u32).map(NodeId).collect());
    let one_milliseconds = estimate(BTreeSet::from([NodeId(0)]));
    ReclusteringRow {
        clients,
        pairs: pairs.len(),
        all_milliseconds,
        pair_nanoseconds: one_core * 1e6 / pairs.len().max(1) as f64,
        one_milliseconds,
        clusters: clusters.list().len(),
    }
}

/// As at horizon 3000: delta = 0.1, sigma = 0.1, epsilon = 1 / (N sqrt T).
fn test_of_hetofed_e(clients: usize, dim: usize) -> HomogeneityTest {
    let n = clients as f64;
    let proof = 1.0 / (0.01 * n * n);
    let noncentrality = Noncentrality::Spectral { scale: proof / 3000.0, ceiling: proof };
    HomogeneityTest::new(0.01, 0.1 / (n * n), noncentrality, dim)
}

/// Milliseconds of the fastest of several rounds.
fn fastest(rounds: usize, mut work: impl FnMut(usize)) -> f64 {
    let timed = |round| {
        let start = Instant::now();
        work(round);
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..rounds.max(1)).map(timed).fold(f64::INFINITY, f64::min)
}

/// Observations of a client of cluster `client % 4`, on arms of unit norm.
fn data(client: usize, dim: usize, observations: usize) -> LinearStats {
    let unit = |rng: &mut cahoots_core::Stream| {
        let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        x.into_iter().map(|v| v / norm).collect::<Vec<f64>>()
    };
    let theta = unit(&mut Keys::from_seed(7).policy(NodeId(client as u32 % 4), 0));
    let mut rng = Keys::from_seed(8).policy(NodeId(client as u32), 0);
    let mut stats = LinearStats::empty(dim);
    for _ in 0..observations {
        let x = unit(&mut rng);
        let mean: f64 = x.iter().zip(&theta).map(|(a, b)| a * b).sum();
        stats.observe(&x, mean + 0.1 * rng.normal());
    }
    stats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_was_measured() {
        let rows = measure(&[8, 12], 4, 60, 2);
        assert_eq!(
            rows.iter().map(|row| (row.clients, row.pairs, row.clusters)).collect::<Vec<_>>(),
            [(8, 28, 4), (12, 66, 4)]
        );
        assert!(rows.iter().all(|row| row.all_milliseconds > 0.0 && row.one_milliseconds > 0.0));
        let run = run(4, 2, 40, 1);
        assert!(run.estimates > 0 && run.seconds > 0.0 && run.step_microseconds > 0.0);
    }
}
