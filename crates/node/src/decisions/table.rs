//! Rows as a Parquet file, for `cahoots evaluate`, `cahoots prior`, and whatever else reads tables.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use time::OffsetDateTime;
use time::macros::format_description;

use super::row::{Known, Row};
use super::spool::each;

/// Rows that are held at a time.
const GROUP: usize = 10_000;
/// What is before the names of what an app says that was known, where they would be mistaken for ours.
const OURS: &str = "context_";

/// Makes a table of a file of rows: whole, or not at all. Its name follows from the first row.
pub(super) fn write(folder: &Path, client: u32, rows: &Path) -> io::Result<()> {
    let rows = File::open(rows)?;
    let (mut shape, mut first) = (Shape::default(), None);
    // A reward that was not on disk before a kill is given again: the last row of a decision is the one that counts.
    let mut last = BTreeMap::new();
    each(&rows, |row, end| {
        first.get_or_insert_with(|| (row.closed, row.decision.clone()));
        shape.see(&row);
        last.insert(row.decision, end);
        Ok(())
    })?;
    let Some((closed, decision)) = first else { return Ok(()) };
    let path = folder.join(name(client, closed, &decision));
    let unfinished = path.with_extension("unfinished");
    let out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    let wrong = |e: ParquetError| io::Error::other(e);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(out, shape.schema().map_err(wrong)?, Arc::new(properties))
        .map_err(wrong)?;
    let mut group = Vec::with_capacity(GROUP);
    each(&rows, |row, end| {
        if last.get(&row.decision) != Some(&end) {
            return Ok(());
        }
        group.push(row);
        if group.len() == GROUP {
            shape.group(&mut writer, &group).map_err(wrong)?;
            group.clear();
        }
        Ok(())
    })?;
    if !group.is_empty() {
        shape.group(&mut writer, &group).map_err(wrong)?;
    }
    let out = writer.into_inner().map_err(wrong)?;
    out.sync_all()?;
    fs::rename(&unfinished, &path)?;
    File::open(folder)?.sync_all()
}

/// What the tables of a client are called: by the date of their first row, so that names are in order of time.
fn name(client: u32, closed: i64, decision: &str) -> PathBuf {
    let date = OffsetDateTime::from_unix_timestamp(closed / 1000).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let date = date.format(format).unwrap_or_default();
    PathBuf::from(format!("{}{date}-{decision}.parquet", prefix(client)))
}

/// How the names of a client's tables begin.
pub(super) fn prefix(client: u32) -> String {
    format!("decisions-{client}-")
}

/// A column, and what a row has in it.
type Cell<T> = Box<dyn Fn(&Row) -> Option<T>>;

enum Column {
    Time(&'static str, fn(&Row) -> i64),
    Whole(&'static str, fn(&Row) -> Option<i64>),
    Real(String, Cell<f64>),
    Text(String, Cell<String>),
}

/// What the rows of a file have.
#[derive(Default)]
struct Shape {
    features: usize,
    /// What apps say that was known: whether all of it are numbers.
    context: BTreeMap<String, bool>,
}

impl Shape {
    fn see(&mut self, row: &Row) {
        self.features = self.features.max(row.features.len());
        for (name, known) in &row.context {
            let numbers = self.context.entry(name.clone()).or_insert(true);
            *numbers &= matches!(known, Known::Number(_));
        }
    }

    fn columns(&self) -> Vec<Column> {
        let text = |name: &str, cell: fn(&Row) -> Option<String>| Column::Text(name.into(), Box::new(cell));
        let mut columns = vec![
            Column::Time("time", |row| row.time),
            Column::Time("closed", |row| row.closed),
            Column::Whole("client", |row| Some(i64::from(row.client))),
            Column::Whole("user", |row| row.user.map(i64::from)),
            text("decision", |row| Some(row.decision.clone())),
            text("event", |row| row.event.clone()),
            text("arm", |row| Some(listed(&row.arm))),
            Column::Real("propensity".into(), Box::new(|row| row.propensity)),
            Column::Real("reward".into(), Box::new(|row| row.reward)),
            text("outcome", |row| Some(row.outcome.name().into())),
            text("offered", |row| {
                Some(row.offered.iter().map(|arm| listed(arm)).collect::<Vec<_>>().join("|"))
            }),
            text("baseline", |row| row.baseline.as_deref().map(listed)),
            text("decided", |row| Some(row.decided.clone())),
            Column::Whole("model", |row| Some(row.model as i64)),
        ];
        let ours: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
        for (name, numbers) in &self.context {
            let taken = ours.contains(name) || is_feature(name);
            let shown = if taken { format!("{OURS}{name}") } else { name.clone() };
            let name = name.clone();
            columns.push(if *numbers {
                Column::Real(shown, Box::new(move |row| number(row.context.get(&name)?)))
            } else {
                Column::Text(shown, Box::new(move |row| Some(word(row.context.get(&name)?))))
            });
        }
        columns
            .extend((0..self.features).map(|at| {
                Column::Real(format!("x{at}"), Box::new(move |row| row.features.get(at).copied()))
            }));
        columns
    }

    fn schema(&self) -> Result<TypePtr, ParquetError> {
        let fields = self.columns().iter().map(Column::kind).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Type::group_type_builder("decisions").with_fields(fields).build()?))
    }

    fn group(&self, writer: &mut SerializedFileWriter<File>, rows: &[Row]) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        for column in self.columns() {
            match column {
                Column::Time(_, cell) => cells::<Int64Type>(&mut group, rows, |row| Some(cell(row)))?,
                Column::Whole(_, cell) => cells::<Int64Type>(&mut group, rows, cell)?,
                Column::Real(_, cell) => cells::<DoubleType>(&mut group, rows, cell)?,
                Column::Text(_, cell) => cells::<ByteArrayType>(&mut group, rows, |row| {
                    cell(row).map(|text| ByteArray::from(text.into_bytes()))
                })?,
            }
        }
        group.close().map(drop)
    }
}

impl Column {
    fn name(&self) -> &str {
        match self {
            Column::Time(name, _) | Column::Whole(name, _) => name,
            Column::Real(name, _) | Column::Text(name, _) => name,
        }
    }

    fn kind(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Column::Time(..) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
            Column::Whole(..) => (Physical::INT64, None),
            Column::Real(..) => (Physical::DOUBLE, None),
            Column::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(self.name(), physical).with_logical_type(logical);
        Ok(Arc::new(built.with_repetition(Repetition::OPTIONAL).build()?))
    }
}

fn cells<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Row],
    cell: impl Fn(&Row) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let cells: Vec<Option<T::T>> = rows.iter().map(cell).collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}

fn number(known: &Known) -> Option<f64> {
    match known {
        Known::Number(number) => Some(*number),
        Known::Word(_) => None,
    }
}

fn word(known: &Known) -> String {
    match known {
        Known::Number(number) => number.to_string(),
        Known::Word(word) => word.clone(),
    }
}

/// An arm's id where `|` stands between several.
fn listed(arm: &str) -> String {
    arm.replace('|', "%7C")
}

/// Could it be the name of a feature's column?
fn is_feature(name: &str) -> bool {
    name.strip_prefix('x').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}
