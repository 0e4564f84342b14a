//! Coordinators with one log, as processes.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toml::{Table, Value as Toml};

use super::asker::{Asker, Digest, Replica};
use super::clock::Clock;
use crate::soak::{App, FEDERATION, Process, free_port};

/// What all coordinators of a federation are told.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Keys of their files beside those that are made here: `setting`, `algorithm`, `limits`.
    pub serve: Table,
    /// Seconds without a sign of the leader after which a standby tries to lead.
    pub lease: f64,
    /// One server is enough.
    pub single: bool,
    /// Monitoring ports of the servers.
    pub monitor: Vec<String>,
}

struct Node {
    clock: Option<Clock>,
    exe: PathBuf,
    name: String,
    file: PathBuf,
    asker: Asker,
    listen: String,
    page: App,
    process: Option<Process>,
}

/// Coordinators a, b, c and so on, each with a name, a port and a place for what it remembers; gone when it is dropped.
pub struct Coordinators {
    exe: PathBuf,
    folder: PathBuf,
    terms: Serving,
    nodes: Vec<Node>,
    /// Those that are added have clocks that can jump.
    clocks: bool,
}

impl Coordinators {
    /// Makes the key that all of them have. There is none until it is [added](Self::add).
    pub fn new(exe: &Path, folder: &Path, terms: Serving) -> Result<Coordinators, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let key = folder.join("log.key");
        let mut options = std::fs::OpenOptions::new();
        let made = options.write(true).create(true).truncate(true).mode(0o600).open(&key);
        made.and_then(|mut file| file.write_all("5a".repeat(32).as_bytes()))
            .map_err(|e| format!("{}: {e}", key.display()))?;
        Ok(Coordinators { exe: exe.into(), folder: folder.into(), terms, nodes: Vec::new(), clocks: false })
    }

    /// The clocks of those that are added from now on can [jump](Self::jump), where this machine has what it takes.
    pub fn have_clocks(&mut self) {
        self.clocks = Clock::is_here();
    }

    /// The date of one is so many seconds ahead from now on, or behind; `false` where its clock cannot jump.
    pub fn jump(&self, i: usize, seconds: i64) -> Result<bool, String> {
        self.nodes[i].clock.as_ref().map_or(Ok(false), |clock| clock.jump(seconds).map(|()| true))
    }

    /// One more, with nothing on its disk, that finds the log at `log`. Not started.
    pub fn add(&mut self, log: &str) -> Result<usize, String> {
        let (listen, page) = (format!("127.0.0.1:{}", free_port()?), format!("127.0.0.1:{}", free_port()?));
        self.add_at(log, self.exe.clone(), listen, page)
    }

    /// The same, on another machine: `exe` is what starts the program there and becomes it.
    pub fn add_at(&mut self, log: &str, exe: PathBuf, listen: String, page: String) -> Result<usize, String> {
        let i = self.nodes.len();
        let name = char::from(b'a' + i as u8).to_string();
        let Serving { serve, lease, single, monitor } = &self.terms;
        let mut table = serve.clone();
        let text = |value: &str| Toml::String(value.into());
        let store = format!("{name}.store");
        for (key, value) in [
            ("federation", text(FEDERATION)),
            ("listen", text(&listen)),
            ("http", text(&page)),
            ("store", text(&store)),
            ("log", text(log)),
        ] {
            table.insert(key.into(), value);
        }
        let mut nats = Table::new();
        for (key, value) in [
            ("key", text("log.key")),
            ("name", text(&name)),
            ("advertise", text(&format!("http://{listen}"))),
            ("lease", Toml::Float(*lease)),
            ("single", Toml::Boolean(*single)),
            ("monitor", Toml::Array(monitor.iter().map(|url| text(url)).collect())),
        ] {
            nats.insert(key.into(), value);
        }
        table.insert("nats".into(), Toml::Table(nats));
        let file = self.folder.join(format!("{name}.toml"));
        std::fs::write(&file, table.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
        let asker = Asker { store: self.folder.join(store) };
        let page = App::at(format!("http://{page}"));
        let (clock, exe) = match self.clocks {
            true => Clock::of(&exe, &self.folder, &name).map(|(clock, exe)| (Some(clock), exe))?,
            false => (None, exe),
        };
        self.nodes.push(Node { clock, exe, name, file, asker, listen, page, process: None });
        Ok(i)
    }

    /// How many there are, running or not.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// All addresses, as `coordinator` in a client's file has them.
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("http://{}", node.listen)).collect()
    }

    /// Starts one without waiting for it.
    pub fn start(&mut self, i: usize) -> Result<(), String> {
        let process = Process::start(&self.nodes[i].exe, "serve", &self.nodes[i].file)?;
        self.nodes[i].process = Some(process);
        Ok(())
    }

    /// Starts all that do not run, and waits until those listen.
    pub fn start_all(&mut self) -> Result<(), String> {
        let down: Vec<usize> = (0..self.count()).filter(|&i| !self.runs(i)).collect();
        down.iter().try_for_each(|&i| self.start(i))?;
        down.into_iter().try_for_each(|i| self.process(i)?.listening().map(|_| ()))
    }

    /// Is there a process, frozen or not?
    pub fn runs(&self, i: usize) -> bool {
        self.nodes[i].process.is_some()
    }

    fn process(&mut self, i: usize) -> Result<&mut Process, String> {
        let node = &mut self.nodes[i];
        node.process.as_mut().ok_or_else(|| format!("coordinator {} does not run", node.name))
    }

    /// kill -9.
    pub fn kill(&mut self, i: usize) {
        self.nodes[i].process = None;
    }

    /// SIGSTOP.
    pub fn freeze(&mut self, i: usize) {
        self.nodes[i].process.iter_mut().for_each(Process::freeze);
    }

    /// SIGCONT.
    pub fn thaw(&mut self, i: usize) {
        self.nodes[i].process.iter_mut().for_each(Process::thaw);
    }

    /// SIGTERM; it must end well.
    pub fn stop(&mut self, i: usize) -> Result<(), String> {
        let Some(mut process) = self.nodes[i].process.take() else { return Ok(()) };
        match process.stop()? {
            status if status.success() => Ok(()),
            status => {
                Err(format!("coordinator {} ended with {status}: {}", self.name(i), self.complaints(i)))
            }
        }
    }

    /// The number of its process in the system.
    pub fn pid(&self, i: usize) -> Option<u32> {
        self.nodes[i].process.as_ref().map(Process::pid)
    }

    /// Its name.
    pub fn name(&self, i: usize) -> &str {
        &self.nodes[i].name
    }

    /// Whoever asks it, from any thread.
    pub fn asker(&self, i: usize) -> Asker {
        self.nodes[i].asker.clone()
    }

    /// Its page, status and model over HTTP.
    pub fn page(&self, i: usize) -> &App {
        &self.nodes[i].page
    }

    /// Its place among the others.
    pub fn replica(&self, i: usize) -> Result<Replica, String> {
        self.nodes[i].asker.replica()
    }

    /// What its machine amounts to.
    pub fn digest(&self, i: usize) -> Result<Digest, String> {
        self.nodes[i].asker.digest()
    }

    /// One that says that it leads, the one of the latest epoch if several do.
    pub fn leader(&self) -> Option<usize> {
        let leading = |i: usize| Some((self.replica(i).ok().filter(Replica::leads)?.epoch, i));
        (0..self.count()).filter(|&i| self.runs(i)).filter_map(leading).max().map(|(_, i)| i)
    }

    /// Someone who runs and does not lead.
    pub fn standby(&self) -> Option<usize> {
        let stands_by = |i: &usize| self.replica(*i).is_ok_and(|replica| !replica.leads());
        (0..self.count()).filter(|&i| self.runs(i)).find(stands_by)
    }

    /// Waits until exactly one of those that run leads, and all the others say that it does.
    pub fn await_one_leader(&mut self, patience: Duration) -> Result<usize, String> {
        let deadline = Instant::now() + patience;
        loop {
            let said: Vec<_> =
                (0..self.count()).filter(|&i| self.runs(i)).map(|i| (i, self.replica(i))).collect();
            let leaders: Vec<_> = said
                .iter()
                .filter(|(_, said)| said.as_ref().is_ok_and(Replica::leads))
                .map(|(i, _)| *i)
                .collect();
            if let [leader] = leaders[..]
                && said.iter().all(|(_, said)| {
                    said.as_ref().is_ok_and(|said| said.leader.as_deref() == Some(self.name(leader)))
                })
            {
                return Ok(leader);
            }
            self.alive()?;
            if Instant::now() > deadline {
                let all: Vec<String> = (0..self.count()).map(|i| self.complaints(i)).collect();
                return Err(format!("never one leader: {said:?}\n{}", all.join("\n")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it has ended by itself, and not well; what it said last must have these words in it.
    pub fn await_halt(&mut self, i: usize, patience: Duration, words: &str) -> Result<(), String> {
        let status = self.process(i)?.wait(patience)?;
        let said = self.complaints(i);
        if status.success() || !said.contains(words) {
            return Err(format!(
                "coordinator {} should have halted because the log {words}, and ended with {status}: {said}",
                self.name(i)
            ));
        }
        self.nodes[i].process = None;
        Ok(())
    }

    /// From their next start on, they go on although the log has lost what they saw; or they do not, which is usual.
    pub fn accept_rollback(&self, accept: bool) -> Result<(), String> {
        for Node { file, .. } in &self.nodes {
            let failed = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
            let text = std::fs::read_to_string(file).map_err(|e| failed(&e))?;
            let mut table: Table = text.parse().map_err(|e| failed(&e))?;
            if let Some(Toml::Table(nats)) = table.get_mut("nats") {
                nats.insert("accept_rollback".into(), Toml::Boolean(accept));
            }
            std::fs::write(file, table.to_string()).map_err(|e| failed(&e))?;
        }
        Ok(())
    }

    /// Nobody who was started has ended by itself.
    pub fn alive(&mut self) -> Result<(), String> {
        for i in 0..self.count() {
            if let Some(status) = self.nodes[i].process.as_mut().and_then(Process::ended) {
                return Err(format!(
                    "coordinator {} ended with {status}: {}",
                    self.name(i),
                    self.complaints(i)
                ));
            }
        }
        Ok(())
    }

    /// The last of what it wrote on stderr, in this life and earlier ones.
    pub fn complaints(&self, i: usize) -> String {
        let file = self.nodes[i].file.with_extension("stderr");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("{}:\n{}", file.display(), lines[lines.len().saturating_sub(12)..].join("\n"))
    }
}
