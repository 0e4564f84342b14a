//! `cahoots client`: a client beside an app.

use std::path::PathBuf;

use cahoots_lab::LabError;
use cahoots_node::commands;

use super::serve::failed;

/// Run a client beside an app: local HTTP decide and reward, durable, works offline.
///
/// The first line on stdout says where the app finds it: POST /decide {"arms": [[...], ...]} gives an id
/// and an arm, POST /reward {"id": "...", "reward": 1.0} is answered when the reward is on disk.
#[derive(clap::Args)]
pub struct Args {
    /// Federation, coordinator, client number and store, in TOML.
    file: PathBuf,
}

pub fn run(args: &Args) -> Result<(), LabError> {
    commands::log();
    commands::client(&args.file).map_err(failed)
}
