//! `cahoots run`: an experiment from a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cahoots_lab::experiment::{Source, json_schema};
use cahoots_lab::results::{bytes, grouped, promises, table};
use cahoots_lab::run::{Expected, Options, Outcome, Shard, Start, expect, run_shard};
use cahoots_lab::{LabError, from_stream, from_text, load, say};
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
///
/// The horizon counts ticks. At a tick, as many clients decide as `arrivals` says: one, unless it says otherwise
/// (`cahoots environments arrivals`). The table has the decisions that came of it. Files that an experiment names are
/// looked for beside it, and the manifest knows their hashes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Experiment file (TOML), the manifest.json of an earlier run, or - for the standard input.
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
    /// Continue a run that was stopped or killed, or that has more seeds or entries now; what is done is not done again.
    #[arg(long)]
    resume: bool,
    /// Say what it will take (entries, decisions, time, memory), and stop.
    #[arg(long)]
    dry_run: bool,
    /// Run the K-th of N parts, or the one that a task of a Slurm array is to run; `cahoots merge` puts them together.
    #[arg(long, value_name = "K/N|slurm", conflicts_with = "dry_run")]
    shard: Option<String>,
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
  cahoots run my.toml --dry-run                   how long, how much memory
  cahoots run my.toml --resume                    go on after Ctrl-C, a kill or a power cut; or with more seeds
  cahoots run my.toml --shard 3/16                a part, into results/my/shard-03-of-16 (sbatch --array=1-16: --shard slurm;
                                                  an indexed job of Kubernetes: --shard $((JOB_COMPLETION_INDEX + 1))/16)
  cahoots run my.toml --json | jq .regret_mean    for scripts
  cahoots run results/my/manifest.json --out again    an earlier run again, seeds included

The folder then holds summary.csv, .parquet and .json, curves.parquet (every run over time), columns.md (what
the columns are), timing.csv (times and memory), figures (.svg, .png, .pdf), and manifest.json (all it takes to
run it again).";

pub(crate) fn run(args: Args, catalogue: &Arc<Catalogue>) -> Result<(), LabError> {
    if args.schema {
        return print::out(&format!("{:#}\n", json_schema(catalogue)));
    }
    let stop = stop::on_ctrl_c();
    let experiment = match &args.file {
        Some(file) if file.as_os_str() == "-" => from_stream(catalogue, &mut std::io::stdin(), args.seeds)?,
        Some(file) => load(catalogue, file, args.seeds)?,
        None => {
            let source = Source { name: "examples/quick.toml".into(), text: QUICK.into() };
            from_text(catalogue, source, args.seeds)?
        }
    };
    let jobs = args.jobs.map_or_else(stop::cores, usize::from);
    if args.dry_run {
        let expected = expect(&experiment, jobs)?;
        if stop.load(Ordering::Relaxed) {
            return Err(LabError::Stopped("stopped: nothing was run".into()));
        }
        return dry_run(&experiment.name, &expected, args.json);
    }
    let shard = args.shard.as_deref().map(shard).transpose()?;
    let built_in = args.file.is_none() && args.out.is_none();
    let start = match (args.resume, args.force || built_in) {
        (true, _) => Start::Resume,
        // The built-in experiment is there to be tried, again and again.
        (_, true) => Start::Force,
        _ => Start::Fresh,
    };
    let out = args.out.unwrap_or_else(|| PathBuf::from("results").join(&experiment.name));
    let options = Options {
        jobs,
        start,
        quiet: args.quiet,
        command: command(std::env::args()),
        stop,
        theory: cahoots_papers::lower_bounds,
        per_client: args.per_client,
        watch: None,
    };
    if let Some(shard) = shard {
        let (folder, runs) = run_shard(&experiment, &out, shard, &options)?;
        let text = format!(
            "part {shard}: {runs} runs are in {}\n`cahoots merge {}` puts all parts together\n",
            folder.display(),
            out.display()
        );
        return if args.json || args.quiet { Ok(()) } else { print::out(&text) };
    }
    let outcome = cahoots_lab::run::run(&experiment, &out, &options)?;
    let title = experiment.title.as_deref().unwrap_or(&experiment.name);
    report(&outcome, title, experiment.seeds.len(), args.json, args.quiet)
}

fn shard(text: &str) -> Result<Shard, LabError> {
    let shard = match text {
        "slurm" => Shard::of_slurm(|name| std::env::var(name).ok()),
        text => text.parse(),
    };
    shard.map_err(|problem| LabError::Input(format!("--shard: {problem}")))
}

/// How the program was called, without what changes no result: where to, how many at a time, which part.
fn command(arguments: impl Iterator<Item = String>) -> Vec<String> {
    const WITH_VALUE: [&str; 3] = ["--out", "--jobs", "--shard"];
    const ALONE: [&str; 5] = ["--json", "--resume", "--force", "--quiet", "-q"];
    let mut kept = Vec::new();
    let mut arguments = arguments.peekable();
    if arguments.next().is_some() {
        kept.push("cahoots".to_string());
    }
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        if WITH_VALUE.contains(&name) {
            if name == argument {
                arguments.next();
            }
        } else if !ALONE.contains(&argument.as_str()) {
            kept.push(argument);
        }
    }
    kept
}

fn dry_run(name: &str, expected: &Expected, json: bool) -> Result<(), LabError> {
    if json {
        return print::out(&(serde_json::to_string(expected).unwrap_or_default() + "\n"));
    }
    let count = |number: usize| grouped(number as f64, 0);
    let some =
        |number: usize, what: &str| format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" });
    let free =
        expected.free.map_or_else(String::new, |free| format!(", of {} that are free", bytes(free as f64)));
    print::out(&format!(
        "{name}: nothing was run\n\n\
         entries    {} in {}\n\
         runs       {}, {} of each entry\n\
         decisions  {}\n\
         time       about {} with {}\n\
         memory     at least {} a run, {} at a time{free}\n",
        count(expected.entries),
        some(expected.worlds, "world"),
        count(expected.runs),
        some(expected.seeds, "seed"),
        grouped(expected.decisions as f64, 0),
        span(expected.seconds),
        some(expected.threads, "thread"),
        bytes(expected.bytes_per_run),
        bytes(expected.bytes),
    ))
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".into(),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// Prints what a run came to.
pub(super) fn report(
    outcome: &Outcome,
    title: &str,
    seeds: usize,
    json: bool,
    quiet: bool,
) -> Result<(), LabError> {
    let folder = outcome.folder.display();
    if json {
        let lines =
            outcome.summaries.iter().map(|summary| serde_json::to_string(summary).unwrap_or_default() + "\n");
        if !quiet {
            outcome.warnings.iter().for_each(|line| say(format_args!("warning: {line}")));
            say(format_args!("results: {folder}"));
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
    let warnings: String = outcome.warnings.iter().map(|line| format!("warning: {line}\n")).collect();
    let warnings = if warnings.is_empty() { warnings } else { warnings + "\n" };
    print::out(&format!(
        "{title} ({over})\n\n{}\n{warnings}{promises}results: {folder}: summary.csv, curves.parquet, columns.md, manifest.json,\n\
         regret.svg and other figures (.svg, .png, .pdf); `cahoots report {folder}` makes a page of it\n",
        table(&outcome.summaries)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_remembered_without_what_changes_no_result() {
        let called = |text: &str| command(text.split(' ').map(String::from)).join(" ");
        assert_eq!(
            called("/usr/bin/cahoots run x.toml --out y --seeds 3 --jobs=4 --shard 3/16 -q"),
            "cahoots run x.toml --seeds 3"
        );
        assert_eq!(called("./cahoots run x.toml --resume --seeds 3"), "cahoots run x.toml --seeds 3");
    }
}
