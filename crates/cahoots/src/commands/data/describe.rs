//! `cahoots data describe`: a table of one's own, and the experiment that it makes.

use std::path::{Path, PathBuf};

use cahoots_data::rows::{Delimiter, Encoding, Kind, Ragged};
use cahoots_data::table::describe::{Description, Outcome};
use cahoots_data::table::{Context, Form, Profile, TableParams};
use cahoots_lab::LabError;
use serde_json::{Value as Json, json};

use crate::print;

/// Show what would be made of a table of your own, and write an experiment for it.
///
/// Reads a CSV file (commas, semicolons, tabs or pipes; plain or gzipped) or a Parquet file of any size. Which column is
/// the client, the label or the arm is guessed from names and values unless it is said.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The table.
    file: PathBuf,
    /// Column whose every value is a client.
    #[arg(long, value_name = "COLUMN")]
    client: Option<String>,
    /// Deal rows out to so many clients instead.
    #[arg(long, value_name = "N", conflicts_with = "client")]
    clients: Option<usize>,
    /// Column of the right answer: every value becomes an arm.
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Column of the arm that was liked; with --arms.
    #[arg(long, value_name = "COLUMN", requires = "arms", conflicts_with = "label")]
    arm: Option<String>,
    /// Column of what that arm pays [default: 1].
    #[arg(long, value_name = "COLUMN", requires = "arms")]
    reward: Option<String>,
    /// A second file with the features of every arm.
    #[arg(long, value_name = "FILE")]
    arms: Option<PathBuf>,
    /// Columns that a client sees before it decides [default: all that fit].
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    context: Option<Vec<String>>,
    /// What stands between cells [default: found].
    #[arg(long, value_name = "NAME", value_parser = ["comma", "semicolon", "tab", "pipe", "space"])]
    delimiter: Option<String>,
    /// How letters are written [default: found].
    #[arg(long, value_name = "NAME", value_parser = ["utf-8", "latin-1"])]
    encoding: Option<String>,
    /// Whether the first line names the columns [default: found].
    #[arg(long, value_name = "YES")]
    header: Option<bool>,
    /// Leave out rows with more or fewer cells than the first, instead of refusing the file.
    #[arg(long)]
    skip_ragged: bool,
    /// Write the experiment to a file instead of showing it.
    #[arg(long, value_name = "FILE.toml")]
    write: Option<PathBuf>,
    /// Replace the file that --write names.
    #[arg(long, requires = "write")]
    force: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots data describe visits.csv                                   what is in it, and an experiment
  cahoots data describe visits.csv --label outcome --client clinic --write visits.toml
  cahoots run visits.toml                                            ... which runs as it stands
  cahoots data describe likes.csv --arms films.csv --arm film --client user
  cahoots data describe old.csv --encoding latin-1 --header false    columns are then c1, c2 and so on";

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    if let Some(path) = args.write.as_ref().filter(|path| !args.force && path.exists()) {
        return Err(LabError::Input(format!(
            "{} is there already: name another file, or add --force to replace it",
            path.display()
        )));
    }
    let params = params(args);
    let description = Description::of(&params).map_err(|error| LabError::Input(error.to_string()))?;
    let experiment = description.outcome.is_ok().then(|| experiment(args, &description)).transpose()?;
    if let (Some(path), Some(text)) = (&args.write, &experiment) {
        cahoots_lab::files::write(path, text.as_bytes())?;
    }
    if args.json {
        print::out(&(in_json(&description, experiment.as_deref()).to_string() + "\n"))?;
    } else {
        print::out(&in_words(args, &description, experiment.as_deref()))?;
    }
    // A file that was asked for and cannot be written is a failure; a table that is only looked at is none.
    match (&description.outcome, &args.write) {
        (Err(error), Some(_)) => Err(LabError::Input(error.to_string())),
        _ => Ok(()),
    }
}

fn params(args: &Args) -> TableParams {
    let delimiters =
        [Delimiter::Comma, Delimiter::Semicolon, Delimiter::Tab, Delimiter::Pipe, Delimiter::Space];
    let delimiter = args.delimiter.as_deref();
    TableParams {
        file: args.file.display().to_string(),
        client: args.client.clone(),
        clients: args.clients,
        label: args.label.clone(),
        arm: args.arm.clone(),
        reward: args.reward.clone(),
        arms_file: args.arms.as_ref().map(|path| path.display().to_string()),
        context: args.context.clone().map_or(TableParams::default().context, Context::Columns),
        delimiter: delimiters.into_iter().find(|known| Some(known.name()) == delimiter),
        encoding: args.encoding.as_deref().map(|name| match name {
            "latin-1" => Encoding::Latin1,
            _ => Encoding::Utf8,
        }),
        header: args.header,
        ragged: if args.skip_ragged { Ragged::Skip } else { Ragged::Refuse },
        ..TableParams::default()
    }
}

/// The experiment, with paths that are right where it will be.
fn experiment(args: &Args, description: &Description) -> Result<String, LabError> {
    let beside = |path: &Path| -> Result<String, LabError> {
        let folder = args.write.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let named = match path.strip_prefix(folder) {
            Ok(within) => within.to_path_buf(),
            Err(_) => std::path::absolute(path)
                .map_err(|error| LabError::Failed(format!("cannot find {}: {error}", path.display())))?,
        };
        Ok(named.display().to_string())
    };
    let name = args.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.split('.').next().filter(|name| !name.is_empty()).unwrap_or("table").to_owned();
    let arms = args.arms.as_deref().map(beside).transpose()?;
    Ok(description.experiment(&name, &beside(&args.file)?, arms.as_deref()))
}

fn kind(profile: &Profile) -> &'static str {
    match profile {
        profile if profile.held == 0 => "empty",
        profile if !profile.is_numeric() => "text",
        profile if profile.whole => "whole number",
        _ => "number",
    }
}

/// What a column is for.
fn role(description: &Description, name: &str) -> String {
    let params = &description.params;
    let roles = [
        ("client", &params.client),
        ("label", &params.label),
        ("arm", &params.arm),
        ("reward", &params.reward),
        ("offered", &params.offered),
    ];
    if let Some((role, _)) = roles.into_iter().find(|(_, column)| column.as_deref() == Some(name)) {
        return role.into();
    }
    match &params.context {
        Context::Columns(columns) if columns.iter().any(|column| column == name) => "context".into(),
        _ => {
            let reason = description.left_out.iter().find(|(column, _)| column == name);
            reason.map_or("-".into(), |(_, reason)| format!("- ({reason})"))
        }
    }
}

fn in_words(args: &Args, description: &Description, experiment: Option<&str>) -> String {
    let Description { rows, skipped, unread, columns, .. } = description;
    let mut out = format!("{}: {}, {rows} rows", args.file.display(), form_of_file(description));
    if *skipped > 0 {
        out += &format!(", {skipped} more left out because they have more or fewer cells than the first");
    }
    out += "\n\n";
    let heading = ["column", "holds", "missing", "different", "from", "to", "becomes"];
    let mut table = vec![heading.map(String::from).to_vec()];
    for column in columns {
        let (from, to) = match column {
            column if column.is_numeric() => (column.range.0.to_string(), column.range.1.to_string()),
            column => ends(column),
        };
        let different = column.distinct().map_or("more than 10000".into(), |count| count.to_string());
        let role = role(description, &column.name);
        table.push(vec![
            column.name.clone(),
            kind(column).into(),
            column.missing.to_string(),
            different,
            from,
            to,
            role,
        ]);
    }
    out += &print::columns(&table);
    if !unread.is_empty() {
        out += &format!("\nNot read (nested, or raw bytes): {}\n", unread.join(", "));
    }
    out.push('\n');
    match &description.outcome {
        Ok(outcome) => out += &outcome_in_words(description, outcome),
        Err(error) => {
            out += &format!("No experiment can be made of it as it is:\n  {error}\n");
            if !matches!(description.params.form, Form::Logged) {
                out += "`cahoots help data describe` shows how to say which column is what.\n";
            }
        }
    }
    match (experiment, &args.write) {
        (Some(_), Some(path)) => {
            out += &format!("\nWritten to {0}. Run it: cahoots run {0}\n", path.display())
        }
        (Some(text), None) => out += &format!("\nAn experiment (--write FILE.toml keeps it):\n\n{text}"),
        (None, _) => {}
    }
    out
}

/// The first and the last value, in short.
fn ends(column: &Profile) -> (String, String) {
    let short = |text: &str| {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match line.char_indices().nth(16) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None => line,
        }
    };
    match column.values().as_deref() {
        Some([(first, _), .., (last, _)]) => (short(first), short(last)),
        Some([(only, _)]) => (short(only), short(only)),
        _ => ("-".into(), "-".into()),
    }
}

/// Why rows are not among the decisions.
fn left_out(description: &Description) -> String {
    let params = &description.params;
    match (params.labels, &params.label) {
        (Some(labels), Some(label)) => {
            format!("rows whose `{label}` is not among the {labels} most frequent, or with empty cells")
        }
        _ => "rows with empty cells".into(),
    }
}

fn outcome_in_words(description: &Description, outcome: &Outcome) -> String {
    let Outcome { rows, shape, arms, arm_count, .. } = outcome;
    let params = &description.params;
    let mut out = match (&params.label, &params.arm) {
        (Some(label), _) => {
            format!("As classification: every value of `{label}` is an arm, the right one pays 1.\n")
        }
        (_, Some(arm)) => format!("As arms: the one that `{arm}` names pays, all others on offer pay 0.\n"),
        _ => String::new(),
    };
    let more = if *arm_count > arms.len() { ", ..." } else { "" };
    let clients = match (&params.client, outcome.rows_per_client) {
        (Some(column), Some((least, most))) => {
            format!("one per value of `{column}`, with {least} to {most} rows")
        }
        (Some(column), None) => format!("one per value of `{column}`"),
        (None, _) => "rows are dealt out to them in turn; --client COLUMN names a column".into(),
    };
    let mut lines = vec![
        vec!["decisions".into(), rows.to_string(), "one per row".into()],
        vec!["  left out".into(), (description.rows - rows).to_string(), left_out(description)],
        vec!["clients".into(), shape.clients.to_string(), clients],
        vec!["arms".into(), arm_count.to_string(), format!("{}{more}", arms.join(", "))],
        vec![
            "  features".into(),
            shape.dim.to_string(),
            "of an arm: context times arm, with a constant".into(),
        ],
    ];
    if let Some((label, part)) = &outcome.most_frequent {
        let says = format!("what always answering `{label}` earns per decision: learning must beat it");
        lines.push(vec!["to beat".into(), format!("{part:.3}"), says]);
    }
    lines.retain(|line| line[0] != "  left out" || description.rows > *rows);
    out += &print::columns(&lines);
    if shape.clients == 1 {
        out += "\nOne client has nobody to learn from: --clients N deals rows out.\n";
    }
    if outcome.rows_per_client.is_some_and(|(least, _)| least == 1) {
        out += "\nSome clients have one row: alone they learn nothing, which is what federation is for.\n";
    }
    out
}

fn form_of_file(description: &Description) -> String {
    let packed = if description.found.gzip { ", gzipped" } else { "" };
    match description.found.kind {
        Kind::Parquet => "Parquet".into(),
        Kind::Text { delimiter, header } => {
            let header = if header { "a header" } else { "no header" };
            format!("text with {} between cells and {header}{packed}", delimiter.name())
        }
    }
}

fn in_json(description: &Description, experiment: Option<&str>) -> Json {
    let columns = description.columns.iter().map(|column| {
        let numeric = column.is_numeric();
        json!({
            "name": column.name,
            "holds": kind(column),
            "missing": column.missing,
            "distinct": column.distinct(),
            "min": numeric.then_some(column.range.0),
            "max": numeric.then_some(column.range.1),
            "mean": numeric.then(|| column.mean()),
            "role": role(description, &column.name).split(" (").next().filter(|role| *role != "-"),
        })
    });
    let outcome = description.outcome.as_ref();
    json!({
        "rows": description.rows,
        "skipped": description.skipped,
        "unread": description.unread,
        "columns": columns.collect::<Vec<_>>(),
        "decisions": outcome.ok().map(|outcome| outcome.rows),
        "clients": outcome.ok().map(|outcome| outcome.shape.clients),
        "arms": outcome.ok().map(|outcome| outcome.arm_count),
        "dim": outcome.ok().map(|outcome| outcome.shape.dim),
        "most_frequent": outcome.ok().and_then(|outcome| outcome.most_frequent.as_ref()).map(|(_, part)| part),
        "problem": outcome.err().map(ToString::to_string),
        "experiment": experiment,
    })
}
