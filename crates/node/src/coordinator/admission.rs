//! Numbers are granted, not grabbed: what a client must show before it is let in, and whether it still would be.

use std::collections::BTreeMap;
use std::time::Duration;

use cahoots_core::NodeId;

use super::core::Core;
use super::members::{Members, Refused};
use crate::error::NodeError;
use crate::identity::{Admit, Fate, Invitation, Name, Peer, Secret, ServeSecurity, date, digest};
use crate::limits::{NAME, cut};
use crate::transport::proto::Hello;
use crate::transport::refusal;

/// The name under which the invitations to a number are stored.
pub(super) const PREFIX: &str = "invitations/";

/// Invitations to one number that are remembered, so that whoever comes with an old one is told what became of it.
const REMEMBERED: usize = 16;

/// Who may have which number.
#[derive(Default)]
pub(super) struct Admission {
    security: ServeSecurity,
    invitations: BTreeMap<NodeId, Vec<Invitation>>,
    /// What the gate's files held when everyone was last looked at.
    generation: u64,
}

impl Admission {
    /// As they were stored.
    pub(super) fn restore(security: ServeSecurity, stored: Vec<(String, Vec<u8>)>) -> Admission {
        let invitations = |(key, invitations): (String, Vec<u8>)| {
            let client = NodeId(key.strip_prefix(PREFIX)?.parse().ok()?);
            Some((client, postcard::from_bytes(&invitations).ok()?))
        };
        Admission {
            security,
            invitations: stored.into_iter().filter_map(invitations).collect(),
            generation: 0,
        }
    }

    /// Invitations that nobody has used or taken back.
    pub(super) fn open(&self) -> usize {
        self.invitations.values().flatten().filter(|invitation| invitation.fate == Fate::Open).count()
    }

    /// For the store.
    fn save(&self, client: NodeId) -> (String, Vec<u8>) {
        let invitations = self.invitations.get(&client).map(Vec::as_slice).unwrap_or_default();
        (format!("{PREFIX}{}", client.0), postcard::to_stdvec(invitations).expect("it can be written"))
    }

    /// Why whoever says this hello has not shown that the number is its own, and what to do about it.
    pub(super) fn refuse(
        &self,
        members: &Members,
        hello: &Hello,
        peer: &Peer,
        federation: &str,
        now: Duration,
    ) -> Option<Refused> {
        let last = |reason: String| Some(Refused { reason, last: true, old: false });
        let client = NodeId(hello.client);
        // It may have shaken hands long before it says hello.
        let still_good = self.security.gate.as_ref().map_or(Ok(()), |gate| gate.still_good(peer));
        if let Err(reason) = still_good {
            return last(reason);
        }
        if let Some(certificate) = peer.certificate() {
            if certificate.name == Some(Name::client(federation, hello.client)) {
                return None;
            }
            let holder = certificate.holder();
            return last(match &certificate.name {
                Some(name) if name.federation == federation => format!(
                    "this is the certificate of {holder}, and it says hello as {client}: correct `client` or `keys` in the client's file, \
                     or make a certificate with `cahoots keys client DIR {}`",
                    client.0
                ),
                _ => format!(
                    "this is the certificate of {}, and this is the coordinator of federation {federation:?}: correct `coordinator` \
                     or `keys` in the client's file",
                    cut(&holder, NAME)
                ),
            });
        }
        match self.security.admit {
            Admit::Anyone => None,
            Admit::Certificates => last(format!(
                "{client} gave no certificate: make it one with `cahoots keys client DIR {}`, and name its folder as `keys` under \
                 [tls] in the client's file",
                client.0
            )),
            Admit::Tokens if members.has_secret(client) => {
                if members.knows_secret(hello) {
                    return None;
                }
                last(format!(
                    "{client} belongs to someone else, or this client has lost its store: start it with that; without it, \
                     `cahoots members FILE release {}` and `invite {}` at the coordinator",
                    client.0, client.0
                ))
            }
            Admit::Tokens => self.invited(hello, now).err().and_then(last),
        }
    }

    /// Whether a client comes with an invitation to its number that still holds.
    fn invited(&self, hello: &Hello, now: Duration) -> Result<(), String> {
        let client = NodeId(hello.client);
        let again = format!("`cahoots members FILE invite {}` at the coordinator gives a new one", client.0);
        if hello.invitation.is_empty() || hello.secret.len() != 32 {
            return Err(format!(
                "numbers are granted here, and {client} came without an invitation: `cahoots members FILE invite {}` at the \
                 coordinator gives one, which is to be `invitation` in the client's file",
                client.0
            ));
        }
        let digest = digest(&hello.invitation);
        let found = self.invitations.iter().find_map(|(for_whom, invitations)| {
            Some((for_whom, invitations.iter().find(|invitation| invitation.digest == digest)?))
        });
        let Some((for_whom, invitation)) = found else {
            return Err(format!("this coordinator knows of no such invitation: {again}"));
        };
        if *for_whom != client {
            return Err(format!("this invitation is not for {client}: correct `client`, or {again}"));
        }
        match invitation.fate {
            Fate::Used => Err(format!("this invitation was used before: {again}")),
            Fate::Withdrawn => Err(format!("this invitation was taken back: {again}")),
            Fate::Open if invitation.until <= now.as_secs() => Err(format!(
                "this invitation has expired on {}: {again}; or the coordinator's clock is wrong: it says {}",
                date(invitation.until as i64),
                date(now.as_secs() as i64)
            )),
            Fate::Open => Ok(()),
        }
    }
}

impl Core {
    /// Whoever is let in by an invitation uses it up, in the commit that makes the number its own.
    pub(super) fn granted_by_invitation(&mut self, hello: &Hello) {
        if hello.invitation.is_empty() {
            return;
        }
        let (client, digest) = (NodeId(hello.client), digest(&hello.invitation));
        let invitations = self.admission.invitations.get_mut(&client);
        let open =
            |invitation: &&mut Invitation| invitation.digest == digest && invitation.fate == Fate::Open;
        if let Some(invitation) = invitations.and_then(|all| all.iter_mut().find(open)) {
            invitation.fate = Fate::Used;
            let (key, saved) = self.admission.save(client);
            self.batch.set(key, saved);
        }
    }

    /// A number is granted to whoever comes with what this gives. Only its digest is kept.
    pub(super) fn invite(&mut self, client: NodeId, valid: Duration) -> Result<String, NodeError> {
        if client.index() >= self.seats.clients() {
            return Err(NodeError::Request(format!(
                "there is no {client}: this federation has clients 0 to {}",
                self.seats.clients().saturating_sub(1)
            )));
        }
        if self.admission.security.admit != Admit::Tokens {
            return Err(NodeError::Request(
                "nobody is let in by invitation here: that takes `admit = \"tokens\"` in the coordinator's file".into(),
            ));
        }
        if self.members.has_secret(client) {
            return Err(NodeError::Request(format!(
                "{client} belongs to someone already: `cahoots members FILE release {}` frees it, for its owner who lost his disk or \
                 for someone else",
                client.0
            )));
        }
        let secret = Secret::random().map_err(NodeError::Stopped)?;
        let until = (self.store.platform().wall() + valid).as_secs();
        let all = self.admission.invitations.entry(client).or_default();
        if all.len() == REMEMBERED {
            all.remove(0);
        }
        all.push(Invitation { digest: digest(secret.bytes()), until, fate: Fate::Open });
        let (key, saved) = self.admission.save(client);
        self.batch.set(key, saved);
        Ok(secret.invitation())
    }

    /// Invitations that nobody has used are taken back; gives how many.
    pub(super) fn uninvite(&mut self, client: NodeId) -> Result<usize, NodeError> {
        let all = self.admission.invitations.get_mut(&client).map(Vec::as_mut_slice).unwrap_or_default();
        let mut withdrawn = 0;
        for invitation in all.iter_mut().filter(|invitation| invitation.fate == Fate::Open) {
            invitation.fate = Fate::Withdrawn;
            withdrawn += 1;
        }
        if withdrawn == 0 {
            return Err(NodeError::Request(format!("there is no open invitation for {client}")));
        }
        let (key, saved) = self.admission.save(client);
        self.batch.set(key, saved);
        Ok(withdrawn)
    }

    /// Whoever is here and would not be let in any more is told so and closed: its certificate has been revoked, or has
    /// expired, or its authority is not believed any more.
    pub(super) fn look_again(&mut self) {
        let Some(gate) = self.admission.security.gate.clone() else { return };
        let changed =
            std::mem::replace(&mut self.admission.generation, gate.generation()) != gate.generation();
        let now = self.store.platform().wall().as_secs() as i64;
        let suspect = self.members.connected.iter().filter(|(_, connected)| {
            let expired = |certificate: &crate::identity::Certificate| certificate.not_after < now;
            changed || connected.peer.certificate().is_some_and(expired)
        });
        let judged = suspect.filter_map(|(client, c)| Some((*client, gate.look_again(&c.peer).err()?)));
        for (client, reason) in judged.collect::<Vec<_>>() {
            self.turned_away(client, &reason);
            tracing::warn!(client = client.0, reason, "not believed any more: disconnected");
            if let Some(connected) = self.members.connected.get(&client) {
                let _ = connected.outbox.send(refusal(reason, true));
            }
            self.members.drop_client(client);
        }
    }
}
