//! Whether a value is what its key takes; where not, why, and what would be right.

use super::shape::{Range, Record, Shape};
use super::source::Complaint;
use super::suggest;
use super::tree::{Item, Table, Value};

/// Complaints about a value; none where it fits.
pub(super) fn check(shape: &Shape, item: &Item) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    value(shape, item, &mut complaints);
    complaints
}

/// Whether a value fits.
pub(super) fn fits(shape: &Shape, item: &Item) -> bool {
    check(shape, item).is_empty()
}

/// The alternative a table was most likely meant as.
pub(super) fn likeliest_record<'a>(shape: &'a Shape, table: &Table) -> Option<&'a Record> {
    let records = shape.alternatives().iter().filter_map(|shape| match shape {
        Shape::Record(record) => Some(record),
        _ => None,
    });
    let known =
        |record: &Record| table.entries.iter().filter(|entry| record.field(&entry.key).is_some()).count();
    let misspelt = |record: &Record| {
        let keys: Vec<&str> = record.keys().collect();
        table.entries.iter().filter(|entry| suggest::nearest(&entry.key, &keys).is_some()).count()
    };
    records.rev().max_by_key(|record| (known(record), misspelt(record)))
}

/// The complaint about a key that a record does not have.
pub(super) fn unknown_key(record: &Record, entry: &super::tree::Entry) -> Complaint {
    let problem = format!("unknown key `{}`", entry.key);
    Complaint::new(&entry.key_span, problem, suggest::remedy(&entry.key, record.keys()))
}

fn value(shape: &Shape, item: &Item, complaints: &mut Vec<Complaint>) {
    match (shape, &item.value) {
        (Shape::Anything, _) | (Shape::Boolean, Value::Boolean(_)) | (Shape::Text, Value::Text(_)) => {}
        (Shape::Choice(words), Value::Text(text)) => {
            if !words.iter().any(|(word, _)| word == text) {
                complaints.push(unknown_word(words, text, item));
            }
        }
        (Shape::Integer(range), Value::Integer(number)) => {
            in_range(range, *number as f64, shape, item, complaints)
        }
        (Shape::Number(range), Value::Integer(number)) => {
            in_range(range, *number as f64, shape, item, complaints)
        }
        (Shape::Number(range), Value::Float(number)) => in_range(range, *number, shape, item, complaints),
        (Shape::Integer(_), Value::Float(number)) => {
            let help = if number.fract() == 0.0 && number.abs() < 1e15 {
                format!("write {number}")
            } else {
                format!("must be {}", shape.describe())
            };
            complaints.push(Complaint::new(&item.span, format!("{number:?} is not a whole number"), help));
        }
        (Shape::List(inner), Value::List(items)) => {
            for one in items {
                value(inner, one, complaints);
            }
        }
        (Shape::Record(record), Value::Table(table)) => fields(record, table, item, complaints),
        (Shape::Union(shapes), _) => alternatives(shapes, shape, item, complaints),
        _ => complaints.push(wrong_type(shape, item)),
    }
}

fn alternatives(shapes: &[Shape], whole: &Shape, item: &Item, complaints: &mut Vec<Complaint>) {
    if shapes.iter().any(|shape| fits(shape, item)) {
        return;
    }
    let meant = match &item.value {
        Value::Table(table) => likeliest_record(whole, table).map(|record| Shape::Record(record.clone())),
        _ => shapes.iter().find(|shape| same_sort(shape, &item.value)).cloned(),
    };
    match meant {
        Some(Shape::Choice(words)) => {
            let Value::Text(text) = &item.value else { return };
            let mut complaint = unknown_word(&words, text, item);
            if !complaint.help.starts_with("did you mean") {
                complaint.help = format!("must be {}", whole.describe());
            }
            complaints.push(complaint);
        }
        Some(shape) => value(&shape, item, complaints),
        None => complaints.push(wrong_type(whole, item)),
    }
}

fn same_sort(shape: &Shape, value: &Value) -> bool {
    matches!(
        (shape, value),
        (Shape::Choice(_) | Shape::Text, Value::Text(_))
            | (Shape::Number(_) | Shape::Integer(_), Value::Integer(_) | Value::Float(_))
            | (Shape::List(_), Value::List(_))
            | (Shape::Boolean, Value::Boolean(_))
    )
}

fn fields(record: &Record, table: &Table, item: &Item, complaints: &mut Vec<Complaint>) {
    for entry in &table.entries {
        match record.field(&entry.key) {
            Some(field) => value(&field.shape, &entry.item, complaints),
            None if record.open => {}
            None => complaints.push(unknown_key(record, entry)),
        }
    }
    complaints.extend(missing(record, table, item));
}

/// Complaints about required keys that are not there, not even misspelt.
pub(super) fn missing(record: &Record, table: &Table, at: &Item) -> Vec<Complaint> {
    let strange = |key: &str| record.field(key).is_none();
    let misspelt = |key: &str| {
        table
            .entries
            .iter()
            .any(|entry| strange(&entry.key) && suggest::nearest(&entry.key, &[key]).is_some())
    };
    let absent = |key: &str| table.get(key).is_none() && !misspelt(key);
    let fields = record.fields.iter().filter(|field| field.required && absent(&field.key));
    fields
        .map(|field| {
            let help = format!("add `{} = ...`: {}", field.key, field.shape.describe());
            Complaint::new(&at.span, format!("`{}` is missing", field.key), help)
        })
        .collect()
}

fn in_range(range: &Range, number: f64, shape: &Shape, item: &Item, complaints: &mut Vec<Complaint>) {
    if !range.contains(number) {
        let problem = format!("{number} is out of range");
        complaints.push(Complaint::new(&item.span, problem, format!("must be {}", shape.describe())));
    }
}

fn unknown_word(words: &[(String, String)], text: &str, item: &Item) -> Complaint {
    let known: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let help = match suggest::nearest(text, &known) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("must be {}", Shape::Choice(words.to_vec()).describe()),
    };
    Complaint::new(&item.span, format!("unknown value {text:?}"), help)
}

fn wrong_type(shape: &Shape, item: &Item) -> Complaint {
    let help = format!("must be {}", shape.describe());
    Complaint::new(&item.span, format!("this is {}", item.kind()), help)
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::super::tree::parse;
    use super::*;

    /// Complaint and remedy for one line in an async-linucb block.
    fn complain(line: &str) -> Vec<(String, String)> {
        let schema = crate::catalogue().find("async-linucb").unwrap().schema().to_value();
        let table = parse(&Source { name: "x".into(), text: line.into() }).unwrap();
        let item = Item { span: 0..0, value: Value::Table(table) };
        let shape = Shape::from_schema(&schema);
        check(&shape, &item).into_iter().map(|complaint| (complaint.problem, complaint.help)).collect()
    }

    fn one(line: &str) -> (String, String) {
        let all = complain(line);
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }

    #[test]
    fn accepts_every_way_to_write_a_key() {
        for line in [
            "upload_ratio = 5",
            "upload_ratio = inf",
            "upload_ratio = { per_client = [1, 2.5] }",
            "radius = \"count\"",
            "radius = { fixed = 1 }",
            "refresh = false",
            "",
        ] {
            assert_eq!(complain(line), [], "{line}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_what_would_be_right() {
        let (problem, help) = one("uplod_ratio = 5");
        assert_eq!(
            (problem.as_str(), help.as_str()),
            ("unknown key `uplod_ratio`", "did you mean `upload_ratio`?")
        );
        let (problem, help) = one("fidelity = \"papers\"");
        assert_eq!(
            (problem.as_str(), help.as_str()),
            ("unknown value \"papers\"", "did you mean \"paper\"?")
        );
        let (problem, help) = one("ridge = \"big\"");
        assert_eq!(problem, "this is a string");
        assert_eq!(help, "must be a number above 0");
        let (problem, help) = one("failure_prob = 1.5");
        assert_eq!(
            (problem.as_str(), help.as_str()),
            ("1.5 is out of range", "must be a number above 0 and below 1")
        );
        let (_, help) = one("radius = \"wide\"");
        assert_eq!(help, "must be \"log-det\", \"count\" or { fixed = number }");
        assert_eq!(one("radius = { fixd = 1 }").1, "did you mean `fixed`?");
        assert_eq!(one("radius = true").1, "must be \"log-det\", \"count\" or { fixed = number }");
        assert_eq!(
            one("upload_ratio = { per_client = [1, \"x\"] }").1,
            "must be a number of at least 1, or inf"
        );
    }
}
