//! `cahoots serve`: a coordinator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_lab::LabError;
use cahoots_node::config::ServeFile;
use cahoots_node::operation::{self, NodeFile};
use cahoots_node::{Known, NodeError, commands};

use super::given::{Log, Over};
use crate::print;

/// Run a coordinator: clients connect to it, and learn from each other through it.
///
/// The first line on stdout says where it listens. SIGTERM and Ctrl-C stop it cleanly; killed at any
/// other moment, it continues where it was when it is started again.
/// Values come from the file, then from variables (CAHOOTS_LISTEN=..., two underscores for a dot), then from flags.
///
/// With `log = "nats://a:4222,b:4222,c:4222"` and `[nats] key = "log.key"` it is one of several coordinators: NATS servers keep the log, one
/// coordinator leads, the others stand by and take over when it dies. Told to stop, a leader hands over at once. `cahoots keys log FILE` makes the key.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Federation, address, store, setting and algorithm, in TOML.
    file: PathBuf,
    /// Where clients find it, as 127.0.0.1:7700.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where its page and its numbers are, as 127.0.0.1:7780.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// With `log = "nats://..."`: one replica of the stream is enough.
    #[arg(long)]
    single: bool,
    /// With `log = "nats://..."`: the servers have `sync_interval: always`, and nobody needs to look.
    #[arg(long)]
    assume_synced: bool,
    /// With `log = "nats://..."`: go on although the servers have lost what they had acknowledged. Clients send it again.
    #[arg(long)]
    accept_rollback: bool,
    #[command(flatten)]
    over: Over,
    #[command(flatten)]
    log: Log,
    /// Say what holds and where each value is from, check all that a start would check, and start nothing.
    #[arg(long)]
    check: bool,
    /// End at once when the standard input does: whoever holds its other end takes this process along.
    #[arg(long, hide = true)]
    while_stdin: bool,
}

pub(crate) fn run(args: &Args, known: &Arc<Known>) -> Result<(), LabError> {
    let mut given = args.over.with(&args.file, &[("listen", &args.listen), ("http", &args.http)])?;
    let flags = [
        ("nats.single", args.single, "--single"),
        ("nats.assume_synced", args.assume_synced, "--assume-synced"),
        ("nats.accept_rollback", args.accept_rollback, "--accept-rollback"),
    ];
    for (key, _, words) in flags.into_iter().filter(|(_, given, _)| *given) {
        given = given.flag(key, "true", words).map_err(failed)?;
    }
    if args.check {
        let file = ServeFile::given(&given).map_err(failed)?;
        return checked(known, &NodeFile::Coordinator(Box::new(file)), &args.file);
    }
    if args.while_stdin {
        end_with_stdin();
    }
    args.log.around(|| commands::serve(known, &given))
}

/// What a start would find.
pub(super) fn checked(known: &Arc<Known>, file: &NodeFile, path: &Path) -> Result<(), LabError> {
    let checked = operation::check(known, file, path).map_err(failed)?;
    let rows: Vec<Vec<String>> = checked
        .holds
        .into_iter()
        .map(|row| vec![format!("{} = {}", row.key, row.value), row.source])
        .collect();
    print::out(&format!("{}\n{}\n", print::columns(&rows), checked.store))
}

/// Ends the process when its standard input does. That is no clean stop, and need not be: a node can be killed at any moment.
pub(crate) fn end_with_stdin() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
}

/// Errors in the words of this command.
pub(crate) fn failed(error: NodeError) -> LabError {
    match commands::exit_code(&error) {
        2 => LabError::Input(error.to_string()),
        _ => LabError::Failed(error.to_string()),
    }
}
