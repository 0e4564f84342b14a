//! `cahoots plan`: thresholds from a communication budget, and whether private federation pays.

mod privacy;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use cahoots_lab::results::{grouped, plus_minus, readable};
use cahoots_lab::{LabError, say};
use cahoots_papers::plan::{Budget, Plan, Request, Row, Search, plan, runs};
use cahoots_sim::catalogue::Catalogue;
use clap::ArgGroup;
use serde_json::json;

use super::stop;
use crate::print;

/// Find thresholds for a communication budget or a regret you can live with; or whether private federation pays.
///
/// By the bounds of Li and Wang 2022 (Theorem 3.2, Appendix D and E), which hold for every world and so
/// are far on the safe side; with --simulate also by trying thresholds in a world of this size, which
/// is what to use if your world is like that one.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("budget").required(true))]
pub(crate) struct Args {
    /// Clients.
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    clients: u32,
    /// Features.
    #[arg(long, short, value_parser = clap::value_parser!(u16).range(1..=4096))]
    dim: u16,
    /// Decisions, of all clients together: as many as ticks, where one client decides at a tick.
    #[arg(long, short = 't', value_parser = clap::value_parser!(u64).range(1..))]
    horizon: u64,
    /// At most so many messages with statistics, uploads and downloads together.
    #[arg(long, value_name = "COUNT", group = "budget", value_parser = positive)]
    transfers: Option<f64>,
    /// At most so many bytes on the wire.
    #[arg(long, value_name = "BYTES", group = "budget", value_parser = positive)]
    bytes: Option<f64>,
    /// Regret at most so many times that of talking all the time.
    #[arg(long, value_name = "FACTOR", group = "budget", value_parser = above_one)]
    regret_factor: Option<f64>,
    /// Does private federation pay, and from how many observations on?
    #[arg(long, group = "budget")]
    privacy: bool,
    /// With --privacy: losses to look at.
    #[arg(long, value_name = "EPSILON", value_delimiter = ',', default_values_t = [1.0, 3.0, 10.0], value_parser = positive)]
    dp_epsilon: Vec<f64>,
    /// With --privacy: how often the promise may fail.
    #[arg(long, value_name = "DELTA", default_value_t = 1e-5, value_parser = positive)]
    dp_delta: f64,
    /// With --privacy: how often sums are released.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    releases: u32,
    /// With --privacy: rewards lie within plus or minus this (1/2 for rewards from 0 to 1 that are centred).
    #[arg(long, value_name = "BOUND", default_value_t = 1.0, value_parser = positive)]
    reward_bound: f64,
    /// With --privacy: kinds of users.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    clusters: u32,
    /// Choose upload and download ratio apart, for the smallest bound on regret; else they are equal.
    #[arg(long, conflicts_with = "regret_factor")]
    split: bool,
    /// Try thresholds in a simulated world too.
    #[arg(long)]
    simulate: bool,
    /// Seeds per threshold when simulating.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=1000))]
    seeds: u64,
    /// Uneven arrivals beside uniform ones: zipf:S or dirichlet:A.
    #[arg(long, value_name = "LAW", default_value = "zipf:1.2", value_parser = law)]
    arrivals: toml::Value,
    /// Arms per decision when simulating.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    arms: u32,
    /// Spread of rewards when simulating.
    #[arg(long, default_value_t = 0.1)]
    reward_noise: f64,
    /// Regularisation lambda.
    #[arg(long, default_value_t = 0.1, value_parser = positive)]
    ridge: f64,
    /// Threads when simulating [default: as many as there are cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots plan -n 1000 -d 25 -t 30000 --transfers 50000              by the bounds
  cahoots plan -n 1000 -d 25 -t 30000 --transfers 50000 --simulate   what a world like it really needs
  cahoots plan -n 200 -d 10 -t 100000 --bytes 2e7 --split               upload and download apart
  cahoots plan -n 100 -d 10 -t 20000 --regret-factor 1.5 --simulate  the least talk for this regret
  cahoots plan -n 10 -d 20 -t 131072 --privacy --reward-noise 0.5    does private federation pay?";

pub(crate) fn run(args: Args, catalogue: &Catalogue) -> Result<(), LabError> {
    if args.privacy {
        return private(&args);
    }
    let budget = match (args.transfers, args.bytes, args.regret_factor) {
        (Some(transfers), _, _) => Budget::Transfers(transfers),
        (_, Some(bytes), _) => Budget::Bytes(bytes),
        (_, _, factor) => Budget::RegretFactor(factor.unwrap_or(1.5)),
    };
    let request = Request {
        clients: args.clients as usize,
        dim: usize::from(args.dim),
        horizon: args.horizon,
        arms: args.arms as usize,
        reward_noise: args.reward_noise,
        ridge: args.ridge,
        budget,
        split: args.split,
        uneven: args.arrivals,
    };
    let done = AtomicUsize::new(0);
    let total = AtomicUsize::new(0);
    let (quiet, shown) = (args.quiet, AtomicUsize::new(0));
    let progress = || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let tenth = 10 * done / total.load(Ordering::Relaxed).max(1);
        if !quiet && shown.fetch_max(tenth, Ordering::Relaxed) < tenth {
            say(format_args!("{}% of the simulations", 10 * tenth));
        }
    };
    let search = Search {
        seeds: args.seeds,
        jobs: args.jobs.map_or_else(stop::cores, usize::from),
        stop: stop::on_ctrl_c(),
        progress: &progress,
    };
    total.store(runs(&search), Ordering::Relaxed);
    let answer = plan(catalogue, &request, args.simulate.then_some(&search))?;
    if args.json {
        return print::out(&format!("{:#}\n", as_json(&request, &answer)));
    }
    print::out(&text(&request, &answer))
}

fn private(args: &Args) -> Result<(), LabError> {
    let question = privacy::Question {
        clients: args.clients,
        dim: usize::from(args.dim),
        horizon: args.horizon,
        clusters: args.clusters,
        epsilons: &args.dp_epsilon,
        delta: args.dp_delta,
        releases: args.releases,
        reward: args.reward_bound,
        reward_noise: args.reward_noise,
    };
    let answers = question.answers().map_err(|error| LabError::Input(error.to_string()))?;
    if args.json {
        return print::out(&format!("{:#}\n", privacy::as_json(&question, &answers)));
    }
    print::out(&privacy::text(&question, &answers))
}

fn as_json(request: &Request, plan: &Plan) -> serde_json::Value {
    let (kind, limit) = match request.budget {
        Budget::Transfers(limit) => ("transfers", limit),
        Budget::Bytes(limit) => ("bytes", limit),
        Budget::RegretFactor(limit) => ("regret_factor", limit),
    };
    json!({
        "clients": request.clients, "dim": request.dim, "horizon": request.horizon,
        "budget": { "kind": kind, "limit": limit }, "plan": plan,
    })
}

fn text(request: &Request, plan: &Plan) -> String {
    let promise = match request.budget {
        Budget::Transfers(limit) => format!("at most {} transfers", grouped(limit, 0)),
        Budget::Bytes(limit) => format!("at most {} bytes", grouped(limit, 0)),
        Budget::RegretFactor(factor) => format!("regret at most {factor} times that of talking all the time"),
    };
    let mut text = format!(
        "{} clients, {} features, {} decisions: {promise}\n(one transfer is {} bytes)\n\n",
        grouped(request.clients as f64, 0),
        request.dim,
        grouped(request.horizon as f64, 0),
        grouped(plan.bytes_per_transfer, 0),
    );
    let simulated = plan.rows.iter().any(|row| row.regret.is_some());
    let mut titles = vec!["arrivals", "algorithm", "thresholds", "found by", "regret factor", "transfers"];
    if simulated {
        titles.extend(["regret", "transfers", "kept"]);
    }
    let mut above = vec!["", "", "", "", "(bound)", "(bound)"];
    if simulated {
        above.extend(["(simulated)", "(simulated)", ""]);
    }
    let mut rows: Vec<Vec<String>> =
        [titles, above].into_iter().map(|row| row.into_iter().map(String::from).collect()).collect();
    rows.extend(plan.rows.iter().map(|row| cells(row, simulated)));
    text += &print::columns(&rows);
    text.push('\n');
    for (law, regret) in &plan.always {
        let _ = writeln!(text, "talking all the time, arrivals {law}: regret {}", readable(*regret));
    }
    for row in plan.rows.iter().filter(|row| row.by == "simulation" && row.kept == Some(false)) {
        let _ = writeln!(
            text,
            "no threshold of {} that was tried keeps this promise with arrivals {}: the nearest is shown",
            row.algorithm, row.arrivals
        );
    }
    text += "The bound on transfers of async-linucb holds in every world; factors leave a constant open, and\n\
             sync-linucb's bound on transfers is the paper's, which takes arrivals to be perfectly even or at worst.\n";
    if !simulated {
        text += "Add --simulate to see what a world of this size really needs.\n";
    }
    text
}

fn cells(row: &Row, simulated: bool) -> Vec<String> {
    let value = |key: &str| row.params.get(key).and_then(toml::Value::as_float).unwrap_or(f64::NAN);
    let thresholds = if row.algorithm.starts_with("async") {
        format!(
            "upload_ratio = {}, download_ratio = {}",
            number(value("upload_ratio")),
            number(value("download_ratio"))
        )
    } else {
        format!("sync_threshold = {}", number(value("sync_threshold")))
    };
    let mut cells = vec![
        row.arrivals.clone(),
        row.algorithm.into(),
        thresholds,
        row.by.into(),
        readable(row.factor_bound),
        readable(row.transfers_bound),
    ];
    if simulated {
        let shown = |seen: Option<(f64, Option<f64>)>| {
            seen.map_or(String::new(), |(mean, half)| plus_minus(mean, half, false))
        };
        let kept = row.kept.map_or("", |kept| if kept { "yes" } else { "no" });
        cells.extend([shown(row.regret), shown(row.transfers), kept.into()]);
    }
    cells
}

/// Five digits, also of what is very large.
fn number(value: f64) -> String {
    if value.is_infinite() {
        "inf".into()
    } else if (1e-3..1e6).contains(&value) {
        let decimals = (4.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
    } else {
        format!("{value:.4e}")
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.replace([',', '_'], "").parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("must be a number above 0".into()),
    }
}

fn above_one(text: &str) -> Result<f64, String> {
    positive(text).and_then(|value| if value > 1.0 { Ok(value) } else { Err("must be above 1".into()) })
}

fn law(text: &str) -> Result<toml::Value, String> {
    let usage = || "must be zipf:S or dirichlet:A, such as zipf:1.2".to_string();
    let (name, number) = text.split_once(':').ok_or_else(usage)?;
    let value = positive(number)?;
    if !["zipf", "dirichlet"].contains(&name) {
        return Err(usage());
    }
    Ok(toml::Value::Table([(name.to_string(), toml::Value::Float(value))].into_iter().collect()))
}
