//! `cahoots run`: an experiment from a file.

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::experiment::{Source, json_schema};
use cahoots_lab::results::{promises, table};
use cahoots_lab::run::{Options, Outcome, Start};
use cahoots_lab::{LabError, from_text, load};
use cahoots_sim::catalogue::Catalogue;

use super::stop;
use crate::print;

/// The experiment that runs when no file is named.
const QUICK: &str = include_str!("../../../../examples/quick.toml");

/// Run an experiment: every algorithm with every seed, in the same worlds.
///
/// The file says in which world (`[environment]`), for how long (`horizon`), how often (`seeds`) and
/// which algorithms (`[[algorithm]]`). A list or `{ logspace = [from, to, count] }` in place of a value
/// sweeps over it. Without a file, a small built-in experiment runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Experiment file (TOML), or the manifest.json of an earlier run.
    file: Option<PathBuf>,
    /// Folder for the results [default: results/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run each entry with this many seeds, whatever the file says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Threads [default: as many as there are cores]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON object per entry instead of a table.
    #[arg(long)]
    json: bool,
    /// Continue a run that was stopped or killed; what is done is not done again.
    #[arg(long)]
    resume: bool,
    /// Replace the run that the folder holds.
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Also count client by client, into clients.csv and clients.parquet.
    #[arg(long)]
    per_client: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
    /// Print the JSON schema of experiment files, and stop.
    #[arg(long)]
    schema: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots run                                     the built-in experiment
  cahoots run examples/thresholds.toml            one from a file, into results/thresholds
  cahoots run my.toml --seeds 30 --jobs 4         more seeds, four threads
  cahoots run my.toml --resume                    go on after Ctrl-C, a kill or a power cut
  cahoots run my.toml --json | jq .regret_mean    for scripts
  cahoots run results/my/manifest.json --out again    an earlier run again, seeds included

The folder then holds summary.csv, .parquet and .json, curves.parquet (every run over time), columns.md (what
the columns are), timing.csv (times and memory), figures (.svg, .png, .pdf), and manifest.json (all it takes to
run it again).";

pub(crate) fn run(args: Args, catalogue: &Arc<Catalogue>) -> Result<(), LabError> {
    if args.schema {
        return print::out(&format!("{:#}\n", json_schema(catalogue)));
    }
    let experiment = match &args.file {
        Some(file) => load(catalogue, file, args.seeds)?,
        None => {
            let source = Source { name: "examples/quick.toml".into(), text: QUICK.into() };
            from_text(catalogue, source, args.seeds)?
        }
    };
    let built_in = args.file.is_none() && args.out.is_none();
    let start = match (args.resume, args.force || built_in) {
        (true, _) => Start::Resume,
        // The built-in experiment is there to be tried, again and again.
        (_, true) => Start::Force,
        _ => Start::Fresh,
    };
    let out = args.out.unwrap_or_else(|| PathBuf::from("results").join(&experiment.name));
    let options = Options {
        jobs: args.jobs.map_or_else(stop::cores, usize::from),
        start,
        quiet: args.quiet,
        command: std::env::args().collect(),
        stop: stop::on_ctrl_c(),
        theory: cahoots_papers::lower_bounds,
        per_client: args.per_client,
    };
    let outcome = cahoots_lab::run::run(&experiment, &out, &options)?;
    let title = experiment.title.as_deref().unwrap_or(&experiment.name);
    report(&outcome, title, experiment.seeds.len(), args.json, args.quiet)
}

fn report(outcome: &Outcome, title: &str, seeds: usize, json: bool, quiet: bool) -> Result<(), LabError> {
    let folder = outcome.folder.display();
    if json {
        let lines =
            outcome.summaries.iter().map(|summary| serde_json::to_string(summary).unwrap_or_default() + "\n");
        if !quiet {
            eprintln!("results: {folder}");
        }
        return print::out(&lines.collect::<String>());
    }
    let over = match seeds {
        1 => "one seed".into(),
        n => format!("mean over {n} seeds ± 95% confidence"),
    };
    let promises = match promises(&outcome.summaries) {
        text if text.is_empty() => text,
        text => text + "\n",
    };
    print::out(&format!(
        "{title} ({over})\n\n{}\n{promises}results: {folder}: summary.csv, curves.parquet, columns.md, manifest.json,\n\
         regret.svg and other figures (.svg, .png, .pdf); `cahoots report {folder}` makes a page of it\n",
        table(&outcome.summaries)
    ))
}
