//! What whoever runs a federation does to its nodes while they run, or between two runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cahoots_lab::LabError;
use cahoots_node::control::Order;
use cahoots_node::operation::{self, NodeFile};
use cahoots_node::{Known, NodeError};
use clap::Subcommand;
use serde_json::Value;

use super::serve::failed;
use crate::print;

/// What a running coordinator or client is doing, as JSON.
#[derive(clap::Args)]
pub(crate) struct Status {
    /// The file that it was started with.
    file: PathBuf,
}

/// Who is a member of a running federation; dismiss one, free its number, or lift its quarantine.
///
/// A member that sends what no honest data give too often (`implausible` in [limits]) is quarantined: nothing of it is
/// merged until it is restored.
/// Without more, lists them. A client that is removed leaves what it contributed, nobody waits for it, and it is not
/// let in again. A number that is released belongs to the next store that claims it: for an owner who lost his disk.
#[derive(clap::Args)]
pub(crate) struct Members {
    /// The file that the coordinator was started with.
    file: PathBuf,
    #[command(subcommand)]
    what: Option<MembersOrder>,
}

#[derive(Subcommand)]
enum MembersOrder {
    /// Who ever joined, and is not forgotten.
    List,
    /// A client leaves for good.
    Remove {
        /// Its number.
        client: u32,
        /// Take all that came under its number out of what is merged, and send everyone the sum of the others.
        #[arg(long)]
        forget: bool,
    },
    /// A quarantined client is believed again.
    Restore {
        /// Its number.
        client: u32,
    },
    /// A client's number is free again.
    Release {
        /// The number.
        client: u32,
    },
    /// Grant a number to whoever comes with what this prints, once. Only its digest is kept: it is not shown again.
    Invite {
        /// The number.
        client: u32,
        /// How long the invitation holds.
        #[arg(long, default_value_t = 7.0)]
        valid_days: f64,
    },
    /// Take back the invitations to a number that nobody has used.
    Uninvite {
        /// The number.
        client: u32,
    },
}

/// The parameters of a running federation; change those that may change.
///
/// For example: cahoots params serve.toml upload_ratio=3 download_ratio=3
#[derive(clap::Args)]
pub(crate) struct Params {
    /// The file that the coordinator was started with.
    file: PathBuf,
    /// What is to change, as KEY=VALUE in TOML.
    set: Vec<String>,
}

/// Send what a client has learned and not sent yet, and wait until the coordinator has it.
///
/// Works beside a client that runs, and without one. A client whose file says `drain = SECONDS` does the same when it
/// is told to stop.
#[derive(clap::Args)]
pub(crate) struct Drain {
    /// The client's file.
    file: PathBuf,
    /// How long to wait for the coordinator.
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
}

/// Copy a store: of a coordinator while it runs, of any node while it does not.
#[derive(clap::Args)]
pub(crate) struct Backup {
    /// The node's file.
    file: PathBuf,
    /// Where the copy goes; there must be nothing.
    #[arg(long)]
    to: PathBuf,
}

/// Put a copy in the place of a store that is not in use.
///
/// What was there is kept beside it. A coordinator that was restored is sent again what it lacks by its clients, as far
/// as they still have it; a client that was restored from an old copy is refused, and can `rejoin`.
#[derive(clap::Args)]
pub(crate) struct Restore {
    /// The node's file.
    file: PathBuf,
    /// The copy.
    #[arg(long)]
    from: PathBuf,
}

/// Let a client start anew under its own number: its store is an old copy, or its federation was started anew.
///
/// What it knew is kept beside it, and not used again; what it contributed stays merged. Its next start joins.
#[derive(clap::Args)]
pub(crate) struct Rejoin {
    /// The client's file.
    file: PathBuf,
}

/// Let a client forget all it knows, its number included.
///
/// Before it can come back under the same number: `cahoots members FILE release NUMBER` at the coordinator.
#[derive(clap::Args)]
pub(crate) struct Reset {
    /// The client's file.
    file: PathBuf,
}

pub(crate) fn status(args: &Status) -> Result<(), LabError> {
    ask(&args.file, &Order::Status)
}

pub(crate) fn members(args: &Members) -> Result<(), LabError> {
    let order = match args.what {
        None | Some(MembersOrder::List) => Order::Members,
        Some(MembersOrder::Remove { client, forget }) => Order::Remove { client, forget },
        Some(MembersOrder::Restore { client }) => Order::Restore { client },
        Some(MembersOrder::Release { client }) => Order::Release { client },
        Some(MembersOrder::Invite { client, valid_days: days }) => Order::Invite { client, days },
        Some(MembersOrder::Uninvite { client }) => Order::Uninvite { client },
    };
    ask(&args.file, &order)
}

pub(crate) fn params(args: &Params) -> Result<(), LabError> {
    let mut set = toml::Table::new();
    for text in &args.set {
        let wrong = || {
            LabError::Input(format!(
                "{text:?} is not KEY=VALUE, such as upload_ratio=3 or radius='{{ fixed = 0.3 }}'"
            ))
        };
        let pair: toml::Table = text.parse().map_err(|_| wrong())?;
        if pair.is_empty() {
            return Err(wrong());
        }
        set.extend(pair);
    }
    ask(&args.file, &Order::Params { set })
}

pub(crate) fn drain(args: &Drain, known: &Arc<Known>) -> Result<(), LabError> {
    let patience = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| LabError::Input(format!("--seconds must be 0 or more, not {}", args.seconds)))?;
    let drained = operation::drain(known, &args.file, patience).map_err(failed)?;
    say(&drained)?;
    match drained["unconfirmed"].as_u64() {
        Some(0) => Ok(()),
        _ => Err(LabError::Failed(
            "the coordinator has not confirmed all of it yet; it is on this client's disk and is sent when they meet again".into(),
        )),
    }
}

pub(crate) fn backup(args: &Backup) -> Result<(), LabError> {
    operation::backup(&args.file, &args.to).map_err(failed)?;
    print::out(&format!("copied to {}\n", args.to.display()))
}

pub(crate) fn restore(args: &Restore) -> Result<(), LabError> {
    let aside = operation::restore(&args.file, &args.from).map_err(failed)?;
    print::out(&format!("restored from {}{}\n", args.from.display(), kept(aside)))
}

pub(crate) fn rejoin(args: &Rejoin) -> Result<(), LabError> {
    let aside = operation::rejoin(&args.file).map_err(failed)?;
    print::out(&format!("its next start joins anew{}\n", kept(aside)))
}

pub(crate) fn reset(args: &Reset) -> Result<(), LabError> {
    let aside = operation::reset(&args.file).map_err(failed)?;
    print::out(&format!("its next start knows nothing{}\n", kept(aside)))
}

fn kept(aside: Option<PathBuf>) -> String {
    aside.map_or_else(String::new, |aside| format!("; what was there is kept as {}", aside.display()))
}

fn ask(file: &Path, order: &Order) -> Result<(), LabError> {
    let answer: Result<Value, NodeError> = NodeFile::read(file).and_then(|file| file.ask(order));
    say(&answer.map_err(failed)?)
}

fn say(answer: &Value) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(answer).map_err(|e| LabError::Failed(e.to_string()))?;
    print::out(&format!("{text}\n"))
}
