//! The JSON schema of experiment files, for editors and for other programs.

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use serde_json::{Map, Value as Json, json};

use super::sections::TICKS;
use super::shape::Shape;

/// JSON schema of a whole experiment file that may name whatever is in the catalogue.
pub fn json_schema(catalogue: &Catalogue) -> Json {
    let mut environments: Vec<Json> = catalogue
        .worlds
        .iter()
        .map(|kind| section(kind.schema().as_value(), Some((kind.name, kind.summary)), false))
        .collect();
    environments.push(several(catalogue.worlds.names()));
    let mut algorithms: Vec<Json> = catalogue
        .algorithms
        .iter()
        .map(|about| section(about.schema().as_value(), Some((about.name, about.summary)), true))
        .collect();
    algorithms.push(several(catalogue.algorithms.names()));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cahoots experiment",
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "Names the folder of the results; the file's name when absent." },
            "title": { "type": "string", "description": "A line for the figures." },
            "horizon": swept(json!({ "type": "integer", "minimum": 1, "description": TICKS })),
            "seeds": {
                "description": "How many runs of each entry, or a list of seeds.",
                "default": 10,
                "anyOf": [
                    { "type": "integer", "minimum": 1 },
                    { "type": "array", "items": { "type": "integer", "minimum": 0 }, "minItems": 1, "uniqueItems": true },
                ],
            },
            "environment": { "description": "The world.", "oneOf": environments },
            "network": section(&schemars::schema_for!(Network).to_value(), None, false),
            "rewards": section(&schemars::schema_for!(Rewards).to_value(), None, false),
            "algorithm": {
                "description": "What is compared; every entry meets the same world.",
                "type": "array",
                "minItems": 1,
                "items": { "oneOf": algorithms },
            },
        },
        "required": ["environment", "algorithm"],
        "additionalProperties": false,
    })
}

/// A section whose kind is swept: every kind takes its keys.
fn several<'a>(names: impl Iterator<Item = &'a str>) -> Json {
    let names: Vec<&str> = names.collect();
    json!({
        "type": "object",
        "description": "Several kinds, each with the same keys.",
        "properties": { "kind": { "type": "array", "items": { "enum": names }, "minItems": 1, "uniqueItems": true } },
        "required": ["kind"],
    })
}

/// A section: its keys, each of which may be swept, and its kind where it has one.
fn section(schema: &Json, kind: Option<(&str, &str)>, labelled: bool) -> Json {
    let inlined = inline(schema, schema);
    let mut properties = Map::new();
    let mut required: Vec<Json> = inlined["required"].as_array().cloned().unwrap_or_default();
    if let Some((name, _)) = kind {
        properties.insert("kind".into(), json!({ "const": name }));
        required.insert(0, "kind".into());
    }
    if labelled {
        properties.insert("label".into(), json!({ "type": "string", "minLength": 1 }));
    }
    for (key, value) in inlined["properties"].as_object().into_iter().flatten() {
        properties.insert(key.clone(), swept(value.clone()));
    }
    let mut section = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        section["required"] = required.into();
    }
    let summary = kind.map(|(_, summary)| summary.into()).or_else(|| inlined.get("description").cloned());
    if let Some(summary) = summary {
        section["description"] = summary;
    }
    section
}

/// A key that takes one value, several, or, where it is a number, a range of them.
fn swept(mut one: Json) -> Json {
    let mut outer = Map::new();
    if let Some(object) = one.as_object_mut() {
        for key in ["description", "default"] {
            if let Some(said) = object.shift_remove(key) {
                outer.insert(key.into(), said);
            }
        }
    }
    let several = json!({ "type": "array", "items": one.clone(), "minItems": 1 });
    let mut ways = vec![one.clone(), several];
    if Shape::from_schema(&one).takes_numbers().is_some() {
        for spacing in ["logspace", "linspace"] {
            ways.push(json!({
                "type": "object",
                "properties": { spacing: {
                    "description": "From, to, and how many values.",
                    "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3,
                } },
                "required": [spacing],
                "additionalProperties": false,
            }));
        }
    }
    outer.insert("anyOf".into(), ways.into());
    Json::Object(outer)
}

/// The schema without references.
fn inline(schema: &Json, root: &Json) -> Json {
    match schema {
        Json::Object(object) => {
            let target =
                object.get("$ref").and_then(Json::as_str).and_then(|reference| reference.strip_prefix('#'));
            let mut out =
                match target.and_then(|pointer| root.pointer(pointer)).map(|target| inline(target, root)) {
                    Some(Json::Object(target)) => target,
                    _ => Map::new(),
                };
            for (key, value) in object {
                if !["$ref", "$defs", "$schema"].contains(&key.as_str()) {
                    out.insert(key.clone(), inline(value, root));
                }
            }
            Json::Object(out)
        }
        Json::Array(items) => items.iter().map(|item| inline(item, root)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stands_on_its_own_and_covers_everything() {
        let catalogue = crate::catalogue();
        let schema = json_schema(&catalogue);
        let text = schema.to_string();
        assert!(!text.contains("$ref"), "references are resolved");
        for name in catalogue.algorithms.names() {
            assert!(text.contains(&format!("{{\"const\":\"{name}\"}}")), "{name}");
        }
        let linear = &schema["properties"]["environment"]["oneOf"][0];
        assert_eq!(linear["properties"]["kind"]["const"], "linear");
        assert_eq!(linear["properties"]["clients"]["anyOf"].as_array().unwrap().len(), 4);
        assert_eq!(linear["properties"]["pool"]["anyOf"].as_array().unwrap().len(), 2);
        assert_eq!(linear["additionalProperties"], false);
    }
}
