//! A federation of processes on this machine: its folder, its files, its ports.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cahoots_core::{Keys, NodeId, Stream};
use serde_json::Value;
use toml::{Table, Value as Toml};

use super::process::Process;

/// A coordinator and its clients as processes.
pub struct Cluster {
    exe: PathBuf,
    folder: PathBuf,
    files: Vec<PathBuf>,
    processes: Vec<Option<Process>>,
    http: Vec<u16>,
    /// How often a process was killed.
    pub kills: u64,
    rng: Stream,
    agent: ureq::Agent,
}

/// Name of the federation.
pub const FEDERATION: &str = "soak";

impl Cluster {
    /// Writes the files of a federation: `serve` has the coordinator's keys but federation, store and, unless it is to be
    /// a certain one, address; `client` what each client's file adds.
    pub fn new(
        exe: &Path,
        folder: &Path,
        clients: usize,
        mut serve: Table,
        client: &Table,
        seed: u64,
    ) -> Result<Cluster, String> {
        let failed = |e: std::io::Error| e.to_string();
        std::fs::create_dir_all(folder).map_err(failed)?;
        let port = free_port()?;
        let common = |table: &mut Table, store: &str| {
            table.insert("federation".into(), FEDERATION.into());
            table.insert("store".into(), store.into());
            table.entry("sync").or_insert("memory".into());
            table.entry("snapshot_every").or_insert(Toml::Integer(40));
        };
        common(&mut serve, "coordinator.store");
        serve.entry("listen").or_insert(format!("127.0.0.1:{port}").into());
        let mut files = vec![folder.join("serve.toml")];
        std::fs::write(&files[0], serve.to_string()).map_err(failed)?;
        let mut http = Vec::new();
        for i in 0..clients {
            http.push(free_port()?);
            let mut table = client.clone();
            common(&mut table, &format!("client{i}.store"));
            table.entry("coordinator").or_insert(format!("http://127.0.0.1:{port}").into());
            table.insert("client".into(), Toml::Integer(i as i64));
            table.insert("http".into(), format!("127.0.0.1:{}", http[i]).into());
            table.insert("longest_pause".into(), Toml::Float(0.2));
            files.push(folder.join(format!("client{i}.toml")));
            std::fs::write(&files[i + 1], table.to_string()).map_err(failed)?;
        }
        let agent = agent();
        Ok(Cluster {
            exe: exe.into(),
            folder: folder.into(),
            processes: files.iter().map(|_| None).collect(),
            files,
            http,
            kills: 0,
            rng: Keys::from_seed(seed).policy(NodeId(0), 0),
            agent,
        })
    }

    /// Starts node `i` (0 is the coordinator) without waiting for it.
    pub fn start(&mut self, i: usize) -> Result<(), String> {
        let command = if i == 0 { "serve" } else { "client" };
        self.processes[i] = Some(Process::start(&self.exe, command, &self.files[i])?);
        Ok(())
    }

    /// Starts everyone and waits until all listen.
    pub fn start_all(&mut self) -> Result<(), String> {
        (0..self.files.len()).try_for_each(|i| self.start(i))?;
        (0..self.files.len()).try_for_each(|i| self.process(i).listening().map(|_| ()))
    }

    /// A node's process.
    pub fn process(&mut self, i: usize) -> &mut Process {
        self.processes[i].as_mut().expect("was started")
    }

    /// kill -9 for a node drawn at random, which is started again at once.
    pub fn kill_one(&mut self) -> Result<usize, String> {
        let i = self.rng.below(self.files.len() as u64) as usize;
        self.process(i).kill();
        self.kills += 1;
        self.start(i)?;
        Ok(i)
    }

    /// A random pause.
    pub fn pause(&mut self, up_to: Duration) {
        let micros = self.rng.below(up_to.as_micros() as u64 + 1);
        std::thread::sleep(Duration::from_micros(micros));
    }

    /// Asks everyone to stop.
    pub fn stop_all(&mut self) -> Result<(), String> {
        for i in (0..self.files.len()).rev() {
            let process = self.process(i);
            let status = process.stop()?;
            if !status.success() {
                return Err(format!("node {i} ended with {status}: {}", process.complaints()));
            }
        }
        Ok(())
    }

    /// Someone who talks to client `i` over HTTP.
    pub fn app(&self, i: usize) -> App {
        App { agent: self.agent.clone(), base: format!("http://127.0.0.1:{}", self.http[i]) }
    }

    /// Waits until every client is connected and everything is confirmed.
    pub fn settle(&mut self, patience: Duration) -> Result<(), String> {
        let deadline = Instant::now() + patience;
        for i in 0..self.http.len() {
            loop {
                let status = self.app(i).get("/status").map(|(_, status)| status).unwrap_or_default();
                if status["unconfirmed"] == 0 && status["connected"] == true {
                    break;
                }
                if Instant::now() > deadline {
                    return Err(format!(
                        "client {i} does not settle: {status}; {}",
                        self.process(i + 1).complaints()
                    ));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }

    /// Where everything lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// An app beside a client.
#[derive(Clone)]
pub struct App {
    agent: ureq::Agent,
    base: String,
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(5)));
    config.build().into()
}

impl App {
    /// One that talks to whoever is at `base`, as "http://127.0.0.1:7780".
    pub fn at(base: String) -> App {
        App { agent: agent(), base }
    }

    /// POST; the status and the answer.
    pub fn post(&self, path: &str, body: &Value) -> Result<(u16, Value), String> {
        let answer = self.agent.post(format!("{}{path}", self.base)).send_json(body);
        Self::answer(answer)
    }

    /// POST of whatever bytes.
    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Result<(u16, Value), String> {
        let request = self.agent.post(format!("{}{path}", self.base)).content_type("application/json");
        Self::answer(request.send(body))
    }

    /// GET; the status and the answer.
    pub fn get(&self, path: &str) -> Result<(u16, Value), String> {
        Self::answer(self.agent.get(format!("{}{path}", self.base)).call())
    }

    fn answer(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<(u16, Value), String> {
        let mut answer = answer.map_err(|e| e.to_string())?;
        let status = answer.status().as_u16();
        let value = answer.body_mut().read_json().map_err(|e| format!("{status}: {e}"))?;
        Ok((status, value))
    }
}

/// A port that nobody uses at the moment. It is not one of those that the system gives to outgoing connections
/// (32768 and above on Linux), or a client's own connection could take it before its owner does.
pub fn free_port() -> Result<u16, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const FROM: u32 = 10_240;
    const PORTS: u32 = 22_000;
    // Processes begin at different places.
    let begin = std::process::id().wrapping_mul(7919) % PORTS;
    for _ in 0..PORTS {
        let offset = (begin + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let port = (FROM + offset) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err("no port is free".into())
}
