//! What there is to run, and where: names, purposes and keys.

use cahoots_lab::experiment::{Field, Record};
use pyo3::prelude::*;
use schemars::Schema;
use serde_json::{Value as Json, json};

use super::catalogue;

/// All algorithms, as JSON.
#[pyfunction]
pub(crate) fn describe_algorithms() -> String {
    let all = catalogue();
    let one = |about: &cahoots_sim::simulated::Simulated| kind(about.name, about.summary, &about.schema());
    Json::from_iter(all.algorithms.iter().map(one)).to_string()
}

/// All worlds, as JSON.
#[pyfunction]
pub(crate) fn describe_environments() -> String {
    let all = catalogue();
    Json::from_iter(all.worlds.iter().map(|about| kind(about.name, about.summary, &about.schema())))
        .to_string()
}

fn kind(name: &str, summary: &str, schema: &Schema) -> Json {
    let record = Record::from_schema(schema.as_value());
    let one = |field: &Field| {
        json!({
            "name": field.key,
            "default": field.default,
            "required": field.required,
            "range": field.shape.describe(),
            "purpose": field.purpose,
        })
    };
    json!({ "name": name, "summary": summary, "parameters": Json::from_iter(record.fields.iter().map(one)) })
}
