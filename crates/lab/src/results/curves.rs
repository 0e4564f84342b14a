//! `curves.parquet`: every run over time, one row per point.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::error::{LabError, reason};
use crate::run::{Curve, Record};

/// Name of the file in a folder of results.
pub const FILE: &str = "curves.parquet";

/// Writes curves, entry by entry.
pub struct CurveWriter<'a> {
    writer: ArrowWriter<&'a mut File>,
    schema: Arc<Schema>,
}

impl<'a> CurveWriter<'a> {
    /// Begins a file.
    pub fn new(file: &'a mut File) -> io::Result<CurveWriter<'a>> {
        let column = |name, kind| Field::new(name, kind, false);
        let schema = Arc::new(Schema::new(vec![
            column("entry", DataType::UInt32),
            column("algorithm", DataType::Utf8),
            column("label", DataType::Utf8),
            column("seed", DataType::UInt64),
            column("tick", DataType::UInt64),
            column("regret", DataType::Float64),
            column("reward", DataType::Float64),
            column("transfers", DataType::UInt64),
            column("bytes", DataType::UInt64),
        ]));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(io::Error::other)?;
        Ok(CurveWriter { writer, schema })
    }

    /// Adds the runs of one entry.
    pub fn entry(
        &mut self,
        number: usize,
        algorithm: &str,
        label: &str,
        records: &[Record],
    ) -> io::Result<()> {
        for Record { seed, curve, .. } in records {
            let rows = curve.tick.len();
            let columns: Vec<ArrayRef> = vec![
                Arc::new(UInt32Array::from(vec![u32::try_from(number).unwrap_or(u32::MAX); rows])),
                Arc::new(StringArray::from(vec![algorithm; rows])),
                Arc::new(StringArray::from(vec![label; rows])),
                Arc::new(UInt64Array::from(vec![*seed; rows])),
                Arc::new(UInt64Array::from(curve.tick.clone())),
                Arc::new(Float64Array::from(curve.regret.clone())),
                Arc::new(Float64Array::from(curve.reward.clone())),
                Arc::new(UInt64Array::from(curve.transfers.clone())),
                Arc::new(UInt64Array::from(curve.bytes.clone())),
            ];
            let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(io::Error::other)?;
            self.writer.write(&batch).map_err(system_error)?;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self) -> io::Result<()> {
        self.writer.close().map(|_| ()).map_err(system_error)
    }
}

/// What the system said, if it was the system.
fn system_error(error: parquet::errors::ParquetError) -> io::Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
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
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(error.to_string()))?;
    let reader = builder.build().map_err(|error| unreadable(error.to_string()))?;
    let mut curves: Vec<SeedCurve> = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|error| unreadable(error.to_string()))?;
        append(&batch, &mut curves).ok_or_else(|| unreadable("it has other columns than expected".into()))?;
    }
    Ok(curves)
}

fn append(batch: &RecordBatch, curves: &mut Vec<SeedCurve>) -> Option<()> {
    let whole = |name: &str| Some(batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>()?.values());
    let real = |name: &str| Some(batch.column_by_name(name)?.as_primitive_opt::<Float64Type>()?.values());
    let entry = batch.column_by_name("entry")?.as_primitive_opt::<UInt32Type>()?;
    let (seed, tick, transfers, bytes) =
        (whole("seed")?, whole("tick")?, whole("transfers")?, whole("bytes")?);
    let (regret, reward) = (real("regret")?, real("reward")?);
    for row in 0..entry.len() {
        let (number, seed) = (entry.value(row) as usize, seed[row]);
        if curves.last().is_none_or(|last| (last.entry, last.seed) != (number, seed)) {
            curves.push(SeedCurve { entry: number, seed, curve: Curve::default() });
        }
        let curve = &mut curves.last_mut()?.curve;
        curve.tick.push(tick[row]);
        curve.regret.push(regret[row]);
        curve.reward.push(reward[row]);
        curve.transfers.push(transfers[row]);
        curve.bytes.push(bytes[row]);
    }
    Some(())
}
