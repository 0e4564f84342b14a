//! What goes back to a watcher.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::assets;
use crate::error::NodeError;

/// A whole body, or one that goes on.
pub(super) type Answer = Response<BoxBody<Bytes, std::convert::Infallible>>;

/// An error and its status.
pub(super) struct Refused(pub(super) StatusCode, pub(super) String);

impl From<Refused> for Answer {
    fn from(Refused(status, words): Refused) -> Answer {
        let mut answer = data(&json!({ "error": words }));
        *answer.status_mut() = status;
        answer
    }
}

impl From<NodeError> for Refused {
    fn from(error: NodeError) -> Refused {
        Refused(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

/// With what every answer says to a browser.
pub(super) fn with(body: BoxBody<Bytes, std::convert::Infallible>, kind: &'static str) -> Answer {
    let mut answer = Response::new(body);
    assets::dress(answer.headers_mut(), kind);
    answer
}

pub(super) fn document(bytes: &'static [u8], kind: &'static str) -> Answer {
    with(Full::new(Bytes::from_static(bytes)).boxed(), kind)
}

pub(super) fn page(html: String) -> Answer {
    with(Full::new(Bytes::from(html)).boxed(), assets::HTML)
}

pub(super) fn data(value: &impl Serialize) -> Answer {
    let bytes = serde_json::to_vec(value).expect("answers can be written");
    with(Full::new(Bytes::from(bytes)).boxed(), "application/json")
}

/// The text format of Prometheus.
pub(super) fn text(lines: String) -> Answer {
    with(Full::new(Bytes::from(lines)).boxed(), "text/plain; version=0.0.4; charset=utf-8")
}
