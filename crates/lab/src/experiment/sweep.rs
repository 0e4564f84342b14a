//! Sweeps: a key that holds several values at once makes one cell per value, and
//! several such keys make a grid.
//!
//! A list is a sweep where its key takes no list; `{ logspace = [from, to, count] }`
//! and `{ linspace = [from, to, count] }` are sweeps wherever a number is taken.

use std::collections::BTreeMap;

use super::shape::{Record, Shape};
use super::source::{Complaint, Span};
use super::suggest;
use super::tree::{Item, Table, Value};
use super::validate;

/// Cells of one grid, at most.
const LARGEST: usize = 10_000;

/// A section of a file, with the values that its sweeps go through.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    base: toml::Table,
    spans: BTreeMap<String, Span>,
    axes: Vec<Axis>,
}

#[derive(Clone, Debug)]
struct Axis {
    path: Vec<String>,
    steps: Vec<(toml::Value, Span)>,
}

/// One choice of a value for every key.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Keys and values.
    pub table: toml::Table,
    /// What was chosen where there was a choice.
    pub swept: Vec<(String, toml::Value)>,
    spans: BTreeMap<String, Span>,
}

impl Cell {
    /// Where the value of a key stands; nested keys are written with dots. Where the key itself is
    /// absent, a shorter key that sets it will do (`ratio` for `upload_ratio`).
    pub(super) fn span(&self, key: &str) -> Option<&Span> {
        let outer = key.split('.').next().unwrap_or(key);
        let shorter = || {
            self.spans
                .iter()
                .find(|(known, _)| outer.strip_suffix(known.as_str()).is_some_and(|rest| rest.ends_with('_')))
        };
        self.spans.get(key).or_else(|| self.spans.get(outer)).or_else(|| shorter().map(|(_, span)| span))
    }
}

impl Sweep {
    /// Reads a section. `at` is what to point at when a required key is missing.
    pub(super) fn read(record: &Record, table: &Table, at: &Span, complaints: &mut Vec<Complaint>) -> Sweep {
        let mut sweep = Sweep::default();
        sweep.fields(record, table, &[], complaints);
        let at = Item { span: at.clone(), value: Value::Boolean(true) };
        complaints.extend(validate::missing(record, table, &at));
        for entry in &table.entries {
            sweep.base.insert(entry.key.clone(), entry.item.plain());
        }
        places(table, "", &mut sweep.spans);
        if sweep.size() > LARGEST {
            let span = sweep
                .axes
                .last()
                .and_then(|axis| axis.steps.first())
                .map_or(at.span, |(_, span)| span.clone());
            let problem = format!("this grid has {} cells", sweep.size());
            complaints.push(Complaint::new(&span, problem, format!("sweep over at most {LARGEST}")));
        }
        sweep
    }

    fn size(&self) -> usize {
        self.axes.iter().fold(1, |size, axis| size.saturating_mul(axis.steps.len()))
    }

    /// Whether a key, or a key within it, is swept.
    pub(super) fn sweeps(&self, key: &str) -> bool {
        self.axes.iter().any(|axis| axis.path[0] == key)
    }

    /// All cells; the key that stands last in the file changes fastest.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![Cell { table: self.base.clone(), swept: Vec::new(), spans: self.spans.clone() }];
        for axis in &self.axes {
            let with = |cell: &Cell, (value, span): &(toml::Value, Span)| {
                let mut cell = cell.clone();
                put(&mut cell.table, &axis.path, value.clone());
                cell.swept.push((axis.path.join("."), value.clone()));
                cell.spans.insert(axis.path.join("."), span.clone());
                cell
            };
            cells = cells
                .iter()
                .flat_map(|cell| axis.steps.iter().map(|step| with(cell, step)).collect::<Vec<_>>())
                .collect();
        }
        cells
    }

    fn fields(&mut self, record: &Record, table: &Table, path: &[String], complaints: &mut Vec<Complaint>) {
        for entry in &table.entries {
            let mut path = path.to_vec();
            path.push(entry.key.clone());
            match record.field(&entry.key) {
                Some(field) => self.value(&field.shape, &entry.item, &path, complaints),
                None if record.open => {}
                None => complaints.push(validate::unknown_key(record, entry)),
            }
        }
    }

    fn value(&mut self, shape: &Shape, item: &Item, path: &[String], complaints: &mut Vec<Complaint>) {
        let problems = validate::check(shape, item);
        if problems.is_empty() {
            return;
        }
        let problems = match &item.value {
            Value::List(items) if is_sweep(shape, items) => {
                let steps = items.iter().map(|one| (one.plain(), one.span.clone())).collect();
                self.axes.push(Axis { path: path.to_vec(), steps });
                if items.is_empty() {
                    vec![Complaint::new(&item.span, "an empty list", "a sweep needs at least one value")]
                } else {
                    items.iter().flat_map(|one| validate::check(shape, one)).collect()
                }
            }
            Value::Table(table) => match (spacing(table), validate::likeliest_record(shape, table)) {
                (Some(spacing), _) => match spaced(spacing, shape, table, &item.span) {
                    Ok(steps) => {
                        self.axes.push(Axis { path: path.to_vec(), steps });
                        Vec::new()
                    }
                    Err(complaint) => vec![complaint],
                },
                (None, Some(record)) => {
                    self.fields(record, table, path, complaints);
                    validate::missing(record, table, item)
                }
                (None, None) => problems.into_iter().map(|problem| misspelt(problem, table)).collect(),
            },
            _ => problems,
        };
        // The place shows the line, the path says which key it is about.
        let of_key = |complaint: Complaint| Complaint {
            problem: format!("{}: {}", path.join("."), complaint.problem),
            ..complaint
        };
        complaints.extend(problems.into_iter().map(of_key));
    }
}

/// The place of every value, nested keys written with dots.
fn places(table: &Table, prefix: &str, spans: &mut BTreeMap<String, Span>) {
    for entry in &table.entries {
        let path = format!("{prefix}{}", entry.key);
        if let Value::Table(inner) = &entry.item.value {
            places(inner, &format!("{path}."), spans);
        }
        spans.insert(path, entry.item.span.clone());
    }
}

/// A list sweeps where no list is taken, or where each of its values could stand alone.
fn is_sweep(shape: &Shape, items: &[Item]) -> bool {
    !shape.takes_lists() || (!items.is_empty() && items.iter().all(|item| validate::fits(shape, item)))
}

fn put(table: &mut toml::Table, path: &[String], value: toml::Value) {
    match path {
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            if let Some(toml::Value::Table(inner)) = table.get_mut(key) {
                put(inner, rest, value);
            }
        }
        [] => {}
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    Logarithmic,
    Linear,
}

const SPACINGS: [(&str, Spacing); 2] = [("logspace", Spacing::Logarithmic), ("linspace", Spacing::Linear)];

fn spacing(table: &Table) -> Option<Spacing> {
    let [entry] = table.entries.as_slice() else { return None };
    SPACINGS.iter().find(|(name, _)| *name == entry.key).map(|(_, spacing)| *spacing)
}

fn misspelt(mut complaint: Complaint, table: &Table) -> Complaint {
    if let [entry] = table.entries.as_slice()
        && let Some(near) = suggest::nearest(&entry.key, &SPACINGS.map(|(name, _)| name))
    {
        complaint.help = format!("did you mean {{ {near} = [from, to, count] }}?");
    }
    complaint
}

fn spaced(
    spacing: Spacing,
    shape: &Shape,
    table: &Table,
    at: &Span,
) -> Result<Vec<(toml::Value, Span)>, Complaint> {
    let entry = &table.entries[0];
    let refuse = |problem: &str| {
        let help = format!("write {{ {} = [from, to, count] }}, such as [1.01, 100, 8]", entry.key);
        Complaint::new(&entry.item.span, problem.to_string(), help)
    };
    let Some(whole) = shape.takes_numbers() else {
        let problem = format!("`{}` where no number is taken", entry.key);
        return Err(Complaint::new(at, problem, format!("must be {}", shape.describe())));
    };
    let Value::List(items) = &entry.item.value else { return Err(refuse("this is no range")) };
    let numbers: Option<Vec<f64>> = items.iter().map(Item::number).collect();
    let Some(&[from, to, count]) = numbers.as_deref() else { return Err(refuse("this is no range")) };
    if !(from.is_finite() && to.is_finite()) {
        return Err(refuse("a range needs finite ends"));
    }
    if count.fract() != 0.0 || count < 1.0 {
        return Err(refuse("the count must be a whole number of at least 1"));
    }
    if count > LARGEST as f64 {
        return Err(refuse("too many values"));
    }
    if spacing == Spacing::Logarithmic && !(from > 0.0 && to > 0.0) {
        return Err(refuse("a logarithmic range needs ends above 0"));
    }
    let mut steps: Vec<(toml::Value, Span)> = Vec::new();
    for value in space(spacing, from, to, count as usize) {
        let value = if whole { Value::Integer(value.round() as i64) } else { Value::Float(value) };
        let item = Item { span: at.clone(), value };
        if let Some(complaint) = validate::check(shape, &item).into_iter().next() {
            return Err(complaint);
        }
        if steps.iter().all(|(known, _)| *known != item.plain()) {
            steps.push((item.plain(), at.clone()));
        }
    }
    Ok(steps)
}

/// Evenly spaced values. Twelve digits are kept, so that decades come out as decades.
fn space(spacing: Spacing, from: f64, to: f64, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1).max(1) as f64;
    let value = |step: usize| {
        let part = step as f64 / last;
        let exact = match spacing {
            _ if step == 0 => from,
            _ if step == count - 1 => to,
            Spacing::Linear => from + (to - from) * part,
            Spacing::Logarithmic => from * libm::pow(to / from, part),
        };
        format!("{exact:.11e}").parse().unwrap_or(exact)
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::super::tree::parse;
    use super::*;

    fn read(text: &str) -> (Sweep, Vec<Complaint>) {
        let mut schema = crate::catalogue().find("async-linucb").unwrap().schema().to_value();
        schema["properties"]["sizes"] =
            serde_json::json!({ "type": "array", "items": { "type": "integer" } });
        schema["properties"]["count"] = serde_json::json!({ "type": "integer", "minimum": 1 });
        let table = parse(&Source { name: "x".into(), text: text.into() }).unwrap();
        let mut complaints = Vec::new();
        let sweep = Sweep::read(&Record::from_schema(&schema), &table, &(0..0), &mut complaints);
        (sweep, complaints)
    }

    fn cells(text: &str) -> Vec<String> {
        let (sweep, complaints) = read(text);
        assert_eq!(complaints, [], "{text}");
        let swept = |cell: Cell| {
            let each = cell.swept.iter().map(|(key, value)| format!("{key}={value}"));
            each.collect::<Vec<_>>().join(" ")
        };
        sweep.cells().into_iter().map(swept).collect()
    }

    #[test]
    fn lists_and_ranges_make_a_grid_in_the_order_of_the_file() {
        assert_eq!(cells("ridge = 1"), [""]);
        assert_eq!(
            cells("upload_ratio = [2, inf]\nridge = { linspace = [0.5, 1.5, 3] }"),
            [
                "upload_ratio=2 ridge=0.5",
                "upload_ratio=2 ridge=1.0",
                "upload_ratio=2 ridge=1.5",
                "upload_ratio=inf ridge=0.5",
                "upload_ratio=inf ridge=1.0",
                "upload_ratio=inf ridge=1.5"
            ]
        );
        assert_eq!(cells("fidelity = [\"paper\", \"authors\"]").len(), 2);
        assert_eq!(cells("radius = { fixed = [0.1, 0.3] }"), ["radius.fixed=0.1", "radius.fixed=0.3"]);
        assert_eq!(cells("radius = [\"count\", { fixed = 0.5 }]").len(), 2);
    }

    #[test]
    fn decades_come_out_as_decades() {
        assert_eq!(space(Spacing::Logarithmic, 0.01, 1000.0, 6), [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(space(Spacing::Logarithmic, 5.0, 7.0, 1), [5.0]);
        assert_eq!(
            cells("count = { logspace = [1, 1000, 4] }"),
            ["count=1", "count=10", "count=100", "count=1000"]
        );
        // Whole numbers that coincide are one.
        assert_eq!(cells("count = { linspace = [1, 2, 5] }"), ["count=1", "count=2"]);
    }

    #[test]
    fn a_key_that_takes_a_list_is_not_swept_by_one() {
        assert_eq!(cells("sizes = [3, 4]"), [""]);
        assert_eq!(cells("sizes = [[3, 4], [5]]"), ["sizes=[3, 4]", "sizes=[5]"]);
        assert_eq!(cells("upload_ratio = { per_client = [2, 3] }"), [""]);
        assert_eq!(read("sizes = [3, \"x\"]").1[0].help, "must be a whole number");
        assert_eq!(read("sizes = [[3], [\"x\"]]").1[0].problem, "sizes: this is a list");
    }

    #[test]
    fn bad_sweeps_are_refused() {
        for (text, problem, help) in [
            ("ridge = []", "an empty list", "a sweep needs at least one value"),
            ("ridge = [1, -1]", "-1 is out of range", "must be a number above 0"),
            (
                "ridge = { logspace = [0, 1, 3] }",
                "a logarithmic range needs ends above 0",
                "write { logspace",
            ),
            ("ridge = { logspace = [1, 2] }", "this is no range", "write { logspace"),
            ("ridge = { linspace = [1, 2, 0.5] }", "the count must be a whole number of at least 1", "write"),
            ("ridge = { linspace = [-1, 2, 3] }", "-1 is out of range", "must be"),
            ("ridge = { logspce = [1, 2, 3] }", "this is a table", "did you mean { logspace"),
            (
                "fidelity = { logspace = [1, 2, 3] }",
                "`logspace` where no number is taken",
                "must be \"paper\"",
            ),
            ("ridge = { linspace = [1, inf, 3] }", "a range needs finite ends", "write"),
        ] {
            let complaints = read(text).1;
            assert_eq!(complaints.len(), 1, "{text}: {complaints:?}");
            let key = text.split(' ').next().unwrap_or_default();
            assert_eq!(complaints[0].problem, format!("{key}: {problem}"), "{text}");
            assert!(complaints[0].help.starts_with(help), "{text}: {}", complaints[0].help);
        }
        let grid = "ridge = { linspace = [1, 2, 200] }\nratio = { linspace = [1, 2, 200] }";
        assert_eq!(read(grid).1[0].problem, "this grid has 40000 cells");
    }

    #[test]
    fn each_cell_knows_where_its_values_stand() {
        let text = "ratio = [2, 0.5]\nradius = { fixed = 1 }";
        let cells = read(text).0.cells();
        assert_eq!(&text[cells[1].span("ratio").unwrap().clone()], "0.5");
        assert_eq!(&text[cells[1].span("upload_ratio").unwrap().clone()], "0.5");
        assert_eq!(&text[cells[0].span("radius.fixed").unwrap().clone()], "1");
        assert_eq!(cells[0].span("ridge"), None);
    }
}
