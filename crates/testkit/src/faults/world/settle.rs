//! Once nothing goes wrong any more: someone looks after those who say that they need it, and all must come to rest.

use cahoots_core::NodeId;
use cahoots_node::inside;
use cahoots_node::store::StoreError;

use super::super::plan::{Fault, Who};
use super::{Broken, Down, Event, FEDERATION, Follow, LOOK, Link, PATIENCE, World};

impl World<'_> {
    /// From now on nothing goes wrong.
    pub(super) fn become_calm(&mut self) {
        self.say(|| "nothing goes wrong any more".into());
        self.calm = Some(self.now);
        let everyone = std::iter::once(Who::Coordinator).chain((0..self.clients.len()).map(Who::Client));
        for who in everyone.collect::<Vec<_>>() {
            let site = self.site(who);
            (site.frames_left, site.next_crash) = (None, None);
            site.computer.disk.mood(|mood| {
                (mood.off_at, mood.off_at_sync, mood.off_after_rename) = (None, None, false);
                (mood.full, mood.sync_fails) = (false, false);
            });
        }
        let now = self.now;
        for client in &mut self.clients {
            client.partitioned = client.partitioned.min(now);
        }
        for connection in 0..self.connections.len() {
            for up in [true, false] {
                let pipe = self.connections[connection].pipe(up);
                (pipe.stalled, pipe.flip) = (pipe.stalled.min(now), None);
                (pipe.duplicate, pipe.swap) = (false, false);
                self.at(now, Event::Pull { connection, up });
            }
        }
    }

    /// Someone looks; `true` when all has come to rest.
    pub(super) fn look(&mut self) -> Result<bool, Broken> {
        for client in 0..self.clients.len() {
            self.look_after(client)?;
        }
        self.after(LOOK, Event::Look);
        let Some(since) = self.calm else { return Ok(false) };
        let Some(unsettled) = self.unsettled() else { return Ok(true) };
        if self.now > since + PATIENCE {
            return Err(format!("{unsettled}, long after anything went wrong"));
        }
        Ok(false)
    }

    /// Does what a client's words say is to be done, if it has said them for a while.
    fn look_after(&mut self, client: usize) -> Result<(), Broken> {
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let words = node.app().failure().or_else(|| node.app().problems().into_iter().next());
        let before = std::mem::replace(&mut self.clients[client].trouble, words.clone());
        let Some(words) = words.filter(|words| before.as_ref() == Some(words)) else { return Ok(()) };
        let down = self.clients[client].node.as_ref().is_some_and(|node| node.app().failure().is_some());
        self.say(|| format!("client {client} says: {words}"));
        let (release, rejoin) =
            (words.contains("`cahoots members FILE release"), words.contains("`cahoots rejoin`"));
        let rejoin = rejoin || words.contains("put the newest back");
        if words.contains("put the newest back") && self.is_honest(client) {
            // Until what it has received is on its disk; if not, it will never be connected.
            return Ok(());
        }
        if (release || rejoin) && self.is_honest(client) {
            return Err(format!("client {client} is refused, though nobody did anything to it: {words}"));
        }
        if release {
            self.release(client)?;
            if down { self.crash(Who::Client(client), Down::Kill, 1000) } else { Ok(()) }
        } else if rejoin {
            self.crash(Who::Client(client), Down::Kill, 1000)?;
            self.start_anew(client)?;
            self.start_badly(client);
            Ok(())
        } else if down {
            self.crash(Who::Client(client), Down::Kill, 1000)
        } else if words.contains("did not merge") && self.went_back() {
            // A coordinator that went back in time may not understand what its clients are at; it says so.
            Ok(())
        } else if words.contains("no space left") || words.contains("or its number released") {
            // It goes on by itself, or is told more when it comes back.
            Ok(())
        } else {
            Err(format!("client {client} says what nobody can do anything about: {words}"))
        }
    }

    /// The worst time for a crash is when a client has just been let in again, and the worst copy is one of that time.
    fn start_badly(&mut self, client: usize) {
        match self.dice.below(6) {
            0 => {
                let (operations, site) = (self.dice.between(1, 16), &mut self.clients[client].site);
                site.crash = (Down::Kill, 1000);
                let at = site.computer.disk.operations() + operations;
                site.computer.disk.kill();
                site.computer.disk.mood(|mood| mood.off_at = Some(at));
            }
            1..=3 if !self.clients[client].followed => {
                // It has a while to learn alone, and then all of it to send at once.
                self.clients[client].partitioned = self.now + self.dice.between(100_000, 600_000);
                self.clients[client].crash_when_welcome = true;
                self.learn_more(client);
            }
            4 | 5 if !self.clients[client].followed => {
                self.learn_more(client);
                let soon = if self.dice.one_in(2) { 80_000 } else { 2_000_000 };
                let copied = self.dice.between(2000, soon);
                let killed = copied + self.dice.between(10_000, 500_000);
                let put_back = killed + self.dice.between(1_000_000, 3_000_000);
                self.following += 3;
                self.after(copied, Event::Follow(client, Follow::Copy));
                self.after(killed, Event::Follow(client, Follow::Kill));
                self.after(put_back, Event::Follow(client, Follow::PutBack));
            }
            _ => {}
        }
    }

    /// There is more to be sent, which must not be merged twice.
    fn learn_more(&mut self, client: usize) {
        self.clients[client].followed = true;
        self.clients[client].app.left += 4;
        self.after(2000, Event::App(client));
    }

    /// One more thing happens to a client that has started anew.
    pub(super) fn follow(&mut self, client: usize, follow: Follow) -> Result<(), Broken> {
        self.say(|| format!("client {client}: {follow:?}"));
        self.following -= 1;
        self.calm = self.calm.map(|_| self.now);
        match follow {
            Follow::Copy => self.copy(client),
            Follow::Kill => self.crash(Who::Client(client), Down::Kill, 1000)?,
            Follow::PutBack => self.put_back(client, 1000)?,
        }
        Ok(())
    }

    /// `cahoots rejoin`: a client that is down will start anew under its number; where not even its name can be read, its
    /// store is put aside, and its number must be freed.
    pub(super) fn start_anew(&mut self, client: usize) -> Result<(), Broken> {
        let site = &self.clients[client].site;
        let (platform, store) = (site.computer.platform(), site.store.clone());
        site.computer.disk.kill();
        if self.dice.one_in(3) {
            // Whoever does this may be interrupted too.
            let at = site.computer.disk.operations() + self.dice.between(1, 24);
            site.computer.disk.mood(|mood| mood.off_at = Some(at));
        }
        let done = inside::rejoin(&platform, &store, FEDERATION, client as u32)
            .or_else(|_| inside::reset(&platform, &store));
        if site.computer.disk.is_off() {
            // It starts with whatever is there.
            if self.dice.one_in(2) {
                self.clients[client].site.down = Down::Power;
            }
        } else {
            site.computer.disk.mood(|mood| mood.off_at = None);
            match done {
                // It starts with what it had or with nothing, and is told what to do again.
                Ok(())
                | Err(StoreError::Full { .. } | StoreError::Unreachable { .. } | StoreError::Write { .. }) => {
                }
                Err(error) => return Err(format!("client {client} cannot start anew: {error}")),
            }
        }
        let peer = &mut self.clients[client];
        (peer.told, peer.drained) = (Default::default(), false);
        peer.replaced += 1;
        for other in 0..self.clients.len() {
            self.forget_seen(Some(client), Some(other));
            self.forget_seen(Some(other), Some(client));
        }
        self.forget_seen(Some(client), None);
        self.forget_seen(None, Some(client));
        Ok(())
    }

    /// A client whose store is all its own, and whom nobody sent away.
    fn is_honest(&self, client: usize) -> bool {
        let site = &self.clients[client].site;
        let sent_away = |fault: &Fault| matches!(fault, Fault::Remove { client: c } | Fault::Release { client: c } if *c == client);
        let first = site.computer.tape().lives().len() == 1;
        first && site.branched.is_none() && !site.rotten && !self.plan.has(sent_away)
    }

    /// Did the coordinator's store go back in time?
    fn went_back(&self) -> bool {
        self.site.branched.is_some()
    }

    /// Who is not at rest, and why; drains those who have nothing else to do.
    fn unsettled(&mut self) -> Option<String> {
        if self.coordinator.is_none() {
            return Some("the coordinator is down".into());
        }
        if self.following > 0 {
            return Some("someone who started anew is not left alone".into());
        }
        let back = self.went_back();
        // Clients whose store went back in time may have forgotten what they told each other, and nobody else knows.
        let branched: Vec<bool> = self.clients.iter().map(|client| client.site.branched.is_some()).collect();
        for client in 0..self.clients.len() {
            let peer = &mut self.clients[client];
            let Some(node) = &peer.node else { return Some(format!("client {client} is down")) };
            if !peer.app.is_done() {
                return Some(format!("the app of client {client} waits"));
            }
            let Link::Up(connection) = peer.link else {
                let status = node.app().status();
                return Some(format!("client {client} is not connected: {:?}", status.trouble));
            };
            if self.connections[connection].up.black_hole {
                return Some(format!("client {client} has not noticed that it is alone"));
            }
            if !peer.drained {
                peer.drained = node.drain().is_ok();
                let _ = self.touched(client);
                return Some(format!("client {client} is drained"));
            }
            if peer.flushing || node.is_due() {
                return Some(format!("client {client} writes"));
            }
            let problems = node.app().problems();
            let problem = problems.first().filter(|words| !(words.contains("did not merge") && back));
            if let Some(words) = problem {
                return Some(format!("client {client} says: {words}"));
            }
            let waiting = node.look(|machine, _| {
                let excused =
                    |to: &NodeId| *to != NodeId::SERVER && (branched[client] || branched[to.index()]);
                let peers = machine.queues().peers().collect::<Vec<_>>();
                let first = peers.into_iter().find(|to| !excused(to));
                first.map(|to| (to, machine.queues().len(to)))
            });
            if let Some(Some((to, waiting))) = waiting {
                return Some(format!("{waiting} messages of client {client} wait for {to}"));
            }
        }
        if self.committing {
            return Some("the coordinator writes".into());
        }
        let clients = self.clients.len() as u32;
        let waiting = self.coordinator.as_mut().expect("it runs").look(|machine, _| {
            let mut all = (0..clients).map(|client| (client, machine.queues().len(NodeId(client))));
            all.find(|(_, waiting)| *waiting > 0)
        });
        waiting.map(|(client, waiting)| format!("{waiting} messages wait for client {client}"))
    }
}
