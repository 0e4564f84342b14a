//! One line, as text or as JSON.

use std::fmt::{self, Write as _};
use std::time::SystemTime;

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use super::Format;

const TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// When, how bad, what, and what else is known.
pub(super) struct Line {
    time: OffsetDateTime,
    level: Level,
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Line {
    pub(super) fn of(event: &Event<'_>) -> Line {
        let mut line = Line {
            time: SystemTime::now().into(),
            level: *event.metadata().level(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut line);
        line
    }

    /// So many more like this were not written.
    pub(super) fn more(self, held: u64) -> Line {
        let message = format!("{}: {held} more like this", self.message);
        Line { time: SystemTime::now().into(), message, fields: vec![("more", held.into())], ..self }
    }

    pub(super) fn written(&self, format: Format) -> String {
        let time = self.time.format(TIME).unwrap_or_default();
        match format {
            Format::Text => self.text(&time),
            Format::Json => self.json(time),
        }
    }

    fn text(&self, time: &str) -> String {
        let mut line = format!("{time} {:<5} {}", self.level, tame(&self.message));
        for (name, value) in &self.fields {
            let _ = match value {
                Value::String(text) if is_plain(text) => write!(line, " {name}={text}"),
                // Quotes, and all that is no printed character, are escaped.
                Value::String(text) => write!(line, " {name}={text:?}"),
                other => write!(line, " {name}={other}"),
            };
        }
        line
    }

    fn json(&self, time: String) -> String {
        let mut object = Map::new();
        object.insert("time".into(), time.into());
        object.insert("level".into(), self.level.to_string().to_lowercase().into());
        object.insert("message".into(), self.message.clone().into());
        for (name, value) in &self.fields {
            object.entry(*name).or_insert_with(|| value.clone());
        }
        let text = Value::Object(object).to_string();
        // Terminals obey characters that JSON need not escape.
        if text.chars().all(is_printed) {
            return text;
        }
        let mut escaped = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            if is_printed(c) {
                escaped.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
        }
        escaped
    }

    fn add(&mut self, field: &Field, value: Value) {
        self.fields.push((field.name(), value));
    }

    fn text_field(&mut self, field: &Field, text: String) {
        if field.name() == "message" { self.message = text } else { self.add(field, text.into()) }
    }
}

/// A character that is seen, and moves nothing else.
fn is_printed(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().count() == 1
}

/// Needs no quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| is_printed(c) && !c.is_whitespace() && !matches!(c, '"' | '\\' | '='))
}

/// On one line, whatever it is.
fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printed(c) { tamed.push(c) } else { tamed.extend(c.escape_debug()) }
    }
    tamed
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text_field(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text_field(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }
}
