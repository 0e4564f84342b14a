//! `cahoots merge`: parts of a run into the whole.

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_lab::run::merge;
use cahoots_sim::catalogue::Catalogue;

use super::run::report;
use super::stop;

/// Put the parts of a run together, as `cahoots run --shard K/N` left them.
///
/// What comes of it is what one machine would have written, timing aside. Parts that are missing or not finished are
/// named.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders of parts, or the folder that they are in.
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    /// Folder for the whole [default: the folder that the parts are in].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object per entry instead of a table.
    #[arg(long)]
    json: bool,
    /// Say nothing but the results.
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots merge results/my                        all parts in results/my, into it
  cahoots merge a/shard-* b/shard-* --out whole   parts from two machines";

pub(crate) fn run(args: &Args, catalogue: &Arc<Catalogue>) -> Result<(), LabError> {
    stop::exit_on_ctrl_c();
    let outcome = merge(catalogue, &args.dirs, args.out.as_deref(), cahoots_papers::lower_bounds)?;
    let seeds = outcome.summaries.first().map_or(0, |summary| summary.runs.len());
    let title = outcome.folder.display().to_string();
    report(&outcome, &title, seeds, args.json, args.quiet)
}
