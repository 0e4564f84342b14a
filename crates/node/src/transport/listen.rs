//! A coordinator's end of the streams.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

use super::proto::Frame;
use super::proto::federation_server::{Federation, FederationServer};
use super::{MAX_FRAME, Outbox};

/// Names one connection.
pub type Session = u64;

/// What comes in over all connections.
#[derive(Debug)]
pub enum Inbound {
    /// A new connection, and the way out to it.
    Opened(Session, mpsc::Sender<Frame>),
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
    type LinkStream = Pin<Box<dyn Stream<Item = Result<Frame, Status>> + Send>>;

    async fn link(&self, request: Request<Streaming<Frame>>) -> Result<Response<Self::LinkStream>, Status> {
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        let (frames, outgoing) = Outbox::channel();
        let inbound = self.inbound.clone();
        let mut stream = request.into_inner();
        tokio::spawn(async move {
            if inbound.send(Inbound::Opened(session, frames).into()).await.is_err() {
                return;
            }
            // A full channel here holds the client back: back-pressure.
            while let Ok(Some(frame)) = stream.message().await {
                if inbound.send(Inbound::Frame(session, frame).into()).await.is_err() {
                    return;
                }
            }
            let _ = inbound.send(Inbound::Closed(session).into()).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing).map(Ok))))
    }
}

/// Serves streams until `stop`; everything that comes in goes to `inbound`.
pub async fn serve<T: From<Inbound> + Send + 'static>(
    listener: TcpListener,
    inbound: mpsc::Sender<T>,
    stop: impl Future<Output = ()>,
) -> Result<(), String> {
    let service = FederationServer::new(Service { inbound, sessions: AtomicU64::new(1) })
        .max_decoding_message_size(MAX_FRAME)
        .max_encoding_message_size(MAX_FRAME);
    let incoming = TcpListenerStream::new(listener).map(|stream| {
        stream.inspect(|stream| {
            let _ = stream.set_nodelay(true);
        })
    });
    Server::builder()
        .http2_keepalive_interval(Some(std::time::Duration::from_secs(10)))
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, stop)
        .await
        .map_err(|e| e.to_string())
}
