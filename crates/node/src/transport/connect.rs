//! A client's connection to its coordinator: in plain text, or TLS. What goes wrong below HTTP/2 is kept, since above it
//! is one lost connection like another: the coordinator's judgement on a certificate comes after the handshake.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

use crate::identity::{Caller, Certificate, words};

/// How TLS says that it does not understand.
const ALERT: u8 = 0x15;

/// Why this client and its coordinator will not come together, once that is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict(Arc<Mutex<Option<String>>>);

impl Verdict {
    fn fell(&self, reason: String) {
        self.0.lock().expect("no panic under the lock").get_or_insert(reason);
    }

    pub(super) fn reason(&self) -> Option<String> {
        self.0.lock().expect("no panic under the lock").clone()
    }

    /// An error of the connection; if it is about who is who, that is a verdict.
    fn about(&self, error: &io::Error, own: Option<&Certificate>, shaking: bool) {
        let error = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
        if let Some(error) = error.filter(|error| words::is_verdict(error, shaking)) {
            self.fell(words::of_coordinator(error, own));
        }
    }
}

/// Opens connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) verdict: Verdict,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Line>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<Line>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Connector { caller, verdict } = self.clone();
        Box::pin(async move { open(&uri, caller, verdict).await.map(TokioIo::new) })
    }
}

async fn open(uri: &Uri, caller: Option<Arc<Caller>>, verdict: Verdict) -> io::Result<Line> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_string();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let tcp = TcpStream::connect((host.as_str(), port)).await?;
    tcp.set_nodelay(true)?;
    if !secure {
        return Ok(Line { wire: Wire::Plain(tcp), verdict, own: None, silent: true });
    }
    let refused = |reason: String| {
        verdict.fell(reason.clone());
        io::Error::other(reason)
    };
    let caller = caller.ok_or_else(|| {
        refused("\"https://...\" needs [tls] with `keys` or `authorities`: see `cahoots keys`".into())
    })?;
    let identity = caller.identity().map_err(refused)?;
    let name = ServerName::try_from(host.clone())
        .map_err(|_| refused(format!("{host:?} is no host that a certificate could name")))?;
    let own = identity.certificate;
    match TlsConnector::from(identity.tls).connect(name, tcp).await {
        Ok(tls) => Ok(Line { wire: Wire::Tls(Box::new(tls)), verdict, own, silent: false }),
        Err(error) => {
            verdict.about(&error, own.as_ref(), true);
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Err(io::Error::other(format!(
                    "the connection ended in the middle of the TLS handshake: if it goes \
                     on like this, {}",
                    words::COORDINATOR_SPEAKS_PLAIN
                )));
            }
            Err(error)
        }
    }
}

enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that remembers why it broke.
pub(super) struct Line {
    wire: Wire,
    verdict: Verdict,
    own: Option<Certificate>,
    /// Plain text is expected, and nothing came yet.
    silent: bool,
}

impl AsyncRead for Line {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = match &mut this.wire {
            Wire::Plain(io) => ready!(Pin::new(io).poll_read(cx, buf)),
            Wire::Tls(io) => ready!(Pin::new(io).poll_read(cx, buf)),
        };
        if let Err(error) = &read {
            this.verdict.about(error, this.own.as_ref(), false);
        }
        if std::mem::take(&mut this.silent) && buf.filled().get(before) == Some(&ALERT) {
            this.verdict.fell(words::COORDINATOR_SPEAKS_TLS.into());
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Line {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Wire::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Wire::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(io) => io.is_write_vectored(),
            Wire::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(io) => Pin::new(io).poll_flush(cx),
            Wire::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Wire::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
