//! `cahoots audit`: measured privacy against stated privacy.

use std::path::PathBuf;

use cahoots_lab::audit::{Finding, select};
use cahoots_lab::{LabError, files};

use crate::print;

/// Measure what private mechanisms give away, and compare it with what they state.
///
/// Each mechanism is run many times on two inputs that differ in one unit. A threshold on what an outsider sees
/// is chosen on one half of the runs; the other half certifies, with 95% confidence (Clopper-Pearson), how large
/// the privacy loss is at least. Mechanisms that are broken on purpose must be caught.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A mechanism, or all.
    #[arg(default_value = "all")]
    mechanism: String,
    /// Runs on each of the two inputs; whole federations take a tenth of it.
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..=1 << 39))]
    trials: u64,
    /// Where the runs' randomness begins.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..1 << 19))]
    seed: u64,
    /// Folder for the plots of both output distributions [default: results/audit].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object per mechanism.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots audit                        everything, in a minute or two
  cahoots audit tree --trials 1000000  one mechanism, closely

Exit code 1: a mechanism gives away more than it states, or a broken one was not caught.";

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("results/audit"));
    let mut findings = Vec::new();
    for subject in select(&args.mechanism)? {
        let finding = subject.audit(args.trials as usize, args.seed);
        files::draw(&out.join(finding.mechanism), &finding.figure())?;
        if args.json {
            print::out(&(serde_json::to_string(&finding).unwrap_or_default() + "\n"))?;
        }
        findings.push(finding);
    }
    if !args.json {
        print::out(&format!("{}\nplots: {}\n", table(&findings), out.display()))?;
    }
    match findings.iter().find(|finding| !finding.passed) {
        None => Ok(()),
        Some(finding) => Err(LabError::Failed(format!("{}: {}", finding.mechanism, finding.verdict()))),
    }
}

fn table(findings: &[Finding]) -> String {
    let header =
        ["mechanism", "stated epsilon", "delta", "measured, at least", "runs", "verdict", "what was run"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for finding in findings {
        let audit = &finding.audit;
        rows.push(vec![
            finding.mechanism.to_string(),
            format!("{}", audit.epsilon),
            format!("{}", audit.delta),
            format!("{:.3}", audit.measured),
            format!("2 x {}", audit.trials),
            finding.verdict().to_string(),
            finding.about.to_string(),
        ]);
    }
    print::columns(&rows)
}
