//! A line between a client of NATS and a server that knows what passes: it can lose appends or their answers, be late with answers, and
//! be cut. What a cut line was given it delivers when it is whole again, as TCP does: old appends come late, and are appends still.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::frames::{Frame, Frames};

/// How often those who wait look whether they still must.
const GLANCE: Duration = Duration::from_millis(20);

/// What went over a line so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Connections made.
    pub connections: u64,
    /// Appends that a client sent.
    pub appends: u64,
    /// Appends that never came to the server.
    pub lost_appends: u64,
    /// Answers to appends that the server sent, lost and late ones included.
    pub answers: u64,
    /// Answers that never came.
    pub lost_answers: u64,
    /// Answers that came late.
    pub late_answers: u64,
}

/// A proxy before one server; gone when it is dropped, and so are its connections.
pub struct NatsProxy {
    address: SocketAddr,
    line: Arc<Line>,
}

/// What all connections share.
struct Line {
    to: SocketAddr,
    /// What is said is none of its business: it is cut or whole, and that is all.
    plain: bool,
    over: AtomicBool,
    /// Nothing goes to the server, nothing comes from it.
    cut: [AtomicBool; 2],
    /// What shall become of the next ones.
    lose_appends: AtomicU64,
    lose_answers: AtomicU64,
    late_answers: AtomicU64,
    late_by: Mutex<Duration>,
    /// Where answers to appends will go.
    asked: Mutex<HashSet<String>>,
    passed: Mutex<Passed>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToServer = 0,
    ToClient = 1,
}

impl NatsProxy {
    /// Listens on a port of this machine, and passes on to the server that is at `to` when someone calls.
    pub fn start(to: SocketAddr) -> Result<NatsProxy, String> {
        NatsProxy::of(to, false)
    }

    /// The same for whatever else is said, which can be cut.
    pub fn plain(to: SocketAddr) -> Result<NatsProxy, String> {
        NatsProxy::of(to, true)
    }

    fn of(to: SocketAddr, plain: bool) -> Result<NatsProxy, String> {
        let failed = |e: std::io::Error| format!("a proxy before {to}: {e}");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let line = Arc::new(Line {
            to,
            plain,
            over: AtomicBool::default(),
            cut: Default::default(),
            lose_appends: AtomicU64::default(),
            lose_answers: AtomicU64::default(),
            late_answers: AtomicU64::default(),
            late_by: Mutex::default(),
            asked: Mutex::default(),
            passed: Mutex::default(),
        });
        let accepting = line.clone();
        std::thread::spawn(move || {
            for caller in listener.incoming() {
                if accepting.over.load(Relaxed) {
                    return;
                }
                let line = accepting.clone();
                if let Ok(caller) = caller {
                    std::thread::spawn(move || line.join(caller));
                }
            }
        });
        Ok(NatsProxy { address, line })
    }

    /// Where to call.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The answers to the next `n` appends are lost: the server has them, and the client is not told.
    pub fn lose_answers(&self, n: u64) {
        self.line.lose_answers.store(n, Relaxed);
    }

    /// The next `n` appends are lost before the server has them.
    pub fn lose_appends(&self, n: u64) {
        self.line.lose_appends.store(n, Relaxed);
    }

    /// The answers to the next `n` appends come late by so much; what else is said passes them.
    pub fn delay_answers(&self, n: u64, by: Duration) {
        *lock(&self.line.late_by) = by;
        self.line.late_answers.store(n, Relaxed);
    }

    /// Nothing passes until the line is [mended](Self::mend). Connections stand, and who calls is not answered.
    pub fn cut(&self) {
        self.line.cut.iter().for_each(|cut| cut.store(true, Relaxed));
    }

    /// Nothing comes from the server, though it hears all that is said to it.
    pub fn cut_answers(&self) {
        self.line.cut[Way::ToClient as usize].store(true, Relaxed);
    }

    /// The line is whole, and delivers what it was given meanwhile. Whatever was yet to be lost is not.
    pub fn mend(&self) {
        let line = &self.line;
        for still in [&line.lose_appends, &line.lose_answers, &line.late_answers] {
            still.store(0, Relaxed);
        }
        line.cut.iter().for_each(|cut| cut.store(false, Relaxed));
    }

    /// What went over it so far.
    pub fn passed(&self) -> Passed {
        *lock(&self.line.passed)
    }
}

impl Drop for NatsProxy {
    fn drop(&mut self) {
        self.line.over.store(true, Relaxed);
        // Whoever waits for a caller is woken by one.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One less, if there is any left.
fn take(counter: &AtomicU64) -> bool {
    counter.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

impl Line {
    /// Two directions, one on this thread.
    fn join(self: Arc<Line>, caller: TcpStream) {
        self.wait_until_whole(Way::ToServer);
        // Nobody there: the caller finds the door shut, as it would without us.
        let Ok(called) = TcpStream::connect_timeout(&self.to, Duration::from_secs(5)) else { return };
        lock(&self.passed).connections += 1;
        let ends = [&caller, &called].map(|end| {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(GLANCE))?;
            end.try_clone()
        });
        let [Ok(to_caller), Ok(to_called)] = ends else { return };
        let line = self.clone();
        std::thread::spawn(move || line.pass(called, to_caller, Way::ToClient));
        self.pass(caller, to_called, Way::ToServer);
    }

    fn wait_until_whole(&self, way: Way) {
        while self.cut[way as usize].load(Relaxed) && !self.over.load(Relaxed) {
            std::thread::sleep(GLANCE);
        }
    }

    fn pass(self: Arc<Line>, mut from: TcpStream, to: TcpStream, way: Way) {
        let (mut frames, mut piece) = (Frames::default(), vec![0; 1 << 16]);
        // Late answers are written by others.
        let to = Arc::new(Mutex::new(to));
        while !self.over.load(Relaxed) {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(length) if self.plain => {
                    self.wait_until_whole(way);
                    if lock(&to).write_all(&piece[..length]).is_err() {
                        break;
                    }
                    continue;
                }
                Ok(length) => frames.push(&piece[..length]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => break,
            }
            self.wait_until_whole(way);
            let mut passed = Ok(());
            while let (Ok(()), Some(frame)) = (&passed, frames.next()) {
                passed = match way {
                    Way::ToServer => self.to_server(frame, &to),
                    Way::ToClient => self.to_client(frame, &to),
                };
            }
            if passed.is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = lock(&to).shutdown(Shutdown::Both);
    }

    fn to_server(&self, frame: Frame, to: &Mutex<TcpStream>) -> std::io::Result<()> {
        if frame.is_append() {
            lock(&self.passed).appends += 1;
            if take(&self.lose_appends) {
                lock(&self.passed).lost_appends += 1;
                return Ok(());
            }
            if let Some(reply) = frame.reply() {
                lock(&self.asked).insert(reply.into());
            }
        }
        lock(to).write_all(&frame.bytes)
    }

    fn to_client(self: &Arc<Line>, frame: Frame, to: &Arc<Mutex<TcpStream>>) -> std::io::Result<()> {
        let is_message = frame.is("MSG") || frame.is("HMSG");
        if is_message && frame.words.get(1).is_some_and(|subject| lock(&self.asked).remove(subject)) {
            lock(&self.passed).answers += 1;
            if take(&self.lose_answers) {
                lock(&self.passed).lost_answers += 1;
                return Ok(());
            }
            if take(&self.late_answers) {
                lock(&self.passed).late_answers += 1;
                let (line, to, by) = (self.clone(), to.clone(), *lock(&self.late_by));
                std::thread::spawn(move || {
                    std::thread::sleep(by);
                    line.wait_until_whole(Way::ToClient);
                    let _ = lock(&to).write_all(&frame.bytes);
                });
                return Ok(());
            }
        }
        lock(to).write_all(&frame.without_other_servers())
    }
}
