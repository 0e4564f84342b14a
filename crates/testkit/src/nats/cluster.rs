//! One or three nats-servers as processes, to be killed, frozen, emptied and put back.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::monitor::{Monitor, StreamView};
use super::program::program;
use super::routes::Routes;
use crate::soak::{Process, free_port};

/// Where one server listens, and what runs it.
#[derive(Clone, Debug)]
pub struct Place {
    /// For clients.
    pub clients: SocketAddr,
    /// For the other servers.
    pub routes: SocketAddr,
    /// For those who ask how it is.
    pub monitor: SocketAddr,
    /// The program: nats-server, or what starts it elsewhere and becomes it (`exec`).
    pub program: PathBuf,
}

impl Place {
    /// Free ports of this machine.
    pub fn here() -> Result<Place, String> {
        let at = || free_port().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        Ok(Place { clients: at()?, routes: at()?, monitor: at()?, program: program()? })
    }
}

struct Server {
    place: Place,
    file: PathBuf,
    data: PathBuf,
    process: Option<Process>,
    frozen: bool,
}

/// Servers that keep streams together; gone when it is dropped.
pub struct NatsCluster {
    folder: PathBuf,
    servers: Vec<Server>,
    monitor: Monitor,
    /// Between the servers, where they are all on this machine.
    routes: Option<Routes>,
}

impl NatsCluster {
    /// Starts so many servers on this machine, with their files below `folder`, and waits until they work.
    pub fn start(folder: &Path, servers: usize) -> Result<NatsCluster, String> {
        let places: Result<Vec<Place>, String> = (0..servers).map(|_| Place::here()).collect();
        let places = places?;
        let listening: Vec<SocketAddr> = places.iter().map(|place| place.routes).collect();
        let routes = Routes::between(&listening)?;
        let mut cluster = NatsCluster::with(folder, places, Some(routes))?;
        cluster.start_all()?;
        cluster.await_ready(Duration::from_secs(60))?;
        Ok(cluster)
    }

    /// Writes the files of servers at these places, and starts none.
    pub fn at(folder: &Path, places: Vec<Place>) -> Result<NatsCluster, String> {
        NatsCluster::with(folder, places, None)
    }

    fn with(folder: &Path, places: Vec<Place>, lines: Option<Routes>) -> Result<NatsCluster, String> {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let routes: Vec<String> =
            places.iter().map(|place| format!("nats-route://{}", place.routes)).collect();
        let alone = places.len() == 1;
        let mut servers = Vec::new();
        for (i, place) in places.into_iter().enumerate() {
            let (file, data) = (folder.join(format!("n{i}.conf")), folder.join(format!("n{i}.data")));
            let mut text = format!(
                "server_name: n{i}\nlisten: \"{}\"\nhttp: \"{}\"\njetstream {{ store_dir: {data:?}, sync_interval: always }}\n",
                place.clients, place.monitor
            );
            if !alone {
                let listen = place.routes;
                // Where there are lines, nobody is to find a way past them: what is advertised is nowhere.
                let (routes, nowhere) = match &lines {
                    Some(lines) => (lines.of(i), "advertise: \"127.0.0.1:1\", no_advertise: true, "),
                    None => (routes.clone(), ""),
                };
                text +=
                    &format!("cluster {{ name: kit, listen: \"{listen}\", {nowhere}routes: {routes:?} }}\n");
            }
            std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
            servers.push(Server { place, file, data, process: None, frozen: false });
        }
        Ok(NatsCluster { folder: folder.into(), servers, monitor: Monitor::new(), routes: lines })
    }

    /// How many there are, running or not.
    pub fn servers(&self) -> usize {
        self.servers.len()
    }

    /// Where clients find server `i`.
    pub fn address(&self, i: usize) -> SocketAddr {
        self.servers[i].place.clients
    }

    /// All of them, as `log` in a coordinator's file has it.
    pub fn urls(&self) -> String {
        super::log_url((0..self.servers()).map(|i| self.address(i)))
    }

    /// The monitoring ports, as `monitor` in a coordinator's file has them.
    pub fn monitor_urls(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("http://{}", server.place.monitor)).collect()
    }

    /// Starts server `i` without waiting for it.
    pub fn start_server(&mut self, i: usize) -> Result<(), String> {
        let server = &mut self.servers[i];
        server.process = Some(Process::start(&server.place.program, "-c", &server.file)?);
        server.frozen = false;
        Ok(())
    }

    /// Starts all that do not run.
    pub fn start_all(&mut self) -> Result<(), String> {
        let down: Vec<usize> = (0..self.servers()).filter(|&i| !self.runs(i)).collect();
        down.into_iter().try_for_each(|i| self.start_server(i))
    }

    /// Is there a process, frozen or not?
    pub fn runs(&self, i: usize) -> bool {
        self.servers[i].process.is_some()
    }

    /// kill -9.
    pub fn kill(&mut self, i: usize) {
        self.servers[i].process = None;
    }

    /// SIGTERM, and waits until it has ended.
    pub fn stop(&mut self, i: usize) -> Result<(), String> {
        let Some(mut process) = self.servers[i].process.take() else { return Ok(()) };
        process.thaw();
        process.stop().map(|_| ())
    }

    /// SIGSTOP. Bursts of it are what a slow disk is to everybody else: a server that answers late.
    pub fn freeze(&mut self, i: usize) {
        let server = &mut self.servers[i];
        server.frozen = true;
        server.process.iter_mut().for_each(Process::freeze);
    }

    /// SIGCONT.
    pub fn thaw(&mut self, i: usize) {
        let server = &mut self.servers[i];
        server.frozen = false;
        server.process.iter_mut().for_each(Process::thaw);
    }

    /// Nothing passes between server `i` and the others; whoever speaks to it still can. For servers that were
    /// [started here](Self::start).
    pub fn cut_off(&self, i: usize) {
        self.routes.iter().for_each(|routes| routes.cut(i));
    }

    /// It is one of them again.
    pub fn reconnect(&self, i: usize) {
        self.routes.iter().for_each(|routes| routes.mend(i));
    }

    /// Copies the data of server `i`, which must not run, to a folder that is replaced.
    pub fn copy_data(&self, i: usize, to: &Path) -> Result<(), String> {
        self.must_not_run(i)?;
        replace(&self.servers[i].data, to)
    }

    /// Puts such a copy back.
    pub fn put_back(&self, i: usize, from: &Path) -> Result<(), String> {
        self.must_not_run(i)?;
        replace(from, &self.servers[i].data)
    }

    /// Takes all data from server `i`, which must not run.
    pub fn wipe(&self, i: usize) -> Result<(), String> {
        self.must_not_run(i)?;
        remove(&self.servers[i].data)
    }

    fn must_not_run(&self, i: usize) -> Result<(), String> {
        match self.runs(i) {
            true => Err(format!("server n{i} runs: stop or kill it before its data are touched")),
            false => Ok(()),
        }
    }

    /// The place of the server with this name.
    pub fn named(&self, name: &str) -> Option<usize> {
        (0..self.servers()).find(|i| name == format!("n{i}"))
    }

    /// The streams as server `i` sees them.
    pub fn streams(&self, i: usize) -> Result<Vec<StreamView>, String> {
        self.monitor.streams(self.servers[i].place.monitor)
    }

    /// The server that leads the stream whose name has `part` in it, as most servers say; `None` while none is known.
    pub fn stream_leader(&self, part: &str) -> Option<usize> {
        let mut votes = vec![0; self.servers()];
        for i in self.awake() {
            let streams = self.streams(i).unwrap_or_default();
            let view = streams.into_iter().find(|view| view.name.contains(part));
            if let Some(leader) = view.and_then(|view| view.leader).and_then(|name| self.named(&name)) {
                votes[leader] += 1;
            }
        }
        let most = votes.iter().copied().max().filter(|&most| most > 0)?;
        votes.iter().position(|&votes| votes == most)
    }

    /// The server that leads the log of a federation: the stream that is under no object or key-value store.
    pub fn log_leader(&self) -> Option<usize> {
        self.log_name().and_then(|name| self.stream_leader(&name))
    }

    /// What that stream is called.
    pub fn log_name(&self) -> Option<String> {
        let mut streams = self.awake().filter_map(|i| self.streams(i).ok()).flatten().map(|view| view.name);
        streams.find(|name| !name.starts_with("OBJ_") && !name.starts_with("KV_"))
    }

    fn awake(&self) -> impl Iterator<Item = usize> {
        (0..self.servers()).filter(|&i| self.runs(i) && !self.servers[i].frozen)
    }

    /// Waits until every server that runs is well and they agree on who leads.
    pub fn await_ready(&mut self, patience: Duration) -> Result<(), String> {
        self.wait(patience, "servers that agree on a leader", |cluster| {
            let mut leaders = Vec::new();
            for i in cluster.awake() {
                let at = cluster.servers[i].place.monitor;
                let health = cluster.monitor.ask(at, "/healthz")?;
                if health["status"] != "ok" {
                    return Err(format!("n{i} says {health}"));
                }
                if cluster.servers() > 1 {
                    leaders.push(cluster.monitor.meta_leader(at)?);
                }
            }
            match leaders.windows(2).all(|pair| pair[0] == pair[1]) && !leaders.contains(&None) {
                true => Ok(()),
                false => Err(format!("leaders {leaders:?}")),
            }
        })
    }

    /// Waits until every server that runs holds the same of every stream, and every leader says that nobody lags. For the last
    /// word of a replica its own server is asked: what a leader says of it can be seconds old.
    pub fn await_current(&mut self, patience: Duration) -> Result<(), String> {
        self.await_ready(patience)?;
        self.wait(patience, "replicas that are all current", |cluster| {
            let views: Result<Vec<_>, String> =
                cluster.awake().map(|i| cluster.streams(i).map(|views| (i, views))).collect();
            let views = views?;
            for (i, view) in views.iter().flat_map(|(i, views)| views.iter().map(move |view| (i, view))) {
                let leads = view.leader.as_deref() == Some(&format!("n{i}"));
                let behind = |other: &&super::Peer| !other.current || other.offline || other.lag > 0;
                if let Some(replica) = view.replicas.iter().find(|other| leads && behind(other)) {
                    return Err(format!("{} at n{i}: {replica:?}", view.name));
                }
                for (j, others) in &views {
                    let other = others.iter().find(|other| other.name == view.name);
                    let same = other.is_some_and(|other| {
                        (other.first, other.last, &other.leader) == (view.first, view.last, &view.leader)
                    });
                    if !same || view.leader.is_none() && cluster.servers() > 1 {
                        return Err(format!("{}: n{i} has {view:?}, n{j} has {other:?}", view.name));
                    }
                }
            }
            Ok(())
        })
    }

    fn wait(
        &mut self,
        patience: Duration,
        what: &str,
        done: impl Fn(&NatsCluster) -> Result<(), String>,
    ) -> Result<(), String> {
        let deadline = Instant::now() + patience;
        loop {
            let Err(why) = done(self) else { return Ok(()) };
            if let Some(i) = (0..self.servers()).find(|&i| self.ended(i)) {
                return Err(format!("server n{i} has ended: {}", self.complaints(i)));
            }
            if Instant::now() > deadline {
                return Err(format!("never {what}: {why}; see {}/n*.stderr", self.folder.display()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn ended(&mut self, i: usize) -> bool {
        self.servers[i].process.as_mut().is_some_and(|process| process.ended().is_some())
    }

    /// The last of what server `i` wrote, with its ports.
    pub fn complaints(&self, i: usize) -> String {
        let Server { place, file, .. } = &self.servers[i];
        let text = std::fs::read_to_string(file.with_extension("stderr")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(8)..].join("\n");
        format!("{} at {}, {} and {}:\n{last}", file.display(), place.clients, place.routes, place.monitor)
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// `to` becomes a copy of `from`.
fn replace(from: &Path, to: &Path) -> Result<(), String> {
    remove(to)?;
    copy(from, to).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
