//! Who comes and goes while a federation runs, by order of whoever runs it.

use cahoots_core::drive::{Event, ServerNode};
use cahoots_core::{Membership, NodeId, Ruling};
use serde::Serialize;

use super::conduct::{Conduct, Standing};
use super::core::Core;
use super::told::{SpentStatus, TelemetryStatus};
use super::unmerged::Unmerged;
use super::watch::{Happening, REPEATED};
use crate::error::NodeError;
use crate::transport::refusal;

/// What is known of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemberStatus {
    /// Its number.
    pub client: u32,
    /// "here", "away", "late", "refused", "quarantined" or "removed"; "gone" once its number is free.
    pub state: &'static str,
    /// Is it connected?
    pub connected: bool,
    /// Since when, or since when not, in seconds since 1970; the start of this process where it was not heard since.
    pub since: f64,
    /// When it was last heard, since the start of this process.
    pub last_contact: Option<f64>,
    /// When it joined, if that was since the start of this process.
    pub joined: Option<f64>,
    /// Was it told to leave?
    pub removed: bool,
    /// Is it quarantined?
    pub quarantined: bool,
    /// Messages with what no honest data give, since it joined or was restored.
    pub implausible: u64,
    /// Messages of its that were refused since the start of this process.
    pub refused: u64,
    /// Why it, or the last of them, was refused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Messages of its that were merged, since it joined.
    pub received: u64,
    /// Messages of its that came and were not merged, since it joined.
    pub not_merged: u64,
    /// Bytes of the messages that came from it since the start of this process, those that were not merged too.
    pub bytes_received: u64,
    /// Bytes that it was sent since the start of this process.
    pub bytes_sent: u64,
    /// Does a round wait for its answer?
    pub waited_for: bool,
    /// Clusters that it is in, by their place among all.
    pub clusters: Vec<usize>,
    /// Messages that wait for its confirmation.
    pub waiting: usize,
    /// What it says was spent of its users' privacy.
    pub spent: Option<SpentStatus>,
    /// What its owner chose to show.
    pub telemetry: Option<TelemetryStatus>,
}

/// What is known of one.
pub(super) fn member_status(
    client: NodeId,
    removed: bool,
    connected: bool,
    (conduct, unmerged): (&Conduct, &Unmerged),
    machine: &mut dyn ServerNode,
) -> MemberStatus {
    let record = conduct.of(client);
    let (received, not_merged) = unmerged.of(client, machine.ends(client).received);
    MemberStatus {
        client: client.0,
        connected,
        removed,
        quarantined: record.standing == Standing::Quarantined,
        implausible: record.implausible,
        reason: record.reason,
        received,
        not_merged,
        waiting: machine.queues().len(client),
        ..MemberStatus::default()
    }
}

impl Core {
    /// All members.
    pub(super) fn all_members(&mut self) -> Vec<MemberStatus> {
        self.list_members(0).into_iter().map(|(_, member)| member).collect()
    }

    /// Members that have changed since a revision, each with the one that it changed with; all of them since 0.
    pub(super) fn list_members(&mut self, since: u64) -> Vec<(u64, MemberStatus)> {
        let changed = |client: &NodeId| self.watch.seen.get(client).map_or(1, |seen| seen.revision);
        let owners = self.members.owners().map(|(client, owner)| (changed(&client), client, owner.removed));
        let owners: Vec<_> = owners.filter(|(changed, ..)| *changed > since).collect();
        let gone = self.watch.seen.iter().filter(|(_, seen)| seen.gone && seen.revision > since && since > 0);
        let gone: Vec<(u64, u32)> = gone.map(|(client, seen)| (seen.revision, client.0)).collect();
        let mut all: Vec<(u64, MemberStatus)> =
            owners.into_iter().map(|(at, client, removed)| (at, self.member(client, removed))).collect();
        let is_gone = |client| MemberStatus { client, state: "gone", ..MemberStatus::default() };
        all.extend(gone.into_iter().map(|(at, client)| (at, is_gone(client))));
        all
    }

    fn member(&mut self, client: NodeId, removed: bool) -> MemberStatus {
        let connected = self.members.connected.contains_key(&client);
        let counted = (&self.conduct, &self.unmerged);
        let status = member_status(client, removed, connected, counted, &mut *self.machine);
        let (watch, late) = (&self.watch, self.late);
        let seen = watch.seen.get(&client);
        let since = seen.map_or(watch.started, |seen| seen.since);
        // Whoever has given up, or was put right, is not refused for ever.
        let turned_away = seen.and_then(|seen| seen.turned_away.as_ref());
        let turned_away = turned_away.filter(|(last, _)| watch.now - last < REPEATED);
        let spent = self.told.spent(client);
        let withdrawn = spent.is_some_and(|spent| spent.withdrawn.is_some());
        let state = match turned_away {
            _ if removed => "removed",
            _ if status.quarantined => "quarantined",
            _ if connected => "here",
            Some(_) => "refused",
            None if watch.now - since >= late && !withdrawn => "late",
            None => "away",
        };
        let reason = turned_away.map(|(_, reason)| reason).filter(|_| !connected);
        let reason = reason.or(seen.map(|seen| &seen.reason).filter(|reason| !reason.is_empty()));
        MemberStatus {
            state,
            since,
            last_contact: seen.and_then(|seen| seen.last_contact),
            joined: seen.and_then(|seen| seen.joined),
            refused: seen.map_or(0, |seen| seen.refused),
            reason: reason.cloned().unwrap_or(status.reason),
            bytes_received: seen.map_or(0, |seen| seen.bytes_received),
            bytes_sent: seen.map_or(0, |seen| seen.bytes_sent),
            waited_for: watch.waited_for.contains(&client),
            clusters: watch.groups.get(&client).cloned().unwrap_or_default(),
            spent: spent.cloned(),
            telemetry: self.told.telemetry(client).cloned(),
            ..status
        }
    }

    /// A client leaves, or will never come: nobody waits for it, and it is not let in. What it contributed stays, unless
    /// it is to be forgotten.
    pub(super) fn remove(&mut self, client: NodeId, forget: bool) -> Result<(), NodeError> {
        if client.index() >= self.seats.clients() {
            return Err(NodeError::Request(format!(
                "there is no {client}: this federation has clients 0 to {}",
                self.seats.clients().saturating_sub(1)
            )));
        }
        if forget {
            self.machine.forgets().map_err(|why| {
                NodeError::Request(format!(
                    "what {client} has contributed cannot be taken out again: {why}. Without --forget it leaves, and what it \
                     contributed stays"
                ))
            })?;
        }
        self.leave(client);
        if forget {
            self.event(Event::Ruling(Ruling::Forgotten(client)));
        }
        self.members.remove(client);
        let (key, owner) = self.members.save(client);
        self.batch.set(key, owner);
        tracing::info!(client = client.0, forget, "removed");
        let words = if forget { "was removed, and what it contributed taken out" } else { "was removed" };
        self.watch.note(Happening::Removed, Some(client), words);
        Ok(())
    }

    /// A client's number is free again: for its owner who lost his disk, or for someone else.
    pub(super) fn release(&mut self, client: NodeId) -> Result<(), NodeError> {
        if self.members.owners().all(|(owner, _)| owner != client) {
            return Err(NodeError::Request(format!(
                "{client} is free; `cahoots members FILE` lists those who are not"
            )));
        }
        if self.members.is_member(client) {
            self.leave(client);
        }
        self.free(client);
        let (key, owner) = self.members.save(client);
        self.batch.set(key, owner);
        self.forgive(client);
        tracing::info!(client = client.0, "number released");
        self.watch.note(Happening::Released, Some(client), "its number is free again");
        self.watch.change(client).gone = true;
        Ok(())
    }

    /// A client's number is free, and the store that had it is remembered.
    pub(super) fn free(&mut self, client: NodeId) {
        self.members.release(client);
        let (key, departed) = self.members.save_departed(client);
        self.batch.set(key, departed);
    }

    /// A member sent what no honest data give: it is counted, and too much of it is the end of being believed.
    pub(super) fn accuse(&mut self, client: NodeId, reason: &str) {
        let enough = self.conduct.count(client, reason);
        self.save_conduct(client);
        if enough {
            tracing::warn!(client = client.0, reason, "quarantined: nothing of it is merged any more");
            self.watch.note(Happening::Quarantined, Some(client), reason);
            self.event(Event::Ruling(Ruling::Quarantined(client)));
        }
    }

    /// A quarantined client is believed again: `true` if its machine goes on, `false` if it has to start anew.
    pub(super) fn restore(&mut self, client: NodeId) -> Result<bool, NodeError> {
        if self.conduct.of(client).standing != Standing::Quarantined {
            return Err(NodeError::Request(format!(
                "{client} is not quarantined; `cahoots members FILE` says who is"
            )));
        }
        let resumes = self.machine.resumes();
        if resumes {
            self.event(Event::Ruling(Ruling::Restored(client)));
        }
        self.conduct.pardon(client, resumes);
        self.watch.forgive(client);
        tracing::info!(client = client.0, resumes, "quarantine lifted");
        self.watch.note(Happening::Restored, Some(client), "is believed again");
        self.save_conduct(client);
        if let (Some(reason), Some(connected)) =
            (self.conduct.refuses(client, false), self.members.connected.get(&client))
        {
            let _ = connected.outbox.send(refusal(reason, true));
            self.members.drop_client(client);
        }
        Ok(resumes)
    }

    /// Nothing is held against whoever has this number.
    pub(super) fn forgive(&mut self, client: NodeId) {
        self.conduct.forgive(client);
        self.save_conduct(client);
        self.watch.forgive(client);
    }

    /// What members have told and is to be kept goes with the next commit.
    pub(super) fn save_told(&mut self) {
        for (key, spent) in self.told.save() {
            self.batch.set(key, spent);
        }
    }

    fn save_conduct(&mut self, client: NodeId) {
        let (key, record) = self.conduct.save(client);
        self.batch.set(key, record);
    }

    /// The machine is told, once, that a client will not come back as it was.
    pub(super) fn leave(&mut self, client: NodeId) {
        self.told.forget(client);
        if self.unmerged.forget(client) {
            let (key, none) = self.unmerged.save(client);
            self.batch.set(key, none);
        }
        if let Some(connected) = self.members.connected.get(&client) {
            let reason = format!("{client} was removed from this federation, or its number released");
            let _ = connected.outbox.send(refusal(reason, true));
        }
        self.event(Event::Membership(Membership::Left(client)));
        self.members.drop_client(client);
    }
}
