//! Where a coordinator stands among those of its federation, as it tells.

use std::time::Duration;

use serde::Serialize;

use super::core::Core;
use super::status::Attention;
use crate::platform::Platform;
use crate::store::Place;

/// Where a coordinator stands among those of its federation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplicaStatus {
    /// Its name among them.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// The how manieth leader leads.
    pub epoch: u64,
    /// Who leads, as far as this coordinator knows.
    pub leader: Option<String>,
    /// Where clients find it.
    pub leader_address: Option<String>,
    /// Where its page is, if others can look at it.
    pub leader_page: Option<String>,
    /// The last message of the log that this coordinator has taken in.
    pub sequence: u64,
    /// The last message of the log that it knows of.
    pub end: u64,
    /// How many messages it is behind.
    pub lag: u64,
    /// The last snapshot that all can read on from.
    pub snapshot: Option<SnapshotStatus>,
    /// Since when the log does not answer, in seconds since 1970.
    pub stalled_since: Option<f64>,
    /// The servers that keep the log.
    pub servers: String,
}

/// What a coordinator does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It takes what clients send, and writes the log.
    Leading,
    /// It reads the log, and would lead at once.
    #[serde(rename = "standing by")]
    StandingBy,
    /// It has not come to the end of the log yet.
    #[default]
    #[serde(rename = "catching up")]
    CatchingUp,
}

/// A snapshot among the servers' objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SnapshotStatus {
    /// The last message of the log that is in it.
    pub sequence: u64,
    /// When it was made, in seconds since 1970.
    pub time: f64,
    /// Its bytes.
    pub bytes: u64,
}

impl ReplicaStatus {
    /// Of a log that is here.
    pub(super) fn of(place: &Place, name: &str, servers: &str) -> ReplicaStatus {
        let snapshot = place.snapshot.map(|(sequence, time, bytes)| SnapshotStatus { sequence, time, bytes });
        ReplicaStatus {
            name: name.into(),
            epoch: place.epoch,
            sequence: place.sequence,
            end: place.end,
            lag: place.end.saturating_sub(place.sequence),
            snapshot,
            servers: servers.into(),
            ..ReplicaStatus::default()
        }
    }
}

/// A log that does not answer.
pub(super) struct Stalled {
    /// Since when, in seconds since 1970.
    pub(super) since: f64,
    /// What the platform had counted then: the date may jump.
    pub(super) counted: Duration,
    /// What was heard last.
    pub(super) heard: String,
}

impl Stalled {
    /// From now on.
    pub(super) fn now(platform: &Platform) -> Stalled {
        Stalled { since: platform.wall().as_secs_f64(), counted: platform.elapsed(), heard: String::new() }
    }
}

/// The log does not answer: someone should look after that.
pub(super) fn stalled(Stalled { since, heard, .. }: &Stalled) -> Attention {
    Attention {
        kind: "log",
        client: None,
        since: Some(*since),
        words: format!(
            "the servers that keep the log do not answer ({heard}): nothing is taken until they do, and nothing that was acknowledged is lost"
        ),
        remedy: "look at the NATS servers: more than half of them must run and reach each other".into(),
    }
}

impl Core {
    /// Where it stands among the coordinators of its federation.
    pub(super) fn replica(&self) -> Option<ReplicaStatus> {
        let (leading, place) = (self.leading.as_ref()?, self.store.replica()?);
        let role = ReplicaStatus::of(&place, &leading.name, &leading.servers);
        let (leader, leader_address) = (Some(leading.name.clone()), Some(leading.address.clone()));
        Some(ReplicaStatus {
            role: Role::Leading,
            leader,
            leader_address,
            leader_page: leading.page.clone(),
            stalled_since: self.stalled.as_ref().map(|stalled| stalled.since),
            ..role
        })
    }
}
