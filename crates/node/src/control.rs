//! How whoever runs a node speaks to it while it runs: a socket beside its store, which only its owner may open. One
//! line of JSON asks, one line answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::error::NodeError;

/// The longest question.
const LONGEST: u64 = 1 << 20;
/// How long one may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be asked of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Order {
    /// What is it doing?
    Status,
    /// Who is a member?
    Members,
    /// A client leaves for good.
    Remove {
        /// Its number.
        client: u32,
        /// Is what it contributed to be taken out again?
        #[serde(default)]
        forget: bool,
    },
    /// A client's number is free again.
    Release {
        /// The number.
        client: u32,
    },
    /// A quarantined client is believed again.
    Restore {
        /// Its number.
        client: u32,
    },
    /// A client's number is granted to who comes with the answer.
    Invite {
        /// The number.
        client: u32,
        /// How long the invitation holds.
        days: f64,
    },
    /// Invitations that nobody has used are taken back.
    Uninvite {
        /// The number.
        client: u32,
    },
    /// The parameters, after these have been changed.
    Params {
        /// Those that are to change.
        set: toml::Table,
    },
    /// Every version of the parameters.
    History,
    /// An earlier version of the parameters is to hold again.
    Revert {
        /// Which; without, the one before.
        version: Option<u64>,
    },
    /// A digest of what was learned, to be compared among coordinators of one federation.
    State,
    /// A copy of the store.
    Backup {
        /// Where to.
        to: PathBuf,
    },
    /// What was learned and not sent yet is to be sent.
    Drain {
        /// How long to wait until the coordinator has it.
        seconds: f64,
    },
}

/// Where the socket of a node with this store is.
pub fn socket(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".sock");
    name.into()
}

/// Where a node is asked. A node without a socket is none the worse for it, so all that can go wrong is logged.
pub struct Control(Option<(UnixListener, Gone)>);

impl Control {
    /// From now on questions wait to be answered: before anybody is told that the node is there. The runtime's.
    pub fn open(store: &Path) -> Control {
        let path = socket(store);
        // The store is this process's alone, so what is there is left from an earlier start.
        match private_socket(&path) {
            Ok(listener) => Control(Some((listener, Gone(path)))),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "no socket to ask this node anything");
                Control(None)
            }
        }
    }

    /// Answers them for as long as it is polled.
    pub async fn serve<F>(self, answer: impl Fn(Order) -> F + Send + Clone + 'static)
    where
        F: Future<Output = Result<Value, NodeError>> + Send + 'static,
    {
        let Some((listener, _gone)) = self.0 else { return std::future::pending().await };
        serve(listener, answer).await
    }
}

async fn serve<F>(listener: UnixListener, answer: impl Fn(Order) -> F + Send + Clone + 'static)
where
    F: Future<Output = Result<Value, NodeError>> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let answer = answer.clone();
                tokio::spawn(async move {
                    let (reading, mut writing) = stream.into_split();
                    let mut line = String::new();
                    let mut reading = tokio::io::BufReader::new(reading.take(LONGEST));
                    if !matches!(
                        tokio::time::timeout(PATIENCE, reading.read_line(&mut line)).await,
                        Ok(Ok(1..))
                    ) {
                        return;
                    }
                    let answered = match serde_json::from_str(&line) {
                        Ok(order) => answer(order).await,
                        Err(error) => Err(NodeError::Request(format!(
                            "an order that this version does not know: {error}"
                        ))),
                    };
                    let said = match answered {
                        Ok(value) => json!({ "ok": value }),
                        Err(error) => json!({ "error": error.to_string() }),
                    };
                    let _ = writing.write_all(format!("{said}\n").as_bytes()).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a question was lost");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Listens at a path that only its owner may open, from the first moment: the socket is made in a folder that nobody
/// else may enter, and moved. What was there is replaced.
pub(crate) fn private_socket(path: &Path) -> std::io::Result<UnixListener> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let folder = PathBuf::from(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    let new = folder.join("s");
    let made = UnixListener::bind(&new).and_then(|listener| {
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&new, path)?;
        Ok(listener)
    });
    let _ = std::fs::remove_dir_all(&folder);
    made
}

/// The socket goes with whoever answers.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Asks the node with this store; `None` when none is running. Blocks.
pub fn ask(store: &Path, order: &Order) -> Result<Option<Value>, NodeError> {
    let failed = |e: std::io::Error| NodeError::Network(format!("{}: {e}", socket(store).display()));
    let mut stream = match UnixStream::connect(socket(store)) {
        Ok(stream) => stream,
        Err(error) => {
            use std::io::ErrorKind::{ConnectionRefused, NotFound};
            return if matches!(error.kind(), NotFound | ConnectionRefused) {
                Ok(None)
            } else {
                Err(failed(error))
            };
        }
    };
    let question = serde_json::to_string(order).expect("orders can be written");
    stream.write_all(format!("{question}\n").as_bytes()).map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream.take(64 * LONGEST)).read_line(&mut line).map_err(failed)?;
    let answer: Value = serde_json::from_str(&line)
        .map_err(|_| NodeError::Network("the node closed the connection without an answer".into()))?;
    match (answer.get("ok"), answer.get("error").and_then(Value::as_str)) {
        (Some(value), _) => Ok(Some(value.clone())),
        (None, Some(error)) => Err(NodeError::Stopped(error.into())),
        (None, None) => Err(NodeError::Network("an answer that this version does not know".into())),
    }
}
