//! `cahoots data`: datasets and tables, before an experiment is made of them.

mod describe;

use cahoots_lab::LabError;
use clap::Subcommand;

/// Look at data before running experiments on it: what is in a table of your own.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Describe(describe::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    match &args.what {
        What::Describe(args) => describe::run(args),
    }
}
