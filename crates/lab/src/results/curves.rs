//! `curves.parquet`: every run over time, one row per point.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Row, RowAccessor as _};
use parquet::schema::parser::parse_message_type;

use crate::error::{LabError, reason};
use crate::run::{Curve, Record};

/// Name of the file in a folder of results.
pub(super) const FILE: &str = "curves.parquet";

const COLUMNS: &str = "message curves {
    required int32 entry (INTEGER(32, false));
    required binary algorithm (STRING);
    required binary label (STRING);
    required int64 seed (INTEGER(64, false));
    required int64 tick (INTEGER(64, false));
    required double regret;
    required double reward;
    required int64 transfers (INTEGER(64, false));
    required int64 bytes (INTEGER(64, false));
}";

/// Writes curves, entry by entry.
pub(super) struct CurveWriter<'a> {
    writer: SerializedFileWriter<&'a mut File>,
}

impl<'a> CurveWriter<'a> {
    /// Begins a file.
    pub(super) fn new(file: &'a mut File) -> io::Result<CurveWriter<'a>> {
        let schema = parse_message_type(COLUMNS).map_err(system_error)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        Ok(CurveWriter { writer: writer.map_err(system_error)? })
    }

    /// Adds the runs of one entry, as one group of rows.
    pub(super) fn entry(
        &mut self,
        number: usize,
        algorithm: &str,
        label: &str,
        records: &[Record],
    ) -> io::Result<()> {
        self.rows(number, algorithm, label, records).map_err(system_error)
    }

    fn rows(
        &mut self,
        number: usize,
        algorithm: &str,
        label: &str,
        records: &[Record],
    ) -> Result<(), ParquetError> {
        let rows: usize = records.iter().map(|record| record.curve.tick.len()).sum();
        // Unsigned numbers are stored in the bits of signed ones.
        let whole = |pick: fn(&Curve) -> &Vec<u64>| -> Vec<i64> {
            records.iter().flat_map(|record| pick(&record.curve)).map(|n| *n as i64).collect()
        };
        let real = |pick: fn(&Curve) -> &Vec<f64>| -> Vec<f64> {
            records.iter().flat_map(|record| pick(&record.curve)).copied().collect()
        };
        let seeds: Vec<i64> = records
            .iter()
            .flat_map(|record| std::iter::repeat_n(record.seed as i64, record.curve.tick.len()))
            .collect();
        let text = |text: &str| vec![ByteArray::from(text); rows];
        let mut group = self.writer.next_row_group()?;
        column::<Int32Type>(&mut group, &vec![u32::try_from(number).unwrap_or(u32::MAX) as i32; rows])?;
        column::<ByteArrayType>(&mut group, &text(algorithm))?;
        column::<ByteArrayType>(&mut group, &text(label))?;
        column::<Int64Type>(&mut group, &seeds)?;
        column::<Int64Type>(&mut group, &whole(|curve| &curve.tick))?;
        column::<DoubleType>(&mut group, &real(|curve| &curve.regret))?;
        column::<DoubleType>(&mut group, &real(|curve| &curve.reward))?;
        column::<Int64Type>(&mut group, &whole(|curve| &curve.transfers))?;
        column::<Int64Type>(&mut group, &whole(|curve| &curve.bytes))?;
        group.close().map(|_| ())
    }

    /// Ends the file.
    pub(super) fn finish(self) -> io::Result<()> {
        self.writer.close().map(|_| ()).map_err(system_error)
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut File>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("no such column".into()))?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

/// What the system said, if it was the system.
fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

/// A curve read back.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedCurve {
    /// Number of its entry.
    pub entry: usize,
    /// Its seed.
    pub seed: u64,
    /// The run over time.
    pub curve: Curve,
}

/// Reads all curves of a folder, in the order they were written.
pub fn read(folder: &Path) -> Result<Vec<SeedCurve>, LabError> {
    let path = folder.join(FILE);
    let unreadable = |why: String| LabError::Failed(format!("cannot read {}: {why}", path.display()));
    let file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            LabError::Input(format!("{} has no {FILE}: it holds no finished run", folder.display()))
        }
        _ => unreadable(reason(&error)),
    })?;
    let reader = SerializedFileReader::new(file).map_err(|error| unreadable(error.to_string()))?;
    let rows = reader.get_row_iter(None).map_err(|error| unreadable(error.to_string()))?;
    let mut curves: Vec<SeedCurve> = Vec::new();
    for row in rows {
        row.and_then(|row| append(&row, &mut curves)).map_err(|error| unreadable(error.to_string()))?;
    }
    Ok(curves)
}

fn append(row: &Row, curves: &mut Vec<SeedCurve>) -> Result<(), ParquetError> {
    let (entry, seed) = (row.get_uint(0)? as usize, row.get_ulong(3)?);
    let known = curves.last().is_some_and(|last| (last.entry, last.seed) == (entry, seed));
    if !known {
        curves.push(SeedCurve { entry, seed, curve: Curve::default() });
    }
    if let Some(SeedCurve { curve, .. }) = curves.last_mut() {
        curve.tick.push(row.get_ulong(4)?);
        curve.regret.push(row.get_double(5)?);
        curve.reward.push(row.get_double(6)?);
        curve.transfers.push(row.get_ulong(7)?);
        curve.bytes.push(row.get_ulong(8)?);
    }
    Ok(())
}
