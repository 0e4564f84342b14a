//! What must be true in the end, whatever went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cahoots_core::NodeId;
use cahoots_node::inside::{self, Platform};
use cahoots_node::replica::Replicated;

use super::super::audit::merged_once;
use super::super::audit::replay::{Shadow, replay};
use super::super::computer::{Commit, value};
use super::super::world::Broken;
use super::Totals;
use super::world::{World, key};

impl World<'_> {
    /// Looks at everything.
    pub(super) fn audit(&mut self) -> Result<Totals, Broken> {
        self.truth.follow()?;
        let state = self.truth.state().ok_or("the log has not begun")?;
        for (number, coordinator) in self.coordinators.iter_mut().enumerate() {
            let node = coordinator.node.as_mut().ok_or("a coordinator is down")?;
            if node.look(|machine| machine.save()).as_ref() != Some(&state) {
                return Err(format!("coordinator {number} has come to something else than its log"));
            }
        }
        self.truth.holds_for_a_newcomer()?;
        let server = self.all_of_it()?;
        let merged = self.case.merged.map(|merged| merged(&state));
        for client in 0..self.clients.len() {
            let shadow = self.same_as_replayed(client)?;
            self.promises(client, &shadow)?;
            if let Some(server) = &server {
                taken_once(client, &shadow, server)?;
            }
            if let Some(merged) = &merged {
                merged_once(client, &self.case.users[client], &self.clients[client].app, merged, true)?;
            }
        }
        let rewards = self.clients.iter().flat_map(|client| &client.app.rewards);
        self.totals.acknowledged = rewards.filter(|reward| reward.acknowledged.is_some()).count() as u64;
        (self.totals.records, self.totals.epochs) = (self.truth.read, self.truth.epochs.len() as u64);
        self.totals.trimmed = u64::from(self.stream.extent_now().first > 1);
        Ok(self.totals.clone())
    }

    /// A machine that has read the log from its first message, trimmed or not; nothing where some of it is nowhere.
    fn all_of_it(&mut self) -> Result<Option<Shadow>, Broken> {
        let Some(stream) = self.stream.untrimmed() else { return Ok(None) };
        let words = |e: &dyn std::fmt::Display| e.to_string();
        let opened = Replicated::open(Path::new("all of it"), key(), Box::new(stream), Platform::System);
        let (mut home, _) = opened.map_err(|e| words(&e))?;
        let mut commits = Vec::new();
        loop {
            let read = home.follow().map_err(|e| words(&e))?;
            if read.is_empty() {
                break;
            }
            commits.extend(read.into_iter().map(|read| {
                let values = read.batch.values().to_vec();
                Arc::new(Commit { entries: read.batch.into_entries(), values })
            }));
        }
        let terms = &self.case.terms;
        let live = terms.live(&self.cases.known).map_err(|e| words(&e))?;
        let mut machine = live.coordinator(terms, None).map_err(|e| words(&e))?;
        let secret = value(&commits, "secret").ok_or("a log without a secret")?;
        let keys = inside::keys(terms, secret.try_into().map_err(|_| "a short secret")?);
        let shadow = replay(&mut *machine, &commits, &keys, NodeId::SERVER)?;
        if Some(machine.save()) != self.truth.state() {
            return Err("all of the log gives something else than its end".into());
        }
        Ok(Some(shadow))
    }

    /// A client is what its inputs make of it, and both ends of its link have come equally far.
    fn same_as_replayed(&mut self, client: usize) -> Result<Shadow, Broken> {
        let me = NodeId(client as u32);
        let there = self.truth.ends(me).ok_or("the log has not begun")?;
        let peer = &self.clients[client];
        let node = peer.node.as_ref().ok_or("a client is down")?;
        peer.computer.tape().truncate(node.commits());
        let tape = peer.computer.tape();
        let terms = &self.case.terms;
        let live = terms.live(&self.cases.known).map_err(|e| e.to_string())?;
        let mut machine = live.client(terms, me, None).map_err(|e| e.to_string())?;
        let keys = inside::keys(terms, node.secret());
        let shadow = replay(&mut *machine, tape.commits(), &keys, me)?;
        let look = node.look(|now, _| (now.state() == machine.state(), now.ends(NodeId::SERVER)));
        let (same, here) = look.ok_or("a client has not joined")?;
        if !same {
            return Err(format!("client {client} is not what its inputs make of it"));
        }
        if (here.received, here.sent) != there {
            return Err(format!("client {client} is at {here:?}, and the log at {there:?}"));
        }
        Ok(shadow)
    }

    /// What the app was promised is in the client's log, once; and nothing that it never gave.
    fn promises(&self, client: usize, shadow: &Shadow) -> Result<(), Broken> {
        let rewards = &self.clients[client].app.rewards;
        let mut logged = BTreeMap::new();
        for (id, value) in &shadow.rewards {
            if logged.insert(*id, *value).is_some() {
                return Err(format!("client {client} has logged the reward of {id} twice"));
            }
            if !rewards.iter().any(|reward| reward.id == *id && reward.sent && reward.value == *value) {
                return Err(format!("client {client} has logged a reward of {id} that nobody gave"));
            }
        }
        let acknowledged = rewards.iter().filter(|reward| reward.acknowledged.is_some());
        match acknowledged.into_iter().find(|reward| logged.get(&reward.id) != Some(&reward.value)) {
            Some(lost) => Err(format!("client {client} has lost the acknowledged reward of {}", lost.id)),
            None => Ok(()),
        }
    }
}

/// What was taken from a client is all that it sent, each message once.
fn taken_once(client: usize, shadow: &Shadow, server: &Shadow) -> Result<(), Broken> {
    let me = NodeId(client as u32);
    let mut once = BTreeSet::new();
    for (sequence, sum) in server.received.get(&(me, 0)).into_iter().flatten() {
        if shadow.emitted.get(&(NodeId::SERVER, *sequence)) != Some(sum) {
            return Err(format!("the log has a message {sequence} that client {client} never sent"));
        }
        if !once.insert(*sequence) {
            return Err(format!("the log has message {sequence} of client {client} twice"));
        }
    }
    Ok(())
}
