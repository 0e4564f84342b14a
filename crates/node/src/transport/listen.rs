//! A coordinator's end of the streams.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use super::guard::{Guarded, Stay};
use super::pass::{Checked, Outgoing, Pass};
use super::proto::Frame;
use super::proto::federation_server::{Federation, FederationServer};
use super::secured::{Secured, secure};
use super::{MAX_FRAME, Outbox, refusal};
use crate::identity::{Gate, Peer};
use crate::limits::{Counters, Door, ServeLimits};

/// Names one connection.
pub type Session = u64;

/// Bytes that a connection may have sent and nobody has read: what a stalled coordinator holds of each.
const UNREAD: u32 = 64 << 10;

/// Streams of one connection: a client needs one, and another while the first one ends.
const STREAMS: u32 = 2;

/// What comes in over all connections.
#[derive(Debug)]
pub enum Inbound {
    /// A new connection, who is there, and the way out to it.
    Opened(Session, Peer, mpsc::Sender<Frame>),
    /// A frame.
    Frame(Session, Frame),
    /// The connection is gone.
    Closed(Session),
}

struct Service<T> {
    inbound: mpsc::Sender<T>,
    sessions: AtomicU64,
}

#[tonic::async_trait]
impl<T: From<Inbound> + Send + 'static> Federation for Service<T> {
    type LinkStream = Outgoing;

    async fn link(&self, request: Request<Streaming<Frame>>) -> Result<Response<Outgoing>, Status> {
        let pass = request.extensions().get::<Arc<Pass>>().cloned();
        let pass = pass.ok_or_else(|| Status::internal("a stream without a connection"))?;
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        let (frames, outgoing) = Outbox::channel();
        tokio::spawn(read(session, request.into_inner(), frames, self.inbound.clone(), pass.clone()));
        Ok(Response::new(Outgoing { frames: ReceiverStream::new(outgoing), pass }))
    }
}

/// Hands on what comes over one stream. Nobody hears of a stream before its first frame is there.
async fn read<T: From<Inbound>>(
    session: Session,
    mut stream: Streaming<Frame>,
    frames: mpsc::Sender<Frame>,
    inbound: mpsc::Sender<T>,
    pass: Arc<Pass>,
) {
    let hello = pass.stay.limits.hello;
    let first = match tokio::time::timeout(hello, stream.message()).await {
        Ok(Ok(Some(first))) => first,
        Ok(Ok(None)) => return,
        Ok(Err(status)) => {
            let _ = frames.try_send(refusal(status.message(), false));
            return;
        }
        Err(_) => {
            pass.stay.count(&pass.stay.counters.late);
            let words = format!("no hello came within {} s (limits.hello)", hello.as_secs_f64());
            let _ = frames.try_send(refusal(words, false));
            return;
        }
    };
    let words = frames.downgrade();
    if inbound.send(Inbound::Opened(session, pass.stay.peer(), frames).into()).await.is_err()
        || inbound.send(Inbound::Frame(session, first).into()).await.is_err()
    {
        return;
    }
    loop {
        let frame = tokio::select! {
            frame = stream.message() => frame,
            // Whoever was refused is not read from any more.
            () = pass.over.notified() => break,
        };
        let frame = match frame {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(status) => {
                if let Some(frames) = words.upgrade() {
                    let _ = frames.try_send(refusal(status.message(), false));
                }
                break;
            }
        };
        // A full channel here holds the client back: back-pressure.
        if inbound.send(Inbound::Frame(session, frame).into()).await.is_err() {
            return;
        }
    }
    let _ = inbound.send(Inbound::Closed(session).into()).await;
}

/// Connections that have become secure and were not taken yet.
const SECURED: usize = 64;

/// Connections as they are let in. Where TLS is spoken, each becomes secure by itself: who is slow about it holds
/// nobody up.
struct Incoming {
    door: Door,
    gate: Option<Arc<Gate>>,
    limits: ServeLimits,
    counters: Arc<Counters>,
    room: Arc<Semaphore>,
    secured: (mpsc::Sender<Secured>, mpsc::Receiver<Secured>),
}

impl Stream for Incoming {
    type Item = io::Result<Secured>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Poll::Ready(Some(secured)) = this.secured.1.poll_recv(cx) {
            return Poll::Ready(Some(Ok(secured)));
        }
        loop {
            let (stream, place) = ready!(this.door.poll_next(cx));
            let stay = Stay::new(this.limits.clone(), this.counters.clone(), this.room.clone());
            let guarded = Guarded::new(stream, place, stay, this.gate.is_some());
            match &this.gate {
                None => return Poll::Ready(Some(Ok(Secured::Plain(guarded)))),
                Some(gate) => drop(tokio::spawn(secure(gate.tls(), guarded, this.secured.0.clone()))),
            }
        }
    }
}

/// Serves streams until `stop`; everything that comes in goes to `inbound`. With a gate, all of it is TLS.
pub async fn serve<T: From<Inbound> + Send + 'static>(
    listener: TcpListener,
    gate: Option<Arc<Gate>>,
    inbound: mpsc::Sender<T>,
    limits: ServeLimits,
    counters: Arc<Counters>,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let service = FederationServer::new(Service { inbound, sessions: AtomicU64::new(1) })
        .max_decoding_message_size(MAX_FRAME)
        .max_encoding_message_size(MAX_FRAME);
    let door = Door::new(listener, limits.connections, counters.clone());
    let idle = limits.idle;
    // The largest frame always finds room, alone.
    let room = limits.frames_bytes.max(MAX_FRAME) >> 10;
    let room = Arc::new(Semaphore::new(room.min(Semaphore::MAX_PERMITS)));
    let incoming = Incoming { door, gate, limits, counters, room, secured: mpsc::channel(SECURED) };
    Server::builder()
        // A peer that vanished without a word is noticed, and so is one that does not read.
        .http2_keepalive_interval(Some(idle / 2))
        .http2_keepalive_timeout(Some(idle / 2))
        .initial_stream_window_size(UNREAD)
        .initial_connection_window_size(UNREAD)
        .max_concurrent_streams(STREAMS)
        .add_service(Checked(service))
        .serve_with_incoming_shutdown(incoming, stop)
        .await
        .map_err(|e| e.to_string())
}
