//! One stream of a connection: what its frames may weigh before it is welcome, and what leaves over it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::sync::Notify;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes, Service, http};
use tonic::server::NamedService;

use super::guard::Stay;
use super::proto::Frame;
use super::{Kind, MAX_FRAME};
use crate::limits::Counters;

/// What one stream may do by now.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) stay: Arc<Stay>,
    welcome: AtomicBool,
    /// Nothing more will leave over it.
    pub(super) over: Notify,
}

impl Pass {
    fn new(stay: Arc<Stay>) -> Pass {
        Pass { stay, welcome: AtomicBool::new(false), over: Notify::new() }
    }

    fn welcome(&self) {
        if !self.welcome.swap(true, Ordering::AcqRel) {
            self.stay.welcome();
        }
    }

    fn leave(&self) {
        if self.welcome.swap(false, Ordering::AcqRel) {
            self.stay.leave();
        }
        self.over.notify_one();
    }
}

/// Frames on their way out: with the welcome among them, the limits of strangers end.
pub(super) struct Outgoing {
    pub(super) frames: ReceiverStream<Frame>,
    pub(super) pass: Arc<Pass>,
}

impl Stream for Outgoing {
    type Item = Result<Frame, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.frames).poll_next(cx));
        match &next {
            Some(Frame { kind: Some(Kind::Welcome(_)) }) => self.pass.welcome(),
            Some(_) => {}
            None => self.pass.leave(),
        }
        Poll::Ready(next.map(Ok))
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.pass.leave();
    }
}

/// A service whose requests carry a [`Pass`] each.
#[derive(Clone, Debug)]
pub(super) struct Checked<S>(pub(super) S);

impl<S: NamedService> NamedService for Checked<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<http::Request<Body>, Error = Infallible>> Service<http::Request<Body>> for Checked<S> {
    type Response = S::Response;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> S::Future {
        let (mut parts, body) = request.into_parts();
        let Some(stay) = parts.extensions.get::<Arc<Stay>>().cloned() else {
            return self.0.call(http::Request::from_parts(parts, body));
        };
        let pass = Arc::new(Pass::new(stay));
        parts.extensions.insert(pass.clone());
        let body = Body::new(Weighed { body, pass, header: [0; 5], seen: 0, left: 0 });
        self.0.call(http::Request::from_parts(parts, body))
    }
}

/// A request's body, whose messages say how long they are before they come: a byte of flags, four of length.
struct Weighed {
    body: Body,
    pass: Arc<Pass>,
    header: [u8; 5],
    /// Bytes of the header that are here.
    seen: usize,
    /// Bytes of the message that are not.
    left: usize,
}

impl Weighed {
    fn weigh(&mut self, mut data: &[u8]) -> Result<(), Status> {
        while !data.is_empty() {
            if self.left > 0 {
                let n = self.left.min(data.len());
                self.left -= n;
                data = &data[n..];
                continue;
            }
            let n = (self.header.len() - self.seen).min(data.len());
            self.header[self.seen..self.seen + n].copy_from_slice(&data[..n]);
            self.seen += n;
            data = &data[n..];
            if self.seen == self.header.len() {
                self.seen = 0;
                let [_, length @ ..] = self.header;
                self.left = u32::from_be_bytes(length) as usize;
                self.allow(self.left)?;
            }
        }
        Ok(())
    }

    fn allow(&self, length: usize) -> Result<(), Status> {
        let limits = &self.pass.stay.limits;
        let (most, key) = if self.pass.welcome.load(Ordering::Acquire) {
            (MAX_FRAME, "any frame")
        } else {
            (limits.hello_bytes, "a frame before the welcome (limits.hello_bytes)")
        };
        if length <= most {
            return Ok(());
        }
        Counters::count(&self.pass.stay.counters.too_large);
        Err(Status::resource_exhausted(format!("a frame of {length} bytes; {most} is the most for {key}")))
    }
}

impl HttpBody for Weighed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &next
            && let Some(data) = frame.data_ref()
            && let Err(status) = self.weigh(data)
        {
            return Poll::Ready(Some(Err(status)));
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
