//! TOML with a place for every key and value, in the order of the file.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::{Complaint, Source, Span};

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// Where.
    pub span: Span,
    /// What.
    pub value: Value,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any number.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A date or time; no key takes one.
    Datetime(String),
    /// A list.
    List(Vec<Item>),
    /// A table.
    Table(Table),
}

/// The entries of a table, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Its entries.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// Its value.
    pub item: Item,
}

impl Table {
    /// The entry of this key.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The table without some keys.
    pub(super) fn without(&self, keys: &[&str]) -> Table {
        let kept = self.entries.iter().filter(|entry| !keys.contains(&entry.key.as_str()));
        Table { entries: kept.cloned().collect() }
    }
}

impl Item {
    /// What it is, for messages: "a string", "a list".
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "a truth value",
            Value::Datetime(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value without its places.
    pub(super) fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) | Value::Datetime(text) => toml::Value::String(text.clone()),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Boolean(truth) => toml::Value::Boolean(*truth),
            Value::List(items) => toml::Value::Array(items.iter().map(Item::plain).collect()),
            Value::Table(table) => toml::Value::Table(
                table.entries.iter().map(|entry| (entry.key.clone(), entry.item.plain())).collect(),
            ),
        }
    }

    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }
}

/// Reads TOML.
pub(super) fn parse(source: &Source) -> Result<Table, Vec<Complaint>> {
    let parsed = DeTable::parse(&source.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        vec![Complaint::new(&span, format!("this is not TOML: {}", error.message().trim()), "")]
    })?;
    let mut complaints = Vec::new();
    let table = table(parsed.get_ref(), &mut complaints);
    if complaints.is_empty() { Ok(table) } else { Err(complaints) }
}

fn table(table: &DeTable<'_>, complaints: &mut Vec<Complaint>) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            item: item(value, complaints),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    Table { entries }
}

fn item(spanned: &Spanned<DeValue<'_>>, complaints: &mut Vec<Complaint>) -> Item {
    let span = spanned.span();
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => {
                complaints.push(Complaint::new(&span, format!("{digits} is too large a number"), ""));
                Value::Integer(0)
            }
        },
        DeValue::Float(digits) => {
            let number: f64 = digits.as_str().parse().unwrap_or(f64::NAN);
            if number.is_infinite() && !digits.as_str().contains("inf") {
                let help = "write inf where infinity is meant";
                complaints.push(Complaint::new(&span, format!("{digits} is too large a number"), help));
            }
            if number.is_nan() {
                complaints.push(Complaint::new(&span, "nan is no value that can be used", "give a number"));
            }
            Value::Float(number)
        }
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(date) => Value::Datetime(date.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(|one| item(one, complaints)).collect()),
        DeValue::Table(inner) => Value::Table(table(inner, complaints)),
    };
    Item { span, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Table, Vec<Complaint>> {
        parse(&Source { name: "x.toml".into(), text: text.into() })
    }

    #[test]
    fn keeps_the_order_and_the_places_of_the_file() {
        let text = "zeta = 1\nalpha = { b = [1, inf], a = 0x10 }\n[[rows]]\nx = 1\n[[rows]]\nx = 2\n";
        let table = read(text).unwrap();
        let keys: Vec<&str> = table.entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["zeta", "alpha", "rows"]);
        let Value::Table(alpha) = &table.entries[1].item.value else { panic!() };
        assert_eq!(alpha.entries[1].item.value, Value::Integer(16));
        let Value::List(list) = &alpha.entries[0].item.value else { panic!() };
        assert_eq!(list[1].value, Value::Float(f64::INFINITY));
        assert_eq!(&text[list[1].span.clone()], "inf");
        let Value::List(rows) = &table.entries[2].item.value else { panic!() };
        assert_eq!(&text[rows[1].span.clone()], "[[rows]]");
    }

    #[test]
    fn refuses_what_no_key_can_use() {
        for (text, problem) in [
            ("a = nan", "nan is no value that can be used"),
            ("a = 1e999", "1e999 is too large a number"),
            ("a = 99999999999999999999", "99999999999999999999 is too large a number"),
        ] {
            assert_eq!(read(text).unwrap_err()[0].problem, problem);
        }
        assert!(read("a = ").unwrap_err()[0].problem.starts_with("this is not TOML: "));
    }
}
