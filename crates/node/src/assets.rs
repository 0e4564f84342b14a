//! The pages as they were built from `web/src`, part of the program: nothing is fetched from anywhere.

mod tiles;

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use serde_json::Value;

use self::tiles::{health, tiles};

/// What a page may do: load what came with it, ask this very address, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const COORDINATOR: &str = include_str!("../web/dist/coordinator.html");
const CLIENT: &str = include_str!("../web/dist/client.html");
const SCRIPT: &str = include_str!("../web/dist/page.js");
const STYLE: &str = include_str!("../web/dist/page.css");

/// The media type of a page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// What every answer says to a browser: nothing of it is to be kept, guessed at, or shown inside another page.
pub(crate) fn dress(headers: &mut HeaderMap, kind: &'static str) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not "no-referrer": under that, a browser that sends the form of `/login` would not say where it comes from.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}

/// A file of a page.
pub(crate) struct Asset {
    /// What is in it.
    pub(crate) bytes: &'static [u8],
    /// Its media type.
    pub(crate) kind: &'static str,
}

/// What the coordinator's page needs; the page itself is [`coordinator_page`].
pub(crate) fn coordinator(path: &str) -> Option<Asset> {
    let (text, kind) = match path {
        "/page.js" => (SCRIPT, "text/javascript; charset=utf-8"),
        "/page.css" => (STYLE, "text/css; charset=utf-8"),
        _ => return None,
    };
    Some(Asset { bytes: text.as_bytes(), kind })
}

/// The client's own page, and what it needs.
pub(crate) fn client(path: &str) -> Option<Asset> {
    match path {
        "/" => Some(Asset { bytes: CLIENT.as_bytes(), kind: HTML }),
        // Both pages share one script.
        _ => coordinator(path),
    }
}

/// The coordinator's page, with what comes first already in it: whoever has no scripts sees how things stand. Takes what
/// `/status` answers.
pub(crate) fn coordinator_page(status: &Value) -> String {
    let text = |key: &str| escaped(status[key].as_str().unwrap_or_default());
    filled(COORDINATOR, |name| match name {
        "FEDERATION" => text("federation"),
        "ALGORITHM" => text("algorithm"),
        "SENTENCE" => text("sentence"),
        "HEALTH" => text("health"),
        "HEALTH-WORDS" => health(status["health"].as_str().unwrap_or_default()).into(),
        "TILES" => tiles(status),
        other => unreachable!("the page has a place for {other}, which nobody fills"),
    })
}

/// Fills every `{{NAME}}` of a page, once: what is put in is not looked at again.
fn filled(page: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = page.split("{{");
    let mut whole = String::from(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        whole += &value(name);
        whole += rest;
    }
    whole
}

/// Text that means itself inside HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_of_it_is_small() {
        let bytes: usize = [COORDINATOR, CLIENT, SCRIPT, STYLE].map(str::len).iter().sum();
        assert!(bytes < 150_000, "{bytes}");
    }

    /// The policy would stop them, and the page would be broken in silence.
    #[test]
    fn pages_have_no_script_style_or_handler_inside_and_name_no_other_host() {
        for page in [COORDINATOR, CLIENT] {
            assert!(!page.contains("<style") && !page.contains(" style="));
            assert_eq!(
                page.matches("<script").count(),
                page.matches(r#"<script src="/page.js" defer></script>"#).count()
            );
            for word in page.split_whitespace() {
                assert!(!(word.starts_with("on") && word.contains('=')), "{word} looks like a handler");
            }
            for quote in page.split(['"', '\'']).filter(|quote| quote.contains("://")) {
                assert!(
                    quote.starts_with("http://www.w3.org/2000/svg") || quote.contains("HOST:PORT"),
                    "{quote}"
                );
            }
        }
    }

    #[test]
    fn what_strangers_wrote_is_text_and_fills_no_other_place() {
        let hostile = r#"</title><script>x()</script>{{TILES}}"'&"#;
        let status = json!({
            "federation": hostile, "algorithm": hostile, "sentence": hostile, "health": "ok",
            "privacy": {"epsilon": 1.0, "unit": hostile}, "members": 2, "connected": 1,
        });
        let page = coordinator_page(&status);
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(
            page.matches("{{TILES}}").count(),
            6,
            "in the title, three times in words, in a tile, in an example"
        );
        assert_eq!(page.matches(r#"id="tile-merged""#).count(), 1);
        assert!(page.contains("1 of 2 here"));
    }

    #[test]
    fn a_status_that_lacks_everything_still_makes_a_page() {
        assert!(coordinator_page(&json!({})).contains(r#"id="tile-privacy""#));
    }
}
