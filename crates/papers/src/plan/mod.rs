//! Thresholds from a communication budget or a regret factor: by the bounds of Li and Wang 2022
//! (Theorem 3.2, Appendix E's Table 1), and by simulation when asked.

mod search;

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::environment::Environment;
use cahoots_sim::run::{Params, Scenario};
use serde::Serialize;
use serde_json::json;

pub use search::{Search, Seen};

use crate::async_linucb::bounds::{Federation, Ratios};
use cahoots_lab::LabError;

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// At most so many messages with statistics.
    Transfers(f64),
    /// At most so many encoded bytes.
    Bytes(f64),
    /// Regret at most so many times that of talking all the time.
    RegretFactor(f64),
}

/// What to plan.
#[derive(Clone, Debug)]
pub struct Request {
    /// Clients.
    pub clients: usize,
    /// Features.
    pub dim: usize,
    /// Interactions of all clients together.
    pub horizon: u64,
    /// Arms per decision, for simulation.
    pub arms: usize,
    /// Spread of rewards, for simulation.
    pub reward_noise: f64,
    /// Regularisation.
    pub ridge: f64,
    /// What is promised.
    pub budget: Budget,
    /// Choose the two ratios apart, for the smallest bound on regret.
    pub split: bool,
    /// The uneven law of arrivals, as an environment takes it.
    pub uneven: toml::Value,
}

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Encoded bytes of one transfer.
    pub bytes_per_transfer: f64,
    /// What is known of each algorithm under each law of arrivals.
    pub rows: Vec<Row>,
    /// Regret when clients talk all the time, under each law, where simulated.
    pub always: Vec<(String, f64)>,
}

/// One algorithm under one law of arrivals.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Its parameters, as an experiment file has them.
    pub params: Params,
    /// How the parameters were found: by the bounds or by simulation.
    pub by: &'static str,
    /// The law of arrivals.
    pub arrivals: String,
    /// Regret factor over talking all the time, at most; by the bounds, constants aside.
    pub factor_bound: f64,
    /// Transfers, at most, by the bounds.
    pub transfers_bound: f64,
    /// Mean regret, where simulated, and half the width of its 95% interval.
    pub regret: Option<(f64, Option<f64>)>,
    /// Mean transfers, where simulated, likewise.
    pub transfers: Option<(f64, Option<f64>)>,
    /// Mean bytes, where simulated, likewise.
    pub bytes: Option<(f64, Option<f64>)>,
    /// Whether the simulation kept the promise.
    pub kept: Option<bool>,
}

/// A ratio with which clients talk all the time, or nearly: at 1 every step is N downloads, for no less regret.
const ALWAYS: f64 = 1.01;

const ASYNC: &str = "async-linucb";
const SYNC: &str = "sync-linucb";

/// Plans; with a `search`, by simulation too.
pub fn plan(catalogue: &Catalogue, request: &Request, search: Option<&Search<'_>>) -> Result<Plan, LabError> {
    let federation = Federation {
        clients: request.clients as f64,
        dim: request.dim as f64,
        horizon: request.horizon as f64,
        ridge: request.ridge,
    };
    let bytes_per_transfer = bytes_per_transfer(catalogue, request)?;
    let transfers = match request.budget {
        Budget::Transfers(transfers) => Some(transfers),
        Budget::Bytes(bytes) => Some(bytes / bytes_per_transfer),
        Budget::RegretFactor(_) => None,
    };
    let factor = match request.budget {
        Budget::RegretFactor(factor) => factor,
        _ => f64::NAN,
    };
    let ratios = match transfers {
        Some(transfers) if request.split => federation.async_split_for_transfers(transfers),
        Some(transfers) => federation.async_for_transfers(transfers),
        None => federation.async_for_factor(factor),
    };
    let mut plan = Plan { bytes_per_transfer, rows: Vec::new(), always: Vec::new() };
    for (uniform, law) in [(true, toml::Value::from("uniform")), (false, request.uneven.clone())] {
        let threshold = match transfers {
            Some(transfers) => federation.sync_for_transfers(transfers, uniform),
            None => federation.sync_for_factor(factor),
        };
        let row = |algorithm, params, by, bounds: (f64, f64)| Row {
            algorithm,
            params,
            by,
            arrivals: law_text(&law),
            factor_bound: bounds.0,
            transfers_bound: bounds.1,
            regret: None,
            transfers: None,
            bytes: None,
            kept: None,
        };
        let async_bounds = |ratios| (federation.async_factor(ratios), federation.async_transfers(ratios));
        let sync_bounds =
            |threshold| (federation.sync_factor(threshold), federation.sync_transfers(threshold, uniform));
        plan.rows.push(row(ASYNC, async_params(request, ratios), BOUNDS, async_bounds(ratios)));
        plan.rows.push(row(SYNC, sync_params(request, threshold), BOUNDS, sync_bounds(threshold)));
        let Some(search) = search else { continue };
        let scenario = scenario(catalogue, request, &law)?;
        let talkative = async_params(request, Ratios::equal(ALWAYS));
        let always = search.all(catalogue, ASYNC, &[talkative], &scenario)?[0].regret.mean;
        plan.always.push((law_text(&law), always));
        let count = plan.rows.len();
        for row in &mut plan.rows[count - 2..] {
            let seen = search.all(catalogue, row.algorithm, std::slice::from_ref(&row.params), &scenario)?;
            row.note(&seen[0], request.budget, always);
        }
        // Along the line through the bounds' answer, from nearly always to nearly never.
        let base = if ratios.upload.is_finite() { ratios } else { Ratios::equal(std::f64::consts::E) };
        let reach = (1e-3 / base.upload.ln(), 12.0 / base.upload.ln());
        let (place, seen) = search.best(
            catalogue,
            ASYNC,
            reach,
            &|place| async_params(request, base.scaled(place)),
            &scenario,
            request.budget,
            always,
        )?;
        let found = base.scaled(place);
        let mut best = row(ASYNC, async_params(request, found), SIMULATION, async_bounds(found));
        best.note(&seen, request.budget, always);
        plan.rows.push(best);
        let reach = (1e-2, 10.0 * federation.horizon);
        let params = |threshold| sync_params(request, threshold);
        let (found, seen) =
            search.best(catalogue, SYNC, reach, &params, &scenario, request.budget, always)?;
        let mut best = row(SYNC, sync_params(request, found), SIMULATION, sync_bounds(found));
        best.note(&seen, request.budget, always);
        plan.rows.push(best);
    }
    Ok(plan)
}

const BOUNDS: &str = "bounds";
const SIMULATION: &str = "simulation";

/// How many runs `plan` makes with a search.
pub fn runs(search: &Search<'_>) -> usize {
    2 * (2 * search.runs() + 3 * search.seeds as usize)
}

impl Row {
    fn note(&mut self, seen: &Seen, budget: Budget, always: f64) {
        self.regret = Some((seen.regret.mean, seen.regret.ci95));
        self.transfers = Some((seen.transfers.mean, seen.transfers.ci95));
        self.bytes = Some((seen.bytes.mean, seen.bytes.ci95));
        self.kept = Some(seen.keeps(budget, always));
    }
}

fn linear_params(request: &Request) -> Params {
    let mut params = Params::new();
    params.insert("ridge".into(), request.ridge.into());
    params
}

fn async_params(request: &Request, ratios: Ratios) -> Params {
    let mut params = linear_params(request);
    params.insert("upload_ratio".into(), ratios.upload.into());
    params.insert("download_ratio".into(), ratios.download.into());
    params
}

fn sync_params(request: &Request, threshold: f64) -> Params {
    let mut params = linear_params(request);
    params.insert("sync_threshold".into(), threshold.into());
    params
}

fn scenario(catalogue: &Catalogue, request: &Request, law: &toml::Value) -> Result<Scenario, LabError> {
    let law = serde_json::to_value(law).unwrap_or_default();
    let environment: Environment = serde_json::from_value(json!({
        "kind": "linear", "clients": request.clients, "dim": request.dim, "arms": request.arms,
        "reward_noise": request.reward_noise, "arrivals": law,
    }))
    .map_err(|error| LabError::Input(error.to_string()))?;
    let scenario = Scenario {
        horizon: request.horizon,
        environment,
        network: Default::default(),
        rewards: Default::default(),
    };
    scenario.check(&catalogue.worlds).map_err(|error| LabError::Input(error.to_string()))?;
    Ok(scenario)
}

/// What one transfer takes on the wire: a short run that always talks.
fn bytes_per_transfer(catalogue: &Catalogue, request: &Request) -> Result<f64, LabError> {
    let short = Request { clients: 2, horizon: 20, ..request.clone() };
    let scenario = scenario(catalogue, &short, &toml::Value::from("uniform"))?;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let search = Search { seeds: 1, jobs: 1, stop: &stop, progress: &|| {} };
    let seen = search.all(catalogue, ASYNC, &[async_params(request, Ratios::equal(1.0))], &scenario)?;
    Ok(seen[0].bytes.mean / seen[0].transfers.mean)
}

fn law_text(law: &toml::Value) -> String {
    match law {
        toml::Value::String(name) => name.clone(),
        toml::Value::Table(table) => {
            table.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
