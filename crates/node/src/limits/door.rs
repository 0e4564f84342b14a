//! Where connections come in: no more than a number at once, and no spinning when the system has none to give.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

use super::Counters;

/// How long to wait for descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// The shortest time between two log lines of one door.
const QUIET: Duration = Duration::from_secs(1);

/// Connections taken in a row before others get their turn.
const TURN: usize = 64;

/// Where connections come from.
pub trait Accepts {
    /// One of them.
    type Stream;

    /// The next one.
    fn poll_one(&self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>>;
}

impl Accepts for TcpListener {
    type Stream = TcpStream;

    fn poll_one(&self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        self.poll_accept(cx).map_ok(|(stream, _)| {
            let _ = stream.set_nodelay(true);
            stream
        })
    }
}

impl Accepts for UnixListener {
    type Stream = UnixStream;

    fn poll_one(&self, cx: &mut Context<'_>) -> Poll<io::Result<UnixStream>> {
        self.poll_accept(cx).map_ok(|(stream, _)| stream)
    }
}

/// A listener that lets a limited number of connections in.
pub struct Door<L = TcpListener> {
    listener: L,
    places: Arc<Semaphore>,
    most: usize,
    counters: Arc<Counters>,
    pause: Option<Pin<Box<Sleep>>>,
    spoken: Option<Instant>,
}

impl<L: Accepts> Door<L> {
    /// At most `most` connections at once.
    pub fn new(listener: L, most: usize, counters: Arc<Counters>) -> Door<L> {
        let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Door { listener, places, most, counters, pause: None, spoken: None }
    }

    /// The next connection, and the place that it takes until it is dropped.
    pub async fn next(&mut self) -> (L::Stream, OwnedSemaphorePermit) {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same, polled.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<(L::Stream, OwnedSemaphorePermit)> {
        for _ in 0..TURN {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match ready!(self.listener.poll_one(cx)) {
                Ok(stream) => match self.places.clone().try_acquire_owned() {
                    Ok(place) => return Poll::Ready((stream, place)),
                    Err(_) => {
                        Counters::count(&self.counters.connections);
                        let (most, all) = (self.most, self.counters.read().connections);
                        self.say(|| {
                            tracing::warn!(most, all, "connections beyond limits.connections are closed");
                        });
                    }
                },
                // The peer's affair: it has gone before it was let in.
                Err(error) if gone(&error) => {}
                Err(error) => {
                    Counters::count(&self.counters.accept_errors);
                    let all = self.counters.read().accept_errors;
                    self.say(|| {
                        tracing::error!(%error, all, "no connection can be taken: are descriptors exhausted (ulimit -n)?");
                    });
                    self.pause = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// At most one line in a while.
    fn say(&mut self, line: impl FnOnce()) {
        if self.spoken.is_none_or(|spoken| spoken.elapsed() >= QUIET) {
            self.spoken = Some(Instant::now());
            line();
        }
    }
}

fn gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}
