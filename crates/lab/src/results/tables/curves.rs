//! `curves.parquet`: every run over time, one row per point, with all parameters beside it.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::basic::{LogicalType, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Row, RowAccessor as _};
use parquet::schema::types::{Type, TypePtr};

use super::parquet::{begin, cells, column, count, optional, required, system_error};
use super::sheet::Sheet;
use crate::error::{LabError, reason};
use crate::run::{Curve, Record};

/// Name of the file in a folder of results.
pub(in crate::results) const FILE: &str = "curves.parquet";

/// What is measured, before the parameters.
pub(super) const MEASURED: [&str; 9] =
    ["entry", "algorithm", "label", "seed", "tick", "regret", "reward", "transfers", "bytes"];

/// The columns before the parameters.
fn measured() -> Result<Vec<TypePtr>, ParquetError> {
    let column = |name: &&str| match *name {
        "entry" => required(name, Physical::INT32, count(32)),
        "algorithm" | "label" => required(name, Physical::BYTE_ARRAY, Some(LogicalType::String)),
        "regret" | "reward" => required(name, Physical::DOUBLE, None),
        _ => required(name, Physical::INT64, count(64)),
    };
    MEASURED.iter().map(column).collect()
}

/// Writes curves, entry by entry.
pub(in crate::results) struct CurveWriter<'a> {
    writer: SerializedFileWriter<&'a mut File>,
    parameters: &'a Sheet,
}

impl<'a> CurveWriter<'a> {
    /// Begins a file; `parameters` has a row per entry.
    pub(in crate::results) fn new(file: &'a mut File, parameters: &'a Sheet) -> io::Result<CurveWriter<'a>> {
        let columns = || Ok([measured()?, optional(parameters)?].concat());
        let writer = columns().and_then(|columns| begin(file, "curves", columns)).map_err(system_error)?;
        Ok(CurveWriter { writer, parameters })
    }

    /// Adds the runs of one entry, as one group of rows.
    pub(in crate::results) fn entry(
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
        for parameter in &self.parameters.columns {
            cells(&mut group, parameter.kind, &vec![parameter.cells[number].clone(); rows])?;
        }
        group.close().map(|_| ())
    }

    /// Ends the file.
    pub(in crate::results) fn finish(self) -> io::Result<()> {
        self.writer.close().map(|_| ()).map_err(system_error)
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
    let read = || -> Result<Vec<SeedCurve>, ParquetError> {
        let reader = SerializedFileReader::new(file)?;
        let name = reader.metadata().file_metadata().schema().name().to_string();
        // Parameters are many, and in the manifest too.
        let wanted = Type::group_type_builder(&name).with_fields(measured()?).build()?;
        let mut curves = Vec::new();
        for row in reader.get_row_iter(Some(wanted))? {
            append(&row?, &mut curves)?;
        }
        Ok(curves)
    };
    read().map_err(|error| unreadable(error.to_string()))
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
