//! `cahoots data check`: which set a folder holds, and whether all of it is there.

use std::fmt::Write as _;

use cahoots_data::datasets::{Count, Folder, Report, check};
use cahoots_lab::LabError;
use cahoots_lab::results::grouped;
use cahoots_sim::files::Here;

use crate::commands::stop;
use crate::print;

/// Say which dataset a folder holds: counts against the published ones, licence, where to obtain what is missing.
///
/// Known are HetRec 2011 Last.fm, Delicious (whole, and reduced) and MovieLens; MovieLens ml-latest-small, 20M, 25M and others of
/// the same files; the Open Bandit Dataset. Files may be plain or gzipped. Every row is read; what is not as it should be is
/// said with file and line. Exit code 2 where the folder holds no set, a damaged one, or other counts than expected.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder.
    dir: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots data check ml-latest-small
  cahoots data check hetrec2011-lastfm-2k --json | jq .counts";

pub(super) fn run(args: &Args) -> Result<(), LabError> {
    stop::exit_on_ctrl_c();
    let report = check(&Folder::new(&Here, &args.dir)).map_err(|error| LabError::Input(error.to_string()))?;
    if args.json {
        let json = serde_json::to_string(&report).map_err(|error| LabError::Failed(error.to_string()))?;
        print::out(&(json + "\n"))?;
    } else {
        print::out(&text(&report, &args.dir))?;
    }
    let differing: Vec<&str> = report.differing().map(|count| count.what.as_str()).collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(LabError::Input(format!(
        "{}: {} not as expected: something is missing or was changed; the original is at {}",
        args.dir,
        differing.join(", "),
        report.source
    )))
}

fn text(report: &Report, dir: &str) -> String {
    let mut out = format!("{dir}: {}, {}\n\n", report.dataset, report.title);
    let verdict = |count: &Count| match count.known {
        None => "-".to_string(),
        Some(known) if known == count.found => "as expected".into(),
        Some(known) => format!("expected: {}", grouped(known as f64, 0)),
    };
    let rows: Vec<Vec<String>> = report
        .counts
        .iter()
        .map(|count| vec![count.what.clone(), grouped(count.found as f64, 0), verdict(count)])
        .collect();
    out += &print::columns(&rows);
    out.push('\n');
    let _ = writeln!(out, "licence: {}", report.licence);
    if !report.missing.is_empty() {
        let _ = writeln!(out, "not there, and not needed: {}", report.missing.join(", "));
    }
    let _ = writeln!(out, "the whole set: {}", report.source);
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    if let Some(content) = &report.content {
        let _ = writeln!(out, "content: {content}");
        let _ =
            writeln!(out, "\nIn an experiment file:\n  [environment]\n  kind = \"replay\"\n  data = {dir:?}");
        let name = report.dataset;
        let _ = writeln!(
            out,
            "Features are computed once, or ahead of time by `cahoots data prepare {name} {dir}`."
        );
    }
    out
}
