//! `cahoots audit`: measured privacy against stated privacy.

mod live;
mod watched;

use std::path::PathBuf;

use cahoots_lab::audit::{Finding, Progress, Subject, select, subjects};
use cahoots_lab::{LabError, files};

use crate::print;

/// Measure what private mechanisms give away, and compare it with what they state.
///
/// Each mechanism is run many times on pairs of inputs that differ in one unit: in a reward, in the length of a context,
/// in the Gram matrix alone. What an observer sees, times and structure included, is scored; the score is trained on a
/// part of the runs, and the rest certify, with 95% confidence (Clopper-Pearson), how large the privacy loss is at
/// least. Where noise is Gaussian, a stronger test is made beside it. Mechanisms that are broken on purpose must be
/// caught.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// A mechanism, or all.
    #[arg(default_value = "all")]
    mechanism: String,
    /// Runs on each of the two inputs; slow mechanisms take a part of it. [default: 200000; with --live 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(20..=1 << 35))]
    trials: Option<u64>,
    /// Where the runs' randomness begins; live nodes draw their own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 19))]
    seed: u64,
    /// Run real nodes: a coordinator and clients in this process, over the loopback interface.
    #[arg(long)]
    live: bool,
    /// Folder for the plots of both distributions of the score [default: results/audit].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object per mechanism.
    #[arg(long)]
    json: bool,
}

/// Runs on each input, unless told otherwise.
const TRIALS: u64 = 200_000;

fn after_help() -> String {
    let line = |subject: &Subject| format!("  {:24} {}", subject.name, subject.about);
    let mechanisms: Vec<String> = subjects().iter().map(line).collect();
    let live: Vec<String> = live::SUBJECTS.iter().map(|subject| subject.line()).collect();
    format!(
        "Mechanisms:\n{}\n\nWith --live:\n{}\n\n\
         Examples:\n  \
         cahoots audit                        everything, in some minutes\n  \
         cahoots audit tree --trials 1000000  one mechanism, closely\n  \
         cahoots audit --live                 a few runs on real nodes: what times and structure give away\n\n\
         \"Says nothing\": less than half of what is stated was seen, so the audit may be too weak to tell.\n\
         Exit code 1: a mechanism gives away more than it states, or a broken one was not caught.",
        mechanisms.join("\n"),
        live.join("\n")
    )
}

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    super::stop::exit_on_ctrl_c();
    if args.live {
        return live::run(&args.mechanism, args.trials, args.json);
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("results/audit"));
    let trials = args.trials.unwrap_or(TRIALS) as usize;
    let chosen = select(&args.mechanism)?;
    let progress = Progress::of(chosen.iter().map(|subject| subject.runs(trials)).sum());
    let mut findings = Vec::new();
    for subject in chosen {
        let finding = subject.audit(trials, args.seed, &progress);
        files::draw(&out.join(finding.mechanism), &finding.figure())?;
        if args.json {
            print::out(&(serde_json::to_string(&finding).unwrap_or_default() + "\n"))?;
        }
        findings.push(finding);
    }
    progress.finish();
    if !args.json {
        print::out(&format!("{}\nplots: {}\n", table(&findings), out.display()))?;
    }
    match findings.iter().find(|finding| !finding.passed) {
        None => Ok(()),
        Some(finding) => Err(LabError::Failed(format!("{}: {}", finding.mechanism, finding.words()))),
    }
}

fn table(findings: &[Finding]) -> String {
    let header = [
        "mechanism",
        "stated epsilon",
        "delta",
        "measured, at least",
        "by threshold",
        "one run",
        "runs",
        "verdict",
        "inputs",
        "what was run",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for finding in findings {
        let audit = &finding.audit;
        rows.push(vec![
            finding.mechanism.to_string(),
            format!("{:.4}", audit.epsilon),
            format!("{}", audit.delta),
            format!("{:.3}", finding.measured()),
            format!("{:.3}", audit.by_threshold),
            finding.by_canaries.map_or_else(String::new, |bound| format!("{bound:.3}")),
            format!("2 x {}", audit.trials),
            finding.words().to_string(),
            finding.pair.to_string(),
            finding.about.to_string(),
        ]);
    }
    print::columns(&rows)
}
