//! A connection as HTTP/2 sees it at the coordinator: in plain text, or after a TLS handshake. The limits of strangers
//! lie below, so they hold for the handshake too.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::guard::{Guarded, Stay};
use crate::identity::{Peer, words};

/// Who was refused is listened to for so long, or the refusal might be lost with the connection.
const LINGER: Duration = Duration::from_secs(1);

/// A connection that HTTP/2 can be spoken over.
pub(super) enum Secured {
    Plain(Guarded),
    Tls(Box<TlsStream<Guarded>>),
}

/// Shakes hands; whoever gets through is put into `done`.
pub(super) async fn secure(
    (tls, generation): (Arc<ServerConfig>, u64),
    guarded: Guarded,
    done: mpsc::Sender<Secured>,
) {
    let (stay, address) = (guarded.stay().clone(), guarded.address());
    let shaking = TlsAcceptor::from(tls).accept(guarded).into_fallible();
    let Ok(shaken) = tokio::time::timeout(stay.limits.hello, shaking).await else {
        return stay.count(&stay.counters.late);
    };
    match shaken {
        Ok(stream) => match Peer::of(stream.get_ref().1.peer_certificates(), generation) {
            Ok(peer) => {
                stay.meet(peer);
                let _ = done.send(Secured::Tls(Box::new(stream))).await;
            }
            Err(reason) => stay.refused(&address, &reason),
        },
        Err((error, mut guarded)) => {
            // An end without a word is no refusal, and plain text was told apart before.
            let reason = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
            let reason = reason.map(|error| words::of_client(error, None));
            if let Some(reason) = reason.filter(|reason| reason != words::PLAIN_TO_TLS) {
                stay.refused(&address, &reason);
            }
            let linger = async {
                let _ = guarded.shutdown().await;
                let mut rest = [0; 4096];
                while matches!(guarded.read(&mut rest).await, Ok(1..)) {}
            };
            let _ = tokio::time::timeout(LINGER, linger).await;
        }
    }
}

impl Connected for Secured {
    type ConnectInfo = Arc<Stay>;

    fn connect_info(&self) -> Arc<Stay> {
        match self {
            Secured::Plain(guarded) => guarded.stay().clone(),
            Secured::Tls(stream) => stream.get_ref().0.stay().clone(),
        }
    }
}

impl AsyncRead for Secured {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Secured::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Secured::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Secured {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Secured::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Secured::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Secured::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Secured::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Secured::Plain(io) => io.is_write_vectored(),
            Secured::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Secured::Plain(io) => Pin::new(io).poll_flush(cx),
            Secured::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Secured::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Secured::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
