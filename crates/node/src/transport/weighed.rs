//! What comes in over a stream, weighed before it is taken: messages say how long they are before they come.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::Frame;
use tokio::sync::{AcquireError, OwnedSemaphorePermit};
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes};

use super::MAX_FRAME;
use super::pass::Pass;

/// A frame of more bytes needs room among all large ones.
const LARGE: usize = 64 << 10;

type Room = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

/// A request's body.
pub(super) struct Weighed {
    body: Body,
    pass: Arc<Pass>,
    /// A byte of flags and four of length.
    header: [u8; 5],
    /// Bytes of the header that are here.
    seen: usize,
    /// Bytes of the message that are not.
    left: usize,
    /// Bytes that came and wait for room, and the room.
    waiting: Option<(Frame<Bytes>, Room)>,
    /// What a large message takes until it is complete, and until when it must be.
    taken: Option<(OwnedSemaphorePermit, Pin<Box<Sleep>>)>,
}

impl Weighed {
    pub(super) fn new(body: Body, pass: Arc<Pass>) -> Weighed {
        Weighed { body, pass, header: [0; 5], seen: 0, left: 0, waiting: None, taken: None }
    }

    /// Reads on; gives the length of a large message that begins here.
    fn weigh(&mut self, mut data: &[u8]) -> Result<Option<usize>, Status> {
        let mut large = None;
        while !data.is_empty() {
            if self.left > 0 {
                let n = self.left.min(data.len());
                self.left -= n;
                data = &data[n..];
                if self.left == 0 {
                    self.taken = None;
                }
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
                // Of two that begin here, the first is complete.
                large = (self.left > LARGE).then_some(self.left);
            }
        }
        Ok(large)
    }

    fn allow(&self, length: usize) -> Result<(), Status> {
        let stay = &self.pass.stay;
        let (most, of) = if self.pass.is_welcome() {
            (MAX_FRAME, "any frame")
        } else {
            (stay.limits.hello_bytes, "a frame before the welcome (limits.hello_bytes)")
        };
        if length <= most {
            return Ok(());
        }
        stay.count(&stay.counters.too_large);
        Err(Status::resource_exhausted(format!("a frame of {length} bytes; {most} is the most for {of}")))
    }

    /// Whoever holds room and does not come to an end gives it back.
    fn in_time(&mut self, cx: &mut Context<'_>) -> Result<(), Status> {
        let Some((_, alarm)) = &mut self.taken else { return Ok(()) };
        if alarm.as_mut().poll(cx).is_pending() {
            return Ok(());
        }
        let stay = &self.pass.stay;
        stay.count(&stay.counters.late);
        let seconds = stay.limits.frame.as_secs_f64();
        Err(Status::deadline_exceeded(format!("a frame was not complete within {seconds} s (limits.frame)")))
    }
}

impl HttpBody for Weighed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.waiting.is_none() {
            if let Err(status) = this.in_time(cx) {
                return Poll::Ready(Some(Err(status)));
            }
            let next = ready!(Pin::new(&mut this.body).poll_frame(cx));
            let Some(Ok(frame)) = next else { return Poll::Ready(next) };
            let large = match frame.data_ref().map(|data| this.weigh(data)).transpose() {
                Ok(large) => large.flatten(),
                Err(status) => return Poll::Ready(Some(Err(status))),
            };
            let Some(length) = large else { return Poll::Ready(Some(Ok(frame))) };
            let room = this.pass.stay.room.clone().acquire_many_owned(length.div_ceil(1 << 10) as u32);
            this.waiting = Some((frame, Box::pin(room)));
        }
        let Some((_, room)) = &mut this.waiting else { return Poll::Pending };
        let room = ready!(room.as_mut().poll(cx)).map_err(|e| Status::unavailable(e.to_string()));
        let (frame, _) = this.waiting.take().expect("looked at above");
        let room = match room {
            Ok(room) => room,
            Err(status) => return Poll::Ready(Some(Err(status))),
        };
        this.taken = Some((room, Box::pin(sleep(this.pass.stay.limits.frame))));
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.waiting.is_none() && self.body.is_end_stream()
    }
}
