//! `clients.csv` and `clients.parquet`: every run client by client, where that was asked for.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use cahoots_sim::ledger::ClientTotals;
use parquet::basic::{LogicalType, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;

use super::csv::line;
use super::parquet::{Group, begin, column, count, required, system_error};
use crate::error::LabError;
use crate::files;
use crate::run::ManifestEntry;

/// Names of the files in a folder of results.
pub(in crate::results) const CSV: &str = "clients.csv";
pub(in crate::results) const PARQUET: &str = "clients.parquet";

pub(super) const COLUMNS: [&str; 12] = [
    "entry",
    "algorithm",
    "label",
    "seed",
    "client",
    "steps",
    "regret",
    "reward",
    "sent",
    "received",
    "sent_bytes",
    "received_bytes",
];

/// A run's seed, and its clients where they were counted.
pub(in crate::results) type Run = (u64, Option<Vec<ClientTotals>>);

/// One client in one run.
struct Row<'a> {
    entry: usize,
    about: &'a ManifestEntry,
    seed: u64,
    client: usize,
    totals: ClientTotals,
}

/// Writes both files if every record is there client by client; removes them if not. Says whether it did.
pub(in crate::results) fn write(
    folder: &Path,
    entries: &[ManifestEntry],
    records: &[Vec<Run>],
) -> Result<bool, LabError> {
    let (csv, parquet) = (folder.join(CSV), folder.join(PARQUET));
    if records.iter().flatten().any(|(_, clients)| clients.is_none()) {
        files::remove(&csv)?;
        files::remove(&parquet)?;
        return Ok(false);
    }
    let rows = |entry: usize| -> Vec<Row<'_>> {
        let about = &entries[entry];
        let of = move |(seed, clients): &Run| {
            let seed = *seed;
            let each = clients.clone().unwrap_or_default().into_iter().enumerate();
            each.map(move |(client, totals)| Row { entry, about, seed, client, totals }).collect::<Vec<_>>()
        };
        records[entry].iter().flat_map(of).collect()
    };
    files::write_with(&csv, |file| {
        let mut file = io::BufWriter::new(file);
        file.write_all(line(COLUMNS.into_iter()).as_bytes())?;
        for entry in 0..entries.len() {
            for row in rows(entry) {
                file.write_all(row.line().as_bytes())?;
            }
        }
        file.flush()
    })?;
    files::write_with(&parquet, |file| {
        let all = |file: &mut File| -> Result<(), ParquetError> {
            let mut writer = begin(file, "clients", types()?)?;
            for entry in 0..entries.len() {
                let mut group = writer.next_row_group()?;
                write_rows(&mut group, &rows(entry))?;
                group.close()?;
            }
            writer.close().map(|_| ())
        };
        all(file).map_err(system_error)
    })?;
    Ok(true)
}

fn types() -> Result<Vec<parquet::schema::types::TypePtr>, ParquetError> {
    let column = |name: &&str| match *name {
        "algorithm" | "label" => required(name, Physical::BYTE_ARRAY, Some(LogicalType::String)),
        "regret" | "reward" => required(name, Physical::DOUBLE, None),
        _ => required(name, Physical::INT64, count(64)),
    };
    COLUMNS.iter().map(column).collect()
}

fn write_rows(group: &mut Group<'_, '_>, rows: &[Row<'_>]) -> Result<(), ParquetError> {
    let text = |pick: fn(&ManifestEntry) -> &str| -> Vec<ByteArray> {
        rows.iter().map(|row| ByteArray::from(pick(row.about))).collect()
    };
    let whole = |pick: fn(&Row<'_>) -> u64| -> Vec<i64> { rows.iter().map(|row| pick(row) as i64).collect() };
    let real =
        |pick: fn(&ClientTotals) -> f64| -> Vec<f64> { rows.iter().map(|row| pick(&row.totals)).collect() };
    column::<Int64Type>(group, &whole(|row| row.entry as u64))?;
    column::<ByteArrayType>(group, &text(|about| &about.algorithm))?;
    column::<ByteArrayType>(group, &text(|about| &about.label))?;
    column::<Int64Type>(group, &whole(|row| row.seed))?;
    column::<Int64Type>(group, &whole(|row| row.client as u64))?;
    column::<Int64Type>(group, &whole(|row| row.totals.steps))?;
    column::<DoubleType>(group, &real(|totals| totals.regret))?;
    column::<DoubleType>(group, &real(|totals| totals.reward))?;
    column::<Int64Type>(group, &whole(|row| row.totals.sent))?;
    column::<Int64Type>(group, &whole(|row| row.totals.received))?;
    column::<Int64Type>(group, &whole(|row| row.totals.sent_bytes))?;
    column::<Int64Type>(group, &whole(|row| row.totals.received_bytes))
}

impl Row<'_> {
    fn line(&self) -> String {
        let ClientTotals { steps, regret, reward, sent, received, sent_bytes, received_bytes } = self.totals;
        let cells = [
            self.entry.to_string(),
            self.about.algorithm.clone(),
            self.about.label.clone(),
            self.seed.to_string(),
            self.client.to_string(),
            steps.to_string(),
            regret.to_string(),
            reward.to_string(),
            sent.to_string(),
            received.to_string(),
            sent_bytes.to_string(),
            received_bytes.to_string(),
        ];
        line(cells.iter().map(String::as_str))
    }
}
