//! `cahoots serve`: a coordinator.

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_node::{Known, NodeError, commands};

/// Run a coordinator: clients connect to it, and learn from each other through it.
///
/// The first line on stdout says where it listens. SIGTERM and Ctrl-C stop it cleanly; killed at any
/// other moment, it continues where it was when it is started again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Federation, address, store, setting and algorithm, in TOML.
    file: PathBuf,
}

pub(crate) fn run(args: &Args, known: &Arc<Known>) -> Result<(), LabError> {
    commands::log();
    commands::serve(known, &args.file).map_err(failed)
}

/// Errors in the words of this command.
pub(crate) fn failed(error: NodeError) -> LabError {
    match commands::exit_code(&error) {
        2 => LabError::Input(error.to_string()),
        _ => LabError::Failed(error.to_string()),
    }
}
