//! What a key takes: a JSON schema, read into a few cases that can be explained.

use serde_json::Value as Json;

/// What a value may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Anything at all.
    Anything,
    /// `true` or `false`.
    Boolean,
    /// Any string.
    Text,
    /// One of these words, each with its purpose.
    Choice(Vec<(String, String)>),
    /// A number.
    Number(Range),
    /// A whole number.
    Integer(Range),
    /// A list.
    List(Box<Shape>),
    /// A table.
    Record(Record),
    /// One of several.
    Union(Vec<Shape>),
}

/// Bounds of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Every value is larger than this.
    pub above: Option<f64>,
    /// Every value is smaller than this.
    pub below: Option<f64>,
    /// Whether infinity is taken too; without a word about it, numbers are finite.
    pub infinite: bool,
}

/// Keys of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Known keys.
    pub fields: Vec<Field>,
    /// Whether other keys are taken too.
    pub open: bool,
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub key: String,
    /// What it takes.
    pub shape: Shape,
    /// Whether it must be given.
    pub required: bool,
    /// What holds when it is not given.
    pub default: Option<Json>,
    /// What it is for.
    pub purpose: String,
}

impl Record {
    /// The field of this key.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.key.as_str())
    }

    /// Reads the schema of a table.
    pub fn from_schema(schema: &Json) -> Record {
        match Shape::from_schema(schema) {
            Shape::Record(record) => record,
            _ => Record { fields: Vec::new(), open: true },
        }
    }
}

impl Shape {
    /// Reads a JSON schema as `schemars` writes it.
    pub fn from_schema(schema: &Json) -> Shape {
        read(schema, schema)
    }

    /// The alternatives; itself where there is only one.
    pub fn alternatives(&self) -> &[Shape] {
        match self {
            Shape::Union(shapes) => shapes,
            one => std::slice::from_ref(one),
        }
    }

    /// Whether a list is a value of its own here, not a sweep.
    pub fn takes_lists(&self) -> bool {
        self.alternatives().iter().any(|shape| matches!(shape, Shape::List(_) | Shape::Anything))
    }

    /// Whether numbers are taken, and if so whether whole ones only.
    pub fn takes_numbers(&self) -> Option<bool> {
        let shapes = self.alternatives();
        if shapes.iter().any(|shape| matches!(shape, Shape::Number(_))) {
            Some(false)
        } else {
            shapes.iter().any(|shape| matches!(shape, Shape::Integer(_))).then_some(true)
        }
    }

    /// What is taken, in words.
    pub fn describe(&self) -> String {
        match self {
            Shape::Anything => "anything".into(),
            Shape::Boolean => "true or false".into(),
            Shape::Text => "a string".into(),
            Shape::Choice(words) => {
                join_or(words.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().as_slice())
            }
            Shape::Number(range) => {
                format!("a number{}{}", range.describe(), if range.infinite { ", or inf" } else { "" })
            }
            Shape::Integer(range) => format!("a whole number{}", range.describe()),
            Shape::List(shape) => match &**shape {
                Shape::Number(_) => "a list of numbers".into(),
                Shape::Integer(_) => "a list of whole numbers".into(),
                Shape::List(_) => "a list of lists".into(),
                Shape::Record(_) => "a list of tables".into(),
                _ => "a list".into(),
            },
            Shape::Record(record) => {
                let fields: Vec<String> = record
                    .fields
                    .iter()
                    .filter(|field| field.required)
                    .map(|field| format!("{} = {}", field.key, field.shape.example()))
                    .collect();
                if fields.is_empty() { "a table".into() } else { format!("{{ {} }}", fields.join(", ")) }
            }
            Shape::Union(shapes) => {
                let each = shapes.iter().flat_map(|shape| match shape {
                    Shape::Choice(words) => words.iter().map(|(word, _)| format!("{word:?}")).collect(),
                    Shape::Number(range) if range.infinite => {
                        vec![format!("a number{}", range.describe()), "inf".into()]
                    }
                    other => vec![other.describe()],
                });
                join_or(&each.collect::<Vec<_>>())
            }
        }
    }

    fn example(&self) -> &'static str {
        match self.alternatives().first() {
            Some(Shape::Boolean) => "true",
            Some(Shape::Text | Shape::Choice(_)) => "\"...\"",
            Some(Shape::List(_)) => "[...]",
            Some(Shape::Record(_)) => "{ ... }",
            _ => "number",
        }
    }
}

impl Range {
    /// Whether a number lies in the range.
    pub fn contains(&self, number: f64) -> bool {
        if number.is_infinite() {
            return self.infinite && number > 0.0;
        }
        self.min.is_none_or(|min| number >= min)
            && self.max.is_none_or(|max| number <= max)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }

    /// The range in words, with a leading space; empty where there is none.
    pub fn describe(&self) -> String {
        let short = |n: f64| if n.abs() < 1e15 { n.to_string() } else { format!("{n:e}") };
        let low = self.above.map(|n| format!("above {}", short(n)));
        let low = low.or(self.min.map(|n| format!("of at least {}", short(n))));
        let high = self.below.map(|n| format!("below {}", short(n)));
        let high = high.or(self.max.map(|n| format!("at most {}", short(n))));
        match (self.min, self.max, low, high) {
            (Some(min), Some(max), ..) if self.above.is_none() && self.below.is_none() => {
                format!(" from {} to {}", short(min), short(max))
            }
            (_, _, Some(low), Some(high)) => format!(" {low} and {high}"),
            (_, _, Some(one), None) | (_, _, None, Some(one)) => format!(" {one}"),
            (_, _, None, None) => String::new(),
        }
    }
}

/// "a", "a or b", "a, b or c".
pub(super) fn join_or(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

fn read(schema: &Json, root: &Json) -> Shape {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Shape::Anything, |target| read(target, root));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[key].as_array()
            && schema.get("properties").is_none()
        {
            return union(
                alternatives.iter().map(|alternative| (alternative, read(alternative, root))).collect(),
            );
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return Shape::Choice(
            words.iter().filter_map(|word| Some((word.as_str()?.into(), String::new()))).collect(),
        );
    }
    if let Some(word) = schema["const"].as_str() {
        return Shape::Choice(vec![(word.into(), text(schema, "description"))]);
    }
    match &schema["type"] {
        Json::String(name) => of_type(name, schema, root),
        Json::Array(names) => union(
            names
                .iter()
                .filter_map(Json::as_str)
                .map(|name| (&Json::Null, of_type(name, schema, root)))
                .collect(),
        ),
        _ => Shape::Anything,
    }
}

/// Nothing in TOML is null: that alternative is dropped. Words are gathered in one choice.
fn union(shapes: Vec<(&Json, Shape)>) -> Shape {
    let mut words = Vec::new();
    let mut others = Vec::new();
    for (_, shape) in shapes {
        match shape {
            Shape::Choice(more) => words.extend(more),
            Shape::Union(more) if more.is_empty() => {}
            Shape::Union(more) => others.extend(more),
            shape => others.push(shape),
        }
    }
    if !words.is_empty() {
        others.insert(0, Shape::Choice(words));
    }
    if others.len() == 1 { others.remove(0) } else { Shape::Union(others) }
}

fn of_type(name: &str, schema: &Json, root: &Json) -> Shape {
    let range = Range {
        min: schema["minimum"].as_f64(),
        max: schema["maximum"].as_f64(),
        above: schema["exclusiveMinimum"].as_f64(),
        below: schema["exclusiveMaximum"].as_f64(),
        infinite: schema["x-infinite"] == true,
    };
    match name {
        "null" => Shape::Union(Vec::new()),
        "boolean" => Shape::Boolean,
        "string" => Shape::Text,
        "integer" => Shape::Integer(range),
        "number" => Shape::Number(range),
        "array" => {
            Shape::List(Box::new(schema.get("items").map_or(Shape::Anything, |items| read(items, root))))
        }
        "object" => Shape::Record(record(schema, root)),
        _ => Shape::Anything,
    }
}

fn record(schema: &Json, root: &Json) -> Record {
    let required =
        |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|known| known == key));
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(key, field)| Field {
        key: key.clone(),
        shape: read(field, root),
        required: required(key),
        default: field.get("default").filter(|default| !default.is_null()).cloned(),
        purpose: text(field, "description"),
    });
    let open = schema.get("additionalProperties").is_some_and(|more| *more != Json::Bool(false));
    Record { fields: fields.collect(), open }
}

fn text(schema: &Json, key: &str) -> String {
    schema[key].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn async_linucb() -> Record {
        let catalogue = crate::catalogue();
        Record::from_schema(catalogue.find("async-linucb").unwrap().schema().as_value())
    }

    #[test]
    fn reads_what_schemars_writes() {
        let record = async_linucb();
        let shape = |key: &str| record.field(key).unwrap().shape.describe();
        assert_eq!(shape("ridge"), "a number above 0");
        assert_eq!(shape("failure_prob"), "a number above 0 and below 1");
        assert_eq!(shape("fidelity"), "\"paper\" or \"authors\"");
        assert_eq!(shape("radius"), "\"log-det\", \"count\" or { fixed = number }");
        assert_eq!(shape("upload_ratio"), "a number of at least 1, inf or { per_client = [...] }");
        assert_eq!(shape("refresh"), "true or false");
        assert_eq!(record.field("ridge").unwrap().default, Some(0.1.into()));
        assert!(record.field("ridge").unwrap().purpose.contains("ridge estimate"));
    }

    #[test]
    fn knows_where_a_list_is_a_value() {
        let record = async_linucb();
        let ratio = &record.field("upload_ratio").unwrap().shape;
        assert!(!ratio.takes_lists());
        assert_eq!(ratio.takes_numbers(), Some(false));
        assert_eq!(record.field("fidelity").unwrap().shape.takes_numbers(), None);
    }

    #[test]
    fn ranges_are_said_in_words() {
        let range = |min, max, above, below| Range { min, max, above, below, infinite: false };
        assert_eq!(range(Some(1.0), None, None, None).describe(), " of at least 1");
        assert_eq!(range(None, None, Some(0.0), Some(1.0)).describe(), " above 0 and below 1");
        assert_eq!(range(None, Some(2.0), None, None).describe(), " at most 2");
        assert!(!range(None, None, Some(0.0), None).contains(0.0));
        // Infinity is taken where a schema says so, and nowhere else.
        let infinite = Range { infinite: true, ..range(Some(1.0), None, None, None) };
        assert_eq!(Shape::Number(infinite).describe(), "a number of at least 1, or inf");
        assert!(infinite.contains(f64::INFINITY) && !infinite.contains(f64::NEG_INFINITY));
        assert!(!range(Some(1.0), None, None, None).contains(f64::INFINITY));
    }
}
