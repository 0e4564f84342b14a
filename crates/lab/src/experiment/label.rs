//! What entries are called.

use std::collections::BTreeMap;

use super::source::{Complaint, Span};

/// A block as far as its name goes.
pub(super) struct Named<'a> {
    /// What the file calls it.
    pub label: Option<&'a str>,
    /// The algorithm.
    pub kind: &'a str,
    /// Its keys that are not swept, in the order of the file.
    pub keys: Vec<(&'a str, toml::Value)>,
    /// Where its name stands.
    pub span: Span,
}

/// One name per block: its label, or its kind with the keys that set it apart from its likes.
pub(super) fn blocks(blocks: &[Named<'_>], complaints: &mut Vec<Complaint>) -> Vec<String> {
    let names: Vec<String> = blocks.iter().map(|block| name(block, blocks)).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, block) in names.iter().zip(blocks) {
        let times = seen.entry(name).or_default();
        *times += 1;
        if *times == 2 {
            let problem = format!("two entries are called {name:?}");
            complaints.push(Complaint::new(
                &block.span,
                problem,
                "give one of them another `label = \"...\"`",
            ));
        }
    }
    names
}

fn name(block: &Named<'_>, all: &[Named<'_>]) -> String {
    if let Some(label) = block.label {
        return label.to_string();
    }
    let likes: Vec<&Named<'_>> =
        all.iter().filter(|other| other.label.is_none() && other.kind == block.kind).collect();
    let differs = |key: &str, value: &toml::Value| {
        likes.iter().any(|other| !other.keys.iter().any(|(k, v)| *k == key && v == value))
    };
    let telling = block.keys.iter().filter(|(key, value)| differs(key, value));
    telling.fold(block.kind.to_string(), |name, (key, value)| format!("{name} {key}={}", short(value)))
}

/// "key=value key=value" for each cell of a grid, as short as can be while they differ.
pub(super) fn cells(swept: &[&[(String, toml::Value)]]) -> Vec<String> {
    let with = |text: fn(&toml::Value) -> String| -> Vec<String> {
        let one = |cell: &&[(String, toml::Value)]| {
            cell.iter().map(|(key, value)| format!("{key}={}", text(value))).collect::<Vec<_>>().join(" ")
        };
        swept.iter().map(one).collect()
    };
    let labels = with(short);
    let mut sorted = labels.clone();
    sorted.sort();
    sorted.dedup();
    if sorted.len() == labels.len() { labels } else { with(|value| value.to_string()) }
}

/// Labels side by side, empty ones left out.
pub(super) fn join(one: &str, other: &str) -> String {
    [one, other].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A value in few characters.
pub(super) fn short(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Float(number) => short_number(*number),
        toml::Value::Array(items) => {
            let shown: Vec<String> = items.iter().take(4).map(short).collect();
            let more = if items.len() > 4 { ",..." } else { "" };
            format!("[{}{more}]", shown.join(","))
        }
        toml::Value::Table(table) => {
            let shown: Vec<String> =
                table.iter().map(|(key, value)| format!("{key}:{}", short(value))).collect();
            shown.join(",")
        }
        other => other.to_string(),
    }
}

/// Four digits are enough for a label.
pub(crate) fn short_number(number: f64) -> String {
    let exact = number.to_string();
    if exact.len() <= 6 {
        return exact;
    }
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    let (plain, scientific) = (rounded.to_string(), format!("{rounded:e}"));
    if plain.len() <= 8 { plain } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<(String, toml::Value)> {
        let table: toml::Table = toml::from_str(text).unwrap();
        table.into_iter().collect()
    }

    fn named<'a>(label: Option<&'a str>, keys: &'a [(String, toml::Value)]) -> Named<'a> {
        let keys = keys.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        Named { label, kind: "async-linucb", keys, span: 0..0 }
    }

    #[test]
    fn blocks_of_one_kind_are_told_apart_by_what_differs() {
        let (one, two, three) =
            (keys("ratio = 2\nridge = 1"), keys("ratio = 5.5\nridge = 1"), keys("ridge = 1"));
        let mut complaints = Vec::new();
        let all = [named(None, &one), named(None, &two), named(None, &three), named(Some("mine"), &one)];
        let names = blocks(&all, &mut complaints);
        assert_eq!(names, ["async-linucb ratio=2", "async-linucb ratio=5.5", "async-linucb", "mine"]);
        assert_eq!(complaints, []);
        blocks(&[named(None, &one), named(None, &one)], &mut complaints);
        assert_eq!(complaints[0].problem, "two entries are called \"async-linucb\"");
    }

    #[test]
    fn values_are_short_but_distinct() {
        assert_eq!(short_number(1.9306977288832496), "1.931");
        assert_eq!(short_number(1e-7), "1e-7");
        assert_eq!(short_number(123456789.0), "1.235e8");
        assert_eq!(short_number(f64::INFINITY), "inf");
        assert_eq!(short_number(5.0), "5");
        let near = [keys("r = 1.00001"), keys("r = 1.00002")];
        let swept: Vec<&[(String, toml::Value)]> = near.iter().map(Vec::as_slice).collect();
        assert_eq!(cells(&swept), ["r=1.00001", "r=1.00002"]);
        assert_eq!(short(&keys("a = { zipf = 1.2 }")[0].1), "zipf:1.2");
        assert_eq!(short(&keys("a = [26, 2, 1, 1, 1]")[0].1), "[26,2,1,1,...]");
    }
}
