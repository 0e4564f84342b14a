//! What would be made of a table: its columns, what they look like, and an experiment to begin with.

use std::fmt::Write as _;
use std::path::Path;

use cahoots_core::ParamError;
use cahoots_sim::files::Here;
use cahoots_sim::world::WorldKind as _;

use super::keys::{Context, Form, MOST_ARMS, MOST_FEATURES, Order, TableParams};
use super::profile::Profile;
use super::world::Shape;
use crate::rows::{Found, RowError, Rows};

/// Values of a column that are told apart.
const MOST_VALUES: usize = 10_000;
/// More values than this are hardly labels, unless somebody says so.
const USUAL_LABELS: usize = 50;

const CLIENTS: [&str; 15] = [
    "client",
    "client_id",
    "clientid",
    "user",
    "user_id",
    "userid",
    "customer",
    "customer_id",
    "site",
    "site_id",
    "shop",
    "store",
    "hospital",
    "clinic",
    "account",
];
const LABELS: [&str; 10] =
    ["label", "labels", "class", "target", "y", "outcome", "category", "species", "diagnosis", "kind"];
const ARMS: [&str; 7] = ["arm", "action", "item", "item_id", "movie_id", "product", "article"];
const REWARDS: [&str; 6] = ["reward", "click", "clicked", "rating", "payoff", "cost"];
const PROPENSITIES: [&str; 6] =
    ["propensity", "propensity_score", "pscore", "prob", "probability", "logging_probability"];

/// A table, and what could be made of it.
#[derive(Clone, Debug)]
pub struct Description {
    /// What the file turned out to be.
    pub found: Found,
    /// Rows that could be read.
    pub rows: u64,
    /// Rows with more or fewer cells than the first, which were left out.
    pub skipped: u64,
    /// Columns that cannot be read.
    pub unread: Vec<String>,
    /// What each column holds.
    pub columns: Vec<Profile>,
    /// The keys that fit it, as far as can be told.
    pub params: TableParams,
    /// Why columns are not part of the context, where that is not their role.
    pub left_out: Vec<(String, &'static str)>,
    /// What a run would be made of, or why there can be none.
    pub outcome: Result<Outcome, ParamError>,
}

/// What a run would be made of.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Rows, each of which comes once.
    pub rows: u64,
    /// Clients, arms on offer, features.
    pub shape: Shape,
    /// Names of the first arms.
    pub arms: Vec<String>,
    /// How many there are.
    pub arm_count: usize,
    /// The most frequent label, and the part of these rows that has it: what is earned without learning.
    pub most_frequent: Option<(String, f64)>,
    /// The fewest and the most of these rows that a client has, where a column says.
    pub rows_per_client: Option<(u64, u64)>,
}

impl Description {
    /// Of a file, with what is known of its columns already: roles that `params` names are taken, others are guessed.
    pub fn of(params: &TableParams) -> Result<Description, RowError> {
        let mut rows = Rows::open(Path::new(&params.file), &params.format())?;
        for (_, name) in named(params) {
            rows.column(name)?;
        }
        let mut columns: Vec<Profile> =
            rows.columns().iter().map(|name| Profile::new(name, MOST_VALUES)).collect();
        let mut count = 0;
        while let Some(row) = rows.next_row()? {
            count += 1;
            for (column, profile) in columns.iter_mut().enumerate() {
                profile.add(&row, column)?;
            }
        }
        let (found, skipped, unread) = (rows.found(), rows.skipped(), rows.unread().to_vec());
        let (params, left_out) = guess(params, &columns, count);
        let outcome = Outcome::of(&params);
        Ok(Description { found, rows: count, skipped, unread, columns, params, left_out, outcome })
    }

    /// An experiment that a run takes as it stands; `file` is how it names the table.
    pub fn experiment(&self, name: &str, file: &str, arms_file: Option<&str>) -> String {
        let params = &self.params;
        let quoted = |text: &str| toml_text(text);
        let rows = self.outcome.as_ref().map_or(self.rows, |outcome| outcome.rows);
        let mut text = format!("name = {}\nhorizon = {}\nseeds = 3\n\n", quoted(name), rows.min(20_000));
        text += "[environment]\nkind = \"table\"\n";
        let _ = writeln!(text, "file = {}", quoted(file));
        if params.form == Form::Arms {
            text += "form = \"arms\"\n";
        }
        for (key, column) in named(params) {
            let _ = writeln!(text, "{key} = {}", quoted(column));
        }
        if let Some(file) = arms_file {
            let _ = writeln!(text, "arms_file = {}", quoted(file));
        }
        let numbers = [("labels", params.labels), ("pool", params.pool), ("clients", params.clients)];
        for (key, number) in numbers {
            if let Some(number) = number {
                let _ = writeln!(text, "{key} = {number}");
            }
        }
        if let Context::Columns(columns) = &params.context {
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            let _ = writeln!(text, "context = [{}]", columns.join(", "));
        }
        if params.order == Order::File {
            text += "order = \"file\"\n";
        }
        for (key, word) in [
            ("delimiter", params.delimiter.map(|delimiter| format!("\"{}\"", delimiter.name()))),
            ("encoding", params.encoding.map(|encoding| format!("\"{}\"", encoding.name()))),
            ("header", params.header.map(|header| header.to_string())),
            ("ragged", (params.ragged != Default::default()).then(|| "\"skip\"".into())),
            ("missing", (params.missing != Default::default()).then(|| "\"skip\"".into())),
        ] {
            if let Some(word) = word {
                let _ = writeln!(text, "{key} = {word}");
            }
        }
        text += "\n# Every client alone, all as one, and all together by sending sums now and then.\n";
        for kind in ["linucb-alone", "linucb-shared", "async-linucb"] {
            let _ = write!(text, "[[algorithm]]\nkind = \"{kind}\"\nradius = {{ fixed = 0.3 }}\n\n");
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

/// A basic string of TOML.
fn toml_text(text: &str) -> String {
    let mut out = "\"".to_owned();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// Roles that keys name, with their columns.
fn named(params: &TableParams) -> impl Iterator<Item = (&'static str, &str)> {
    let roles = [
        ("label", &params.label),
        ("arm", &params.arm),
        ("reward", &params.reward),
        ("offered", &params.offered),
        ("client", &params.client),
    ];
    roles.into_iter().filter_map(|(key, column)| Some((key, column.as_deref()?)))
}

/// The keys with what was not said: roles by the names of columns, and by what is in them.
fn guess(params: &TableParams, columns: &[Profile], rows: u64) -> (TableParams, Vec<(String, &'static str)>) {
    let mut params = params.clone();
    let called = |names: &[&str], taken: &[&str]| {
        let plain = |text: &str| text.trim().to_lowercase().replace([' ', '-', '.'], "_");
        let mut found = names.iter().filter_map(|name| {
            columns
                .iter()
                .find(|column| plain(&column.name) == *name && !taken.contains(&column.name.as_str()))
        });
        found.next()
    };
    let logged = called(&PROPENSITIES, &[]).is_some() && called(&REWARDS, &[]).is_some();
    if logged && params.label.is_none() && params.arm.is_none() {
        params.form = Form::Logged;
        return (params, Vec::new());
    }
    if params.arms_file.is_some() || params.arm.is_some() {
        params.form = Form::Arms;
        params.arm = params.arm.or_else(|| called(&ARMS, &[]).map(|column| column.name.clone()));
    }
    if params.client.is_none() && params.clients.is_none() {
        let taken: Vec<&str> = named(&params).map(|(_, column)| column).collect();
        let client = called(&CLIENTS, &taken).filter(|column| {
            // Who comes once has nothing to learn from.
            column.missing == 0 && column.distinct().is_none_or(|count| count > 1 && count as u64 * 2 <= rows)
        });
        params.client = client.map(|column| column.name.clone());
    }
    if params.form == Form::Classification && params.label.is_none() {
        let taken = params.client.clone().unwrap_or_default();
        let usable = |column: &&Profile| {
            let few = column.distinct().is_some_and(|count| (2..=USUAL_LABELS).contains(&count));
            few && column.name != taken && column.missing * 2 < rows
        };
        let label = called(&LABELS, &[&taken]).or_else(|| columns.iter().rev().find(usable));
        params.label = label.map(|column| column.name.clone());
    }
    if params.client.is_none() && params.clients.is_none() {
        params.clients = Some(10.min(rows.max(1)) as usize);
    }
    let (context, left_out) = context(&params, columns, rows);
    if params.form == Form::Classification && params.context == TableParams::default().context {
        params.context = Context::Columns(context);
    }
    if params.missing == Default::default()
        && named(&params)
            .any(|(_, name)| columns.iter().any(|column| column.name == name && column.missing > 0))
    {
        params.missing = super::Missing::Skip;
    }
    fewer_labels(&mut params, columns);
    (params, left_out)
}

/// Columns that can be part of a context, and those that cannot with the reason.
fn context(
    params: &TableParams,
    columns: &[Profile],
    rows: u64,
) -> (Vec<String>, Vec<(String, &'static str)>) {
    let (mut context, mut left_out) = (Vec::new(), Vec::new());
    for column in columns {
        if named(params).any(|(_, name)| name == column.name) {
            continue;
        }
        let distinct = column.distinct();
        let numeric = column.is_numeric() && !params.categories.contains(&column.name);
        let reason = if column.held == 0 {
            "empty"
        } else if column.not_finite.is_some() {
            "holds numbers that are not finite"
        } else if distinct == Some(1) && column.missing == 0 {
            "the same in every row"
        } else if !numeric && distinct.is_none_or(|count| count > params.levels) {
            "too many different texts"
        } else if column.whole && rows > 20 && counts_rows(column, rows) {
            "an index?"
        } else {
            context.push(column.name.clone());
            continue;
        };
        left_out.push((column.name.clone(), reason));
    }
    (context, left_out)
}

/// Whether a column has the numbers from one to another, each once.
fn counts_rows(column: &Profile, rows: u64) -> bool {
    let (least, most) = column.range;
    column.is_numeric()
        && column.missing == 0
        && most - least + 1.0 == rows as f64
        && column.distinct().is_none_or(|count| count as u64 == rows)
}

/// Keeps the most frequent labels where all would be too many to learn from.
fn fewer_labels(params: &mut TableParams, columns: &[Profile]) {
    let Some(label) = columns.iter().find(|column| Some(&column.name) == params.label.as_ref()) else {
        return;
    };
    let Context::Columns(context) = &params.context else { return };
    let width = |name: &String| {
        let column = columns.iter().find(|column| column.name == *name);
        column.map_or(0, |column| if column.is_numeric() { 1 } else { column.distinct().unwrap_or(0) + 1 })
    };
    let features = 1 + context.iter().map(width).sum::<usize>();
    let most = (MOST_FEATURES / features).clamp(2, MOST_ARMS);
    if params.labels.is_none() && label.distinct().is_none_or(|count| count > most) {
        params.labels = Some(most.min(20));
    }
}

impl Outcome {
    fn of(params: &TableParams) -> Result<Outcome, ParamError> {
        let read = params.clone().read_files(&Here)?;
        let table = read.table()?;
        let meta = table.meta();
        // Rows may have been left out: only those that were kept count.
        let (clients, arms) = table.counts().map_err(|error| {
            ParamError::new("file", format!("its rows cannot be read back ({error}): run again"))
        })?;
        let most_frequent = params.label.as_ref().and_then(|_| {
            // Of equally frequent ones the first.
            let (label, count) = meta.arms.iter().zip(arms).rev().max_by_key(|(_, count)| *count)?;
            Some((label.clone(), count as f64 / meta.rows as f64))
        });
        let rows_per_client = meta.clients.and_then(|_| {
            let counts = clients.iter().copied();
            Some((counts.clone().min()?, counts.max()?))
        });
        Ok(Outcome {
            rows: meta.rows,
            shape: Shape::of(&read, meta)?,
            arms: meta.arms.iter().take(20).cloned().collect(),
            arm_count: meta.arms.len(),
            most_frequent,
            rows_per_client,
        })
    }
}
