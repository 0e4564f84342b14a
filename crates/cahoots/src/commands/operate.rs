//! What whoever runs a federation does to its nodes while they run, or between two runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cahoots_lab::LabError;
use cahoots_node::Known;
use cahoots_node::control::Order;
use cahoots_node::operation::{self, NodeFile};
use clap::Subcommand;
use serde_json::Value;

use super::given::{Answer, Node, say};
use super::serve::failed;
use super::told;
use crate::print;

/// What a running coordinator or client is doing.
///
/// FILE is what it was started with, or its address: http://127.0.0.1:7780.
#[derive(clap::Args)]
pub(crate) struct Status {
    #[command(flatten)]
    node: Node,
    #[command(flatten)]
    door: Door,
    #[command(flatten)]
    answer: Answer,
}

/// How a node that is named by its address lets one in.
#[derive(clap::Args)]
struct Door {
    /// A file with the node's token, where it is asked by its address [default: the variable CAHOOTS_TOKEN].
    #[arg(long, value_name = "PATH")]
    token_file: Option<PathBuf>,
}

/// Who is a member of a running federation; dismiss one, free its number, or lift its quarantine.
///
/// A member that sends what no honest data give too often (`implausible` in [limits]) is quarantined: nothing of it is
/// merged until it is restored.
/// Without more, lists them. A client that is removed leaves what it contributed, nobody waits for it, and it is not
/// let in again. A number that is released belongs to the next store that claims it: for an owner who lost his disk.
#[derive(clap::Args)]
pub(crate) struct Members {
    #[command(flatten)]
    node: Node,
    #[command(flatten)]
    door: Door,
    #[command(flatten)]
    answer: Answer,
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

/// The parameters of a running federation; change those that may change, see every change, go back.
///
/// For example: cahoots params serve.toml set upload_ratio=3 download_ratio=3
/// Without more, shows them. Every change is a version, on record in the coordinator's store.
#[derive(clap::Args)]
#[command(subcommand_precedence_over_arg = true)]
pub(crate) struct Params {
    #[command(flatten)]
    node: Node,
    #[command(flatten)]
    answer: Answer,
    /// What is to change, as KEY=VALUE in TOML: the same as `set`.
    change: Vec<String>,
    #[command(subcommand)]
    what: Option<ParamsOrder>,
}

#[derive(Subcommand)]
enum ParamsOrder {
    /// Change parameters, here and at every client.
    Set {
        /// What is to change, as KEY=VALUE in TOML.
        #[arg(required = true)]
        change: Vec<String>,
    },
    /// Every version: when, and what it changed.
    History,
    /// The values of an earlier version hold again, as a new version.
    Revert {
        /// Which; without, the one before. 0 are the terms.
        version: Option<u64>,
    },
}

/// Send what a client has learned and not sent yet, and wait until the coordinator has it.
///
/// Works beside a client that runs, and without one. A client whose file says `drain = SECONDS` does the same when it
/// is told to stop.
#[derive(clap::Args)]
pub(crate) struct Drain {
    #[command(flatten)]
    node: Node,
    /// How long to wait for the coordinator.
    #[arg(long, default_value_t = 30.0)]
    seconds: f64,
}

/// Copy a store: of a coordinator while it runs, of any node while it does not.
#[derive(clap::Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    node: Node,
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
    #[command(flatten)]
    node: Node,
    /// The copy.
    #[arg(long)]
    from: PathBuf,
}

/// Let a client start anew under its own number: its store is an old copy, or its federation was started anew.
///
/// What it knew is kept beside it, and not used again; what it contributed stays merged. Its next start joins.
#[derive(clap::Args)]
pub(crate) struct Rejoin {
    #[command(flatten)]
    node: Node,
}

/// Let a client forget all it knows, its number included.
///
/// Before it can come back under the same number: `cahoots members FILE release NUMBER` at the coordinator.
#[derive(clap::Args)]
pub(crate) struct Reset {
    #[command(flatten)]
    node: Node,
}

/// What is in a store that no node uses, or in a backup: whose it is, where it stands, who is a member, what waits.
///
/// Changes nothing, not a byte. A node that runs is asked by `cahoots status`.
#[derive(clap::Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    node: Node,
    #[command(flatten)]
    answer: Answer,
}

pub(crate) fn status(args: &Status) -> Result<(), LabError> {
    let status = match args.node.url() {
        Some(url) => args.door.get(url, "/status")?,
        None => ask(&args.node, &Order::Status)?,
    };
    args.answer.say(&status, told::status)
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
    if order != Order::Members {
        return say(&ask(&args.node, &order)?);
    }
    let members = match args.node.url() {
        Some(url) => args.door.get(url, "/members")?["members"].take(),
        None => ask(&args.node, &order)?,
    };
    args.answer.say(&members, told::members)
}

pub(crate) fn params(args: &Params) -> Result<(), LabError> {
    let order = match &args.what {
        None => Order::Params { set: pairs(&args.change)? },
        Some(_) if !args.change.is_empty() => {
            let words = args.change.join(" ");
            return Err(LabError::Input(format!(
                "{words:?} stands before what is to be done: put it behind `set`"
            )));
        }
        Some(ParamsOrder::Set { change }) => Order::Params { set: pairs(change)? },
        Some(ParamsOrder::History) => {
            return args.answer.say(&ask(&args.node, &Order::History)?, told::history);
        }
        Some(ParamsOrder::Revert { version }) => Order::Revert { version: *version },
    };
    args.answer.say(&ask(&args.node, &order)?, told::params)
}

fn pairs(texts: &[String]) -> Result<toml::Table, LabError> {
    let mut set = toml::Table::new();
    for text in texts {
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
    Ok(set)
}

pub(crate) fn inspect(args: &Inspect, known: &Arc<Known>) -> Result<(), LabError> {
    let found = operation::inspect(known, &args.node.given()?).map_err(failed)?;
    args.answer.say(&found, told::store)
}

pub(crate) fn drain(args: &Drain, known: &Arc<Known>) -> Result<(), LabError> {
    let patience = Duration::try_from_secs_f64(args.seconds)
        .map_err(|_| LabError::Input(format!("--seconds must be 0 or more, not {}", args.seconds)))?;
    let drained = operation::drain(known, &args.node.given()?, patience).map_err(failed)?;
    say(&drained)?;
    match drained["unconfirmed"].as_u64() {
        Some(0) => Ok(()),
        _ => Err(LabError::Failed(
            "the coordinator has not confirmed all of it yet; it is on this client's disk and is sent when they meet again".into(),
        )),
    }
}

pub(crate) fn backup(args: &Backup) -> Result<(), LabError> {
    operation::backup(&args.node.given()?, &args.to).map_err(failed)?;
    print::out(&format!("copied to {}\n", args.to.display()))
}

pub(crate) fn restore(args: &Restore) -> Result<(), LabError> {
    let aside = operation::restore(&args.node.given()?, &args.from).map_err(failed)?;
    print::out(&format!("restored from {}{}\n", args.from.display(), kept(aside)))
}

pub(crate) fn rejoin(args: &Rejoin) -> Result<(), LabError> {
    let aside = operation::rejoin(&args.node.given()?).map_err(failed)?;
    print::out(&format!("its next start joins anew{}\n", kept(aside)))
}

pub(crate) fn reset(args: &Reset) -> Result<(), LabError> {
    let aside = operation::reset(&args.node.given()?).map_err(failed)?;
    print::out(&format!("its next start knows nothing{}\n", kept(aside)))
}

fn kept(aside: Option<PathBuf>) -> String {
    aside.map_or_else(String::new, |aside| format!("; what was there is kept as {}", aside.display()))
}

fn ask(node: &Node, order: &Order) -> Result<Value, LabError> {
    if let Some(url) = node.url() {
        return Err(LabError::Input(format!(
            "{url}: over the network a node only shows itself; what changes it is asked for on its own machine, by its file"
        )));
    }
    NodeFile::read(&node.given()?).and_then(|file| file.ask(order)).map_err(failed)
}

impl Door {
    fn get(&self, url: &str, path: &str) -> Result<Value, LabError> {
        let token = match &self.token_file {
            Some(file) => Some(
                std::fs::read_to_string(file)
                    .map_err(|e| LabError::Input(format!("--token-file {}: {e}", file.display())))?,
            ),
            None => std::env::var("CAHOOTS_TOKEN").ok(),
        };
        operation::get(url, path, token.as_deref().map(str::trim)).map_err(failed)
    }
}
