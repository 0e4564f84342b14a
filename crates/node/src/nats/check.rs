//! Whether servers keep what they acknowledge: asked before anything is entrusted to them.

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;

use super::NatsConfig;
use crate::error::NodeError;
use crate::replica::Unusable;

/// How long a monitoring port may take.
const PATIENCE: Duration = Duration::from_secs(2);

fn wrong<T>(what: String) -> Result<T, Unusable> {
    Err(Unusable::Wrong(NodeError::Config(what)))
}

/// The first servers that compare the message before, wherever it is, and not its number alone.
const OLDEST: (u64, u64) = (2, 12);

/// A server must know what is asked of it: an older one would pass over a part of every append's condition.
pub(super) fn recent(server: &str, version: &str) -> Result<(), Unusable> {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u64>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => Ok(()),
        _ => wrong(format!(
            "the NATS server {server} is of version {version}, and {}.{} is the oldest that compares the message that another is to follow, not its number \
             alone. Install a newer one; 2.15 is what this is tested with",
            OLDEST.0, OLDEST.1
        )),
    }
}

/// A stream that is there must be one that loses nothing.
pub(super) fn fit(config: &Config, subject: &str, deleted: u64, single: bool) -> Result<(), Unusable> {
    let name = &config.name;
    if !config.subjects.contains(&format!("{subject}.*")) {
        return wrong(format!(
            "stream {name} keeps what comes under {}, and the log comes under {subject}.*: it is not one that Cahoots made. Give the federation another \
             name, or take that stream away",
            config.subjects.join(", ")
        ));
    }
    if config.num_replicas < 3 && !single {
        return wrong(format!(
            "stream {name} has {} replica(s): a server that is lost takes acknowledged rewards along. Raise it to 3 (`nats stream edit {name} \
             --replicas 3`), or start with `--single` where that is meant",
            config.num_replicas
        ));
    }
    if deleted > 0 {
        return Err(Unusable::Wrong(NodeError::Stopped(format!(
            "stream {name} lacks {deleted} message(s) between its first and its last: one of its replicas is damaged. Find the server that leads it \
             (`nats stream info {name}`), let another lead (`nats stream cluster step-down`), and rebuild that one from empty while the others are well"
        ))));
    }
    Ok(())
}

/// Whether every server that can be asked syncs before it answers.
pub(super) async fn synced(config: &NatsConfig) -> Result<(), Unusable> {
    if config.assume_synced {
        return Ok(());
    }
    if config.monitor.is_empty() {
        return wrong(
            "nobody can say whether the NATS servers write to disk before they answer: give `monitor = [\"http://host:8222\", ...]` in [nats], where \
             they tell, or start with `--assume-synced` if their files have `sync_interval: always`"
                .into(),
        );
    }
    let mut answered = 0;
    let mut silent = Vec::new();
    for server in &config.monitor {
        match tokio::time::timeout(PATIENCE, ask(server)).await {
            Ok(Ok(told)) => {
                answered += 1;
                if !syncs_always(&told) {
                    return wrong(format!(
                        "the NATS server at {server} answers before it has written to disk: a power cut takes acknowledged rewards along. Put \
                         `sync_interval: always` into `jetstream {{ }}` of its file and restart it, or start with `--assume-synced` where that is meant"
                    ));
                }
            }
            Ok(Err(error)) => silent.push(format!("{server}: {error}")),
            Err(_) => silent.push(format!("{server}: no answer")),
        }
    }
    if answered == 0 {
        return Err(Unusable::Silent(format!("no NATS server tells about itself ({})", silent.join("; "))));
    }
    for server in silent {
        tracing::warn!(server, "a NATS server that could not be asked whether it syncs");
    }
    Ok(())
}

fn syncs_always(varz: &Value) -> bool {
    varz["jetstream"]["config"]["sync_always"].as_bool() == Some(true)
}

/// What a server tells at its monitoring port.
async fn ask(server: &str) -> Result<Value, String> {
    let address = server.strip_prefix("http://").ok_or("it must begin with http://")?.trim_end_matches('/');
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let line = tokio::net::TcpStream::connect(address).await.map_err(|e| words(&e))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(line)).await.map_err(|e| words(&e))?;
    tokio::spawn(connection);
    let question =
        Request::get("/varz").header("host", address).body(Empty::<Bytes>::new()).map_err(|e| words(&e))?;
    let answer = sender.send_request(question).await.map_err(|e| words(&e))?;
    let body = answer.into_body().collect().await.map_err(|e| words(&e))?.to_bytes();
    serde_json::from_slice(&body).map_err(|e| format!("no NATS server's monitoring ({e})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_would_pass_over_a_condition_are_refused() {
        for version in ["2.12.0", "2.15.1", "2.15.2-beta.1", "3.0.0"] {
            assert!(recent("a", version).is_ok(), "{version}");
        }
        for version in ["2.11.9", "1.99.0", "2", "", "new"] {
            assert!(matches!(recent("a", version), Err(Unusable::Wrong(_))), "{version}");
        }
    }
}
