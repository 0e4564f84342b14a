//! Bodies in, answers out.

use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::Face;
use crate::limits::Counters;

/// A body of no more bytes needs no room, and is parsed on the spot.
pub(super) const SMALL: usize = 64 << 10;

/// What goes back.
pub(super) type Answer = Response<Full<Bytes>>;

/// A body, and the room that it takes while it is large.
pub(super) type Body<'a> = (Bytes, Option<SemaphorePermit<'a>>);

/// An error and its status.
pub(super) struct Refused(pub(super) StatusCode, pub(super) String);

/// JSON with a status.
pub(super) fn answer(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

impl Face {
    /// A whole body of at most `most` bytes, and the room that it takes while it is large.
    pub(super) async fn body(&self, body: Incoming, most: usize) -> Result<Body<'_>, Refused> {
        let announced = body.size_hint().exact().map(|length| length as usize);
        if announced.is_some_and(|length| length > most) {
            return Err(self.too_large(most));
        }
        timeout(self.limits.body, self.collect(body, announced, most)).await.unwrap_or_else(|_| {
            Counters::count(&self.counters.late);
            let seconds = self.limits.body.as_secs_f64();
            let words = format!("no whole body came within {seconds} s (limits.body)");
            Err(Refused(StatusCode::REQUEST_TIMEOUT, words))
        })
    }

    async fn collect(
        &self,
        mut body: Incoming,
        announced: Option<usize>,
        most: usize,
    ) -> Result<Body<'_>, Refused> {
        let (mut parts, mut room) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| Refused(StatusCode::BAD_REQUEST, e.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            // As a rule, all of it came at once.
            if parts.is_empty() && announced == Some(data.len()) {
                return Ok((data, None));
            }
            let length = parts.len() + data.len();
            if length > most {
                return Err(self.too_large(most));
            }
            if length > SMALL && room.is_none() {
                room = Some(self.room_for(announced.unwrap_or(most)).await?);
            }
            parts.extend_from_slice(&data);
        }
        Ok((parts.into(), room))
    }

    /// Waits until other large bodies have been dealt with.
    async fn room_for(&self, bytes: usize) -> Result<SemaphorePermit<'_>, Refused> {
        let whole = (self.limits.bodies_bytes >> 10).max(1);
        let kib = bytes.div_ceil(1 << 10).min(whole) as u32;
        // Half of the time, so that it is not the body that seems to be late.
        match timeout(self.limits.body / 2, self.room.acquire_many(kib)).await {
            Ok(Ok(room)) => Ok(room),
            _ => {
                Counters::count(&self.counters.too_large);
                let words = "other large bodies take all the room there is (limits.bodies_bytes): try again";
                Err(Refused(StatusCode::SERVICE_UNAVAILABLE, words.into()))
            }
        }
    }

    fn too_large(&self, most: usize) -> Refused {
        Counters::count(&self.counters.too_large);
        let words = format!("a body of more than {most} bytes (limits.body_bytes)");
        Refused(StatusCode::PAYLOAD_TOO_LARGE, words)
    }
}
