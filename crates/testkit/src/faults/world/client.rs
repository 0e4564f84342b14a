//! Clients and their apps, step by step.

use cahoots_core::NodeId;
use cahoots_core::decision::{RewardError, Taken};
use cahoots_node::NodeError;
use cahoots_node::client::{self, Ack, Arms};
use cahoots_node::inside::{Parted, SteppedClient};
use cahoots_node::transport::Outbox;
use tokio::sync::oneshot::error::TryRecvError;

use super::super::app::Reward;
use super::super::computer::Micros;
use super::super::network::{Connection, Pipe};
use super::super::plan::Who;
use super::{AGAIN, Broken, Down, Event, LONGEST_PAUSE, Link, TICK, World, named};

/// First pause after a failed attempt to connect.
const FIRST_PAUSE: Micros = 20_000;

impl World<'_> {
    /// After every step of a client: what it has to say leaves, what it has to write is gathered.
    pub(super) fn touched(&mut self, client: usize) -> Result<(), Broken> {
        if let Link::Up(connection) = self.clients[client].link {
            self.pull(connection, true)?;
        }
        let peer = &mut self.clients[client];
        let Some(node) = &peer.node else { return Ok(()) };
        if !peer.flushing && node.is_due() {
            peer.flushing = true;
            let start = peer.site.starts;
            let soon = self.dice.below(2000 * self.plan.slowness);
            self.after(soon, Event::Gather(client, start));
        }
        Ok(())
    }

    fn runs(&self, client: usize, start: u64) -> bool {
        self.clients[client].site.starts == start && self.clients[client].node.is_some()
    }

    pub(super) fn gather(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if self.runs(client, start) {
            self.clients[client].node.as_mut().expect("it runs").gather();
            let soon = self.dice.below(1000 * self.plan.slowness);
            self.after(soon, Event::Write(client, start));
        }
        Ok(())
    }

    pub(super) fn write(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(client, start) {
            return Ok(());
        }
        let written = self.clients[client].node.as_mut().expect("it runs").write();
        if self.went_off(Who::Client(client))? {
            return Ok(());
        }
        match written {
            Ok(true) => {
                let soon = self.dice.below(500 * self.plan.slowness);
                self.after(soon, Event::Finish(client, start));
            }
            Ok(false) => {
                self.aloud(client, "its disk is full")?;
                self.after(AGAIN, Event::Write(client, start));
            }
            Err(error) => {
                self.say(|| format!("client {client} stops: {error}"));
                self.aloud(client, "its disk failed")?;
                self.answers(client)?;
            }
        }
        Ok(())
    }

    /// A client that takes no inputs says why.
    pub(super) fn aloud(&self, client: usize, why: &str) -> Result<(), Broken> {
        let node = self.clients[client].node.as_ref().expect("it runs");
        if node.app().problems().is_empty() || node.app().refusing().is_none() {
            return Err(format!("client {client} does not say that {why}"));
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(client, start) {
            return Ok(());
        }
        let peer = &mut self.clients[client];
        let node = peer.node.as_mut().expect("it runs");
        let last = node.finish();
        peer.flushing = false;
        peer.told = node.durable(NodeId::SERVER);
        self.answers(client)?;
        if let Link::Up(connection) = self.clients[client].link {
            self.pull(connection, true)?;
        }
        if last {
            let time = self.clients[client].site.stop;
            return self.crash(Who::Client(client), Down::Kill, time);
        }
        self.touched(client)
    }

    /// What the app was promised by now.
    fn answers(&mut self, client: usize) -> Result<(), Broken> {
        let now = self.now;
        let mut again = Vec::new();
        let peer = &mut self.clients[client];
        let life = peer.site.computer.tape().life();
        for (place, reward) in peer.app.rewards.iter_mut().enumerate() {
            let Some(waiting) = &mut reward.waiting else { continue };
            match waiting.try_recv() {
                Ok(Ok(())) => {
                    reward.waiting = None;
                    if reward.acknowledged.is_none()
                        && reward.way.as_mut().is_some_and(|way| way.goes_on(life, now))
                    {
                        again.push(place);
                    } else if reward.acknowledged.is_none() {
                        reward.acknowledged = Some((life, now));
                        reward.over = true;
                        if place % 5 == 0 {
                            (reward.again, reward.over) = (true, false);
                            again.push(place);
                        }
                    } else {
                        (reward.again, reward.over) = (false, true);
                    }
                }
                Err(TryRecvError::Empty) => {}
                Ok(Err(_)) | Err(TryRecvError::Closed) => {
                    reward.waiting = None;
                    again.push(place);
                }
            }
        }
        for place in again {
            let later = self.dice.between(1000, 300_000);
            self.after(later, Event::Reward(client, place));
        }
        Ok(())
    }

    /// The app makes a decision, or tries to.
    pub(super) fn act(&mut self, client: usize) -> Result<(), Broken> {
        let wait = if self.dice.one_in(8) { 4 * self.plan.pace } else { self.plan.pace / 2 };
        let wait = wait + self.dice.below(self.plan.pace);
        if self.clients[client].app.left == 0 {
            return Ok(());
        }
        self.after(wait, Event::App(client));
        let users = &self.case.users[client];
        let user = users[self.dice.below(users.len() as u64) as usize];
        let way = self.plan.named.then(|| self.draw_way(client)).flatten();
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let decided = self.case.offer(user, |arms: Arms<'_>| match &way {
            None => node.app().decide(Some(user), arms).map(|decision| decision.id),
            Some(way) => named::decide(node, way, user, arms),
        });
        let id = match decided {
            Ok(id) => id,
            Err(NodeError::NotJoined) => return Ok(()),
            Err(NodeError::Stopped(_)) => return self.aloud(client, "it takes no inputs"),
            Err(other) => return Err(format!("client {client} does not decide: {other}")),
        };
        let app = &mut self.clients[client].app;
        app.left -= 1;
        let value = app.next_value(user);
        let place = app.rewards.len();
        app.rewards.push(Reward {
            id,
            user,
            value,
            way,
            sent: false,
            acknowledged: None,
            over: false,
            again: false,
            waiting: None,
        });
        self.say(|| format!("client {client} decides {id} for user {user}"));
        match self.dice.below(20) {
            0 => self.clients[client].app.rewards[place].over = true,
            1 => {
                self.clients[client].app.rewards[place].over = true;
                self.abandon(client, place)?;
            }
            2 | 3 => {
                let late = self.dice.below(2_000_000);
                self.after(late, Event::Reward(client, place));
            }
            _ => {
                let soon = self.dice.below(self.plan.pace);
                self.after(soon, Event::Reward(client, place));
            }
        }
        self.touched(client)
    }

    fn abandon(&mut self, client: usize, place: usize) -> Result<(), Broken> {
        let peer = &self.clients[client];
        let (Some(node), id) = (&peer.node, peer.app.rewards[place].id) else { return Ok(()) };
        match node.app().abandon(id) {
            Ok(Taken::Fresh(())) | Err(NodeError::Stopped(_)) => Ok(()),
            other => Err(format!("client {client} does not give up decision {id}: {other:?}")),
        }
    }

    /// The app gives a reward, or gives it again.
    pub(super) fn reward(&mut self, client: usize, place: usize) -> Result<(), Broken> {
        let later = self.dice.between(1000, 200_000);
        let peer = &mut self.clients[client];
        let reward = &mut peer.app.rewards[place];
        if reward.over || reward.waiting.is_some() {
            return Ok(());
        }
        if reward.way.is_some() {
            return self.step(client, place, later);
        }
        let (id, value) = (reward.id, reward.value);
        let Some(node) = &peer.node else {
            self.after(later, Event::Reward(client, place));
            return Ok(());
        };
        let acknowledged = reward.acknowledged;
        let excused = || {
            let life = peer.site.computer.tape().life();
            acknowledged.is_some_and(|(then, at)| {
                then != life || peer.site.branched.is_some_and(|branched| branched >= at)
            })
        };
        if acknowledged.is_some() && place % 10 == 5 && !excused() {
            // Another value for what has one is refused, and says so.
            match node.reward(&client::Reward::of(id, value + 1.0)) {
                Err(NodeError::Reward(RewardError::Contradiction { .. }) | NodeError::Stopped(_)) => {}
                other => return Err(format!("client {client}: another reward for {id}: {other:?}")),
            }
        }
        let given = node.reward(&client::Reward::of(id, value));
        let words = given.as_ref().map(|(ack, _)| *ack).map_err(ToString::to_string);
        match given {
            Ok((Ack::Learned, _)) if acknowledged.is_some() && !excused() => {
                return Err(format!("client {client} learns the acknowledged reward of {id} again"));
            }
            Ok((_, waiting)) => {
                reward.sent = true;
                reward.waiting = Some(waiting);
            }
            Err(NodeError::Reward(RewardError::Unknown(_)) | NodeError::NotJoined) => {
                if acknowledged.is_some() && !excused() {
                    return Err(format!("client {client} has forgotten the acknowledged reward of {id}"));
                }
                reward.over = true;
            }
            Err(NodeError::Stopped(_)) => {
                self.aloud(client, "it takes no inputs")?;
                self.after(later, Event::Reward(client, place));
            }
            Err(other) => return Err(format!("client {client}: reward for {id}: {other}")),
        }
        self.say(|| format!("client {client} is given {value:e} for {id}: {words:?}"));
        self.touched(client)
    }

    /// Connects, if there is anyone to connect to.
    pub(super) fn dial(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(client, start) || !matches!(self.clients[client].link, Link::Idle) {
            return Ok(());
        }
        let node = self.clients[client].node.as_ref().expect("it runs");
        if node.app().failure().is_some() {
            return Ok(());
        }
        if self.coordinator.is_none() || self.clients[client].partitioned > self.now {
            let _ = node.broken("the coordinator does not answer");
            self.dial_later(client, false);
            return Ok(());
        }
        let (frames, outgoing) = Outbox::channel();
        let hello = node.hello();
        let _ = frames.try_send(hello);
        let connection = self.connections.len();
        let up = Pipe { from: Some(outgoing), ..Pipe::default() };
        let (down, replaced) = (Pipe::default(), self.clients[client].replaced);
        self.connections.push(Connection { client, up, down, replaced, opened: false });
        self.clients[client].link = Link::Dialing(connection, frames);
        self.pull(connection, true)
    }

    fn dial_later(&mut self, client: usize, long: bool) {
        let peer = &mut self.clients[client];
        let pause = if long { LONGEST_PAUSE } else { (peer.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE) };
        peer.pause = pause;
        let start = peer.site.starts;
        let pause = pause / 2 + self.dice.below(pause / 2);
        self.after(pause, Event::Dial(client, start));
    }

    /// A session has ended.
    pub(super) fn parted(
        &mut self,
        client: usize,
        connection: usize,
        parted: Parted,
        at_once: Option<Micros>,
    ) -> Result<(), Broken> {
        self.say(|| format!("client {client} parts: {}", parted.reason));
        self.clients[client].link = Link::Idle;
        self.pull(connection, true)?;
        match at_once {
            Some(time) => {
                let start = self.clients[client].site.starts;
                self.after(time, Event::Dial(client, start));
            }
            None if parted.again => self.dial_later(client, parted.refused),
            None => {}
        }
        Ok(())
    }

    /// A client starts.
    pub(super) fn start_client(&mut self, client: usize) -> Result<(), Broken> {
        let config = self.client_config(client);
        let platform = self.clients[client].site.computer.platform();
        let opened = SteppedClient::open(&config, &platform);
        if self.went_off(Who::Client(client))? {
            return Ok(());
        }
        let node = match opened {
            Ok(node) => node,
            Err(error) => return self.cannot_start(Who::Client(client), &error),
        };
        self.say(|| format!("client {client} starts at commit {}", node.commits()));
        let ends = node.look(|machine, _| machine.ends(NodeId::SERVER)).unwrap_or_default();
        let epoch = node.app().status().epoch;
        if !self.epochs.insert(epoch) {
            return Err(format!("client {client} starts under the number {epoch} of another start"));
        }
        let peer = &mut self.clients[client];
        if std::mem::take(&mut peer.site.must_refuse) {
            return Err(format!("client {client} starts with a rotten log"));
        }
        let told = std::mem::replace(&mut peer.told, ends);
        if ends.sent < told.sent || ends.received < told.received {
            return Err(format!("client {client} had {told:?} on disk, and starts with {ends:?}"));
        }
        for (to, said) in &peer.said {
            let ends = node.look(|machine, _| machine.ends(*to)).unwrap_or_default();
            if ends.sent < said.sent || ends.received < said.received {
                return Err(format!("client {client} has told {to} of {said:?}, and starts with {ends:?}"));
            }
        }
        (peer.node, peer.flushing, peer.pause) = (Some(node), false, 0);
        let start = peer.site.starts;
        self.after(0, Event::Dial(client, start));
        let tick = self.dice.below(TICK);
        self.after(tick, Event::Tick(Who::Client(client), start));
        self.touched(client)
    }
}
