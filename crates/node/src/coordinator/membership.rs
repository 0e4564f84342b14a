//! Who comes and goes while a federation runs, by order of whoever runs it.

use cahoots_core::drive::Event;
use cahoots_core::{Membership, NodeId, Ruling};
use serde::Serialize;

use super::conduct::Standing;
use super::core::Core;
use crate::error::NodeError;
use crate::transport::refusal;

/// What is known of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberStatus {
    /// Its number.
    pub client: u32,
    /// Is it connected?
    pub connected: bool,
    /// Was it told to leave?
    pub removed: bool,
    /// Is it quarantined?
    pub quarantined: bool,
    /// Messages with what no honest data give, since it joined or was restored.
    pub implausible: u64,
    /// Why the last of them was refused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Messages that came from it.
    pub received: u64,
    /// Messages that wait for its confirmation.
    pub waiting: usize,
}

impl Core {
    pub(super) fn list_members(&mut self) -> Vec<MemberStatus> {
        let owners: Vec<_> = self.members.owners().map(|(client, owner)| (client, owner.removed)).collect();
        let status = |(client, removed): (NodeId, bool)| {
            let record = self.conduct.of(client);
            MemberStatus {
                client: client.0,
                connected: self.members.connected.contains_key(&client),
                removed,
                quarantined: record.standing == Standing::Quarantined,
                implausible: record.implausible,
                reason: record.reason,
                received: self.machine.ends(client).received,
                waiting: self.machine.queues().len(client),
            }
        };
        owners.into_iter().map(status).collect()
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
            tracing::warn!(%client, reason, "quarantined");
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
    }

    fn save_conduct(&mut self, client: NodeId) {
        let (key, record) = self.conduct.save(client);
        self.batch.set(key, record);
    }

    /// The machine is told, once, that a client will not come back as it was.
    pub(super) fn leave(&mut self, client: NodeId) {
        if let Some(connected) = self.members.connected.get(&client) {
            let reason = format!("{client} was removed from this federation, or its number released");
            let _ = connected.outbox.send(refusal(reason, true));
        }
        self.event(Event::Membership(Membership::Left(client)));
        self.members.drop_client(client);
    }
}
