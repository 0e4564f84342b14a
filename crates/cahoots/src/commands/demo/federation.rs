//! A coordinator and its clients as processes on this machine, to be killed and started again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cahoots_lab::LabError;
use cahoots_node::control::{self, Order};
use serde_json::Value;

use super::files::{Files, store};
use super::process::{Process, Stage};

/// Nothing here takes longer, unless it never comes: processes start, connect, send what they have.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Coordinator,
    Client(usize),
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Who::Coordinator => f.write_str("the coordinator"),
            Who::Client(client) => write!(f, "client {client}"),
        }
    }
}

/// The processes of a federation. They end with it.
pub(super) struct Federation<'a> {
    exe: PathBuf,
    files: &'a Files,
    /// Ctrl-C.
    stop: &'a AtomicBool,
    coordinator: Option<Process>,
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
        let clients = files.clients.iter().map(|_| None).collect();
        let mut federation =
            Federation { exe, files, stop, coordinator: None, clients, failures: Vec::new() };
        federation.revive(Who::Coordinator)?;
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
        let command = if who == Who::Coordinator { "serve" } else { "client" };
        let process = Process::start(&self.exe, command, self.file(who))?;
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
            if listening && (who == Who::Coordinator || joined()) {
                return Ok(true);
            }
            if Instant::now() > until {
                break format!("not within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        self.kill(who);
        self.failures.push(format!("{who} did not come back: {words}"));
        Ok(false)
    }

    /// Waits until as many clients are connected as there are processes; says how many are.
    pub(super) fn gather(&mut self) -> Result<u64, LabError> {
        let (until, all) = (Instant::now() + PATIENCE, self.clients.iter().flatten().count() as u64);
        loop {
            self.go_on()?;
            let status = self.ask(Who::Coordinator, &Order::Status).unwrap_or_default();
            let connected = status["connected"].as_u64().unwrap_or_default();
            if connected >= all || Instant::now() > until {
                return Ok(connected);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks for processes that have ended without being told to.
    pub(super) fn look(&mut self) {
        let everyone = std::iter::once(Who::Coordinator).chain((0..self.clients.len()).map(Who::Client));
        for who in everyone.collect::<Vec<_>>() {
            if let Some(words) = self.process(who).as_mut().and_then(Process::ended) {
                self.failures.push(format!("{who} has ended by itself: {words}"));
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
                    self.failures.push(format!("{who} could not send all it has: {drained}"));
                    break;
                }
            }
        }
        Ok(())
    }

    /// What the coordinator has, if it is there to say so.
    pub(super) fn merged(&self) -> Option<Merged> {
        let status = self.ask(Who::Coordinator, &Order::Status)?;
        let count = |key: &str| status[key].as_u64();
        Some(Merged {
            rewards: count("observations")?,
            received: count("bytes_received")?,
            sent: count("bytes_sent")?,
        })
    }

    fn ask(&self, who: Who, order: &Order) -> Option<Value> {
        control::ask(&store(self.file(who)), order).ok().flatten()
    }

    /// What a node was started with.
    pub(super) fn file(&self, who: Who) -> &Path {
        match who {
            Who::Coordinator => &self.files.coordinator,
            Who::Client(client) => &self.files.clients[client],
        }
    }

    fn process(&mut self, who: Who) -> &mut Option<Process> {
        match who {
            Who::Coordinator => &mut self.coordinator,
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
