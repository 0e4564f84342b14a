//! Strangers: until the coordinator has welcomed a connection, it may send little and not for long. What it
//! sends is counted where it comes in, below HTTP/2, so that nothing of it can pile up above.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::identity::{Peer, words};
use crate::limits::{Counters, ServeLimits};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// Words come first: a stream is told that it is late, then the connection is closed.
const GRACE: Duration = Duration::from_millis(500);

/// How TLS begins: a record of the handshake.
const HANDSHAKE: u8 = 0x16;

/// What one connection may do by now.
#[derive(Debug)]
pub(super) struct Stay {
    pub(super) limits: ServeLimits,
    pub(super) counters: Arc<Counters>,
    /// Kibibytes of large frames that may still be taken in, over all connections.
    pub(super) room: Arc<Semaphore>,
    /// Who is there, once that is known.
    peer: OnceLock<Peer>,
    /// Streams that are welcome.
    welcome: AtomicUsize,
    /// Bytes since it was last a stranger.
    read: AtomicUsize,
    /// Until when it may be one.
    deadline: Mutex<Instant>,
    /// Was it counted among those that met a limit?
    counted: AtomicBool,
}

impl Stay {
    pub(super) fn new(limits: ServeLimits, counters: Arc<Counters>, room: Arc<Semaphore>) -> Stay {
        let deadline = Mutex::new(Instant::now() + limits.hello + GRACE);
        let (welcome, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (peer, counted) = (OnceLock::new(), AtomicBool::new(false));
        Stay { limits, counters, room, peer, welcome, read, deadline, counted }
    }

    /// This is who is there.
    pub(super) fn meet(&self, peer: Peer) {
        let _ = self.peer.set(peer);
    }

    /// Who is there: nobody in particular, unless it has shown who it is.
    pub(super) fn peer(&self) -> Peer {
        self.peer.get().cloned().unwrap_or_default()
    }

    /// One of its streams is welcome.
    pub(super) fn welcome(&self) {
        self.welcome.fetch_add(1, Ordering::AcqRel);
    }

    /// A stream that was welcome is over: without another, it is a stranger again.
    pub(super) fn leave(&self) {
        *self.deadline.lock().expect("no panic under the lock") = Instant::now() + self.limits.hello + GRACE;
        self.read.store(0, Ordering::Release);
        self.welcome.fetch_sub(1, Ordering::AcqRel);
    }

    /// It did not get through.
    pub(super) fn refused(&self, from: &str, reason: &str) {
        Counters::count(&self.counters.identities);
        let all = self.counters.read().identities;
        tracing::warn!(from, reason, all, "turned away before it said hello");
    }

    /// It met a limit: a connection is counted once, by the first one that ends it.
    pub(super) fn count(&self, counter: &AtomicU64) {
        if !self.counted.swap(true, Ordering::AcqRel) {
            Counters::count(counter);
        }
    }

    fn is_welcome(&self) -> bool {
        self.welcome.load(Ordering::Acquire) > 0
    }
}

/// A connection that knows how long it may stay.
pub(super) struct Guarded {
    io: TcpStream,
    stay: Arc<Stay>,
    alarm: Pin<Box<Sleep>>,
    /// Is TLS spoken above?
    secure: bool,
    /// Was nothing heard yet?
    silent: bool,
    _place: OwnedSemaphorePermit,
}

impl Guarded {
    pub(super) fn new(io: TcpStream, place: OwnedSemaphorePermit, stay: Stay, secure: bool) -> Guarded {
        let deadline = *stay.deadline.lock().expect("no panic under the lock");
        let alarm = Box::pin(sleep_until(deadline));
        Guarded { io, stay: Arc::new(stay), alarm, secure, silent: true, _place: place }
    }

    pub(super) fn stay(&self) -> &Arc<Stay> {
        &self.stay
    }

    /// Where it comes from.
    pub(super) fn address(&self) -> String {
        self.io.peer_addr().map_or_else(|_| "nowhere".into(), |address| address.to_string())
    }

    /// Whoever speaks TLS to who does not, or the other way round, is told apart by its first byte.
    fn first_heard(&mut self, byte: u8) {
        self.silent = false;
        if (byte == HANDSHAKE) != self.secure {
            let reason = if self.secure { words::PLAIN_TO_TLS } else { words::TLS_TO_PLAIN };
            self.stay.refused(&self.address(), reason);
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.stay.is_welcome() {
            return Pin::new(&mut this.io).poll_read(cx, buf);
        }
        let deadline = *this.stay.deadline.lock().expect("no panic under the lock");
        if this.alarm.deadline() != deadline {
            this.alarm.as_mut().reset(deadline);
        }
        if this.alarm.as_mut().poll(cx).is_ready() {
            this.stay.count(&this.stay.counters.late);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buf))?;
        if this.silent
            && let Some(byte) = buf.filled().get(before).copied()
        {
            this.first_heard(byte);
        }
        let came = buf.filled().len() - before;
        let all = this.stay.read.fetch_add(came, Ordering::AcqRel) + came;
        if all > this.stay.limits.hello_bytes && !this.stay.is_welcome() {
            this.stay.count(&this.stay.counters.too_large);
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
