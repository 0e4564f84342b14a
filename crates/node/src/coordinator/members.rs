//! Who is a member, and who is here: a client number belongs to the first store
//! that claimed it.

use std::collections::BTreeMap;

use cahoots_core::link::Ends;
use cahoots_core::{NodeId, wire};
use tokio::sync::mpsc;

use crate::limits::{NAME, cut};
use crate::transport::proto::{Frame, Hello};
use crate::transport::{Outbox, Session};

/// A client that is connected.
pub(super) struct Connected {
    pub(super) session: Session,
    pub(super) outbox: Outbox,
    /// A confirmation is due after the next flush.
    pub(super) confirmation_due: bool,
}

/// Members and connections.
#[derive(Default)]
pub(super) struct Members {
    /// Which store a client number belongs to.
    instances: BTreeMap<NodeId, Vec<u8>>,
    /// Connections that have not said hello.
    strangers: BTreeMap<Session, mpsc::Sender<Frame>>,
    pub(super) connected: BTreeMap<NodeId, Connected>,
    sessions: BTreeMap<Session, NodeId>,
}

/// The name under which a binding is stored.
pub(super) const PREFIX: &str = "member/";

impl Members {
    /// Members as they were stored.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>) -> Members {
        let bound = |(key, instance): (String, Vec<u8>)| {
            Some((NodeId(key.strip_prefix(PREFIX)?.parse().ok()?), instance))
        };
        Members { instances: stored.into_iter().filter_map(bound).collect(), ..Members::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.instances.len()
    }

    pub(super) fn open(&mut self, session: Session, frames: mpsc::Sender<Frame>) {
        self.strangers.insert(session, frames);
    }

    /// The connection of someone who has not said hello.
    pub(super) fn stranger(&mut self, session: Session) -> Option<mpsc::Sender<Frame>> {
        self.strangers.remove(&session)
    }

    /// Whose connection this is.
    pub(super) fn client(&self, session: Session) -> Option<NodeId> {
        self.sessions.get(&session).copied()
    }

    /// Binds a number to the store that claims it; `true` when it is new.
    pub(super) fn bind(&mut self, client: NodeId, instance: &[u8]) -> bool {
        self.instances.insert(client, instance.to_vec()).is_none()
    }

    /// A client is here; an older connection of the same client is dropped.
    pub(super) fn connect(
        &mut self,
        client: NodeId,
        session: Session,
        frames: mpsc::Sender<Frame>,
        received: u64,
    ) {
        self.drop_client(client);
        self.sessions.insert(session, client);
        let outbox = Outbox::new(frames, received);
        self.connected.insert(client, Connected { session, outbox, confirmation_due: false });
    }

    /// Closes whatever this session was.
    pub(super) fn close(&mut self, session: Session) {
        self.strangers.remove(&session);
        if let Some(client) = self.sessions.remove(&session) {
            self.connected.remove(&client);
        }
    }

    /// Closes a client's connection.
    pub(super) fn drop_client(&mut self, client: NodeId) {
        if let Some(old) = self.connected.remove(&client) {
            self.sessions.remove(&old.session);
        }
    }

    /// Why this client cannot be let in, and what to do about it.
    pub(super) fn refuse(
        &self,
        hello: &Hello,
        federation: &str,
        clients: usize,
        parameters: u64,
        ends: Ends,
    ) -> Option<String> {
        let client = NodeId(hello.client);
        if hello.version != wire::VERSION {
            return Some(format!(
                "this coordinator speaks version {} of the wire format, the client version {}: upgrade the older one",
                wire::VERSION,
                hello.version
            ));
        }
        if hello.federation != federation {
            return Some(format!(
                "this is the coordinator of federation {federation:?}, not of {:?}: correct `federation` or `coordinator`",
                cut(&hello.federation, NAME)
            ));
        }
        if hello.client as usize >= clients {
            return Some(format!(
                "there is no {client}: this federation has clients 0 to {}",
                clients.saturating_sub(1)
            ));
        }
        if hello.parameters != 0 && hello.parameters != parameters {
            return Some(
                "the client knows other terms (algorithm, parameters, setting or seed) than the coordinator: remove its [terms], \
                 or, if the federation was started anew under the same name, give the client a new store"
                    .into(),
            );
        }
        if hello.instance.len() != 16 {
            return Some("a hello without the 16 bytes that name the client's store".into());
        }
        if self.instances.get(&client).is_some_and(|bound| *bound != hello.instance) {
            return Some(format!(
                "{client} is already taken by another store: two clients cannot share a number. Give this one a `client` number \
                 of its own; if it replaces {client}, start it with that client's store file"
            ));
        }
        if hello.sent < ends.received || hello.received > ends.sent {
            let (older, newer) = if hello.sent < ends.received {
                ("client", "coordinator")
            } else {
                ("coordinator", "client")
            };
            return Some(format!(
                "the {older}'s store is older than what the {newer} has already received from it (an old copy was put back?): \
                 restore the {older}'s newest store; without it, give {client}'s app a new client number and an empty store"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests;
