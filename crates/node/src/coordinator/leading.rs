//! What a coordinator does because others stand by: it says that it leads, logs what clients have confirmed, and proves what it has learned.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cahoots_core::NodeId;
use sha2::{Digest as _, Sha256};

use super::core::Core;
use super::looking::Look;
use super::replica::Stalled;
use super::replicas::Replicas;
use super::{Command, Digest};
use crate::platform::Bug;
use crate::replica::{Beacon, Pulse, Seen};
use crate::store::{Batch, Home, StoreError};
use crate::transport::{confirm_kept, refusal};

/// Names of values in the log: what clients have confirmed since the last time, a digest of the state, what snapshots cover.
pub(super) const CONFIRMED: &str = "confirmed";
pub(super) const STATE: &str = "state";
const COVERED: &str = "covered";
/// A value that is never set: whoever could write that leads still.
const LEADS: &str = "leads";

/// A leader with nothing to write finds out after so long whether it still leads.
const QUIET: Duration = Duration::from_secs(5);
/// Clients are sent away when the log has not answered for so long: others may reach it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the log between two proofs of the state, at least: each costs as much as a snapshot.
const PROVE: usize = 256 << 10;

/// Messages of each client that are in a snapshot.
pub(super) type Covered = BTreeMap<u32, u64>;

/// What a leader keeps beside its machine.
pub(super) struct Leading {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) page: Option<String>,
    pub(super) servers: String,
    /// Random, of this process.
    pub(super) instance: u64,
    pub(super) beacon: Box<dyn Beacon>,
    /// Where this process remembers what it has seen.
    pub(super) store: PathBuf,
    /// What was confirmed and is not logged yet.
    acknowledged: BTreeMap<u32, u64>,
    /// What the last snapshot covers, and the one before it: that one, too, would have to be lost.
    covered: (Covered, Covered),
    /// The last snapshot.
    snapshot: u64,
    /// When something was last written.
    wrote: Duration,
    /// Bytes logged since the last proof, and of the state then.
    unproved: usize,
    state_bytes: usize,
}

impl Leading {
    /// Whoever begins to lead, with what the log says of snapshots.
    pub(super) fn new(
        replicas: &Replicas,
        instance: u64,
        beacon: Box<dyn Beacon>,
        store: PathBuf,
        home: &dyn Home,
    ) -> Result<Leading, StoreError> {
        let covered =
            home.get(COVERED)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default();
        let snapshot = home.replica().and_then(|place| place.snapshot).map_or(0, |(sequence, ..)| sequence);
        Ok(Leading {
            name: replicas.name.clone(),
            address: replicas.address.clone(),
            page: replicas.page.clone(),
            servers: replicas.servers.clone(),
            instance,
            beacon,
            store,
            acknowledged: BTreeMap::new(),
            covered,
            snapshot,
            wrote: home.platform().elapsed(),
            unproved: 0,
            state_bytes: 0,
        })
    }

    /// A client has it on disk: who stands by need not keep it.
    pub(super) fn confirmed(&mut self, client: NodeId, sequence: u64) {
        let known = self.acknowledged.entry(client.0).or_default();
        *known = sequence.max(*known);
    }

    /// Messages of a client that need not be kept to be sent again.
    pub(super) fn kept(&self, client: NodeId) -> u64 {
        self.covered.1.get(&client.0).copied().unwrap_or(0)
    }

    fn pulse(&self, home: &dyn Home, resigns: bool) -> Option<Pulse> {
        let place = home.replica()?;
        Some(Pulse {
            instance: self.instance,
            name: self.name.clone(),
            address: self.address.clone(),
            page: self.page.clone(),
            epoch: place.epoch,
            sequence: place.sequence,
            resigns,
        })
    }

    /// Others hear that it leads, or that it leads no longer.
    pub(super) fn announce(&mut self, home: &dyn Home, resigns: bool) {
        let pulse = self.pulse(home, resigns);
        self.beacon.say(pulse);
    }

    /// Where it is, to be compared when it comes back.
    fn remember(&self, home: &dyn Home) {
        let Some(place) = home.replica() else { return };
        let seen = Seen { epoch: place.epoch, sequence: place.sequence, hash: place.hash };
        if let Err(error) = seen.keep(&self.store, home.platform()) {
            tracing::warn!(%error, "where the log is could not be remembered beside the store");
        }
    }
}

impl Core {
    /// Once a second.
    pub(super) fn lead_on(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        leading.announce(&*self.store, false);
        leading.remember(&*self.store);
        let epoch = self.store.replica().map_or(0, |place| place.epoch);
        let mut doubt = self.store.platform().elapsed().saturating_sub(leading.wrote) > QUIET;
        while let Some(pulse) = leading.beacon.heard() {
            doubt |= pulse.instance != leading.instance && pulse.epoch >= epoch && !pulse.resigns;
        }
        if !leading.acknowledged.is_empty() {
            let confirmed: Vec<(u32, u64)> = std::mem::take(&mut leading.acknowledged).into_iter().collect();
            self.batch.set(CONFIRMED, postcard::to_stdvec(&confirmed).expect("numbers can be written"));
        } else if doubt {
            self.batch.set(LEADS, Vec::new());
        }
    }

    /// What goes with a commit: a digest of the state now and then, and something to write where anything leaves because of a hello,
    /// so that only who leads says it.
    pub(super) fn prove(&mut self, batch: &mut Batch) {
        let Some(leading) = &mut self.leading else { return };
        if batch.is_empty() && !(self.after.is_empty() && self.refusals.is_empty()) {
            batch.set(LEADS, Vec::new());
        }
        if batch.is_empty() {
            return;
        }
        leading.wrote = self.store.platform().elapsed();
        leading.unproved += batch.bytes();
        let due = leading.unproved > leading.state_bytes.max(PROVE);
        let state = match batch.state() {
            Some(state) => Some(state.to_vec()),
            None => due.then(|| self.machine.save()),
        };
        if let Some(state) = state {
            (leading.unproved, leading.state_bytes) = (0, state.len());
            batch.set(STATE, Sha256::digest(&state).to_vec());
        }
    }

    /// A snapshot was asked for. Where it is kept, the one before it covers what need not be sent again.
    pub(super) fn snapshot_was_kept(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        let kept = self.store.replica().and_then(|place| place.snapshot).map_or(0, |(sequence, ..)| sequence);
        if kept <= leading.snapshot {
            return;
        }
        leading.snapshot = kept;
        let received: Covered = (0..self.seats.clients() as u32)
            .map(|client| (client, self.machine.ends(NodeId(client)).received))
            .filter(|(_, received)| *received > 0)
            .collect();
        leading.covered.1 = std::mem::replace(&mut leading.covered.0, received);
        let covered = postcard::to_stdvec(&leading.covered).expect("numbers can be written");
        self.batch.set(COVERED, covered);
        for (client, connected) in &self.members.connected {
            let received = self.machine.ends(*client).received;
            let _ = connected.outbox.send(confirm_kept(received, Some(leading.kept(*client))));
        }
    }

    /// The log does not answer. Whoever only looks is answered meanwhile, all else waits; `false` when it was told to stop.
    pub(super) fn wait_for_the_log(&mut self, what: &str) -> bool {
        let (now, passed) = (self.store.platform().wall().as_secs_f64(), self.store.platform().elapsed());
        self.watch.at(now);
        if self.stalled.is_none() {
            tracing::warn!(what, "the log does not answer: nothing is taken until it does");
        }
        if self.store.platform().has(Bug::SendEarly) {
            self.send();
        }
        let stalled = self.stalled.get_or_insert_with(|| Stalled::now(self.store.platform()));
        stalled.heard = what.into();
        let since = stalled.counted;
        while let Some(command) = self.inbox.as_mut().and_then(|inbox| inbox.try_recv().ok()) {
            match command {
                Command::Look(Look::Status(answer)) => drop(answer.send(self.status())),
                Command::Look(look) => self.look(look),
                Command::Stop => self.stopping = true,
                Command::Tick | Command::Sample => {}
                other => self.held.push_back(other),
            }
        }
        // Time that has passed: the date may jump.
        if passed.saturating_sub(since) > PATIENCE && !self.members.connected.is_empty() {
            let clients: Vec<NodeId> = self.members.connected.keys().copied().collect();
            tracing::warn!(clients = clients.len(), "clients are sent to other coordinators");
            for client in clients {
                if let Some(connected) = self.members.connected.get(&client) {
                    let _ = connected.outbox.send(refusal("the log does not answer this coordinator", false));
                }
                self.members.drop_client(client);
            }
        }
        // Who stops waits a moment for what it has begun to write; nobody was told of it.
        !self.stopping || passed.saturating_sub(since) < PATIENCE
    }

    /// What the machine amounts to.
    pub(super) fn digest(&self) -> Digest {
        let sequence = self.store.replica().map_or(self.store.commits(), |place| place.sequence);
        Digest { sequence, sha256: hex(&Sha256::digest(self.machine.save())) }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
