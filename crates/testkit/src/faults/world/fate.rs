//! What goes wrong, and what follows.

use cahoots_core::NodeId;
use cahoots_node::NodeError;
use cahoots_node::inside::SteppedClient;
use cahoots_node::store::StoreError;

use super::super::computer::Micros;
use super::super::plan::{Fault, Moment, Who};
use super::coordinator::backup_path;
use super::{Broken, Down, Event, Link, World};

impl World<'_> {
    pub(super) fn fault(&mut self, place: usize) -> Result<(), Broken> {
        let (_, fault) = self.plan.faults[place].clone();
        self.say(|| format!("fault {place}: {fault:?}"));
        match fault {
            Fault::Kill { who, down } => self.crash(who, Down::Kill, down)?,
            Fault::PowerCut { who, down } => self.crash(who, Down::Power, down)?,
            Fault::CrashAt { who, operation, power, down } => {
                let site = self.site(who);
                site.crash = (kind(power), down);
                let at = site.computer.disk.operations() + operation;
                site.computer.disk.mood(|mood| mood.off_at = Some(at));
            }
            Fault::CrashSending { who, frames, power, down } => {
                let site = self.site(who);
                site.crash = (kind(power), down);
                site.frames_left = Some(frames);
            }
            Fault::CrashTwice { who, at, power, down, again, power_again } => {
                let site = self.site(who);
                site.crash = (kind(power), down);
                site.next_crash = Some((again, kind(power_again)));
                site.computer.disk.mood(|mood| match at {
                    Moment::BeforeSync(sync) => mood.off_at_sync = Some(sync),
                    Moment::AfterRename => mood.off_after_rename = true,
                });
            }
            Fault::Stop { who: Who::Coordinator, down } => {
                self.site.stop = down;
                self.stopping = true;
                self.commit_soon();
            }
            Fault::Stop { who: Who::Client(client), down } => {
                self.clients[client].site.stop = down;
                if let Some(node) = &self.clients[client].node {
                    node.stop();
                    self.touched(client)?;
                }
            }
            Fault::Cut { client, client_notices, coordinator_notices } => {
                if let Some(connection) = self.connection(client) {
                    self.cut(connection, None);
                    self.after(client_notices, Event::Notice { connection, up: true });
                    self.after(coordinator_notices, Event::Notice { connection, up: false });
                }
            }
            Fault::Ghost { client, coordinator_notices } => self.ghost(client, coordinator_notices)?,
            Fault::Stall { client, up, time } => {
                if let Some(connection) = self.connection(client) {
                    let until = self.now + time;
                    self.connections[connection].pipe(up).stalled = until;
                    self.at(until, Event::Pull { connection, up });
                }
            }
            Fault::Partition { client, time } => {
                self.clients[client].partitioned = self.now + time;
                if let Some(connection) = self.connection(client) {
                    self.cut(connection, None);
                    self.after(time / 4, Event::Notice { connection, up: true });
                    self.after(time / 2, Event::Notice { connection, up: false });
                }
            }
            Fault::Flip { client, up, bit } => {
                if let Some(connection) = self.connection(client) {
                    self.connections[connection].pipe(up).flip = Some(bit);
                }
            }
            Fault::Duplicate { client, up } => {
                if let Some(connection) = self.connection(client) {
                    self.connections[connection].pipe(up).duplicate = true;
                }
            }
            Fault::Swap { client, up } => {
                if let Some(connection) = self.connection(client) {
                    self.connections[connection].pipe(up).swap = true;
                }
            }
            Fault::Full { who, time } => {
                self.site(who).computer.disk.mood(|mood| mood.full = true);
                self.after(time, Event::FullEnds(who));
            }
            Fault::SyncFails { who } => self.site(who).computer.disk.mood(|mood| mood.sync_fails = true),
            Fault::Lie { who, time, down } => {
                self.site(who).computer.disk.mood(|mood| mood.lies = true);
                self.after(time, Event::LieEnds(who, down));
            }
            Fault::Rot { client, down } => {
                // Whoever runs has counted what it has committed.
                let running = self.clients[client].node.as_ref();
                let running =
                    running.filter(|node| node.app().failure().is_none()).map(SteppedClient::commits);
                self.crash(Who::Client(client), Down::Kill, down)?;
                let site = &mut self.clients[client].site;
                let commits = running.unwrap_or(site.computer.tape().commits().len() as u64);
                if site.down == Down::Kill {
                    let (disk, mut dice) = (&site.computer.disk, site.computer.dice());
                    site.must_refuse |= disk.rot(&site.store, commits, running.is_some(), &mut dice);
                    site.rotten |= site.must_refuse;
                }
            }
            Fault::ClockJump { who, by } => self.site(who).computer.jump(by * 1000),
            Fault::Remove { client } => {
                self.forget_seen(None, Some(client));
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.remove(NodeId(client as u32)).map_err(|e| e.to_string())?;
                    self.commit_soon();
                }
            }
            Fault::Release { client } => self.release(client)?,
            Fault::Backup => self.backup()?,
            Fault::Restore { down } => {
                if !self.backups.is_empty() {
                    self.restore = true;
                    self.crash(Who::Coordinator, Down::Kill, down)?;
                }
            }
            Fault::Copy { client } => self.copy(client),
            Fault::PutBack { client, down } => self.put_back(client, down)?,
        }
        Ok(())
    }

    /// A client's store is copied.
    pub(super) fn copy(&mut self, client: usize) {
        let computer = &self.clients[client].site.computer;
        let copy = (computer.disk.image(), computer.tape().commits().clone());
        self.clients[client].image = Some(copy);
    }

    /// The newest copy takes the place of a client's store.
    pub(super) fn put_back(&mut self, client: usize, down: Micros) -> Result<(), Broken> {
        if let Some((image, commits)) = self.clients[client].image.take() {
            self.crash(Who::Client(client), Down::Kill, down)?;
            let computer = &self.clients[client].site.computer;
            computer.disk.put_back(&image);
            computer.tape().put_back(commits);
            self.branch(client);
        }
        Ok(())
    }

    /// A client's store has gone back in time.
    pub(super) fn branch(&mut self, client: usize) {
        let now = self.now;
        self.clients[client].site.branched = Some(now);
        self.clients[client].replaced += 1;
        self.clients[client].site.must_refuse = false;
        self.clients[client].told = Default::default();
        self.forget_seen(Some(client), None);
        for peer in 0..self.clients.len() {
            self.forget_seen(Some(client), Some(peer));
        }
    }

    /// A client's number is freed.
    pub(super) fn release(&mut self, client: usize) -> Result<(), Broken> {
        self.forget_seen(None, Some(client));
        if let Some(coordinator) = &mut self.coordinator {
            match coordinator.release(NodeId(client as u32)) {
                Ok(()) | Err(NodeError::Request(_)) => {}
                Err(other) => return Err(other.to_string()),
            }
            self.commit_soon();
        }
        Ok(())
    }

    fn backup(&mut self) -> Result<(), Broken> {
        let path = backup_path(self.backups.len() + 1);
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        let saved = coordinator.backup(&path);
        if self.went_off(Who::Coordinator)? {
            return Ok(());
        }
        if let Err(error) = saved {
            self.say(|| format!("no copy is made: {error}"));
            return self.crash(Who::Coordinator, Down::Kill, 0);
        }
        let commits = self.site.computer.tape().commits().clone();
        self.backups.push(commits);
        self.commit_soon();
        Ok(())
    }

    fn ghost(&mut self, client: usize, coordinator_notices: Micros) -> Result<(), Broken> {
        let Link::Up(connection) = self.clients[client].link else { return Ok(()) };
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let parted = node.broken("the connection was reset");
        let late = self.dice.below(coordinator_notices + 1);
        let until = self.now + late;
        self.parted(client, connection, parted, Some(1000))?;
        let pipe = self.connections[connection].pipe(true);
        (pipe.stalled, pipe.last) = (until, pipe.last.max(until));
        let down = self.connections[connection].pipe(false);
        (down.from, down.black_hole) = (None, true);
        self.after(coordinator_notices, Event::Notice { connection, up: false });
        self.touched(client)
    }

    /// The connection that a client uses.
    pub(super) fn connection(&self, client: usize) -> Option<usize> {
        match self.clients[client].link {
            Link::Up(connection) | Link::Dialing(connection, _) => Some(connection),
            Link::Idle => None,
        }
    }

    /// Whether the power has gone in the middle of what a node did; then it is down.
    pub(super) fn went_off(&mut self, who: Who) -> Result<bool, Broken> {
        if !self.site(who).computer.disk.is_off() {
            return Ok(false);
        }
        let (down, time) = self.site(who).crash;
        self.crash(who, down, time)?;
        Ok(true)
    }

    /// A node is no more; it starts again after a while.
    pub(super) fn crash(&mut self, who: Who, down: Down, time: Micros) -> Result<(), Broken> {
        self.say(|| format!("{who:?} is down ({down:?})"));
        let site = self.site(who);
        site.starts += 1;
        site.frames_left = None;
        // A power cut that has not been seen to yet stays one.
        if down == Down::Power {
            site.down = Down::Power;
        }
        let start = site.starts;
        site.computer.disk.switch_off();
        let gone: Vec<usize> = match who {
            Who::Coordinator => {
                self.coordinator = None;
                (self.committing, self.stopping) = (false, false);
                (0..self.connections.len()).filter(|c| self.connections[*c].up.from.is_some()).collect()
            }
            Who::Client(client) => {
                let gone = self.connection(client).into_iter().collect();
                let peer = &mut self.clients[client];
                (peer.node, peer.link, peer.flushing) = (None, Link::Idle, false);
                for reward in &mut peer.app.rewards {
                    reward.waiting = None;
                }
                gone
            }
        };
        if who == Who::Coordinator {
            // What was on its way to this process does not come to the next one.
            for connection in &mut self.connections {
                connection.up.items.clear();
                connection.up.black_hole = true;
            }
        }
        for connection in gone {
            let notices = if down == Down::Power { 2_000_000 } else { 10_000 };
            let notices = self.dice.below(notices);
            // What a process has handed to its stream mostly leaves, though it is no more.
            let all = self.dice.one_in(2).then_some(who != Who::Coordinator);
            self.cut(connection, all);
            self.after(notices, Event::Notice { connection, up: who == Who::Coordinator });
        }
        if let Who::Client(client) = who {
            let open: Vec<usize> = (0..self.clients[client].app.rewards.len()).collect();
            for place in open {
                if !self.clients[client].app.rewards[place].over {
                    let later = time + self.dice.below(300_000);
                    self.after(later, Event::Reward(client, place));
                }
            }
        }
        self.after(time.max(1), Event::Start(who, start));
        Ok(())
    }

    /// A node starts, on what its disk has kept.
    pub(super) fn start(&mut self, who: Who, start: u64) -> Result<(), Broken> {
        if self.site(who).starts != start {
            return Ok(());
        }
        let site = self.site(who);
        site.starts += 1;
        if let Some((sync, down)) = site.next_crash.take() {
            site.crash = (down, 1000);
            site.computer.disk.mood(|mood| mood.off_at_sync = Some(sync));
        }
        let computer = site.computer.clone();
        if std::mem::take(&mut site.down) == Down::Power {
            let lied = computer.disk.cut(&mut computer.dice());
            computer.disk.mood(|mood| mood.lies = false);
            // A mark is not synced: with it goes what tells rot from a commit that was cut short.
            self.site(who).uncertain |= lied;
            if lied || self.site(who).rotten {
                self.say(|| format!("{who:?}: what it had said to be safe may be gone"));
                match who {
                    Who::Client(client) => self.branch(client),
                    Who::Coordinator => {
                        self.site.branched = Some(self.now);
                        for client in 0..self.clients.len() {
                            self.forget_seen(None, Some(client));
                        }
                    }
                }
            }
        } else {
            computer.disk.kill();
        }
        match who {
            Who::Coordinator => self.start_coordinator(),
            Who::Client(client) => self.start_client(client),
        }
    }

    /// A store that cannot be opened says so; whether it may depends on what was done to it.
    pub(super) fn cannot_start(&mut self, who: Who, error: &NodeError) -> Result<(), Broken> {
        self.say(|| format!("{who:?} does not start: {error}"));
        let site = self.site(who);
        site.starts += 1;
        site.must_refuse = false;
        let (start, branched) = (site.starts, site.branched.is_some() || site.rotten);
        site.computer.disk.switch_off();
        match error {
            NodeError::Store(StoreError::Damaged { .. }) if branched => match who {
                Who::Client(client) => {
                    self.branch(client);
                    self.start_anew(client)?;
                }
                Who::Coordinator if !self.backups.is_empty() => self.restore = true,
                // Without a copy there is no way on, and nobody was left in the dark.
                Who::Coordinator => self.ended = true,
            },
            NodeError::Store(StoreError::Full { .. } | StoreError::Unreachable { .. }) => {}
            other => return Err(format!("{who:?} does not start: {other}")),
        }
        self.after(300_000, Event::Start(who, start));
        Ok(())
    }
}

fn kind(power: bool) -> Down {
    if power { Down::Power } else { Down::Kill }
}
