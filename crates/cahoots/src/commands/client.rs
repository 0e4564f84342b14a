//! `cahoots client`: a client beside an app.

use std::path::PathBuf;
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_node::config::ClientFile;
use cahoots_node::operation::NodeFile;
use cahoots_node::{Known, commands};

use super::given::{Log, Over};
use super::serve::{checked, end_with_stdin, failed};

/// Run a client beside an app: local HTTP decide and reward, durable, works offline.
///
/// The first line on stdout says where the app finds it: POST /decide {"arms": [[...], ...]} gives an id
/// and an arm, POST /reward {"id": "...", "reward": 1.0} is answered when the reward is on disk.
/// Where several coordinators share a log, `coordinator` is a list of all of them: the client goes to the one that leads.
/// Values come from the file, then from variables (CAHOOTS_HTTP=..., two underscores for a dot), then from flags.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Federation, coordinator, client number and store, in TOML.
    file: PathBuf,
    /// Where the app finds it, as 127.0.0.1:7801 or unix:PATH.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Where the coordinator is, as https://host:7700; several with commas between.
    #[arg(long, value_name = "ADDRESS")]
    coordinator: Option<String>,
    #[command(flatten)]
    over: Over,
    #[command(flatten)]
    log: Log,
    /// Say what holds and where each value is from, check all that a start would check, and start nothing.
    #[arg(long)]
    check: bool,
    /// End at once when the standard input does.
    #[arg(long, hide = true)]
    while_stdin: bool,
}

pub(crate) fn run(args: &Args, known: &Arc<Known>) -> Result<(), LabError> {
    let given = args.over.with(&args.file, &[("http", &args.http), ("coordinator", &args.coordinator)])?;
    if args.check {
        let file = ClientFile::given(&given).map_err(failed)?;
        return checked(known, &NodeFile::Client(Box::new(file)), &args.file);
    }
    if args.while_stdin {
        end_with_stdin();
    }
    args.log.around(|| commands::client(known, &given))
}
