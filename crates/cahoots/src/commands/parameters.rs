//! Keys of an algorithm or an environment: name, default, purpose, range.

use cahoots_lab::experiment::{Field, Record};
use serde_json::{Value as Json, json};

use crate::print;

/// The keys as a table for people.
pub(super) fn table(record: &Record) -> String {
    let mut rows: Vec<Vec<String>> = vec![["name", "default", "purpose", "range"].map(String::from).to_vec()];
    for field in &record.fields {
        rows.push(vec![field.key.clone(), default(field), field.purpose.clone(), field.shape.describe()]);
    }
    print::columns(&rows)
}

/// The keys for programs.
pub(super) fn json(record: &Record) -> Json {
    let one = |field: &Field| {
        json!({
            "name": field.key,
            "default": field.default,
            "required": field.required,
            "range": field.shape.describe(),
            "purpose": field.purpose,
        })
    };
    record.fields.iter().map(one).collect()
}

/// What holds when a key is not given, for people.
pub(super) fn default(field: &Field) -> String {
    match &field.default {
        Some(Json::String(word)) => word.clone(),
        Some(value) => value.to_string(),
        None if field.required => "required".into(),
        None => "-".into(),
    }
}
