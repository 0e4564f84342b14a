//! How a federation's cost grows: interactions per second, the price of an
//! upload as clients multiply, a million clients.

use std::time::Instant;

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::kit::linear::{Apart, LinearMsg};
use cahoots_core::{
    Algorithm, Cx, Effects, Keys, LinearStats, Machine, Membership, NodeId, Positions, Seating, Setting,
    Unprotected,
};
use cahoots_sim::driver::Options;
use cahoots_sim::memory::peak_resident_bytes;
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use serde::Serialize;
use serde_json::json;

/// A whole simulated run.
#[derive(Clone, Debug, Serialize)]
pub struct RunRow {
    /// What was run.
    pub name: String,
    /// Simulated clients.
    pub clients: u64,
    /// Interactions.
    pub steps: u64,
    /// Charged messages.
    pub transfers: u64,
    /// Fastest of the rounds.
    pub seconds: f64,
    /// Interactions per second.
    pub steps_per_second: f64,
    /// High-water mark of this process, where the host tells it.
    pub peak_rss_bytes: Option<u64>,
}

/// The price of one upload, without the downloads it may trigger.
#[derive(Clone, Debug, Serialize)]
pub struct UploadRow {
    /// Clients that the server knows.
    pub clients: usize,
    /// Fastest batch, per upload.
    pub microseconds: f64,
    /// Beside the smallest federation of the run.
    pub ratio_to_first: f64,
    /// The same where contributions are kept apart, in a tree of sums.
    pub kept_apart_microseconds: f64,
    /// Beside one without.
    pub kept_apart_ratio: f64,
}

/// The price of taking one client out of a tree of sums, without the views that everyone is sent then.
#[derive(Clone, Debug, Serialize)]
pub struct ForgettingRow {
    /// Clients that have uploaded.
    pub clients: usize,
    /// Fastest, per client that is taken out.
    pub microseconds: f64,
    /// Beside adding up all others anew.
    pub ratio_to_anew: f64,
    /// Numbers kept for each client, in its own sum and the one that the tree has for it.
    pub numbers: usize,
}

fn run(name: &str, params: serde_json::Value, scenario: serde_json::Value, rounds: usize) -> RunRow {
    let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario that can be read");
    let worlds = Worlds::ours();
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        let simulation = prepare::<AsyncLinucb>(&worlds, &params, &scenario, 1, Options::default());
        let mut simulation = simulation.expect("parameters that fit");
        let ledger = simulation.run(&mut |_| true).expect("nobody stops it").clone();
        best = best.min(start.elapsed().as_secs_f64());
        last = Some(ledger);
    }
    let ledger = last.expect("at least one round");
    RunRow {
        name: name.to_string(),
        clients: scenario.check(&worlds).map_or(0, |world| world.setting().users as u64),
        steps: ledger.steps,
        transfers: ledger.traffic.transfers(),
        seconds: best,
        steps_per_second: ledger.steps as f64 / best,
        peak_rss_bytes: peak_resident_bytes(),
    }
}

/// The async-linucb paper's setting: N = 1000, d = K = 25, T = 30,000, at a high and a low ratio.
pub fn paper_setting(rounds: usize) -> Vec<RunRow> {
    let environment = json!({ "kind": "linear", "clients": 1000, "dim": 25, "arms": 25, "pool": "authors" });
    let scenario = json!({ "horizon": 30_000, "environment": environment });
    [5.0, 1.01]
        .into_iter()
        .map(|ratio| {
            run(&format!("async-linucb, ratio {ratio}"), json!({ "ratio": ratio }), scenario.clone(), rounds)
        })
        .collect()
}

/// A million clients at d = 10, each of which acts once.
pub fn a_million_clients() -> RunRow {
    let environment = json!({ "kind": "linear", "clients": 1_000_000, "dim": 10, "arms": 10, "pool": "authors",
        "arrivals": "round-robin" });
    let scenario = json!({ "horizon": 1_000_000, "environment": environment });
    run("async-linucb, a million clients that each act once, d = 10", json!({ "ratio": 5.0 }), scenario, 1)
}

/// One upload at the server of async-linucb, for several numbers of clients.
/// Every client stands elsewhere, and ratios are such that nobody is served.
pub fn uploads(clients: &[usize], dim: usize) -> Vec<UploadRow> {
    let mut rows: Vec<UploadRow> = Vec::new();
    for &n in clients {
        let microseconds = upload_microseconds(n, dim, false);
        let kept_apart_microseconds = upload_microseconds(n, dim, true);
        let first = rows.first().map_or(microseconds, |row| row.microseconds);
        rows.push(UploadRow {
            clients: n,
            microseconds,
            ratio_to_first: microseconds / first,
            kept_apart_microseconds,
            kept_apart_ratio: kept_apart_microseconds / microseconds,
        });
    }
    rows
}

/// Clients that are taken out of a tree of sums.
pub fn forgetting(clients: &[usize], dim: usize) -> Vec<ForgettingRow> {
    clients.iter().map(|n| forgetting_row(*n, dim)).collect()
}

fn forgetting_row(clients: usize, dim: usize) -> ForgettingRow {
    let (nothing, mut apart) = (LinearStats::empty(dim), Apart::new(true));
    let mut rng = Keys::from_seed(1).policy(NodeId(0), 0);
    for client in 0..clients {
        let mut stats = nothing.clone();
        let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        stats.observe(&x, 1.0);
        apart.add(NodeId(client as u32), &stats);
    }
    let mut anew = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let mut sum = nothing.clone();
        apart.clients().for_each(|(_, own)| sum.merge(own));
        std::hint::black_box(&sum);
        anew = anew.min(start.elapsed().as_secs_f64() * 1e6);
    }
    let (gone, mut best) = (clients.min(200) / 2, f64::INFINITY);
    for i in 0..gone {
        let client = NodeId((i * 7919 % clients) as u32);
        let start = Instant::now();
        std::hint::black_box(apart.forget(client, &nothing));
        best = best.min(start.elapsed().as_secs_f64() * 1e6);
    }
    let numbers = 2 * LinearStats::numbers(dim);
    ForgettingRow { clients, microseconds: best, ratio_to_anew: best / anew, numbers }
}

fn upload_microseconds(clients: usize, dim: usize, keep_apart: bool) -> f64 {
    let setting = Setting { keep_apart, ..Setting::linear(clients, dim, 1).with_horizon(1) };
    let params = serde_json::from_value(json!({ "download_ratio": 1e300 })).expect("parameters");
    let valid = AsyncLinucb::check(params, &setting).expect("parameters that fit");
    let mut server = AsyncLinucb::server(&valid, &Seating::PerUser.seat(&setting, NodeId::SERVER));
    let (keys, mut positions, mut effects) = (Keys::from_seed(1), Positions::default(), Effects::default());
    let mut rng = keys.policy(NodeId(0), 0);
    let mut cx = Cx::new(NodeId::SERVER, 1, &keys, &mut positions, &mut effects);
    let mut upload = |server: &mut <AsyncLinucb as Algorithm>::Server, client: usize, number: u64| {
        let mut stats = LinearStats::empty(dim);
        let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        stats.observe(&x, 1.0);
        let release = |cx: &mut Cx<'_, LinearMsg>| cx.release(&mut Unprotected, stats);
        let (stats, _) = Cx::rehearse(NodeId(client as u32), 0, release);
        let message = LinearMsg::Upload { number, stats };
        let start = Instant::now();
        server.on_message(NodeId(client as u32), message, &mut cx).expect("an honest upload");
        start.elapsed()
    };
    for client in 0..clients {
        let (keys, mut positions, mut effects) =
            (Keys::from_seed(1), Positions::default(), Effects::default());
        let mut cx = Cx::new(NodeId::SERVER, 1, &keys, &mut positions, &mut effects);
        server.on_membership(Membership::Joined(NodeId(client as u32)), &mut cx);
        upload(&mut server, client, 1);
    }
    // Batches over clients far apart; the fastest batch is the least disturbed.
    let (batch, mut numbers, mut best) = (50, vec![1u64; clients], f64::INFINITY);
    for round in 0..40 {
        let mut spent = std::time::Duration::ZERO;
        for i in 0..batch {
            let client = (round * batch + i) * 7919 % clients;
            numbers[client] += 1;
            spent += upload(&mut server, client, numbers[client]);
        }
        best = best.min(spent.as_secs_f64() * 1e6 / batch as f64);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_was_measured() {
        let rows = uploads(&[10, 20], 4);
        assert_eq!(rows.iter().map(|row| row.clients).collect::<Vec<_>>(), [10, 20]);
        assert!(rows.iter().all(|row| row.microseconds > 0.0) && rows[0].ratio_to_first == 1.0);
        assert!(rows.iter().all(|row| row.kept_apart_microseconds > 0.0 && row.kept_apart_ratio > 0.0));
        let rows = forgetting(&[10, 20], 4);
        assert_eq!((rows[1].clients, rows[1].numbers), (20, 28));
        assert!(rows.iter().all(|row| row.microseconds > 0.0 && row.ratio_to_anew > 0.0));
        let scenario =
            json!({ "horizon": 50, "environment": { "kind": "linear", "clients": 5, "dim": 3, "arms": 3 } });
        let row = run("small", json!({}), scenario, 2);
        assert_eq!((row.clients, row.steps), (5, 50));
        assert!(row.transfers > 0 && row.steps_per_second > 0.0);
    }
}
