//! Records as text, and how two of them differ.

use std::collections::BTreeSet;

use cahoots_testkit::trail::parting;

use crate::record::Record;

/// A record as it stands in a file: a title and lines of key and value.
pub(crate) struct Written {
    title: String,
    lines: Vec<(String, String)>,
}

impl Written {
    fn get(&self, key: &str) -> &str {
        self.lines.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    /// All values of keys that begin like this and go on with a number.
    fn trail(&self, kind: &str) -> Vec<String> {
        let of_kind = |key: &str| key.strip_prefix(kind).is_some_and(|rest| rest.starts_with(" to "));
        self.lines.iter().filter(|(key, _)| of_kind(key)).map(|(_, value)| value.clone()).collect()
    }
}

impl Record {
    fn written(&self) -> Written {
        let mut lines: Vec<(String, String)> = Vec::new();
        for (name, value) in &self.facts {
            if !value.is_empty() && value != "0" {
                lines.push((name.to_string(), value.clone()));
            }
        }
        for (kind, trail) in [("curve", &self.curve), ("messages", &self.messages)] {
            for (i, line) in trail.lines().into_iter().enumerate() {
                lines.push((format!("{kind} to {}", (50 * (i + 1)).min(trail.len())), line));
            }
        }
        for (machine, numbers) in &self.numbers {
            for (quantity, values) in numbers {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                lines.push((format!("{machine} {quantity}"), values.join(" ")));
            }
        }
        Written { title: self.title.clone(), lines }
    }
}

/// As a file.
pub(crate) fn write(records: &[Record]) -> String {
    let mut text = String::new();
    for Written { title, lines } in records.iter().map(Record::written) {
        text += &format!("== {title}\n");
        for (key, value) in lines {
            text += &format!("{key}: {value}\n");
        }
        text += "\n";
    }
    text
}

/// From a file.
pub(crate) fn read(text: &str) -> Vec<Written> {
    let mut records: Vec<Written> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("== ") {
            records.push(Written { title: title.to_string(), lines: Vec::new() });
        } else if let (Some(record), Some((key, value))) = (records.last_mut(), line.split_once(": ")) {
            record.lines.push((key.to_string(), value.to_string()));
        }
    }
    records
}

/// What is not as it was.
pub(crate) fn differences(golden: &[Written], records: &[Record]) -> Vec<String> {
    let mut complaints = Vec::new();
    for record in records {
        match golden.iter().find(|written| written.title == record.title) {
            Some(written) => {
                let title = &record.title;
                complaints
                    .extend(changes(written, record).into_iter().map(|what| format!("{title}: {what}")));
            }
            None => complaints.push(format!("{}: not on record", record.title)),
        }
    }
    let gone = golden.iter().filter(|written| records.iter().all(|record| record.title != written.title));
    complaints.extend(gone.map(|written| format!("{}: on record, but no longer run", written.title)));
    complaints
}

fn changes(golden: &Written, record: &Record) -> Vec<String> {
    let now = record.written();
    let mut complaints = Vec::new();
    for (name, _) in &record.facts {
        let (before, after) = (golden.get(name), now.get(name));
        if before != after {
            complaints.push(format!("{name} was {before:?}, is {after:?}"));
        }
    }
    if let Some(first) = parting(&golden.trail("curve"), &now.trail("curve")) {
        complaints.push(format!("the curve differs from point {} of {} on", first + 1, record.curve.len()));
    }
    if let Some(first) = parting(&golden.trail("messages"), &now.trail("messages")) {
        let sent = record.envelopes.get(first).map_or("none is sent any more", String::as_str);
        let count = record.messages.len();
        complaints.push(format!("messages differ from number {} of {count} on, now: {sent}", first + 1));
    }
    for (key, before) in &golden.lines {
        if key.starts_with("server ") || key.starts_with("client ") {
            let after: BTreeSet<&str> = now.get(key).split(' ').collect();
            let lost: Vec<&str> = before.split(' ').filter(|value| !after.contains(value)).collect();
            if !lost.is_empty() {
                complaints.push(format!("{key} without {}, is {}", lost.join(" "), now.get(key)));
            }
        }
    }
    complaints
}
