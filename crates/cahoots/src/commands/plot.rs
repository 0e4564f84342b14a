//! `cahoots plot`: the figures of earlier results again.

use std::path::PathBuf;

use cahoots_lab::{LabError, results};
use cahoots_sim::catalogue::Catalogue;

use crate::print;

/// Draw the figures of a finished run again, from its curves.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of results, as `cahoots run` left it.
    dir: PathBuf,
}

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let topology = results::redraw(catalogue, &args.dir, cahoots_papers::lower_bounds)?;
    let dir = args.dir.display();
    let more = if topology { format!(", {dir}/topology.svg") } else { String::new() };
    print::out(&format!("drawn: {dir}/regret.svg, {dir}/regret-vs-communication.svg{more} (and .png)\n"))
}
