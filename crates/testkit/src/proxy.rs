//! A bad line between two processes: a proxy for TCP that delays what passes, stalls, cuts connections in the middle of
//! whatever was being said, and swallows all that two ends say without telling them. What TCP makes of lost packets is
//! delay, stalls and resets, so that is what it plays; it needs no rights that a test might lack.
//!
//! What happens to the n-th piece of the m-th connection follows from the seed; what is a piece is up to the system.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cahoots_core::{Keys, NodeId, Stream};

/// The longest piece that is passed on at once: about a packet, so that messages come in many.
const PIECE: usize = 1400;

/// How bad a line is. Chances are in thousandths, for every piece that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// Seed of what happens.
    pub seed: u64,
    /// A piece is late by up to so much.
    pub delay: Duration,
    /// It comes only after [`Self::stall`], as if it had to be sent again.
    pub stalls: u64,
    /// How long a stall lasts.
    pub stall: Duration,
    /// A part of it comes, and then the connection is gone.
    pub cuts: u64,
    /// It does not come, and nothing after it in either direction: the connection stands, and is silent.
    pub silences: u64,
}

/// What a proxy did to those who spoke through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Connections made.
    pub connections: u64,
    /// Pieces that came much too late.
    pub stalls: u64,
    /// Connections cut while something was being said.
    pub cuts: u64,
    /// Connections that fell silent.
    pub silences: u64,
}

/// A proxy before one address; gone when it is dropped, and so are its connections.
pub struct Proxy {
    address: SocketAddr,
    line: Arc<Line>,
}

/// What all connections share.
struct Line {
    to: SocketAddr,
    weather: Weather,
    calm: AtomicBool,
    over: AtomicBool,
    connections: AtomicU64,
    stalls: AtomicU64,
    cuts: AtomicU64,
    silences: AtomicU64,
}

impl Proxy {
    /// Listens on a port of this machine, and passes on to `to`, whoever may be there when someone calls.
    pub fn start(to: SocketAddr, weather: Weather) -> std::io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let line = Arc::new(Line {
            to,
            weather,
            calm: AtomicBool::default(),
            over: AtomicBool::default(),
            connections: AtomicU64::default(),
            stalls: AtomicU64::default(),
            cuts: AtomicU64::default(),
            silences: AtomicU64::default(),
        });
        let accepting = line.clone();
        std::thread::spawn(move || {
            for caller in listener.incoming() {
                if accepting.over.load(Ordering::Relaxed) {
                    return;
                }
                // Nobody there: the caller finds the door shut, as it would without us.
                if let Ok(caller) = caller
                    && let Ok(called) = TcpStream::connect_timeout(&accepting.to, Duration::from_secs(5))
                {
                    let _ = accepting.join(caller, called);
                }
            }
        });
        Ok(Proxy { address, line })
    }

    /// Where to call.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on nothing new happens. Connections that are silent stay so.
    pub fn calm(&self) {
        self.line.calm.store(true, Ordering::Relaxed);
    }

    /// What was done so far.
    pub fn damage(&self) -> Damage {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let line = &self.line;
        Damage {
            connections: read(&line.connections),
            stalls: read(&line.stalls),
            cuts: read(&line.cuts),
            silences: read(&line.silences),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.line.over.store(true, Ordering::Relaxed);
        // Whoever waits for a caller is woken by one.
        let _ = TcpStream::connect(self.address);
    }
}

/// What becomes of a piece.
enum Fate {
    Passes,
    Cut,
    Silence,
}

impl Line {
    /// Two threads, one for each direction.
    fn join(self: &Arc<Line>, caller: TcpStream, called: TcpStream) -> std::io::Result<()> {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let silent = Arc::new(AtomicBool::default());
        for end in [&caller, &called] {
            end.set_nodelay(true)?;
            end.set_read_timeout(Some(Duration::from_millis(200)))?;
        }
        for (way, from, to) in
            [(0, caller.try_clone()?, called.try_clone()?), (1, called.try_clone()?, caller.try_clone()?)]
        {
            let (line, silent) = (self.clone(), silent.clone());
            let dice = Keys::from_seed(self.weather.seed).policy(NodeId((2 * number + way) as u32), 0);
            std::thread::spawn(move || line.pass(from, to, dice, &silent));
        }
        Ok(())
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, mut dice: Stream, silent: &AtomicBool) {
        let mut piece = [0; PIECE];
        while !self.over.load(Ordering::Relaxed) {
            let length = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) =>
                {
                    continue;
                }
                Err(_) => break,
            };
            if silent.load(Ordering::Relaxed) {
                continue;
            }
            let passed = match self.fate(&mut dice) {
                Fate::Passes => to.write_all(&piece[..length]),
                Fate::Silence => {
                    silent.store(true, Ordering::Relaxed);
                    continue;
                }
                Fate::Cut => {
                    let part = dice.below(length as u64) as usize;
                    let _ = to.write_all(&piece[..part]);
                    // Whatever is still said is answered by a reset.
                    break;
                }
            };
            if passed.is_err() {
                break;
            }
        }
        for end in [&from, &to] {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    fn fate(&self, dice: &mut Stream) -> Fate {
        if self.calm.load(Ordering::Relaxed) {
            return Fate::Passes;
        }
        let Weather { delay, stalls, stall, cuts, silences, .. } = self.weather;
        let late = delay.mul_f64(dice.uniform());
        let roll = dice.below(1000);
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(late);
        if roll < cuts {
            count(&self.cuts);
            return Fate::Cut;
        }
        if roll < cuts + silences {
            count(&self.silences);
            return Fate::Silence;
        }
        if roll < cuts + silences + stalls {
            count(&self.stalls);
            std::thread::sleep(stall);
        }
        Fate::Passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Weather = Weather {
        seed: 1,
        delay: Duration::from_millis(1),
        stalls: 0,
        stall: Duration::from_millis(50),
        cuts: 0,
        silences: 0,
    };

    /// What came of `bytes` said through a proxy to someone who says it all back.
    fn echo(weather: Weather, bytes: &[u8]) -> (Vec<u8>, Damage) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut here, _) = listener.accept().unwrap();
            let mut back = here.try_clone().unwrap();
            let _ = std::io::copy(&mut here, &mut back);
        });
        let proxy = Proxy::start(to, weather).unwrap();
        let mut caller = TcpStream::connect(proxy.address()).unwrap();
        caller.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let _ = caller.write_all(bytes);
        let mut heard = vec![0; bytes.len()];
        let mut length = 0;
        while length < heard.len()
            && let Ok(more @ 1..) = caller.read(&mut heard[length..])
        {
            length += more;
        }
        heard.truncate(length);
        (heard, proxy.damage())
    }

    #[test]
    fn what_comes_is_what_was_said_and_what_is_lost_is_counted() {
        let said: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8).collect();
        let (heard, damage) = echo(Weather { stalls: 100, ..FINE }, &said);
        assert_eq!(heard, said);
        assert!(damage.stalls > 0 && damage.cuts + damage.silences == 0, "{damage:?}");
        for (cuts, silences) in [(200, 0), (0, 200)] {
            let (heard, damage) = echo(Weather { cuts, silences, ..FINE }, &said);
            assert!(heard.len() < said.len() && said.starts_with(&heard));
            assert!(damage.cuts + damage.silences > 0, "{damage:?}");
            assert_eq!((damage.cuts == 0, damage.silences == 0), (cuts == 0, silences == 0), "{damage:?}");
        }
    }
}
