//! `cahoots report`: results as a page.

use std::path::PathBuf;

use cahoots_lab::{LabError, report};
use cahoots_papers::reproduce;
use cahoots_sim::catalogue::Catalogue;

use crate::print;

/// Make a page of results: one HTML file that needs nothing else and opens without a network.
///
/// Of a run: what came of it in words, figures with their values on hover, tables to sort, verdicts, what is promised
/// about privacy, the exact configuration, and how to run it again. Of a folder of `cahoots reproduce`: all papers, how
/// far they are, and every claim with its verdict.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of results, as `cahoots run` or `cahoots reproduce` left it.
    dir: PathBuf,
    /// The page [default: DIR/report.html, or DIR/index.html for papers].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Of papers: write Markdown into this folder instead, a page per paper (docs/results is made so).
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    markdown: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let (dir, out) = (&args.dir, args.out.as_deref());
    let is_run = dir.join("manifest.json").is_file();
    if let Some(folder) = &args.markdown {
        if is_run || !reproduce::holds_reproductions(dir) {
            let shown = dir.display();
            let problem = format!("--markdown is for papers, and {shown} holds no reproductions of any");
            return Err(LabError::Input(problem));
        }
        let index = reproduce::write_markdown(dir, folder)?;
        return print::out(&format!("report: {}\n", index.display()));
    }
    let page = if !is_run && reproduce::holds_reproductions(dir) {
        reproduce::write_index(dir, out)?
    } else {
        report::of_run(catalogue, dir, out, cahoots_papers::lower_bounds)?
    };
    print::out(&format!("report: {}\n", page.display()))
}
