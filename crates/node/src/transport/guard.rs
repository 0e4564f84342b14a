//! Strangers: until the coordinator has welcomed a connection, it may send little and not for long. What it
//! sends is counted where it comes in, below HTTP/2, so that nothing of it can pile up above.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::transport::server::Connected;

use crate::limits::{Counters, ServeLimits};

/// Words come first: a stream is told that it is late, then the connection is closed.
const GRACE: Duration = Duration::from_millis(500);

/// What one connection may do by now.
#[derive(Debug)]
pub(super) struct Stay {
    pub(super) limits: ServeLimits,
    pub(super) counters: Arc<Counters>,
    /// Kibibytes of large frames that may still be taken in, over all connections.
    pub(super) room: Arc<Semaphore>,
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
        Stay { limits, counters, room, welcome, read, deadline, counted: AtomicBool::new(false) }
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
    _place: OwnedSemaphorePermit,
}

impl Guarded {
    pub(super) fn new(io: TcpStream, place: OwnedSemaphorePermit, stay: Stay) -> Guarded {
        let deadline = *stay.deadline.lock().expect("no panic under the lock");
        Guarded { io, stay: Arc::new(stay), alarm: Box::pin(sleep_until(deadline)), _place: place }
    }
}

impl Connected for Guarded {
    type ConnectInfo = Arc<Stay>;

    fn connect_info(&self) -> Arc<Stay> {
        self.stay.clone()
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
