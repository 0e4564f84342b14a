//! `cahoots data`: datasets and tables, before an experiment is made of them.

mod check;
mod describe;
mod prepare;

use cahoots_lab::LabError;
use clap::Subcommand;

/// Look at data before running experiments on it: a table of your own, which set a folder holds, features ahead of time.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Describe(describe::Args),
    Check(check::Args),
    Prepare(prepare::Args),
}

const EXAMPLES: &str = "\
Examples:
  cahoots data describe visits.csv                    what is in a table of your own, and an experiment for it
  cahoots data check hetrec2011-lastfm-2k             which set, its counts against the published ones, its licence
  cahoots data prepare lastfm hetrec2011-lastfm-2k    features of its items, kept for all experiments
Then, in an experiment file:
  [environment]
  kind = \"replay\"
  data = \"hetrec2011-lastfm-2k\"";

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    match &args.what {
        What::Describe(args) => describe::run(args),
        What::Check(args) => check::run(args),
        What::Prepare(args) => prepare::run(args),
    }
}
