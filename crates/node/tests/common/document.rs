//! Answers over HTTP, held against an OpenAPI document.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

/// An answer, read.
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }
}

/// Sends this text, and reads until the other side is done.
pub(crate) fn exchange(runtime: &Runtime, address: &str, text: &str) -> Answer {
    let raw = runtime.block_on(async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(text.as_bytes()).await;
        let mut raw = String::new();
        let _ = stream.read_to_string(&mut raw).await;
        raw
    });
    let (head, body) = raw.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}: {raw:?}"));
    Answer { status: head[9..12].parse().unwrap(), head: head.to_lowercase(), body: body.into() }
}

/// Refuses what a schema does not allow: as much of JSON Schema as the document uses.
pub(crate) fn fits(document: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(target) = schema["$ref"].as_str() {
        let schema =
            document.pointer(target.strip_prefix('#').unwrap()).expect("a reference that leads somewhere");
        return fits(document, schema, value, place);
    }
    for key in schema.as_object().expect("a schema").keys() {
        let known = [
            "type",
            "description",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "const",
            "anyOf",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
        ];
        assert!(known.contains(&key.as_str()), "{place}: this test does not know {key}");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let one = |choice: &Value| std::panic::catch_unwind(|| fits(document, choice, value, place)).is_ok();
        assert!(choices.iter().any(one), "{place}: {value} fits none of {choices:?}");
    }
    if let Some(only) = schema.get("const") {
        assert_eq!(value, only, "{place}");
    }
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{place}: {value} is none of {values:?}");
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{place}: there is no type {other}"),
    };
    match &schema["type"] {
        Value::Null => {}
        Value::String(kind) => assert!(is(kind), "{place}: {value} is no {kind}"),
        kinds => {
            let kinds = kinds.as_array().unwrap();
            assert!(
                kinds.iter().any(|kind| is(kind.as_str().unwrap())),
                "{place}: {value} is none of {kinds:?}"
            );
        }
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64()) {
        assert!(number >= least, "{place}: {number} is below {least}");
    }
    if let (Some(most), Some(number)) = (schema["maximum"].as_f64(), value.as_f64()) {
        assert!(number <= most, "{place}: {number} is above {most}");
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        let within =
            schema["minLength"].as_u64().unwrap_or(0)..=schema["maxLength"].as_u64().unwrap_or(u64::MAX);
        assert!(within.contains(&length), "{place}: a text of {length} characters");
    }
    if let Some(items) = value.as_array() {
        assert!(
            schema["minItems"].as_u64().is_none_or(|least| items.len() as u64 >= least),
            "{place}: too few"
        );
        assert!(
            schema["maxItems"].as_u64().is_none_or(|most| items.len() as u64 <= most),
            "{place}: too many"
        );
        for (index, item) in items.iter().enumerate().filter(|_| !schema["items"].is_null()) {
            fits(document, &schema["items"], item, &format!("{place}[{index}]"));
        }
    }
    if let (Some(fields), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for (key, value) in fields {
            let schema =
                properties.get(key).unwrap_or_else(|| panic!("{place}.{key} is not in the document"));
            fits(document, schema, value, &format!("{place}.{key}"));
        }
        for key in schema["required"].as_array().into_iter().flatten() {
            assert!(fields.contains_key(key.as_str().unwrap()), "{place} has no {key}");
        }
    }
}
