//! One stream of a connection: whether it is welcome yet, and what leaves over it.

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
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

use super::Kind;
use super::guard::Stay;
use super::proto::Frame;
use super::weighed::Weighed;

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

    /// Has the coordinator welcomed it?
    pub(super) fn is_welcome(&self) -> bool {
        self.welcome.load(Ordering::Acquire)
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
        let body = Body::new(Weighed::new(body, pass));
        self.0.call(http::Request::from_parts(parts, body))
    }
}
