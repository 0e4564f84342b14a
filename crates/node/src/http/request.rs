//! Bodies in, answers out.

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::Face;
use crate::limits::Counters;

/// A body that is read at once, and on the spot.
pub(super) const SMALL: usize = 64 << 10;

/// What goes back.
pub(super) type Answer = Response<Full<Bytes>>;

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
    pub(super) async fn body(
        &self,
        body: Incoming,
        most: usize,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Refused> {
        let announced = body.size_hint().exact().map(|length| length as usize);
        if announced.is_some_and(|length| length > most) {
            return Err(self.too_large(most));
        }
        let late = |_| {
            Counters::count(&self.counters.late);
            let seconds = self.limits.body.as_secs_f64();
            Refused(StatusCode::REQUEST_TIMEOUT, format!("no whole body within {seconds} s (limits.body)"))
        };
        let most_now = announced.unwrap_or(most);
        let room = if most_now <= SMALL {
            None
        } else {
            let whole = (self.limits.bodies_bytes >> 10).max(1);
            let kib = most_now.div_ceil(1 << 10).min(whole) as u32;
            let room = timeout(self.limits.body, self.room.acquire_many(kib)).await.map_err(late)?;
            Some(room.expect("it is never closed"))
        };
        let read = timeout(self.limits.body, self.collect(body, announced, most)).await.map_err(late)??;
        Ok((read, room))
    }

    async fn collect(
        &self,
        mut body: Incoming,
        announced: Option<usize>,
        most: usize,
    ) -> Result<Bytes, Refused> {
        let mut parts: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| Refused(StatusCode::BAD_REQUEST, e.to_string()))?;
            let Ok(data) = frame.into_data() else { continue };
            // As a rule, all of it came at once.
            if parts.is_empty() && announced == Some(data.len()) {
                return Ok(data);
            }
            if parts.len() + data.len() > most {
                return Err(self.too_large(most));
            }
            parts.extend_from_slice(&data);
        }
        Ok(parts.into())
    }

    fn too_large(&self, most: usize) -> Refused {
        Counters::count(&self.counters.too_large);
        let words = format!("a body of more than {most} bytes (limits.body_bytes)");
        Refused(StatusCode::PAYLOAD_TOO_LARGE, words)
    }
}
