//! What nodes answer, for people.

use serde_json::Value;

use crate::print;

/// `cahoots status`: the sentence first, then every number.
pub(super) fn status(status: &Value) -> String {
    let sentence = status["sentence"].as_str().map(|words| format!("{words}\n\n")).unwrap_or_default();
    let mut rows = Vec::new();
    for (key, value) in status.as_object().into_iter().flatten() {
        match &**key {
            // Said above.
            "sentence" | "attention" | "problems" => {}
            "now" | "started" => rows.push(vec![key.clone(), date(value)]),
            _ => flat(key, value, &mut rows),
        }
    }
    let problems = ["attention", "problems"].iter().filter_map(|key| status[key].as_array()).flatten();
    let problems: String = problems
        .map(|problem| {
            let words = problem["words"].as_str().or(problem.as_str()).unwrap_or_default();
            let remedy = problem["remedy"].as_str().map(|remedy| format!(" {remedy}")).unwrap_or_default();
            format!("! {words}{remedy}\n")
        })
        .collect();
    format!("{sentence}{problems}{}", print::columns(&rows))
}

/// `cahoots members`: a row for each.
pub(super) fn members(members: &Value) -> String {
    let mut rows =
        vec![["client", "state", "merged", "waiting", "implausible", ""].map(String::from).to_vec()];
    for member in members.as_array().into_iter().flatten() {
        let flag = |key: &str| member[key] == true;
        let state = match member["state"].as_str() {
            Some(state) => state,
            None if flag("removed") => "removed",
            None if flag("quarantined") => "quarantined",
            None if flag("connected") => "here",
            None => "away",
        };
        let cell = |key: &str| one(&member[key]);
        rows.push(vec![
            cell("client"),
            state.into(),
            cell("received"),
            cell("waiting"),
            cell("implausible"),
            member["reason"].as_str().unwrap_or_default().into(),
        ]);
    }
    if rows.len() == 1 {
        return "nobody has joined yet\n".into();
    }
    print::columns(&rows)
}

/// `cahoots params`: the version and every value.
pub(super) fn params(answer: &Value) -> String {
    let mut rows = Vec::new();
    for (key, value) in answer["params"].as_object().into_iter().flatten() {
        flat(key, value, &mut rows);
    }
    format!("version {}\n{}", one(&answer["version"]), print::columns(&rows))
}

/// `cahoots params history`: the newest version first.
pub(super) fn history(answer: &Value) -> String {
    let mut rows = Vec::new();
    for version in answer["versions"].as_array().into_iter().flatten().rev() {
        let changes = version["changes"].as_array().into_iter().flatten().map(|change| {
            let word = |key: &str| change[key].as_str().unwrap_or("none").to_string();
            format!("{} {} -> {}", word("key"), word("from"), word("to"))
        });
        let mut what = changes.collect::<Vec<_>>().join(", ");
        if let Some(earlier) = version["reverts_to"].as_u64() {
            what = format!("back to version {earlier}: {what}");
        } else if version["version"] == 0 {
            what = "the terms".into();
        }
        let holds = if version["version"] == answer["version"] { "holds" } else { "" };
        rows.push(vec![one(&version["version"]), date(&version["time"]), holds.into(), what]);
    }
    print::columns(&rows)
}

/// `cahoots inspect`.
pub(super) fn store(found: &Value) -> String {
    let mut rows = Vec::new();
    for (key, value) in found.as_object().into_iter().flatten() {
        match (&**key, value) {
            ("coordinator", value) => {
                for (key, value) in
                    value.as_object().into_iter().flatten().filter(|(key, _)| *key != "members")
                {
                    flat(key, value, &mut rows);
                }
            }
            ("client", value) => flat_below("", value, &mut rows),
            ("made", value) => rows.push(vec![key.clone(), date(value)]),
            ("files", value) => {
                let named = value.as_array().into_iter().flatten();
                let named =
                    named.map(|file| format!("{} ({} bytes)", one(&file["name"]), one(&file["bytes"])));
                rows.push(vec![key.clone(), named.collect::<Vec<_>>().join(", ")]);
            }
            ("snapshot", value) => {
                let present = if value["present"] == true { "" } else { "none yet; " };
                let when = date(&value["written"]);
                rows.push(vec![
                    key.clone(),
                    format!("{present}{} bytes, written {when}", one(&value["bytes"])),
                ]);
            }
            _ => flat(key, value, &mut rows),
        }
    }
    let members = &found["coordinator"]["members"];
    let listed = if members.is_array() { format!("\n{}", self::members(members)) } else { String::new() };
    format!("{}{listed}", print::columns(&rows))
}

/// A value as a row, or a table as several.
fn flat(key: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(_) => flat_below(&format!("{key}."), value, rows),
        value => rows.push(vec![key.into(), one(value)]),
    }
}

fn flat_below(above: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        flat(&format!("{above}{key}"), value, rows);
    }
}

fn one(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) if text.is_empty() => "-".into(),
        Value::String(text) => text.replace('\n', " "),
        Value::Array(all) if all.is_empty() => "-".into(),
        Value::Array(all) if all.iter().all(|item| !item.is_object()) => {
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Seconds since 1970 as a date, in UTC.
fn date(seconds: &Value) -> String {
    seconds.as_f64().map_or_else(|| "-".into(), |seconds| cahoots_node::identity::date(seconds as i64))
}
