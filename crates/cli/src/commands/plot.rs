//! `cahoots plot`: the figures of earlier results again.

use std::path::PathBuf;

use cahoots_lab::{LabError, results};

use crate::print;

/// Draw the figures of a finished run again, from its curves.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of results, as `cahoots run` left it.
    dir: PathBuf,
}

pub fn run(args: &Args) -> Result<(), LabError> {
    results::redraw(&args.dir)?;
    print::out(&format!(
        "drawn: {0}/regret.svg and {0}/regret-vs-communication.svg (and .png)\n",
        args.dir.display()
    ))
}
