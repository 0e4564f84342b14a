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
    let topology = results::redraw(&args.dir, cahoots_papers::lower_bounds)?;
    let dir = args.dir.display();
    let more = if topology { format!(", {dir}/topology.svg") } else { String::new() };
    print::out(&format!("drawn: {dir}/regret.svg, {dir}/regret-vs-communication.svg{more} (and .png)\n"))
}
