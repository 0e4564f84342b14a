//! Who says hello: let in, or told why not.

use cahoots_core::drive::Event;
use cahoots_core::link::Ends;
use cahoots_core::{Membership, NodeId};

use super::core::Core;
use super::members::{Refused, outdated};
use super::watch::Happening;
use crate::transport::proto::{Change, Hello, Refusal, Welcome};
use crate::transport::{Kind, Session, frame};

impl Core {
    /// A connection says whose it is.
    pub(super) fn hello(&mut self, session: Session, hello: Hello) {
        let Some((peer, frames)) = self.members.stranger(session) else { return };
        let client = NodeId(hello.client);
        let clients = self.seats.clients();
        let ends = if client.index() < clients { self.machine.ends(client) } else { Ends::default() };
        let (federation, parameters) = (&self.header.federation, self.header.parameters);
        let now = self.store.platform().wall();
        let refused = self.admission.refuse(&self.members, &hello, &peer, federation, now);
        let is_known = self.is_known(&hello, &peer, refused.is_none());
        let refused = refused.or_else(|| self.members.refuse(&hello, federation, clients, parameters, ends));
        // What it has confirmed is no longer kept: who lacks it comes with an old copy.
        let refused = refused.or_else(|| {
            let lacks = !self.members.starts_anew(&hello) && self.lacks(client, hello.received);
            lacks.then(|| outdated(client))
        });
        let disbelieved = self.conduct.refuses(client, hello.rejoins);
        let refused = refused.or(disbelieved.map(|reason| Refused { reason, last: true, old: false }));
        if let Some(refused) = refused {
            self.turn_away(client, is_known, &refused);
            let Refused { reason, last, old } = refused;
            tracing::warn!(client = client.0, reason, "turned away");
            let refusal = Refusal { reason, r#final: last, old_copy: old, leader: String::new() };
            // Behind the commit, like all that is said: whoever leads no longer refuses nobody for good.
            self.refusals.push((frames, frame(Kind::Refusal(refusal))));
            return;
        }
        if self.members.is_member(client) && self.members.starts_anew(&hello) {
            self.leave(client);
            self.free(client);
            self.forgive(client);
        }
        if hello.received > self.machine.ends(client).sent {
            // This store is an old copy. Clients send again what it lacks; numbers go on where they are.
            tracing::warn!(
                client = client.0,
                "it has received more than this coordinator remembers: the store is an old copy"
            );
            let now = self.clock.now();
            self.inputs += 1;
            self.machine.behind(now, client, hello.received, &self.keys, &mut self.batch);
        }
        self.machine.queues().confirmed(client, hello.received);
        let known = self.members.knows_start(&hello) && self.members.knows_secret(&hello);
        let new = self.members.bind(&hello);
        self.granted_by_invitation(&hello);
        if !known {
            let (key, owner) = self.members.save(client);
            self.batch.set(key, owner);
        }
        if new && self.lockstep.is_none() {
            self.event(Event::Membership(Membership::Joined(client)));
        }
        self.members.connect(client, session, peer, frames, hello.received);
        let Ends { sent, received } = self.machine.ends(client);
        let (terms, parameters) = (self.told_terms.clone(), self.header.parameters);
        let (version, params) = self.machine.params();
        let change = (version > 0).then(|| Change { version, params: params.into() });
        let welcome =
            Welcome { received, terms, parameters, sent, change, replicated: self.leading.is_some() };
        self.after.push((client, frame(Kind::Welcome(welcome.into()))));
        self.touched.insert(client);
        if new {
            // Groups may be of those who have joined.
            self.watch.regrouped = true;
            tracing::info!(client = client.0, "joined");
            self.watch.note(Happening::Joined, Some(client), "is a member from now on");
            self.watch.change(client).joined = Some(self.watch.now);
        }
        tracing::info!(client = client.0, here = self.members.connected.len(), "connected");
    }

    /// Whether a client that has received so much cannot be sent what follows.
    fn lacks(&mut self, client: NodeId, received: u64) -> bool {
        let sent = self.machine.ends(client).sent;
        let next = self.machine.queues().after(client, received).next();
        next.map_or(sent > received, |next| next.sequence - next.skipped > received + 1)
    }
}
