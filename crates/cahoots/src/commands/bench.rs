//! `cahoots bench`: speed on this machine, beside references, as ratios in one run.

use cahoots_bench::{federation, hot_step, reclustering};
use cahoots_lab::LabError;
use cahoots_node::bench::{LiveOptions, run as run_live};
use serde::Serialize;

use crate::print;

/// Measure speed on this machine, beside references.
///
/// Without a subject: the hot step beside faer and nalgebra (interleaved, minima), whole simulated
/// runs of the async-linucb paper's setting, the price of an upload as clients multiply, a million clients, and the
/// estimate of hetofed's clusters.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cahoots bench                 everything in memory, about a minute
  cahoots bench hot-step        the hot step alone
  cahoots bench reclustering    hetofed's clusters at 30 to 1000 clients
  cahoots bench live            a federation on loopback under load
  cahoots bench --json          one JSON object per measurement

Machines differ and are shared: compare the ratios of one run, not times between runs.")]
pub struct Args {
    /// What to measure.
    #[arg(value_enum)]
    subject: Option<Subject>,
    /// One JSON object per row on stdout.
    #[arg(long)]
    json: bool,
    /// Rounds of which the fastest counts.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rounds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    /// Score, pick, learn: the kernel at every level of this host beside faer and nalgebra.
    HotStep,
    /// Simulated runs, uploads as clients multiply, a million clients.
    Federation,
    /// Estimating hetofed's clusters as clients multiply, and whole runs of hetofed-e.
    Reclustering,
    /// A coordinator and clients over gRPC and HTTP, with a disk.
    Live,
}

pub fn run(args: &Args) -> Result<(), LabError> {
    let wants = |subject| args.subject == Some(subject) || args.subject.is_none() && subject != Subject::Live;
    if wants(Subject::HotStep) {
        let rows = hot_step::measure(&[(10, 10), (25, 25), (100, 100), (25, 1000)], args.rounds as usize);
        show(args, "hot step: ns for score K arms, pick, learn (minimum)", &rows, |row| {
            vec![
                ("d", row.dim.to_string()),
                ("K", row.arms.to_string()),
                ("level", row.level.clone()),
                ("ns", format!("{:.0}", row.kernel_ns)),
                ("faer", times(row.faer_ns, row.faer_ratio)),
                ("faer, untuned", times(row.faer_simple_ns, row.faer_simple_ratio)),
                ("nalgebra", times(row.nalgebra_ns, row.nalgebra_ratio)),
            ]
        })?;
    }
    if wants(Subject::Federation) {
        let rows = federation::uploads(&[100, 1_000, 10_000, 100_000], 25);
        show(args, "one upload at the server, without its downloads (d = 25)", &rows, |row| {
            vec![
                ("clients", row.clients.to_string()),
                ("us", format!("{:.2}", row.microseconds)),
                ("to the first", format!("x {:.2}", row.ratio_to_first)),
            ]
        })?;
        let mut rows = federation::paper_setting(3);
        rows.push(federation::a_million_clients());
        show(args, "simulated runs, one core", &rows, |row| {
            vec![
                ("run", row.name.clone()),
                ("steps", row.steps.to_string()),
                ("transfers", row.transfers.to_string()),
                ("seconds", format!("{:.3}", row.seconds)),
                ("steps/s", format!("{:.0}", row.steps_per_second)),
                (
                    "peak GB so far",
                    row.peak_rss_bytes.map_or("?".into(), |b| format!("{:.2}", b as f64 / 1e9)),
                ),
            ]
        })?;
    }
    if wants(Subject::Reclustering) {
        reclustering(args)?;
    }
    if wants(Subject::Live) {
        let rows = run_live(&LiveOptions::default()).map_err(|error| LabError::Failed(error.to_string()))?;
        show(args, "a federation on loopback", &rows, |row| {
            vec![
                ("measure", row.measure.to_string()),
                ("value", format!("{:.1}", row.value)),
                ("unit", row.unit.to_string()),
                ("how", row.how.clone()),
            ]
        })?;
    }
    Ok(())
}

fn reclustering(args: &Args) -> Result<(), LabError> {
    let rows = reclustering::measure(&[30, 100, 300, 1000], 25, 200, args.rounds.min(10) as usize);
    show(
        args,
        "hetofed's clusters estimated anew, all cores (d = 25, 200 observations each)",
        &rows,
        |row| {
            vec![
                ("clients", row.clients.to_string()),
                ("pairs", row.pairs.to_string()),
                ("all changed, ms", format!("{:.2}", row.all_milliseconds)),
                ("a pair on one core, ns", format!("{:.0}", row.pair_nanoseconds)),
                ("one changed, ms", format!("{:.2}", row.one_milliseconds)),
                ("clusters", row.clusters.to_string()),
            ]
        },
    )?;
    let rows = reclustering::runs(2);
    show(args, "hetofed-e, N = 30, T = 3000, d = K = 25, one core", &rows, |row| {
        vec![
            ("true clusters", row.clusters.to_string()),
            ("estimates", row.estimates.to_string()),
            ("seconds", format!("{:.2}", row.seconds)),
            ("us per step", format!("{:.1}", row.step_microseconds)),
        ]
    })
}

fn times(ns: f64, ratio: f64) -> String {
    format!("{ns:.0} (x {ratio:.2})")
}

/// A table, or one JSON object per row.
fn show<R: Serialize>(
    args: &Args,
    title: &str,
    rows: &[R],
    cells: impl Fn(&R) -> Vec<(&'static str, String)>,
) -> Result<(), LabError> {
    if args.json {
        for row in rows {
            let line = serde_json::to_string(row).map_err(|error| LabError::Failed(error.to_string()))?;
            print::out(&format!("{line}\n"))?;
        }
        return Ok(());
    }
    let mut table: Vec<Vec<String>> = Vec::new();
    for row in rows {
        let row = cells(row);
        if table.is_empty() {
            table.push(row.iter().map(|(name, _)| (*name).to_string()).collect());
        }
        table.push(row.into_iter().map(|(_, value)| value).collect());
    }
    print::out(&format!("{title}\n{}\n", print::columns(&table)))
}
