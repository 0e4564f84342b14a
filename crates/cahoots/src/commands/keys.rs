//! `cahoots keys`: certificates for a federation.

use std::path::PathBuf;

use cahoots_lab::LabError;
use cahoots_node::NodeError;
use cahoots_node::identity::authority::Keys;
use cahoots_node::identity::{Role, show};
use clap::Subcommand;

use super::serve::failed;
use crate::print;

/// Make, renew, revoke and rotate the certificates of a federation.
///
/// A folder holds the federation's own authority and, for its coordinator and each client, a folder that is copied to where
/// it runs: `[tls] keys = "DIR/coordinator"` in the coordinator's file, `[tls] keys = "DIR/client-3"` in a client's. Nodes that run
/// notice within a second when their files change. Keep DIR/authority-* to yourself.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// An authority, and the coordinator's certificate.
    Init {
        /// A folder that holds no keys yet.
        dir: PathBuf,
        /// Name of the federation, as in the coordinator's file.
        #[arg(long)]
        federation: String,
        /// Host names and addresses that clients find the coordinator under.
        #[arg(long = "host", required = true, num_args = 1..)]
        hosts: Vec<String>,
        /// How long the coordinator's certificate is valid.
        #[arg(long, default_value_t = 365)]
        days: u32,
    },
    /// Certificates for clients, new or renewed.
    Client {
        /// The federation's keys.
        dir: PathBuf,
        /// Numbers of the clients.
        #[arg(required = true)]
        clients: Vec<u32>,
        /// How long they are valid.
        #[arg(long, default_value_t = 365)]
        days: u32,
    },
    /// A new certificate for the coordinator.
    Server {
        /// The federation's keys.
        dir: PathBuf,
        /// Host names and addresses in place of those so far.
        #[arg(long = "host", num_args = 1..)]
        hosts: Vec<String>,
        /// How long it is valid.
        #[arg(long, default_value_t = 365)]
        days: u32,
    },
    /// A member's certificates are not believed any more, all that it ever had.
    Revoke {
        /// The federation's keys.
        dir: PathBuf,
        /// Number of a client, or "coordinator", which then needs a new one (`cahoots keys server`).
        #[arg(value_parser = member)]
        member: Role,
    },
    /// A new authority beside the old one, which is believed until --finish.
    ///
    /// 1. `cahoots keys rotate DIR`, and copy authorities.pem and revoked.pem to all clients. 2. `cahoots keys server DIR` and `cahoots
    /// keys client DIR 0 1 2 ...`, and copy the clients' folders. 3. `cahoots keys rotate DIR --finish`, and copy once more.
    Rotate {
        /// The federation's keys.
        dir: PathBuf,
        /// Only the newest authority is believed from now on.
        #[arg(long)]
        finish: bool,
    },
    /// The key that seals a log which NATS servers keep: one file, copied to every coordinator of the federation.
    ///
    /// `[nats] key = "FILE"` in each coordinator's file. Whoever has it can read what coordinators keep secret; whoever keeps the log cannot.
    Log {
        /// A file that is not there yet.
        file: PathBuf,
    },
    /// For whom certificates are, for what, and until when.
    Show {
        /// A file of certificates or revocations, a member's folder, or the federation's keys.
        path: PathBuf,
    },
}

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    done(&args.what).map_err(failed).and_then(|text| print::out(&text))
}

fn member(text: &str) -> Result<Role, String> {
    match text {
        "coordinator" => Ok(Role::Coordinator),
        number => {
            number.parse().map(Role::Client).map_err(|_| "a client's number, or \"coordinator\"".into())
        }
    }
}

fn done(what: &What) -> Result<String, NodeError> {
    match what {
        What::Init { dir, federation, hosts, days } => {
            Keys::init(dir, federation, hosts, *days)?;
            // A file's paths are relative to the file, wherever that is.
            let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            Ok(format!(
                "In the coordinator's file:\n  [tls]\n  keys = \"{}\"\nThen `cahoots keys client {} 0 1 ...` for clients with \
                 certificates, or admit = \"tokens\" and `cahoots members FILE invite NUMBER`.\n",
                whole.join("coordinator").display(),
                dir.display()
            ))
        }
        What::Log { file } => {
            cahoots_node::replica::LogKey::make(file)?;
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            Ok(format!(
                "In every coordinator's file:\n  log = \"nats://HOST:4222,HOST:4222,HOST:4222\"\n  [nats]\n  key = \"{}\"\n",
                whole.display()
            ))
        }
        What::Client { dir, clients, days } => {
            let keys = Keys::open(dir)?;
            let folders: Result<Vec<_>, _> =
                clients.iter().map(|client| keys.client(*client, *days)).collect();
            Ok(folders?.iter().map(|folder| format!("{}\n", folder.display())).collect())
        }
        What::Server { dir, hosts, days } => {
            Ok(format!("{}\n", Keys::open(dir)?.server(hosts, *days)?.display()))
        }
        What::Revoke { dir, member } => {
            let revoked = Keys::open(dir)?.revoke(*member)?;
            Ok(format!(
                "{revoked} certificates are revoked: nodes whose `keys` are in {} notice by themselves, elsewhere copy \
                 revoked.pem\n",
                dir.display()
            ))
        }
        What::Rotate { dir, finish: false } => {
            Keys::open(dir)?.rotate()?;
            Ok("Both authorities are believed. Copy authorities.pem and revoked.pem to all clients, renew with `cahoots keys server` and \
                `client`, then `rotate --finish`.\n"
                .into())
        }
        What::Rotate { dir, finish: true } => {
            let retired = Keys::open(dir)?.finish()?;
            Ok(format!("{retired} authorities are not believed any more\n"))
        }
        What::Show { path } => show(path),
    }
}
