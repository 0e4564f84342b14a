//! What must be true in the end, whatever went wrong: the account that apps kept against what stores were given, what
//! stores were given against what machines sent and took, and both against the sums that the coordinator has.

pub(super) mod replay;
mod sums;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{DecisionId, NodeId};
use cahoots_node::inside;

use self::replay::{Shadow, replay};
pub(super) use self::sums::merged_once;
use super::computer::{Commit, value};
use super::world::{Broken, World};

/// What a schedule came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Schedules.
    pub schedules: u64,
    /// Things that happened.
    pub events: u64,
    /// Faults.
    pub faults: u64,
    /// Rewards that apps handed over.
    pub sent: u64,
    /// Rewards that were acknowledged.
    pub acknowledged: u64,
    /// Messages that coordinators took.
    pub taken: u64,
}

impl Totals {
    /// Both together.
    pub fn plus(self, other: Totals) -> Totals {
        Totals {
            schedules: self.schedules + other.schedules,
            events: self.events + other.events,
            faults: self.faults + other.faults,
            sent: self.sent + other.sent,
            acknowledged: self.acknowledged + other.acknowledged,
            taken: self.taken + other.taken,
        }
    }
}

/// One store of one client, from its first commit to its last.
struct Life {
    epochs: BTreeSet<u64>,
    secret: Option<Vec<u8>>,
    shadow: Option<Shadow>,
}

impl World<'_> {
    /// Looks at everything.
    pub(super) fn audit(&mut self) -> Result<Totals, Broken> {
        // What a commit was about that failed did not happen.
        if let Some(coordinator) = &self.coordinator {
            self.site.computer.tape().truncate(coordinator.commits());
        }
        for client in &self.clients {
            if let Some(node) = &client.node {
                client.site.computer.tape().truncate(node.commits());
            }
        }
        let mut lives = Vec::new();
        for client in 0..self.clients.len() {
            lives.push(self.lives(client)?);
        }
        let server = self.server()?;
        for client in 0..self.clients.len() {
            if !self.ended {
                self.same_as_replayed(client, lives[client].get(self.life_of(client)))?;
            }
            self.promises(client, &lives[client])?;
            if !self.ended {
                self.links(client, &lives[client], &server)?;
            }
            self.taken_once(client, &lives[client], &server)?;
            let secrets: Vec<_> = lives[client].iter().filter_map(|life| life.secret.as_ref()).collect();
            let branched = self.clients[client].site.branched.is_some();
            if !branched && secrets.iter().collect::<BTreeSet<_>>().len() < secrets.len() {
                return Err(format!("client {client} started anew, and draws the same noise again"));
            }
        }
        self.between_clients(&lives)?;
        if !self.ended {
            self.sums(&lives)?;
        }
        let rewards = || self.clients.iter().flat_map(|client| &client.app.rewards);
        Ok(Totals {
            schedules: 1,
            events: self.events,
            faults: self.plan.remaining().count() as u64,
            sent: rewards().filter(|reward| reward.sent).count() as u64,
            acknowledged: rewards().filter(|reward| reward.acknowledged.is_some()).count() as u64,
            taken: server.received.values().map(|taken| taken.len() as u64).sum(),
        })
    }

    /// The stores of a client, one after the other, each as a machine that never met a fault makes it.
    fn lives(&self, client: usize) -> Result<Vec<Life>, Broken> {
        let tape = self.clients[client].site.computer.tape();
        tape.lives().iter().map(|commits| self.life(client, commits)).collect()
    }

    fn life(&self, client: usize, commits: &[Arc<Commit>]) -> Result<Life, Broken> {
        let me = NodeId(client as u32);
        let starts = commits.iter().flat_map(|commit| &commit.values).filter(|(key, _)| key == "starts");
        // Number, commits before it, messages before it.
        let starts = starts.map(|(_, starts)| postcard::from_bytes::<Vec<(u64, u64, u64)>>(starts));
        let starts =
            starts.collect::<Result<Vec<_>, _>>().map_err(|e| format!("client {client}'s starts: {e}"))?;
        let epochs = starts.into_iter().flatten().map(|(epoch, _, _)| epoch);
        let secret = value(commits, "secret").map(<[u8]>::to_vec);
        let joined = value(commits, "terms").is_some();
        let mut shadow = None;
        if let (true, Some(secret)) = (joined, &secret) {
            let terms = &self.case.terms;
            let live = terms.live(&self.cases.known).map_err(|e| e.to_string())?;
            let mut machine = live.client(terms, me, None).map_err(|e| e.to_string())?;
            let keys = inside::keys(terms, secret[..].try_into().map_err(|_| "a short secret")?);
            let mut made = replay(&mut *machine, commits, &keys, me)?;
            made.state = machine.state();
            shadow = Some(made);
        }
        Ok(Life { epochs: epochs.collect(), secret, shadow })
    }

    /// The store that a client has now, among all that it had.
    fn life_of(&self, client: usize) -> usize {
        self.clients[client].site.computer.tape().life()
    }

    /// A coordinator that never met a fault, given so much.
    fn shadow_server(&self, commits: &[Arc<Commit>]) -> Result<Shadow, Broken> {
        let terms = &self.case.terms;
        let live = terms.live(&self.cases.known).map_err(|e| e.to_string())?;
        let mut machine = live.coordinator(terms, None).map_err(|e| e.to_string())?;
        let secret = value(commits, "secret").ok_or("a coordinator without a secret")?;
        let keys = inside::keys(terms, secret.try_into().map_err(|_| "a short secret")?);
        let mut shadow = replay(&mut *machine, commits, &keys, NodeId::SERVER)?;
        shadow.state = machine.state();
        Ok(shadow)
    }

    /// Which of its stores the coordinator has now: where a copy was put in the place of another, and that did not last,
    /// the number of commits does not tell.
    pub(super) fn recognise(&mut self) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let state = coordinator.look(|machine, _| machine.state());
        let Some(coordinator) = &self.coordinator else { return };
        let commits = coordinator.commits() as usize;
        let tape = self.site.computer.tape();
        let others = (0..tape.lives().len()).rev().filter(|life| *life != tape.life());
        let same_values = |known: &[Arc<Commit>]| {
            let values = known.iter().flat_map(|commit| &commit.values).map(|(name, value)| (name, value));
            let last: BTreeMap<_, _> = values.collect();
            // What is empty is not there.
            last.into_iter().all(|(name, value)| coordinator.stored(name).unwrap_or_default() == *value)
        };
        let is_it = |life: &usize| {
            let known = tape.lives()[*life].get(..commits);
            known
                .filter(|known| same_values(known))
                .is_some_and(|known| self.shadow_server(known).is_ok_and(|shadow| shadow.state == state))
        };
        let found = std::iter::once(tape.life()).chain(others).find(is_it);
        drop(tape);
        if let Some(life) = found {
            self.site.computer.tape().go_on(life);
        }
    }

    fn server(&mut self) -> Result<Shadow, Broken> {
        let tape = self.site.computer.tape();
        let shadow = self.shadow_server(tape.commits())?;
        drop(tape);
        if let Some(coordinator) = &mut self.coordinator {
            let (state, books) = coordinator.look(|machine, books| (machine.state(), books.clone()));
            if state != shadow.state {
                return Err("the coordinator is not what its inputs make of it".into());
            }
            if books != shadow.books {
                return Err("the coordinator's books are not what its inputs make of them".into());
            }
        }
        Ok(shadow)
    }

    /// A client is what its inputs make of it, and so are its books.
    fn same_as_replayed(&self, client: usize, life: Option<&Life>) -> Result<(), Broken> {
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let Some(now) = node.look(|machine, books| (machine.state(), books.clone())) else { return Ok(()) };
        let shadow = life.and_then(|life| life.shadow.as_ref());
        let shadow =
            shadow.ok_or_else(|| format!("client {client} has joined, and its store does not know"))?;
        if now.0 != shadow.state {
            return Err(format!("client {client} is not what its inputs make of it"));
        }
        if now.1 != shadow.books {
            return Err(format!(
                "the books of client {client} are not what its inputs make of them: {:?} and not {:?}",
                now.1, shadow.books
            ));
        }
        self.kept(client)?;
        self.account(client, shadow)
    }

    /// What a client keeps of decisions for its app is what its store was told to keep.
    fn kept(&self, client: usize) -> Result<(), Broken> {
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let tape = self.clients[client].site.computer.tape();
        let mut stored = BTreeMap::new();
        for (name, value) in tape.commits().iter().flat_map(|commit| &commit.values) {
            if name.starts_with("ticket/") {
                stored.insert(name.clone(), value.clone());
            }
        }
        stored.retain(|_, value| !value.is_empty());
        if node.tickets() != stored {
            return Err(format!(
                "client {client} keeps other tickets than its store has: {:?}",
                stored.keys()
            ));
        }
        Ok(())
    }

    /// What a client says that it has spent of its users' privacy is never less than what its machine has released.
    fn account(&self, client: usize, shadow: &Shadow) -> Result<(), Broken> {
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let (says, released) = (node.app().privacy(), &shadow.books.accountant);
        let less = released.spent(1e-5).into_iter().find(|spent| {
            let same = says.spent.iter().find(|s| (&s.unit, &s.observer) == (&spent.unit, &spent.observer));
            same.is_none_or(|same| same.rho < spent.rho)
        });
        if let Some(less) = less {
            return Err(format!(
                "client {client} says it has spent {:?}, and has spent {less:?}",
                says.spent
            ));
        }
        if says.unprotected < released.unprotected() {
            return Err(format!("client {client} has released more without noise than it says"));
        }
        Ok(())
    }

    /// What the app was promised is in the log, once; and nothing that it never gave.
    fn promises(&self, client: usize, lives: &[Life]) -> Result<(), Broken> {
        let peer = &self.clients[client];
        let mut logged: Vec<BTreeMap<DecisionId, f64>> = Vec::new();
        for life in lives {
            let mut once = BTreeMap::new();
            for (id, value) in life.shadow.iter().flat_map(|shadow| &shadow.rewards) {
                if once.insert(*id, *value).is_some() {
                    return Err(format!("client {client} has logged the reward of {id} twice"));
                }
                let given = peer.app.rewards.iter().find(|reward| reward.id == *id);
                if !given.is_some_and(|given| given.sent && given.value == *value) {
                    return Err(format!("client {client} has logged a reward of {id} that nobody gave"));
                }
            }
            logged.push(once);
        }
        for reward in &peer.app.rewards {
            let Some((life, at)) = reward.acknowledged else { continue };
            let excused = peer.site.branched.is_some_and(|branched| branched >= at);
            let kept = logged.get(life).and_then(|life| life.get(&reward.id)) == Some(&reward.value);
            if !kept && !excused {
                return Err(format!("client {client} has lost the acknowledged reward of {}", reward.id));
            }
        }
        Ok(())
    }

    /// Both ends of a link have come equally far, and what was taken is what was sent.
    fn links(&mut self, client: usize, lives: &[Life], server: &Shadow) -> Result<(), Broken> {
        let me = NodeId(client as u32);
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let Some(here) = node.look(|machine, _| machine.ends(NodeId::SERVER)) else { return Ok(()) };
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        let there = coordinator.look(|machine, _| machine.ends(me));
        if (here.sent, here.received) != (there.received, there.sent) {
            return Err(format!("client {client} is at {here:?}, and the coordinator at {there:?}"));
        }
        let alone = lives.len() == 1 && server.left(me) == 0;
        if alone && self.site.branched.is_none() && self.clients[client].site.branched.is_none() {
            let shadow = lives[0].shadow.as_ref().ok_or("a client that is connected has joined")?;
            for (sequence, sum) in shadow.received.get(&(NodeId::SERVER, 0)).into_iter().flatten() {
                if server.emitted.get(&(me, *sequence)) != Some(sum) {
                    return Err(format!("client {client} took a message {sequence} that was never sent"));
                }
            }
        }
        Ok(())
    }

    /// What the coordinator has taken from a client is what that sent, and nothing of it twice.
    fn taken_once(&self, client: usize, lives: &[Life], server: &Shadow) -> Result<(), Broken> {
        let me = NodeId(client as u32);
        let mut once = BTreeSet::new();
        for ((_, stay), taken) in server.received.iter().filter(|((from, _), _)| *from == me) {
            let epochs = server.epochs.get(&(me, *stay));
            let life = lives.iter().position(|life| {
                epochs.is_some_and(|epochs| epochs.iter().any(|epoch| life.epochs.contains(epoch)))
            });
            let Some(life) = life else {
                if self.clients[client].site.branched.is_some() {
                    continue;
                }
                return Err(format!("the coordinator took messages from a client {client} that never was"));
            };
            let Some(shadow) = &lives[life].shadow else {
                if self.clients[client].site.branched.is_some() {
                    continue;
                }
                return Err(format!(
                    "the coordinator took messages from a client {client} that has not joined"
                ));
            };
            // What a store sent that went back in time, and was not let in again, is nobody's to say any more.
            let site = &self.clients[client].site;
            let known =
                site.branched.is_none() || life == self.life_of(client) && self.site.branched.is_none();
            for (sequence, sum) in taken {
                if known && shadow.emitted.get(&(NodeId::SERVER, *sequence)) != Some(sum) {
                    return Err(format!(
                        "the coordinator took a message {sequence} that client {client} never sent"
                    ));
                }
                if !once.insert((life, *sequence)) {
                    return Err(format!("the coordinator took message {sequence} of client {client} twice"));
                }
            }
        }
        Ok(())
    }

    /// The same between clients.
    fn between_clients(&self, lives: &[Vec<Life>]) -> Result<(), Broken> {
        let whole = |client: usize| lives[client].len() == 1 && self.clients[client].site.branched.is_none();
        for to in (0..lives.len()).filter(|client| whole(*client)) {
            let Some(shadow) = &lives[to][0].shadow else { continue };
            for ((from, _), taken) in &shadow.received {
                if *from == NodeId::SERVER || !whole(from.index()) {
                    continue;
                }
                let Some(sender) = &lives[from.index()][0].shadow else {
                    return Err(format!("client {to} took messages from {from}, who has not joined"));
                };
                let me = NodeId(to as u32);
                for (sequence, sum) in taken {
                    if sender.emitted.get(&(me, *sequence)) != Some(sum) {
                        return Err(format!("client {to} took a message {sequence} that {from} never sent"));
                    }
                }
                if !self.ended && taken.last().map(|(last, _)| *last) != sender.last(me) {
                    return Err(format!("client {to} has not taken all that {from} sent it"));
                }
            }
        }
        Ok(())
    }

    /// Every reward is a power of two in a coordinate of its user's, so the sum says which were merged, and how often.
    fn sums(&mut self, lives: &[Vec<Life>]) -> Result<(), Broken> {
        let (Some(merged), Some(coordinator)) = (self.case.merged, &mut self.coordinator) else {
            return Ok(());
        };
        let merged = merged(&coordinator.look(|machine, _| machine.save()));
        for (client, peer) in self.clients.iter().enumerate() {
            let exact = lives[client].len() == 1 && peer.site.branched.is_none();
            merged_once(client, &self.case.users[client], &peer.app, &merged, exact)?;
        }
        Ok(())
    }
}
