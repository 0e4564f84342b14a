//! What a client shows of itself: its page, what happened, what federation gained it, and what can be asked for.

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue};

use super::request::{Answer, Refused, answer};
use crate::assets;
use crate::limits::{NAME, cut};

/// What can be asked for, in OpenAPI.
const OPENAPI: &str = include_str!("../../api/client.json");

/// A file of the page.
pub(super) fn page(path: &str) -> Result<Answer, Refused> {
    let missing = || Refused(StatusCode::NOT_FOUND, format!("this program has no {path}"));
    let asset = assets::client(path).ok_or_else(missing)?;
    let mut page = answer(StatusCode::OK, Bytes::from_static(asset.bytes));
    let headers = page.headers_mut();
    assets::dress(headers, asset.kind);
    // Another program may be at this address tomorrow.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(page)
}

/// The document.
pub(super) fn openapi() -> Answer {
    answer(StatusCode::OK, Bytes::from_static(OPENAPI.as_bytes()))
}

/// `?window=SECONDS`; all without, or with "all".
pub(super) fn window(query: Option<&str>) -> Result<Option<u64>, Refused> {
    let mut window = None;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let wrong = |words: String| Refused(StatusCode::BAD_REQUEST, words);
        if key != "window" {
            return Err(wrong(format!("history takes `window` and nothing else, not {:?}", cut(key, NAME))));
        }
        window = match value {
            "all" => None,
            value => Some(value.parse().map_err(|_| {
                wrong(format!(
                    "window must be a whole number of seconds, or \"all\", not {:?}",
                    cut(value, NAME)
                ))
            })?),
        };
    }
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_seconds_or_all() {
        assert_eq!(window(None).ok(), Some(None));
        assert_eq!(window(Some("window=all")).ok(), Some(None));
        assert_eq!(window(Some("window=3600")).ok(), Some(Some(3600)));
        for wrong in ["window=", "window=-1", "window=1.5", "windows=3", "window=1e3", "&&x"] {
            assert!(window(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
