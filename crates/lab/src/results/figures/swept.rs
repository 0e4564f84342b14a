//! What an experiment sweeps over: keys of its algorithms, and keys of its worlds.

use serde_json::Value as Json;

use crate::experiment::label::short_number;
use crate::run::{Manifest, ManifestEntry};

/// The sections of a stage, and how their keys are called in a figure.
const SECTIONS: [(&str, &str); 4] =
    [("", ""), ("environment", ""), ("network", "network "), ("rewards", "rewards ")];

/// A swept key and its value in one entry.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::results) struct Choice {
    /// What it is called: `ratio`, `arms`, `network delay`.
    pub key: String,
    /// Its value.
    pub value: Json,
}

/// The keys in which the worlds of an experiment differ, world by world.
pub(super) fn of_stages(manifest: &Manifest) -> Vec<Vec<Choice>> {
    let mut choices: Vec<Vec<Choice>> = vec![Vec::new(); manifest.stages.len()];
    if manifest.stages.len() < 2 {
        return choices;
    }
    let labels: Vec<&str> =
        manifest.stages.iter().map(|stage| stage["label"].as_str().unwrap_or_default()).collect();
    for (section, prefix) in SECTIONS {
        let of =
            |stage: &Json| if section.is_empty() { stage["horizon"].clone() } else { stage[section].clone() };
        let tables: Vec<Json> = manifest.stages.iter().map(of).collect();
        let start = if section.is_empty() { "horizon" } else { "" };
        let mut found = Vec::new();
        differing(start, &tables, &mut found);
        for (path, values) in found {
            // Defaults may follow from what is swept; a label names only what the file sweeps.
            let named = |label: &&str| format!(" {label}").contains(&format!(" {path}="));
            let named_with = |label: &&str| format!(" {label}").contains(&format!(" {section}.{path}="));
            if !labels.iter().all(|label| named(label) || named_with(label)) {
                continue;
            }
            // An algorithm's key of the same name is another key.
            let own = manifest.entries.iter().flat_map(|entry| &entry.swept);
            let taken = prefix.is_empty() && own.into_iter().any(|(key, _)| *key == path);
            let prefix = if taken { "world " } else { prefix };
            for (choices, value) in choices.iter_mut().zip(values) {
                choices.push(Choice { key: format!("{prefix}{path}"), value });
            }
        }
    }
    choices
}

/// Paths at which values differ, and the values. Tables are looked into where all of them have the key.
fn differing(path: &str, values: &[Json], found: &mut Vec<(String, Vec<Json>)>) {
    if values.iter().all(|value| *value == values[0]) {
        return;
    }
    let keys: Option<Vec<Vec<String>>> =
        values.iter().map(|value| Some(value.as_object()?.keys().cloned().collect())).collect();
    match keys {
        Some(keys) if path.is_empty() || keys.iter().all(|own| *own == keys[0]) => {
            for key in keys[0].iter().filter(|key| keys.iter().all(|own| own.contains(key))) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let inner: Vec<Json> = values.iter().map(|value| value[key].clone()).collect();
                differing(&path, &inner, found);
            }
        }
        _ => found.push((path.into(), values.to_vec())),
    }
}

/// All choices of an entry: its algorithm's, then its world's.
pub(super) fn of_entry(entry: &ManifestEntry, stages: &[Vec<Choice>]) -> Vec<Choice> {
    let own = entry.swept.iter().map(|(key, value)| Choice { key: key.clone(), value: value.clone() });
    let world = stages.get(entry.stage).into_iter().flatten().cloned();
    own.chain(world).collect()
}

/// A value in few characters.
pub(super) fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => short_number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Object(table) => {
            let each = table.iter().map(|(key, value)| format!("{key}:{}", text(value)));
            each.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

/// A finite number, if it is one.
pub(super) fn number(value: &Json) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// Different values, in the order of their size where they are numbers, else in that of the file.
pub(super) fn distinct<'a>(values: impl Iterator<Item = &'a Json>) -> Vec<Json> {
    let mut known: Vec<Json> = Vec::new();
    for value in values {
        if !known.contains(value) {
            known.push(value.clone());
        }
    }
    // Infinity is written as a word.
    let size = |value: &Json| match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    };
    if known.iter().all(|value| size(value).is_some()) {
        known.sort_by(|a, b| size(a).partial_cmp(&size(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
    known
}

/// "key=value, key=value".
pub(super) fn listed(choices: &[Choice]) -> String {
    choices
        .iter()
        .map(|choice| format!("{}={}", choice.key, text(&choice.value)))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_ordered_by_size_and_infinity_is_last() {
        let values = [json!("inf"), json!(10), json!(2.5), json!(10)];
        assert_eq!(distinct(values.iter()), [json!(2.5), json!(10), json!("inf")]);
        let words = [json!("uniform"), json!({ "zipf": 1.2 }), json!("all")];
        assert_eq!(
            distinct(words.iter()).iter().map(text).collect::<Vec<_>>(),
            ["uniform", "zipf:1.2", "all"]
        );
        assert_eq!(text(&json!(1.930_697_728_883_249_6)), "1.931");
    }

    #[test]
    fn only_what_differs_is_found() {
        let stages = [json!({ "a": 1, "b": { "c": 2, "d": 3 } }), json!({ "a": 1, "b": { "c": 5, "d": 3 } })];
        let mut found = Vec::new();
        differing("", &stages, &mut found);
        assert_eq!(found, [("b.c".to_string(), vec![json!(2), json!(5)])]);
    }
}
