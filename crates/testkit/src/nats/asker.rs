//! What coordinators say of themselves, whether they answer or not.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use cahoots_node::control::socket;
use serde::Deserialize;
use serde_json::{Value, json};

/// A coordinator's place among those with the same log: the field `replica` of its status.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Replica {
    /// Its name.
    pub name: String,
    /// "leading", "standing by" or "catching up".
    pub role: String,
    /// The epoch that it knows of.
    pub epoch: u64,
    /// Who leads, as far as it knows.
    #[serde(default)]
    pub leader: Option<String>,
    /// The last record that it has folded.
    pub sequence: u64,
    /// The last of the stream, as far as it knows.
    pub end: u64,
    /// Since when an append has had no answer, in seconds since 1970.
    #[serde(default)]
    pub stalled_since: Option<f64>,
}

impl Replica {
    /// Does it say that it leads?
    pub fn leads(&self) -> bool {
        self.role == "leading"
    }
}

/// What a coordinator's machine amounts to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Digest {
    /// The last record that is in it.
    pub sequence: u64,
    /// A hash of it, in hex; empty where there is no machine yet.
    pub sha256: String,
}

/// Asks coordinators over their sockets, from any thread, and gives up on one that is frozen.
#[derive(Clone, Debug)]
pub struct Asker {
    pub(super) store: PathBuf,
}

impl Asker {
    /// The status.
    pub fn status(&self) -> Result<Value, String> {
        self.ask("status")
    }

    /// What its machine amounts to.
    pub fn digest(&self) -> Result<Digest, String> {
        let digest = self.ask("state")?;
        serde_json::from_value(digest.clone()).map_err(|e| format!("state {digest}: {e}"))
    }

    fn ask(&self, order: &str) -> Result<Value, String> {
        let socket = socket(&self.store);
        let failed = |e: std::io::Error| format!("{}: {e}", socket.display());
        let mut stream = UnixStream::connect(&socket).map_err(failed)?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).map_err(failed)?;
        writeln!(stream, "{}", json!({ "do": order })).map_err(failed)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map_err(failed)?;
        let mut answer: Value = serde_json::from_str(&line).map_err(|e| format!("{line:?}: {e}"))?;
        match answer.get_mut("ok") {
            Some(answer) => Ok(answer.take()),
            None => Err(format!("{}: {answer}", socket.display())),
        }
    }

    /// Its place among those with the same log.
    pub fn replica(&self) -> Result<Replica, String> {
        let replica = self.status()?["replica"].take();
        serde_json::from_value(replica.clone()).map_err(|e| format!("replica {replica}: {e}"))
    }
}
