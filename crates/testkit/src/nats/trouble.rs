//! A federation in trouble: makes faults happen, and puts things right again.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::apps::Apps;
use super::cluster::NatsCluster;
use super::coordinators::Coordinators;
use super::fault::{Fault, Server};
use super::outputs::Outputs;
use super::proxy::NatsProxy;
use super::watch::Watch;

/// How long things may take to come right.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);
/// How long one looks for a leader to do something to: there may be none, and then it is done to anyone.
const GLIMPSE: Duration = Duration::from_secs(20);

/// All that can be in trouble.
pub(super) struct Federation {
    pub(super) servers: NatsCluster,
    /// Of each coordinator, a line to each server.
    pub(super) lines: Vec<Vec<NatsProxy>>,
    pub(super) coordinators: Coordinators,
    pub(super) apps: Apps,
    /// Those who look on.
    pub(super) watch: Watch,
    pub(super) outputs: Outputs,
    pub(super) folder: PathBuf,
    pub(super) harm: Harm,
}

/// What was done to a federation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Harm {
    /// kill -9 of a coordinator or a client.
    pub kills: u64,
    /// kill -9 of a server.
    pub server_kills: u64,
    /// SIGSTOP of anyone.
    pub stops: u64,
    /// Lines that were cut.
    pub cuts: u64,
    /// Appends, or answers to appends, that were lost or late.
    pub lost: u64,
    /// Disks that were emptied or replaced by an old one.
    pub disks: u64,
    /// How often the log was lost, and all coordinators halted.
    pub halts: u64,
    /// Clocks that jumped.
    pub jumps: u64,
}

impl Federation {
    /// Makes one fault happen, and undoes it.
    pub(super) fn suffer(&mut self, fault: Fault) -> Result<(), String> {
        match fault {
            Fault::KillLeader => {
                let leader = self.leader();
                self.kill_coordinators(&[leader])
            }
            Fault::KillStandby => {
                let leader = self.leader();
                let standby = (leader + 1) % self.coordinators.count();
                self.kill_coordinators(&[standby])
            }
            Fault::KillCoordinators => {
                self.kill_coordinators(&(0..self.coordinators.count()).collect::<Vec<_>>())
            }
            Fault::KillClient(client) => {
                self.harm.kills += 1;
                self.apps.kill_client(client)
            }
            Fault::FreezeLeader(time) => {
                let leader = self.leader();
                self.harm.stops += 1;
                self.coordinators.freeze(leader);
                std::thread::sleep(time);
                self.coordinators.thaw(leader);
                Ok(())
            }
            Fault::KillServer(server, time) => {
                let server = self.server(server);
                self.kill_servers(&[server], time)
            }
            Fault::KillServersBut(one, time) => {
                let others: Vec<usize> = (0..self.servers.servers()).filter(|&i| i != one).collect();
                self.kill_servers(&others, time)
            }
            Fault::FreezeServer(server, time) => {
                let server = self.server(server);
                self.freeze_server(server, time);
                Ok(())
            }
            Fault::SlowServer(server) => {
                let server = self.server(server);
                for _ in 0..10 {
                    self.freeze_server(server, Duration::from_millis(150));
                    std::thread::sleep(Duration::from_millis(50));
                }
                Ok(())
            }
            Fault::LoseAnswers(n) => {
                self.lose(|line| line.lose_answers(n));
                Ok(())
            }
            Fault::LoseAppends(n) => {
                self.lose(|line| line.lose_appends(n));
                Ok(())
            }
            Fault::DelayAnswers(n, by) => {
                self.lose(|line| line.delay_answers(n, by));
                Ok(())
            }
            Fault::CutLeader(time) => self.cut_leader(NatsProxy::cut, time),
            Fault::DeafenLeader(time) => self.cut_leader(NatsProxy::cut_answers, time),
            Fault::WipeServer(server) => self.new_disk(server, None),
            Fault::RollBackServer(server) => {
                let copy = self.folder.join("old-disk");
                self.servers.await_current(PATIENCE)?;
                self.servers.stop(server)?;
                self.servers.copy_data(server, &copy)?;
                self.servers.start_server(server)?;
                // Meanwhile there is more than the copy has.
                std::thread::sleep(Duration::from_secs(2));
                self.new_disk(server, Some(copy))
            }
            Fault::CutServer(server, time) => {
                let server = self.server(server);
                self.harm.cuts += 1;
                self.servers.cut_off(server);
                std::thread::sleep(time);
                self.servers.reconnect(server);
                Ok(())
            }
            Fault::ClockJump(coordinator, seconds) => {
                self.harm.jumps += u64::from(self.coordinators.jump(coordinator, seconds)?);
                Ok(())
            }
            Fault::RemoveStream => self.lose_the_log(false),
            Fault::RollBackServers => self.lose_the_log(true),
        }
    }

    /// The coordinator that leads, or the first one.
    fn leader(&self) -> usize {
        let deadline = Instant::now() + GLIMPSE;
        loop {
            match self.coordinators.leader() {
                Some(leader) => return leader,
                None if Instant::now() > deadline => return 0,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn server(&self, server: Server) -> usize {
        match server {
            Server::Number(number) => number,
            Server::Leader => self.servers.log_leader().unwrap_or(0),
        }
    }

    fn kill_coordinators(&mut self, which: &[usize]) -> Result<(), String> {
        which.iter().for_each(|&i| self.coordinators.kill(i));
        self.harm.kills += which.len() as u64;
        which.iter().try_for_each(|&i| self.coordinators.start(i))
    }

    fn kill_servers(&mut self, which: &[usize], time: Duration) -> Result<(), String> {
        which.iter().for_each(|&i| self.servers.kill(i));
        self.harm.server_kills += which.len() as u64;
        std::thread::sleep(time);
        which.iter().try_for_each(|&i| self.servers.start_server(i))
    }

    fn freeze_server(&mut self, server: usize, time: Duration) {
        self.harm.stops += 1;
        self.servers.freeze(server);
        std::thread::sleep(time);
        self.servers.thaw(server);
    }

    /// Does something to every line of the leader: it writes on one of them. A few seconds later the lines are good again.
    fn lose(&mut self, how: impl Fn(&NatsProxy)) {
        let leader = self.leader();
        let lost = |lines: &[NatsProxy]| {
            let passed = lines.iter().map(NatsProxy::passed);
            passed.map(|passed| passed.lost_appends + passed.lost_answers + passed.late_answers).sum::<u64>()
        };
        let before = lost(&self.lines[leader]);
        self.lines[leader].iter().for_each(how);
        std::thread::sleep(Duration::from_secs(3));
        self.lines[leader].iter().for_each(NatsProxy::mend);
        self.harm.lost += lost(&self.lines[leader]) - before;
    }

    fn cut_leader(&mut self, how: impl Fn(&NatsProxy), time: Duration) -> Result<(), String> {
        let leader = self.leader();
        self.harm.cuts += 1;
        self.lines[leader].iter().for_each(how);
        std::thread::sleep(time);
        self.lines[leader].iter().for_each(NatsProxy::mend);
        Ok(())
    }

    /// A server comes back with an old disk, or with an empty one. Only while all are well, before and after: of three copies one may be
    /// lost at a time.
    fn new_disk(&mut self, server: usize, old: Option<PathBuf>) -> Result<(), String> {
        self.servers.await_current(PATIENCE)?;
        self.servers.kill(server);
        match old {
            Some(copy) => self.servers.put_back(server, &copy)?,
            None => self.servers.wipe(server)?,
        }
        self.harm.disks += 1;
        self.servers.start_server(server)?;
        self.servers.await_current(PATIENCE)
    }
}
