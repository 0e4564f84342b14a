//! What stands behind the question mark.

use hyper::StatusCode;

use super::answers::Refused;
use crate::limits::{NAME, cut};

/// Keys and values.
pub(super) struct Query<'a>(Vec<(&'a str, &'a str)>);

fn wrong(words: String) -> Refused {
    Refused(StatusCode::BAD_REQUEST, words)
}

impl<'a> Query<'a> {
    /// Reads it; refuses keys that mean nothing here.
    pub(super) fn read(query: Option<&'a str>, known: &[&str]) -> Result<Query<'a>, Refused> {
        let mut pairs = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !known.contains(&key) {
                return Err(wrong(format!(
                    "{:?} means nothing here: there is {}",
                    cut(key, NAME),
                    known.join(", ")
                )));
            }
            pairs.push((key, value));
        }
        Ok(Query(pairs))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// A whole number.
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Refused> {
        let read = |text: &str| {
            let whole = text.parse();
            whole.map_err(|_| wrong(format!("{key} must be a whole number, not {:?}", cut(text, NAME))))
        };
        self.get(key).map(read).transpose()
    }

    /// Seconds; all there is for "all", or without.
    pub(super) fn window(&self) -> Result<Option<f64>, Refused> {
        if self.get("window") == Some("all") {
            return Ok(None);
        }
        Ok(self.number("window")?.map(|seconds| seconds as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_numbers_are_what_they_must_be() {
        let read = |text| Query::read(Some(text), &["window", "limit"]);
        assert_eq!(read("window=60&limit=3").ok().and_then(|query| query.window().ok()), Some(Some(60.0)));
        assert_eq!(read("window=all").ok().and_then(|query| query.window().ok()), Some(None));
        assert_eq!(read("").ok().and_then(|query| query.number("limit").ok()), Some(None));
        assert!(read("windows=60").is_err());
        for text in ["limit=-1", "limit=", "limit=1e3", "limit=NaN", "limit=99999999999999999999"] {
            assert!(read(text).ok().is_some_and(|query| query.number("limit").is_err()), "{text}");
        }
    }
}
