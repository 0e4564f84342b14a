//! The sections of a file, each compared with what it may hold.

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;

use super::shape::{Field, Range, Record, Shape};
use super::source::{Complaint, Source, Span};
use super::sweep::Sweep;
use super::tree::{Entry, Item, Table, Value};
use super::{suggest, tree, validate};

/// What a horizon counts.
pub(super) const TICKS: &str = "Ticks of a run. At a tick, as many clients decide as `arrivals` says: one unless it says \
     otherwise, so that there are as many decisions as ticks; with \"all\", each of them. May be left out where the world is \
     made of data: all of them then.";

/// Seeds where a file names none.
const SEEDS: u64 = 10;

/// Seeds of one experiment, at most.
const MOST_SEEDS: f64 = 1e6;

/// A file, section by section.
pub(super) struct Sections {
    pub name: String,
    pub title: Option<String>,
    pub seeds: Vec<u64>,
    /// Keys above the first section that may be swept.
    pub top: Sweep,
    /// Where a key is missed that should be there.
    pub top_span: Span,
    /// The environment as each of its kinds reads it: one, unless `kind` is swept.
    pub environments: Vec<(String, Sweep)>,
    pub environment_span: Span,
    pub network: Sweep,
    pub network_span: Span,
    pub rewards: Sweep,
    pub rewards_span: Span,
    pub blocks: Vec<Block>,
}

/// One `[[algorithm]]`.
pub(super) struct Block {
    pub kind: String,
    pub kind_span: Span,
    pub label: Option<String>,
    /// Where its label stands, or its kind.
    pub name_span: Span,
    pub span: Span,
    /// Its keys but `kind` and `label`.
    pub table: Table,
    pub sweep: Sweep,
}

/// The keys above the first section.
pub(super) fn top() -> Record {
    let positive = Shape::Integer(Range { min: Some(1.0), ..Range::default() });
    let count = Shape::Integer(Range { min: Some(1.0), max: Some(MOST_SEEDS), ..Range::default() });
    let list = Shape::List(Box::new(Shape::Integer(Range { min: Some(0.0), ..Range::default() })));
    let field = |key: &str, shape, required, purpose: &str| Field {
        key: key.into(),
        shape,
        required,
        default: (key == "seeds").then(|| SEEDS.into()),
        purpose: purpose.into(),
    };
    let fields = vec![
        field("name", Shape::Text, false, "Names the folder of the results; the file's name when absent."),
        field("title", Shape::Text, false, "A line for the figures."),
        field("horizon", positive, false, TICKS),
        field(
            "seeds",
            Shape::Union(vec![count, list]),
            false,
            "How many runs of each entry, or a list of seeds.",
        ),
    ];
    Record { fields, open: false }
}

/// Reads a file as far as it can be read without building anything.
pub(super) fn read(catalogue: &Catalogue, source: &Source) -> Result<Sections, Vec<Complaint>> {
    let root = tree::parse(source)?;
    if root.entries.is_empty() {
        let help = "an experiment needs a horizon, an [environment] and an [[algorithm]]";
        return Err(vec![Complaint::new(&(0..0), "this file is empty", help)]);
    }
    let mut complaints = Vec::new();
    let top = top();
    const SECTIONS: [&str; 4] = ["environment", "network", "rewards", "algorithm"];
    let known: Vec<&str> = top.keys().chain(SECTIONS).collect();
    for entry in root.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
        let remedy = suggest::remedy(&entry.key, known.iter().copied());
        complaints.push(Complaint::new(&entry.key_span, format!("unknown key `{}`", entry.key), remedy));
    }
    let mut text = |key: &str| {
        plain(&top, &root, key, &mut complaints).and_then(|item| match &item.value {
            Value::Text(text) => Some((text.clone(), item.span.clone())),
            _ => None,
        })
    };
    let (name, title) = (text("name"), text("title"));
    let name = match name {
        Some((name, span)) => {
            complaints.extend(bad_name(&name, &span));
            name
        }
        None => stem(&source.name),
    };
    let seeds = seeds(&top, &root, &mut complaints);
    let horizon = Record {
        fields: top.fields.into_iter().filter(|field| field.key == "horizon").collect(),
        open: true,
    };
    let above = root.without(&["name", "title", "seeds", "environment", "network", "rewards", "algorithm"]);
    let first = root.entries.first().map_or(0..0, |entry| entry.key_span.clone());
    let top = Sweep::read(&horizon, &above, &first, &mut complaints);

    let (environments, environment_span) = environments(catalogue, &root, &first, &mut complaints);
    let network_schema = schemars::schema_for!(Network).to_value();
    let rewards_schema = schemars::schema_for!(Rewards).to_value();
    let (network, network_span) = optional(&root, "network", &network_schema, &mut complaints);
    let (rewards, rewards_span) = optional(&root, "rewards", &rewards_schema, &mut complaints);
    let blocks = algorithms(catalogue, &root, &first, &mut complaints);
    if !complaints.is_empty() {
        return Err(complaints);
    }
    Ok(Sections {
        name,
        title: title.map(|(title, _)| title),
        seeds,
        top,
        top_span: first,
        environments,
        environment_span,
        network,
        network_span,
        rewards,
        rewards_span,
        blocks,
    })
}

/// A key above the first section that cannot be swept.
fn plain<'a>(top: &Record, root: &'a Table, key: &str, complaints: &mut Vec<Complaint>) -> Option<&'a Item> {
    let item = &root.get(key)?.item;
    let mut problems = validate::check(&top.field(key)?.shape, item);
    for problem in &mut problems {
        problem.problem = format!("{key}: {}", problem.problem);
    }
    let fits = problems.is_empty();
    complaints.extend(problems);
    fits.then_some(item)
}

fn bad_name(name: &str, span: &Span) -> Option<Complaint> {
    let safe = name.chars().all(|c| c.is_alphanumeric() || "-_. +".contains(c));
    let bad = name.trim().is_empty() || name.starts_with(['.', '-']) || name != name.trim() || !safe;
    let help = "it names a folder: letters, digits, spaces and -_.+";
    bad.then(|| Complaint::new(span, format!("{name:?} cannot be a name"), help))
}

fn stem(file: &str) -> String {
    let stem =
        std::path::Path::new(file).file_stem().map_or("experiment".into(), |stem| stem.to_string_lossy());
    if bad_name(&stem, &(0..0)).is_some() { "experiment".into() } else { stem.into_owned() }
}

fn seeds(top: &Record, root: &Table, complaints: &mut Vec<Complaint>) -> Vec<u64> {
    let Some(item) = plain(top, root, "seeds", complaints) else { return (0..SEEDS).collect() };
    let number = |item: &Item| match item.value {
        Value::Integer(number) => u64::try_from(number).unwrap_or_default(),
        _ => 0,
    };
    let Value::List(items) = &item.value else { return (0..number(item)).collect() };
    if items.is_empty() {
        complaints.push(Complaint::new(&item.span, "an empty list", "name at least one seed"));
    }
    let mut seeds: Vec<u64> = Vec::new();
    for item in items {
        if seeds.contains(&number(item)) {
            complaints.push(Complaint::new(
                &item.span,
                format!("seed {} is there twice", number(item)),
                "leave one out",
            ));
        }
        seeds.push(number(item));
    }
    seeds
}

fn environments(
    catalogue: &Catalogue,
    root: &Table,
    first: &Span,
    complaints: &mut Vec<Complaint>,
) -> (Vec<(String, Sweep)>, Span) {
    let names: Vec<&str> = catalogue.worlds.names().collect();
    let Some(entry) = root.get("environment") else {
        let help = "add [environment] with a kind; `cahoots environments` lists them";
        complaints.push(Complaint::new(first, "there is no [environment]", help));
        return (Vec::new(), first.clone());
    };
    let Some((table, span)) = section(entry, complaints) else { return (Vec::new(), entry.key_span.clone()) };
    let mut all = Vec::new();
    for (kind, _) in kinds(table, &span, &names, "environment", complaints) {
        let Some(known) = catalogue.worlds.get(&kind) else { continue };
        let record = Record::from_schema(known.schema().as_value());
        let sweep = Sweep::read(&record, &table.without(&["kind"]), &span, complaints);
        hint_misplaced(table, &record, &["kind"], complaints);
        all.push((kind, sweep));
    }
    (all, span)
}

fn optional(
    root: &Table,
    key: &str,
    schema: &serde_json::Value,
    complaints: &mut Vec<Complaint>,
) -> (Sweep, Span) {
    let Some(entry) = root.get(key) else { return (Sweep::default(), 0..0) };
    let Some((table, span)) = section(entry, complaints) else {
        return (Sweep::default(), entry.key_span.clone());
    };
    let record = Record::from_schema(schema);
    let sweep = Sweep::read(&record, table, &span, complaints);
    hint_misplaced(table, &record, &[], complaints);
    (sweep, span)
}

fn algorithms(
    catalogue: &Catalogue,
    root: &Table,
    first: &Span,
    complaints: &mut Vec<Complaint>,
) -> Vec<Block> {
    let Some(entry) = root.get("algorithm") else {
        let help = "add at least one: [[algorithm]] with kind = \"async-linucb\"";
        complaints.push(Complaint::new(first, "there is no [[algorithm]]", help));
        return Vec::new();
    };
    let tables: Option<Vec<(&Table, Span)>> = match &entry.item.value {
        Value::List(items) if !items.is_empty() => items
            .iter()
            .map(|item| match &item.value {
                Value::Table(table) => Some((table, item.span.clone())),
                _ => None,
            })
            .collect(),
        _ => None,
    };
    let Some(tables) = tables else {
        let help = "write [[algorithm]], with two brackets: there may be several";
        complaints.push(Complaint::new(&entry.key_span, "`algorithm` must be a list of tables", help));
        return Vec::new();
    };
    tables.into_iter().flat_map(|(table, span)| block(catalogue, table, &span, complaints)).collect()
}

/// The block, once for each of its kinds.
fn block(catalogue: &Catalogue, table: &Table, span: &Span, complaints: &mut Vec<Complaint>) -> Vec<Block> {
    let names: Vec<&str> = catalogue.algorithms.names().collect();
    let kinds = kinds(table, span, &names, "algorithm", complaints);
    let label = table.get("label").and_then(|entry| match &entry.item.value {
        Value::Text(text) if !text.trim().is_empty() => Some((text.clone(), entry.item.span.clone())),
        _ => {
            complaints.push(Complaint::new(
                &entry.item.span,
                "this is no label",
                "must be a string that is not empty",
            ));
            None
        }
    });
    let keys = table.without(&["kind", "label"]);
    let several = kinds.len() > 1;
    let one = |(kind, kind_span): (String, Span)| {
        let record = Record::from_schema(catalogue.algorithms.get(&kind)?.schema().as_value());
        let sweep = Sweep::read(&record, &keys, span, complaints);
        hint_misplaced(table, &record, &["kind", "label"], complaints);
        let name_span = label.as_ref().map_or(kind_span.clone(), |(_, span)| span.clone());
        let label =
            label.as_ref().map(|(text, _)| if several { format!("{text} {kind}") } else { text.clone() });
        Some(Block { kind, kind_span, label, name_span, span: span.clone(), table: keys.clone(), sweep })
    };
    kinds.into_iter().filter_map(one).collect()
}

fn section<'a>(entry: &'a Entry, complaints: &mut Vec<Complaint>) -> Option<(&'a Table, Span)> {
    if let Value::Table(table) = &entry.item.value {
        return Some((table, entry.item.span.clone()));
    }
    let help = format!("write [{}], and its keys below", entry.key);
    complaints.push(Complaint::new(&entry.item.span, format!("`{}` must be a section", entry.key), help));
    None
}

/// The kinds that a section names: one, or a list of them, which is a sweep.
fn kinds(
    table: &Table,
    span: &Span,
    known: &[&str],
    what: &str,
    complaints: &mut Vec<Complaint>,
) -> Vec<(String, Span)> {
    let listed = format!("`cahoots {what}s` lists them");
    let Some(entry) = table.get("kind") else {
        let help = format!("add kind = \"...\"; {listed}");
        complaints.push(Complaint::new(span, format!("this {what} has no `kind`"), help));
        return Vec::new();
    };
    let items = match &entry.item.value {
        Value::List(items) if !items.is_empty() => items.as_slice(),
        _ => std::slice::from_ref(&entry.item),
    };
    let mut kinds: Vec<(String, Span)> = Vec::new();
    for item in items {
        let at = &item.span;
        match &item.value {
            Value::Text(text) if kinds.iter().any(|(kind, _)| kind == text) => {
                complaints.push(Complaint::new(at, format!("{text:?} is there twice"), "leave one out"));
            }
            Value::Text(text) if known.contains(&text.as_str()) => kinds.push((text.clone(), at.clone())),
            Value::Text(text) => {
                let near = suggest::nearest(text, known);
                let help = near.map_or_else(|| listed.clone(), |near| format!("did you mean {near:?}?"));
                complaints.push(Complaint::new(at, format!("there is no {what} {text:?}"), help));
            }
            _ => {
                let help = format!("must be the name of one; {listed}");
                complaints.push(Complaint::new(at, format!("kind: this is {}", item.kind()), help));
            }
        }
    }
    kinds
}

/// A key of the top of the file that landed in a section gets a better remedy.
fn hint_misplaced(table: &Table, record: &Record, own: &[&str], complaints: &mut [Complaint]) {
    let top = top();
    for entry in &table.entries {
        let stray = record.field(&entry.key).is_none() && !own.contains(&entry.key.as_str());
        if stray
            && top.field(&entry.key).is_some()
            && let Some(complaint) = complaints.iter_mut().find(|complaint| complaint.span == entry.key_span)
        {
            complaint.help = format!("`{}` belongs above the first [section]", entry.key);
        }
    }
}
