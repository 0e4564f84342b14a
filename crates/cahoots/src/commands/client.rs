//! `cahoots client`: a client beside an app.

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_node::{Known, commands};

use super::serve::failed;

/// Run a client beside an app: local HTTP decide and reward, durable, works offline.
///
/// The first line on stdout says where the app finds it: POST /decide {"arms": [[...], ...]} gives an id
/// and an arm, POST /reward {"id": "...", "reward": 1.0} is answered when the reward is on disk.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Federation, coordinator, client number and store, in TOML.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, known: &Arc<Known>) -> Result<(), LabError> {
    commands::log();
    commands::client(known, &args.file).map_err(failed)
}
