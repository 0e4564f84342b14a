//! Clients, step by step.

use std::time::Duration;

use cahoots_node::client::ClientConfig;
use cahoots_node::inside::{Parted, SteppedClient};
use cahoots_node::store::Sync;
use cahoots_node::transport::Outbox;

use super::super::computer::Micros;
use super::super::network::{Connection, Pipe};
use super::super::world::Broken;
use super::coordinator::address;
use super::world::{Event, FEDERATION, Link, TICK, World};

/// The longest pause between two attempts to connect.
const LONGEST_PAUSE: Micros = 1_000_000;
/// How long a client waits to be answered when it calls.
const PATIENCE: Micros = 2_000_000;
/// After so long without a reward a decision is given up: not here.
const EXPIRY: Duration = Duration::from_secs(100_000);

impl World<'_> {
    fn client_config(&self, client: usize) -> ClientConfig {
        let all: Vec<String> = (0..self.coordinators.len()).map(address).collect();
        ClientConfig {
            known: self.cases.known.clone(),
            federation: FEDERATION.into(),
            coordinator: Some(all.join(",").into()),
            client: client as u32,
            store: self.clients[client].store.clone(),
            sync: Sync::Disk,
            terms: None,
            tick: Duration::from_micros(TICK),
            expiry: EXPIRY,
            default_reward: None,
            snapshot_every: 20,
            longest_pause: Duration::from_micros(LONGEST_PAUSE),
            limits: Default::default(),
            security: Default::default(),
            privacy: None,
            gain: Default::default(),
            telemetry: Default::default(),
            apprentice: None,
            personalizer: Default::default(),
            decisions: None,
        }
    }

    pub(super) fn start_client(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        let config = self.client_config(client);
        let peer = &mut self.clients[client];
        if peer.starts != start || peer.node.is_some() {
            return Ok(());
        }
        if std::mem::take(&mut peer.power) {
            peer.computer.disk.cut(&mut peer.computer.dice());
        } else {
            peer.computer.disk.kill();
        }
        let opened = SteppedClient::open(&config, &peer.computer.platform());
        let node = opened.map_err(|e| format!("client {client} does not start: {e}"))?;
        node.remember(0);
        peer.starts += 1;
        (peer.node, peer.flushing) = (Some(node), false);
        let start = peer.starts;
        self.say(|| format!("client {client} starts"));
        self.after(0, Event::Dial(client, start));
        let tick = self.dice.below(TICK);
        self.after(tick, Event::Tick(client, start));
        self.touched(client)
    }

    /// After every step of a client: what it has to say leaves, what it has to write is gathered.
    pub(super) fn touched(&mut self, client: usize) -> Result<(), Broken> {
        if let Some(line) = self.line(client) {
            self.pull(line, true)?;
        }
        let peer = &mut self.clients[client];
        let Some(node) = &peer.node else { return Ok(()) };
        if !peer.flushing && node.is_due() {
            peer.flushing = true;
            let (start, soon) = (peer.starts, self.dice.below(2000));
            self.after(soon, Event::Gather(client, start));
        }
        Ok(())
    }

    fn steps(&self, client: usize, start: u64) -> bool {
        self.clients[client].starts == start && self.clients[client].node.is_some()
    }

    pub(super) fn tick(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.steps(client, start) {
            return Ok(());
        }
        self.clients[client].node.as_ref().expect("it runs").tick();
        self.after(TICK, Event::Tick(client, start));
        self.touched(client)
    }

    pub(super) fn gather(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if self.steps(client, start) {
            self.clients[client].node.as_mut().expect("it runs").gather();
            let soon = self.dice.below(1000);
            self.after(soon, Event::Write(client, start));
        }
        Ok(())
    }

    pub(super) fn write(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.steps(client, start) {
            return Ok(());
        }
        let written = self.clients[client].node.as_mut().expect("it runs").write();
        written.map_err(|e| format!("client {client} does not write: {e}"))?;
        let soon = self.dice.below(500);
        self.after(soon, Event::Finish(client, start));
        Ok(())
    }

    pub(super) fn finish(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.steps(client, start) {
            return Ok(());
        }
        let peer = &mut self.clients[client];
        peer.node.as_mut().expect("it runs").finish();
        peer.flushing = false;
        self.answers(client);
        self.touched(client)
    }

    /// Its process is killed, and started again after so long.
    pub(super) fn crash_client(&mut self, client: usize, power: bool, down: Micros) {
        let peer = &mut self.clients[client];
        if peer.node.take().is_none() {
            return;
        }
        (peer.power, peer.flushing) = (power, false);
        peer.computer.disk.switch_off();
        let (start, line) = (peer.starts, self.line(client));
        self.clients[client].link = Link::Idle;
        self.say(|| format!("client {client} is down"));
        if let Some(line) = line {
            self.connections[line].0.up.from = None;
            self.cut(line);
            let later = self.dice.below(300_000);
            self.after(later, Event::Notice { connection: line, up: false });
        }
        self.unanswered(client, down);
        self.after(down.max(1), Event::StartClient(client, start));
    }

    /// Calls the coordinator that is next.
    pub(super) fn dial(&mut self, client: usize, start: u64) -> Result<(), Broken> {
        if !self.steps(client, start) || !matches!(self.clients[client].link, Link::Idle) {
            return Ok(());
        }
        let node = self.clients[client].node.as_ref().expect("it runs");
        if node.app().failure().is_some() {
            return Ok(());
        }
        let to = node.address().and_then(|to| (0..self.coordinators.len()).find(|c| address(*c) == to));
        let to = to.ok_or("a client calls who is no coordinator")?;
        if self.coordinators[to].node.is_none() || self.clients[client].partitioned > self.now {
            let parted = node.broken("the coordinator does not answer");
            return self.dial_later(client, &parted);
        }
        let (frames, outgoing) = Outbox::channel();
        let _ = frames.try_send(node.hello());
        let line = self.connections.len();
        let up = Pipe { from: Some(outgoing), ..Pipe::default() };
        let connection = Connection { client, up, down: Pipe::default(), replaced: 0, opened: false };
        self.connections.push((connection, to, self.coordinators[to].starts));
        self.lines.insert(line);
        self.clients[client].link = Link::Dialing(line, frames);
        self.after(PATIENCE, Event::Impatient(client, line));
        self.pull(line, true)
    }

    /// Nobody has answered.
    pub(super) fn impatient(&mut self, client: usize, line: usize) -> Result<(), Broken> {
        match self.clients[client].link {
            Link::Dialing(on, _) if on == line => self.notice(line, true),
            _ => Ok(()),
        }
    }

    fn dial_later(&mut self, client: usize, parted: &Parted) -> Result<(), Broken> {
        if !parted.again {
            return Err(format!("client {client} gives up: {}", parted.reason));
        }
        let peer = &self.clients[client];
        let Some(node) = &peer.node else { return Ok(()) };
        let (pause, start) = (node.pause().as_micros() as Micros, peer.starts);
        let pause = pause / 2 + self.dice.below(pause / 2 + 1);
        self.after(pause, Event::Dial(client, start));
        Ok(())
    }

    /// A session has ended.
    pub(super) fn parted(&mut self, client: usize, line: usize, parted: Parted) -> Result<(), Broken> {
        self.say(|| format!("client {client} parts: {}", parted.reason));
        self.clients[client].link = Link::Idle;
        self.pull(line, true)?;
        self.dial_later(client, &parted)
    }
}
