//! What strangers and apps may take: connections, bytes, time. Every limit has a key under `[limits]`, every
//! refusal says which one it was, and all of them are counted.

mod counters;
mod door;
mod files;
mod words;

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use counters::{Counters, Refusals};
pub use door::{Accepts, Door};
pub use files::raise_files;
pub use words::{NAME, REASON, cut, thousands};

/// `[limits]` in a coordinator's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeLimits {
    /// Connections at once; more are closed as they come.
    pub connections: usize,
    /// Seconds until a connection must have said a hello that is welcome.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub hello: Duration,
    /// Bytes that a connection may send before it is welcome.
    pub hello_bytes: usize,
    /// Bytes of all large frames that are being received at once; others wait.
    pub frames_bytes: usize,
    /// Seconds until a large frame is complete.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub frame: Duration,
    /// Seconds without an answer to a ping after which a connection is given up.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub idle: Duration,
    /// Messages with what no honest data give after which a member is quarantined; 0: never.
    pub implausible: u64,
    /// Seconds after which a member that is away is called late.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub late: Duration,
}

impl Default for ServeLimits {
    fn default() -> ServeLimits {
        ServeLimits {
            connections: 20_000,
            hello: Duration::from_secs(10),
            hello_bytes: 64 << 10,
            frames_bytes: 256 << 20,
            frame: Duration::from_secs(60),
            idle: Duration::from_secs(20),
            implausible: 8,
            late: Duration::from_secs(300),
        }
    }
}

/// `[limits]` in a client's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClientLimits {
    /// Connections of the app at once; more are closed as they come.
    pub connections: usize,
    /// Seconds until the head of a request is complete, from the connection's start or the last answer.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub head: Duration,
    /// Seconds until the body of a request is complete.
    #[serde(deserialize_with = "seconds", serialize_with = "in_seconds")]
    pub body: Duration,
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Bytes of all large bodies that are being read at once; others wait.
    pub bodies_bytes: usize,
    /// Arms with features in one decision.
    pub arms: usize,
    /// Decisions that wait for their reward.
    pub open_decisions: usize,
    /// Bytes that are kept of those that have an event, a ranking or a deferral.
    pub kept_bytes: usize,
    /// Arms that are registered.
    pub registered_arms: usize,
    /// Decisions, or rewards, in one request.
    pub batch: usize,
}

/// Rewards, or arms that come or go, in one request, whatever limits say: lists in bodies are not read further.
pub(crate) const MOST_AT_ONCE: usize = 100_000;

impl ClientLimits {
    /// Refuses what cannot be meant.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, value) in [("batch", self.batch), ("registered_arms", self.registered_arms)] {
            if !(1..=MOST_AT_ONCE).contains(&value) {
                return Err(format!("limits.{key} = {value} must be from 1 to {MOST_AT_ONCE}"));
            }
        }
        Ok(())
    }
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connections: 1024,
            head: Duration::from_secs(30),
            body: Duration::from_secs(10),
            body_bytes: 4 << 20,
            bodies_bytes: 64 << 20,
            arms: 10_000,
            open_decisions: 100_000,
            kept_bytes: 64 << 20,
            registered_arms: 10_000,
            batch: 1000,
        }
    }
}

/// A length of time as a file gives it.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let value = f64::deserialize(from)?;
    let time = Duration::try_from_secs_f64(value).ok().filter(|time| *time >= Duration::from_millis(1));
    time.ok_or_else(|| {
        serde::de::Error::custom(format!("a limit must be a number of seconds, at least 0.001, not {value}"))
    })
}

/// A length of time as a file has it.
fn in_seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
