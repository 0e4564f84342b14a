//! Coordinators and their clients as processes on this machine, to be killed and started again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cahoots_lab::LabError;
use cahoots_node::control::{self, Order};
use serde_json::Value;

use super::files::{Files, store};
use super::process::{Process, Stage};
use super::servers;

/// Nothing here takes longer, unless it never comes: processes start, connect, send what they have.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Coordinator(usize),
    /// One that keeps the log of several coordinators.
    Server(usize),
    Client(usize),
}

/// The processes of a federation. They end with it.
pub(super) struct Federation<'a> {
    exe: PathBuf,
    files: &'a Files,
    /// Ctrl-C.
    stop: &'a AtomicBool,
    coordinators: Vec<Option<Process>>,
    servers: Vec<Option<Process>>,
    clients: Vec<Option<Process>>,
    /// What went wrong, in words: a process that ended by itself, one that did not come back.
    pub(super) failures: Vec<String>,
}

/// What a coordinator says of all that it has had to do with, its earlier lives included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merged {
    /// Rewards in what is merged.
    pub(super) rewards: u64,
    /// Bytes that came from clients.
    pub(super) received: u64,
    /// Bytes that were sent to them.
    pub(super) sent: u64,
}

impl<'a> Federation<'a> {
    /// Starts everyone; ready when all are connected.
    pub(super) fn start(files: &'a Files, stop: &'a AtomicBool) -> Result<Federation<'a>, LabError> {
        let exe = std::env::current_exe().map_err(|error| {
            LabError::Failed(format!("cannot find this program to start it again: {error}"))
        })?;
        let none = |n: usize| (0..n).map(|_| None).collect();
        let mut federation = Federation {
            exe,
            files,
            stop,
            coordinators: none(files.coordinators.len()),
            servers: none(files.servers.len()),
            clients: none(files.clients.len()),
            failures: Vec::new(),
        };
        let servers = (0..files.servers.len()).map(Who::Server);
        let coordinators = (0..files.coordinators.len()).map(Who::Coordinator);
        for group in [servers.collect::<Vec<_>>(), coordinators.collect()] {
            for who in &group {
                federation.launch(*who)?;
            }
            for who in &group {
                federation.settle(*who)?;
            }
        }
        // All at once: each takes a moment, and they do not wait for each other.
        for client in 0..files.clients.len() {
            federation.launch(Who::Client(client))?;
        }
        for client in 0..files.clients.len() {
            federation.settle(Who::Client(client))?;
        }
        match federation.failures.is_empty() {
            true => Ok(federation),
            false => Err(LabError::Failed(federation.failures.join("\n"))),
        }
    }

    /// How many clients there are, running or not.
    pub(super) fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Whether several coordinators share a log.
    pub(super) fn is_replicated(&self) -> bool {
        !self.servers.is_empty()
    }

    /// What one is called.
    pub(super) fn name(&self, who: Who) -> String {
        match who {
            Who::Coordinator(_) if !self.is_replicated() => "the coordinator".into(),
            Who::Coordinator(i) => format!("coordinator {}", ["a", "b", "c"][i % 3]),
            Who::Server(i) => format!("NATS server {}", i + 1),
            Who::Client(client) => format!("client {client}"),
        }
    }

    /// The coordinator that leads, if one says so; the only one, where there is one.
    pub(super) fn leader(&self) -> Option<usize> {
        if !self.is_replicated() {
            return Some(0);
        }
        (0..self.coordinators.len()).find(|i| {
            let status = self.ask(Who::Coordinator(*i), &Order::Status);
            status.is_some_and(|status| status["replica"]["role"] == "leading")
        })
    }

    /// The server that leads the log, if one says so.
    pub(super) fn log_leader(&self) -> Option<usize> {
        servers::leader(&self.files.servers)
    }

    /// kill -9.
    pub(super) fn kill(&mut self, who: Who) {
        if let Some(mut process) = self.process(who).take() {
            process.kill();
        }
    }

    /// Starts one again; ready when it listens, and a client when it is connected. If it does not come back, that is a
    /// failure among the others, and `false`.
    pub(super) fn revive(&mut self, who: Who) -> Result<bool, LabError> {
        self.launch(who)?;
        self.settle(who)
    }

    fn launch(&mut self, who: Who) -> Result<(), LabError> {
        let process = match who {
            Who::Coordinator(_) => Process::start(&self.exe, "serve", self.file(who))?,
            Who::Client(_) => Process::start(&self.exe, "client", self.file(who))?,
            Who::Server(_) => {
                Process::run(servers::leashed(&self.files.nats, self.file(who)), self.file(who))?
            }
        };
        *self.process(who) = Some(process);
        Ok(())
    }

    fn settle(&mut self, who: Who) -> Result<bool, LabError> {
        let until = Instant::now() + PATIENCE;
        let mut listening = false;
        let words = loop {
            self.go_on()?;
            match self.process(who).as_mut().map(Process::stage) {
                Some(Stage::Listening) => listening = true,
                Some(Stage::Over(words)) => break words,
                _ => {}
            }
            if let Some(words) = self.process(who).as_mut().and_then(Process::ended) {
                break words;
            }
            let joined = || self.ask(who, &Order::Status).is_some_and(|status| status["connected"] == true);
            let ready = || match who {
                Who::Client(_) => joined(),
                Who::Server(server) => servers::is_well(&self.files.servers[server]),
                Who::Coordinator(_) => true,
            };
            if listening && ready() {
                return Ok(true);
            }
            if Instant::now() > until {
                break format!("not within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        self.kill(who);
        self.failures.push(format!("{} did not come back: {words}", self.name(who)));
        Ok(false)
    }

    /// Waits until as many clients are connected as there are processes; says how many are.
    pub(super) fn gather(&mut self) -> Result<u64, LabError> {
        let (until, all) = (Instant::now() + PATIENCE, self.clients.iter().flatten().count() as u64);
        loop {
            self.go_on()?;
            let status = self.status().unwrap_or_default();
            let connected = status["connected"].as_u64().unwrap_or_default();
            if connected >= all || Instant::now() > until {
                return Ok(connected);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks for processes that have ended without being told to.
    pub(super) fn look(&mut self) {
        let everyone = (0..self.coordinators.len())
            .map(Who::Coordinator)
            .chain((0..self.servers.len()).map(Who::Server))
            .chain((0..self.clients.len()).map(Who::Client));
        for who in everyone.collect::<Vec<_>>() {
            if let Some(words) = self.process(who).as_mut().and_then(Process::ended) {
                self.failures.push(format!("{} has ended by itself: {words}", self.name(who)));
                *self.process(who) = None;
            }
        }
    }

    /// All clients send what they have not sent yet; ready when the coordinator has it.
    pub(super) fn drain(&mut self) -> Result<(), LabError> {
        let until = Instant::now() + PATIENCE;
        for client in 0..self.clients.len() {
            let who = Who::Client(client);
            while self.process(who).is_some() {
                self.go_on()?;
                let drained = self.ask(who, &Order::Drain { seconds: 1.0 }).unwrap_or_default();
                if drained["left"] == 0 && drained["unconfirmed"] == 0 {
                    break;
                }
                if Instant::now() > until {
                    self.failures.push(format!("{} could not send all it has: {drained}", self.name(who)));
                    break;
                }
            }
        }
        Ok(())
    }

    /// What the coordinator has, if it is there to say so.
    pub(super) fn merged(&self) -> Option<Merged> {
        let status = self.status()?;
        let count = |key: &str| status[key].as_u64();
        Some(Merged {
            rewards: count("observations")?,
            received: count("bytes_received")?,
            sent: count("bytes_sent")?,
        })
    }

    /// What the coordinator that leads tells.
    pub(super) fn status(&self) -> Option<Value> {
        self.ask(Who::Coordinator(self.leader()?), &Order::Status)
    }

    fn ask(&self, who: Who, order: &Order) -> Option<Value> {
        control::ask(&store(self.file(who)), order).ok().flatten()
    }

    /// What a node was started with.
    pub(super) fn file(&self, who: Who) -> &Path {
        match who {
            Who::Coordinator(i) => &self.files.coordinators[i],
            Who::Server(i) => &self.files.servers[i].file,
            Who::Client(client) => &self.files.clients[client],
        }
    }

    fn process(&mut self, who: Who) -> &mut Option<Process> {
        match who {
            Who::Coordinator(i) => &mut self.coordinators[i],
            Who::Server(i) => &mut self.servers[i],
            Who::Client(client) => &mut self.clients[client],
        }
    }

    fn go_on(&self) -> Result<(), LabError> {
        go_on(self.stop)
    }
}

/// An error once Ctrl-C was pressed.
pub(super) fn go_on(stop: &AtomicBool) -> Result<(), LabError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(LabError::Stopped("stopped; all its processes have ended".into())),
        false => Ok(()),
    }
}
