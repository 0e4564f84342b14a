//! Whoever looks after a federation does what the words say; and once nothing goes wrong any more, all must come to rest.

use cahoots_core::NodeId;

use super::super::computer::Micros;
use super::super::world::Broken;
use super::world::{Event, LOOK, Link, World};

/// Once nothing goes wrong any more, all must be settled after so long.
const PATIENCE: Micros = 60_000_000;

impl World<'_> {
    /// From now on nothing goes wrong.
    pub(super) fn become_calm(&mut self) {
        self.say(|| "nothing goes wrong any more".into());
        let now = self.now;
        self.calm = Some(now);
        (self.pause_unsettled, self.kill_unsettled, self.deaf) = (None, None, now);
        if self.stream.is_repaired() {
            self.say(|| "the log's bits are repaired".into());
        }
        for number in 0..self.coordinators.len() {
            let coordinator = &mut self.coordinators[number];
            coordinator.stream.heals();
            coordinator.isolated = coordinator.isolated.min(now);
            coordinator.paused = coordinator.paused.min(now);
            let start = coordinator.starts;
            self.at(now, Event::Resume(number, start));
        }
        for client in &mut self.clients {
            client.partitioned = client.partitioned.min(now);
        }
        for (connection, ..) in &mut self.connections {
            for up in [true, false] {
                let pipe = connection.pipe(up);
                (pipe.flip, pipe.duplicate) = (None, false);
            }
        }
    }

    /// Someone looks; `true` when all has come to rest.
    pub(super) fn look(&mut self) -> Result<bool, Broken> {
        self.look_after_the_log()?;
        for client in 0..self.clients.len() {
            self.look_after(client)?;
        }
        self.after(LOOK, Event::Look);
        let Some(since) = self.calm else { return Ok(false) };
        let Some(unsettled) = self.unsettled()? else { return Ok(true) };
        if self.now > since + PATIENCE {
            return Err(format!("{unsettled}, long after anything went wrong"));
        }
        Ok(false)
    }

    /// Coordinators have halted, and said why. Bits can be repaired from another replica; what is lost can only be accepted, by all, once
    /// all have ended.
    fn look_after_the_log(&mut self) -> Result<(), Broken> {
        let ended = |number: &usize| self.coordinators[*number].ended.is_some();
        let ended: Vec<usize> = (0..self.coordinators.len()).filter(ended).collect();
        if ended.is_empty() {
            return Ok(());
        }
        let again = if self.flipped {
            self.stream.is_repaired();
            self.flipped = false;
            self.truth.forget();
            self.truth_follows()?;
            self.say(|| "the log's bits are repaired".into());
            ended
        } else {
            self.say(|| "what is lost is accepted".into());
            let all: Vec<usize> = (0..self.coordinators.len()).collect();
            for number in &all {
                self.crash(*number, false, Micros::MAX)?;
                self.coordinators[*number].accepts = true;
            }
            all
        };
        for number in again {
            self.coordinators[number].ended = None;
            let (start, soon) = (self.coordinators[number].starts, 1 + self.dice.below(200_000));
            self.after(soon, Event::StartCoordinator(number, start));
        }
        Ok(())
    }

    /// A client says nothing for long that someone would have to do something about.
    fn look_after(&mut self, client: usize) -> Result<(), Broken> {
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let words = node.app().failure().or_else(|| node.app().problems().into_iter().next());
        let before = std::mem::replace(&mut self.clients[client].trouble, words.clone());
        let excused = |words: &String| words.contains("did not merge") && self.went_back;
        match words.filter(|words| before.as_ref() == Some(words) && !excused(words)) {
            Some(words) => Err(format!("client {client} says: {words}")),
            None => Ok(()),
        }
    }

    /// Who is not at rest, and why; drains those who have nothing else to do.
    fn unsettled(&mut self) -> Result<Option<String>, Broken> {
        let last = self.stream.extent_now().last;
        let mut leader = None;
        for (number, coordinator) in self.coordinators.iter_mut().enumerate() {
            let Some(node) = &mut coordinator.node else {
                return Ok(Some(format!("coordinator {number} is down")));
            };
            let sequence = node.status().replica.map(|replica| replica.sequence);
            if sequence != Some(last) {
                let at = sequence.unwrap_or(0);
                return Ok(Some(format!("coordinator {number} is at message {at} of {last}")));
            }
            if node.leads() {
                leader = Some(number);
            }
            if node.is_unsettled() || node.has_news() || node.begins() {
                return Ok(Some(format!("coordinator {number} waits for the log")));
            }
        }
        let Some(leader) = leader else { return Ok(Some("nobody leads".into())) };
        for client in 0..self.clients.len() {
            let peer = &mut self.clients[client];
            let Some(node) = &peer.node else { return Ok(Some(format!("client {client} is down"))) };
            if !peer.app.is_done() {
                return Ok(Some(format!("the app of client {client} waits")));
            }
            let on_line = match peer.link {
                Link::Up(line) => {
                    let (connection, to, _) = &self.connections[line];
                    *to == leader && !connection.up.black_hole
                }
                _ => false,
            };
            if !on_line {
                let trouble = node.app().status().trouble;
                return Ok(Some(format!("client {client} is not connected: {trouble:?}")));
            }
            if !peer.drained {
                peer.drained = node.drain().is_ok();
                self.touched(client)?;
                return Ok(Some(format!("client {client} is drained")));
            }
            if peer.flushing || node.is_due() {
                return Ok(Some(format!("client {client} writes")));
            }
            let excused = |words: &&String| words.contains("did not merge") && self.went_back;
            if let Some(words) = node.app().problems().iter().find(|words| !excused(words)) {
                return Ok(Some(format!("client {client} says: {words}")));
            }
            let waiting = node.look(|machine, _| machine.queues().len(NodeId::SERVER)).unwrap_or(0);
            if waiting > 0 {
                return Ok(Some(format!("{waiting} messages of client {client} wait for their coordinator")));
            }
        }
        let clients = self.clients.len() as u32;
        let node = self.coordinators[leader].node.as_mut().expect("it leads");
        let waiting = node.look(|machine| {
            let mut all = (0..clients).map(|client| (client, machine.queues().len(NodeId(client))));
            all.find(|(_, waiting)| *waiting > 0)
        });
        Ok(waiting.flatten().map(|(client, waiting)| format!("{waiting} messages wait for client {client}")))
    }
}
