//! `cahoots-bench`: speed on this machine beside references, and federations that are killed.

mod report;
mod soak;

use std::path::PathBuf;
use std::process::ExitCode;

use cahoots_bench::{federation, hot_step, live, reclustering, whole_step};
use cahoots_node::commands;
use cahoots_testkit::lockstep::ours;
use clap::{Parser, Subcommand};
use report::Report;

/// Measure speed on this machine, beside references; or kill federations and check what is left.
///
/// Without a command: all that is measured in memory, about a minute.
#[derive(Parser)]
#[command(name = "cahoots-bench", version, max_term_width = 100, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// One JSON object per row on stdout.
    #[arg(long, global = true)]
    json: bool,
    /// Rounds of which the fastest counts.
    #[arg(long, global = true, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rounds: u64,
}

const AFTER: &str = "\
Machines differ and are shared: compare the ratios of one run, not times between runs.
Exit codes: 0 done, 1 it failed, 2 the input was wrong.";

#[derive(Subcommand)]
enum Command {
    /// Score, pick, learn: the kernel at every level of this host beside faer and nalgebra; and a whole
    /// simulated step.
    HotStep,
    /// Simulated runs, uploads as clients multiply, a million clients.
    Federation,
    /// Estimating hetofed's clusters as clients multiply, and whole runs of hetofed-e.
    Reclustering,
    /// A coordinator and clients over gRPC and HTTP, with a disk: about a minute. Machines that are shared give
    /// smaller numbers; ratios are of one run.
    Live(live::LiveOptions),
    /// Kill nodes of small federations on this machine at random, and check what is left.
    Soak(soak::Args),
    /// A coordinator, for `soak` and `live` to kill.
    #[command(hide = true)]
    Serve { file: PathBuf },
    /// A client, for `soak` and `live` to kill.
    #[command(hide = true)]
    Client { file: PathBuf },
    /// The transport of a coordinator without one, for `live` to compare with.
    #[command(hide = true)]
    Bare { file: PathBuf },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let report = Report { json: cli.json };
    let rounds = cli.rounds as usize;
    let done = match cli.command {
        None => measure_hot_step(&report, rounds)
            .and_then(|()| measure_federation(&report))
            .and_then(|()| measure_reclustering(&report, rounds)),
        Some(Command::HotStep) => measure_hot_step(&report, rounds),
        Some(Command::Federation) => measure_federation(&report),
        Some(Command::Reclustering) => measure_reclustering(&report, rounds),
        Some(Command::Live(options)) => measure_live(&report, options),
        Some(Command::Soak(args)) => soak::run(&args),
        Some(Command::Serve { file }) => return node(|| commands::serve(&ours(), &file)),
        Some(Command::Bare { file }) => return node(|| live::bare::serve(&file)),
        Some(Command::Client { file }) => return node(|| commands::client(&ours(), &file)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cahoots-bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// What `cahoots serve` and `cahoots client` do.
fn node(run: impl FnOnce() -> Result<(), cahoots_node::NodeError>) -> ExitCode {
    commands::log();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cahoots-bench: {error}");
            ExitCode::from(commands::exit_code(&error))
        }
    }
}

fn measure_hot_step(report: &Report, rounds: usize) -> Result<(), String> {
    let rows = hot_step::measure(&[(10, 10), (25, 25), (100, 100), (25, 1000)], rounds);
    report.show("hot step: ns for score K arms, pick, learn (minimum)", &rows, |row| {
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
    let row = whole_step::measure(25, 25, 20, rounds);
    report.show("whole step: linucb-alone, one client, a finite pool (minimum)", &[row], |row| {
        vec![
            ("d", row.dim.to_string()),
            ("K", row.arms.to_string()),
            ("ns", format!("{:.0}", row.whole_ns)),
            ("of which kernel", format!("{:.0}", row.kernel_ns)),
            ("to the kernel", format!("x {:.2}", row.ratio)),
        ]
    })
}

fn measure_federation(report: &Report) -> Result<(), String> {
    let rows = federation::uploads(&[100, 1_000, 10_000, 100_000], 25);
    report.show("one upload at the server, without its downloads (d = 25)", &rows, |row| {
        vec![
            ("clients", row.clients.to_string()),
            ("us", format!("{:.2}", row.microseconds)),
            ("to the first", format!("x {:.2}", row.ratio_to_first)),
            ("kept apart, us", format!("{:.2}", row.kept_apart_microseconds)),
            ("to one not kept apart", format!("x {:.2}", row.kept_apart_ratio)),
        ]
    })?;
    let rows = federation::forgetting(&[1_000, 100_000], 25);
    report.show("one client taken out of the sum, without the views that follow (d = 25)", &rows, |row| {
        vec![
            ("clients", row.clients.to_string()),
            ("us", format!("{:.2}", row.microseconds)),
            ("to adding up all others", format!("x {:.4}", row.ratio_to_anew)),
            ("numbers kept for each client", row.numbers.to_string()),
        ]
    })?;
    let mut rows = federation::paper_setting(3);
    rows.push(federation::a_million_clients());
    report.show("simulated runs, one core", &rows, |row| {
        let peak = row.peak_rss_bytes.map_or("?".into(), |b| format!("{:.2}", b as f64 / 1e9));
        vec![
            ("run", row.name.clone()),
            ("steps", row.steps.to_string()),
            ("transfers", row.transfers.to_string()),
            ("seconds", format!("{:.3}", row.seconds)),
            ("steps/s", format!("{:.0}", row.steps_per_second)),
            ("peak GB so far", peak),
        ]
    })
}

fn measure_reclustering(report: &Report, rounds: usize) -> Result<(), String> {
    let rows = reclustering::measure(&[30, 100, 300, 1000], 25, 200, rounds.min(10));
    let title = "hetofed's clusters estimated anew, all cores (d = 25, 200 observations each)";
    report.show(title, &rows, |row| {
        vec![
            ("clients", row.clients.to_string()),
            ("pairs", row.pairs.to_string()),
            ("all changed, ms", format!("{:.2}", row.all_milliseconds)),
            ("a pair on one core, ns", format!("{:.0}", row.pair_nanoseconds)),
            ("one changed, ms", format!("{:.2}", row.one_milliseconds)),
            ("clusters", row.clusters.to_string()),
        ]
    })?;
    let rows = reclustering::runs(2);
    report.show("hetofed-e, N = 30, T = 3000, d = K = 25, one core", &rows, |row| {
        vec![
            ("true clusters", row.clusters.to_string()),
            ("estimates", row.estimates.to_string()),
            ("seconds", format!("{:.2}", row.seconds)),
            ("us per step", format!("{:.1}", row.step_microseconds)),
        ]
    })
}

fn measure_live(report: &Report, options: live::LiveOptions) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut shown = Ok(());
    let measured = live::run(&live::LiveOptions { program, ..options }, |rows| {
        let done = report.show("a federation on loopback", rows, |row| {
            vec![
                ("measure", row.measure.to_string()),
                ("value", format!("{:.*}", if row.value < 10.0 { 2 } else { 1 }, row.value)),
                ("unit", row.unit.to_string()),
                ("how", row.how.clone()),
            ]
        });
        shown = std::mem::replace(&mut shown, Ok(())).and(done);
    });
    measured.map_err(|error| error.to_string()).and(shown)
}

fn times(ns: f64, ratio: f64) -> String {
    format!("{ns:.0} (x {ratio:.2})")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
