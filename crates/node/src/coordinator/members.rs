//! Who is a member, and who is here: a client number belongs to the first store
//! that claimed it, and where numbers are granted, to who was granted it.

use std::collections::BTreeMap;

use cahoots_core::link::Ends;
use cahoots_core::{NodeId, wire};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::mpsc;

use crate::identity::{Peer, digest};
use crate::limits::{NAME, cut};
use crate::transport::proto::{Frame, Hello};
use crate::transport::{Outbox, Session};

/// A client that is connected.
pub(super) struct Connected {
    pub(super) session: Session,
    /// Who it has shown to be.
    pub(super) peer: Peer,
    pub(super) outbox: Outbox,
    /// A confirmation is due after the next flush.
    pub(super) confirmation_due: bool,
}

/// Whom a client number belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// Its store.
    instance: Vec<u8>,
    /// Its last start that was let in.
    epoch: u64,
    /// It was told to leave, and is not let in again.
    pub(super) removed: bool,
    /// Digest of the secret that it made when it joined; empty where it gave none.
    secret: Vec<u8>,
    /// How often its store had been written when it was last heard of, or when that was last stored.
    position: u64,
    /// The first start of its store: copies of it know it too.
    birth: u64,
}

impl Owner {
    /// Whoever said this hello.
    fn of(hello: &Hello) -> Owner {
        let epoch = hello.epochs.last().copied().unwrap_or_default();
        let (instance, secret) = (hello.instance.clone(), secret_of(hello));
        let position = hello.written.last().copied().unwrap_or_default();
        let birth = hello.epochs.first().copied().unwrap_or_default();
        Owner { instance, epoch, removed: false, secret, position, birth }
    }

    /// As it was stored; before there were secrets and positions, or births, without them.
    fn restore(stored: &[u8]) -> Option<Owner> {
        let first = || {
            let (instance, epoch, removed) = postcard::from_bytes(stored).ok()?;
            Some(Owner { instance, epoch, removed, secret: Vec::new(), position: 0, birth: 0 })
        };
        let second = || {
            let (instance, epoch, removed, secret, position) = postcard::from_bytes(stored).ok()?;
            Some(Owner { instance, epoch, removed, secret, position, birth: 0 })
        };
        postcard::from_bytes(stored).ok().or_else(second).or_else(first)
    }

    /// Whether a store that says this hello is the owner's or a copy of it.
    fn is_known_to(&self, hello: &Hello) -> bool {
        hello.epochs.contains(&self.epoch) || hello.epochs.contains(&self.birth)
    }
}

/// What is kept of the secret in a hello.
fn secret_of(hello: &Hello) -> Vec<u8> {
    if hello.secret.is_empty() { Vec::new() } else { digest(&hello.secret).to_vec() }
}

/// Members and connections.
#[derive(Default)]
pub(super) struct Members {
    /// Whom a client number belongs to.
    owners: BTreeMap<NodeId, Owner>,
    /// Stores whose number was freed: what they sent is merged, and must not come again. Each by its name, which it keeps
    /// when it starts anew, and by its first start, which it does not.
    departed: BTreeMap<NodeId, Vec<Vec<u8>>>,
    /// Connections that have not said hello.
    strangers: BTreeMap<Session, (Peer, mpsc::Sender<Frame>)>,
    pub(super) connected: BTreeMap<NodeId, Connected>,
    sessions: BTreeMap<Session, NodeId>,
    /// Who came and who went since this was last looked at.
    pub(super) moves: Vec<(NodeId, bool)>,
}

/// The name under which a binding is stored.
pub(super) const PREFIX: &str = "member/";

/// The name under which stores are remembered that left.
pub(super) const DEPARTED: &str = "departed/";

/// How many of their names and first starts are, of each number.
const REMEMBERED: usize = 128;

/// Why someone is not let in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// And what to do about it.
    pub(super) reason: String,
    /// Trying again will not help.
    pub(super) last: bool,
    /// Its store is an old copy.
    pub(super) old: bool,
}

impl Members {
    /// Members as they were stored.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>, departed: Vec<(String, Vec<u8>)>) -> Members {
        let owner = |(key, owner): (String, Vec<u8>)| {
            let client = NodeId(key.strip_prefix(PREFIX)?.parse().ok()?);
            Some((client, Owner::restore(&owner)?))
        };
        let owners = stored.into_iter().filter_map(owner).collect();
        Members { owners, departed: by_client(DEPARTED, departed), ..Members::default() }
    }

    /// What is to be stored of a client, and under which name; empty when its number is free.
    pub(super) fn save(&self, client: NodeId) -> (String, Vec<u8>) {
        let owner = self.owners.get(&client);
        let owner =
            owner.map_or_else(Vec::new, |owner| postcard::to_stdvec(owner).expect("it can be written"));
        (format!("{PREFIX}{}", client.0), owner)
    }

    /// The same of the stores that left under a client's number.
    pub(super) fn save_departed(&self, client: NodeId) -> (String, Vec<u8>) {
        let departed = self.departed.get(&client).map_or(&[][..], Vec::as_slice);
        (format!("{DEPARTED}{}", client.0), postcard::to_stdvec(departed).expect("it can be written"))
    }

    pub(super) fn len(&self) -> usize {
        self.owners.values().filter(|owner| !owner.removed).count()
    }

    /// All who ever joined, but for those whose number is free again.
    pub(super) fn owners(&self) -> impl Iterator<Item = (NodeId, &Owner)> {
        self.owners.iter().map(|(client, owner)| (*client, owner))
    }

    /// Whether this number belongs to anyone, and is in use.
    pub(super) fn is_member(&self, client: NodeId) -> bool {
        self.owners.get(&client).is_some_and(|owner| !owner.removed)
    }

    /// A client will not come back under its number, until that is free again.
    pub(super) fn remove(&mut self, client: NodeId) {
        let nobody = || Owner {
            instance: Vec::new(),
            epoch: 0,
            removed: true,
            secret: Vec::new(),
            position: 0,
            birth: 0,
        };
        self.owners.entry(client).or_insert_with(nobody).removed = true;
        self.drop_client(client);
    }

    /// A client's number is free: for another store, or for one that knows nothing any more.
    pub(super) fn release(&mut self, client: NodeId) {
        if let Some(owner) = self.owners.remove(&client).filter(|owner| !owner.instance.is_empty()) {
            let departed = self.departed.entry(client).or_default();
            let birth = owner.birth.to_le_bytes().to_vec();
            departed.retain(|known| *known != owner.instance && *known != birth);
            departed.extend([owner.instance, birth]);
            departed.drain(..departed.len().saturating_sub(REMEMBERED));
        }
        self.drop_client(client);
    }

    /// A client is still there, and its store has been written so often.
    pub(super) fn alive(&mut self, client: NodeId, position: u64) {
        if let Some(owner) = self.owners.get_mut(&client) {
            owner.position = owner.position.max(position);
        }
    }

    pub(super) fn open(&mut self, session: Session, peer: Peer, frames: mpsc::Sender<Frame>) {
        self.strangers.insert(session, (peer, frames));
    }

    /// The connection of someone who has not said hello.
    pub(super) fn stranger(&mut self, session: Session) -> Option<(Peer, mpsc::Sender<Frame>)> {
        self.strangers.remove(&session)
    }

    /// Whose connection this is.
    pub(super) fn client(&self, session: Session) -> Option<NodeId> {
        self.sessions.get(&session).copied()
    }

    /// A number belongs to whoever said this hello, which was not refused; `true` when it is a new member.
    pub(super) fn bind(&mut self, hello: &Hello) -> bool {
        if self.knows_start(hello) && self.knows_secret(hello) {
            return false;
        }
        let mut owner = Owner::of(hello);
        let before = self.owners.get(&NodeId(hello.client));
        // Who starts very often does not tell its first start for ever.
        if let Some(before) = before.filter(|before| before.birth != 0) {
            owner.birth = before.birth;
        }
        self.owners.insert(NodeId(hello.client), owner).is_none()
    }

    /// Whether the last start of this client that was let in is the one that says hello.
    pub(super) fn knows_start(&self, hello: &Hello) -> bool {
        self.owners.get(&NodeId(hello.client)).is_some_and(|owner| hello.epochs.last() == Some(&owner.epoch))
    }

    /// Whether this store has started anew since the coordinator last let it in.
    pub(super) fn starts_anew(&self, hello: &Hello) -> bool {
        let owner = self.owners.get(&NodeId(hello.client));
        hello.rejoins && owner.is_none_or(|owner| !owner.is_known_to(hello))
    }

    /// Whether a store that says this hello, or one that it is a copy of, had a number that was freed.
    fn has_left(&self, hello: &Hello) -> bool {
        self.departed.get(&NodeId(hello.client)).is_some_and(|departed| {
            let mut births = hello.epochs.iter().map(|epoch| epoch.to_le_bytes());
            births.any(|birth| departed.iter().any(|known| *known == birth))
                || !hello.rejoins && departed.contains(&hello.instance)
        })
    }

    /// Whether whoever says this hello has, or had, the number that it claims: it knows the secret that nobody else was told, or,
    /// where there is none, the name of the store.
    pub(super) fn knows(&self, hello: &Hello) -> bool {
        let client = NodeId(hello.client);
        let is_store = || {
            let owner = self.owners.get(&client).filter(|owner| !owner.instance.is_empty());
            owner.is_some_and(|owner| owner.instance == hello.instance) || self.has_left(hello)
        };
        if self.has_secret(client) { self.knows_secret(hello) } else { is_store() }
    }

    /// Whether a number belongs to who knows this secret, by which it was once let in.
    pub(super) fn knows_secret(&self, hello: &Hello) -> bool {
        let owner = self.owners.get(&NodeId(hello.client));
        owner.is_some_and(|owner| bool::from(owner.secret.ct_eq(&secret_of(hello))))
    }

    /// Whether a number belongs to someone who has a secret.
    pub(super) fn has_secret(&self, client: NodeId) -> bool {
        self.owners.get(&client).is_some_and(|owner| !owner.secret.is_empty())
    }

    /// A client is here; an older connection of the same client is dropped.
    pub(super) fn connect(
        &mut self,
        client: NodeId,
        session: Session,
        peer: Peer,
        frames: mpsc::Sender<Frame>,
        received: u64,
    ) {
        self.drop_client(client);
        self.sessions.insert(session, client);
        self.moves.push((client, true));
        let outbox = Outbox::new(frames, received);
        self.connected.insert(client, Connected { session, peer, outbox, confirmation_due: false });
    }

    /// Closes whatever this session was.
    pub(super) fn close(&mut self, session: Session) {
        self.strangers.remove(&session);
        if let Some(client) = self.sessions.remove(&session) {
            self.connected.remove(&client);
            self.moves.push((client, false));
        }
    }

    /// Closes a client's connection.
    pub(super) fn drop_client(&mut self, client: NodeId) {
        if let Some(old) = self.connected.remove(&client) {
            self.sessions.remove(&old.session);
            self.moves.push((client, false));
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
    ) -> Option<Refused> {
        let last = |reason: String| Some(Refused { reason, last: true, old: false });
        let client = NodeId(hello.client);
        if hello.version != wire::VERSION {
            return last(format!(
                "this coordinator speaks version {} of the wire format, the client version {}: upgrade the older one",
                wire::VERSION,
                hello.version
            ));
        }
        if hello.federation != federation {
            return last(format!(
                "this is the coordinator of federation {federation:?}, not of {:?}: correct `federation` or `coordinator`",
                cut(&hello.federation, NAME)
            ));
        }
        if hello.client as usize >= clients {
            return last(format!(
                "there is no {client}: this federation has clients 0 to {}",
                clients.saturating_sub(1)
            ));
        }
        if hello.parameters != 0 && hello.parameters != parameters {
            return last(
                "the client knows other terms (algorithm, parameters, setting or seed) than the coordinator: remove its [terms], \
                 or, if the federation was started anew under the same name, `cahoots rejoin` the client"
                    .into(),
            );
        }
        if hello.instance.len() != 16 || hello.epochs.is_empty() {
            return last(
                "a hello without the 16 bytes that name the client's store, or without its start".into(),
            );
        }
        let owner = self.owners.get(&client);
        // Also who knows no terms yet: it may be a copy of who does, and would draw the same noise.
        if owner.is_none_or(|_| hello.rejoins) && self.has_left(hello) {
            return last(format!(
                "the client's store left this federation when {client} was removed, its number released, or when it started \
                 anew: what it had sent stays merged, and would be merged again. `cahoots rejoin` the client, which then starts \
                 anew as {client}"
            ));
        }
        let owner = owner?;
        if owner.removed {
            return last(format!(
                "{client} was removed from this federation: `cahoots members FILE release {}` at the coordinator frees its number, \
                 and this client then starts anew under it, by `cahoots rejoin`",
                client.0
            ));
        }
        if owner.instance != hello.instance {
            return last(format!(
                "{client} is already taken by another store: two clients cannot share a number. Give this one a `client` number \
                 of its own; if it replaces {client}, start it with that client's store, or, if that is lost, \
                 `cahoots members FILE release {}` at the coordinator",
                client.0
            ));
        }
        if self.connected.contains_key(&client) && hello.epochs.last() != Some(&owner.epoch) {
            return Some(Refused {
                reason: format!(
                    "{client} is connected already: another process runs with this store or a copy of it. Stop one of them; \
                     if the other has just died, this one is let in as soon as that is noticed"
                ),
                last: false,
                old: false,
            });
        }
        if self.starts_anew(hello) {
            return None;
        }
        // All that was heard so far came from the last start that was let in, or earlier ones: the next must have begun
        // with it in its store. Later ones may have caught up.
        let known = hello.epochs.iter().rposition(|epoch| *epoch == owner.epoch);
        let sound = known.is_some_and(|known| {
            let next = known + 1;
            let (written, numbered) = (hello.written.get(next), hello.numbered.get(next));
            next == hello.epochs.len()
                || written.is_some_and(|written| *written >= owner.position)
                    && numbered.is_some_and(|numbered| *numbered >= ends.received)
        });
        (!sound || hello.sent < ends.received).then(|| outdated(client))
    }
}

/// An old copy took the place of a client's store.
pub(super) fn outdated(client: NodeId) -> Refused {
    let reason = format!(
        "the client's store is older than what the coordinator has already heard from it (an old copy was put back, or a \
         copy was used elsewhere): restore the client's newest store; without it, `cahoots rejoin` the client, which \
         then starts anew as {client}"
    );
    Refused { reason, last: true, old: true }
}

/// What was stored under the numbers of clients.
fn by_client<T: serde::de::DeserializeOwned>(
    prefix: &str,
    stored: Vec<(String, Vec<u8>)>,
) -> BTreeMap<NodeId, T> {
    let one = |(key, value): (String, Vec<u8>)| {
        let client = NodeId(key.strip_prefix(prefix)?.parse().ok()?);
        Some((client, postcard::from_bytes(&value).ok()?))
    };
    stored.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
