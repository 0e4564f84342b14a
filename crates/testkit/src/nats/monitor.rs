//! What a server's monitoring port tells.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

/// A stream as one server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StreamView {
    /// Its name.
    pub name: String,
    /// The server that leads it, where one does.
    pub leader: Option<String>,
    /// What that server holds of it: the first and the last sequence, and how many are missing between.
    pub first: u64,
    /// The last sequence.
    pub last: u64,
    /// Messages that are missing between the two.
    pub missing: u64,
    /// The other servers that keep it, as the one that was asked sees them.
    pub replicas: Vec<Peer>,
}

/// One of the others that keep a stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Peer {
    /// The server.
    pub name: String,
    /// It has what the leader has, as was known some seconds ago.
    #[serde(default)]
    pub current: bool,
    /// It is known to be away.
    #[serde(default)]
    pub offline: bool,
    /// Operations that it lacks.
    #[serde(default)]
    pub lag: u64,
    /// Nanoseconds since it was heard.
    #[serde(default)]
    pub active: u64,
}

/// Whoever asks monitoring ports.
#[derive(Clone)]
pub(super) struct Monitor(ureq::Agent);

impl Monitor {
    pub(super) fn new() -> Monitor {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(2)))
            .build();
        Monitor(config.into())
    }

    /// GET of a path that answers with JSON.
    pub(super) fn ask(&self, at: SocketAddr, path: &str) -> Result<Value, String> {
        let url = format!("http://{at}{path}");
        let mut answer = self.0.get(&url).call().map_err(|e| format!("{url}: {e}"))?;
        answer.body_mut().read_json().map_err(|e| format!("{url}: {e}"))
    }

    /// The server that leads the cluster itself (the "meta" leader), as this one knows.
    pub(super) fn meta_leader(&self, at: SocketAddr) -> Result<Option<String>, String> {
        let answer = self.ask(at, "/jsz")?;
        Ok(answer["meta_cluster"]["leader"].as_str().map(Into::into))
    }

    /// All streams, those under object and key-value stores too.
    pub(super) fn streams(&self, at: SocketAddr) -> Result<Vec<StreamView>, String> {
        let answer = self.ask(at, "/jsz?accounts=true&streams=true")?;
        let accounts = answer["account_details"].as_array().cloned().unwrap_or_default();
        let details = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
        details.map(view).collect()
    }
}

fn view(detail: &Value) -> Result<StreamView, String> {
    let (state, cluster) = (&detail["state"], &detail["cluster"]);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let replicas = match &cluster["replicas"] {
        Value::Null => Vec::new(),
        replicas => {
            serde_json::from_value(replicas.clone()).map_err(|e| format!("replicas {replicas}: {e}"))?
        }
    };
    Ok(StreamView {
        name: detail["name"].as_str().unwrap_or_default().into(),
        leader: cluster["leader"].as_str().filter(|name| !name.is_empty()).map(Into::into),
        first: number(&state["first_seq"]),
        last: number(&state["last_seq"]),
        missing: number(&state["num_deleted"]),
        replicas,
    })
}
