//! TOML values as JSON. JSON has no infinity: it is written as `"inf"`.

use serde_json::Value as Json;

/// The value as JSON.
pub fn to_json(value: &toml::Value) -> Json {
    match value {
        toml::Value::String(text) => Json::String(text.clone()),
        toml::Value::Integer(number) => Json::from(*number),
        toml::Value::Float(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| Json::String(number.to_string()), Json::Number),
        toml::Value::Boolean(truth) => Json::Bool(*truth),
        toml::Value::Datetime(date) => Json::String(date.to_string()),
        toml::Value::Array(items) => items.iter().map(to_json).collect(),
        toml::Value::Table(table) => {
            Json::Object(table.iter().map(|(key, value)| (key.clone(), to_json(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_is_a_word() {
        let value: toml::Table = toml::from_str("a = [1, 0.5, inf, -inf]\nb = { c = true }").unwrap();
        let json = to_json(&toml::Value::Table(value));
        assert_eq!(json.to_string(), r#"{"a":[1,0.5,"inf","-inf"],"b":{"c":true}}"#);
    }
}
