//! Columns of a frame, written as a Parquet file: what is in memory is then read by the same readers as any file, and
//! gives the same numbers.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::PyReadonlyArray1;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use pyo3::prelude::*;

use crate::error::{CahootsError, InputError};

/// The cells of a column, as Python hands them over.
#[derive(FromPyObject)]
pub(crate) enum Cells<'py> {
    Real(PyReadonlyArray1<'py, f64>),
    Whole(PyReadonlyArray1<'py, i64>),
    Unsigned(PyReadonlyArray1<'py, u64>),
    Truth(PyReadonlyArray1<'py, bool>),
    Text(Vec<Option<String>>),
}

/// The same, owned, where other threads may run.
enum Column {
    Real(Vec<f64>),
    Whole(Vec<i64>),
    Unsigned(Vec<u64>),
    Truth(Vec<bool>),
    Text(Vec<Option<String>>),
}

impl Cells<'_> {
    fn owned(self) -> Column {
        match self {
            Cells::Real(cells) => Column::Real(cells.as_array().to_vec()),
            Cells::Whole(cells) => Column::Whole(cells.as_array().to_vec()),
            Cells::Unsigned(cells) => Column::Unsigned(cells.as_array().to_vec()),
            Cells::Truth(cells) => Column::Truth(cells.as_array().to_vec()),
            Cells::Text(cells) => Column::Text(cells),
        }
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Column::Real(cells) => cells.len(),
            Column::Whole(cells) => cells.len(),
            Column::Unsigned(cells) => cells.len(),
            Column::Truth(cells) => cells.len(),
            Column::Text(cells) => cells.len(),
        }
    }

    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let of =
            |physical| Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        match self {
            Column::Real(_) => of(Physical::DOUBLE),
            Column::Whole(_) => of(Physical::INT64),
            Column::Unsigned(_) => of(Physical::INT64).with_converted_type(ConvertedType::UINT_64),
            Column::Truth(_) => of(Physical::BOOLEAN),
            Column::Text(_) => of(Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String)),
        }
        .build()
    }

    fn write(
        self,
        missing: Option<&[bool]>,
        to: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        match self {
            Column::Real(cells) => put::<DoubleType>(to, cells.into_iter(), missing),
            Column::Whole(cells) => put::<Int64Type>(to, cells.into_iter(), missing),
            Column::Unsigned(cells) => {
                put::<Int64Type>(to, cells.into_iter().map(|cell| cell as i64), missing)
            }
            Column::Truth(cells) => put::<BoolType>(to, cells.into_iter(), missing),
            Column::Text(cells) => {
                let none: Vec<bool> = cells.iter().map(Option::is_none).collect();
                let texts =
                    cells.into_iter().map(|cell| ByteArray::from(cell.unwrap_or_default().into_bytes()));
                put::<ByteArrayType>(to, texts, Some(&none))
            }
        }
    }
}

fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = T::T>,
    missing: Option<&[bool]>,
) -> Result<(), ParquetError> {
    let held = |row: usize| missing.is_none_or(|missing| !missing[row]);
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for (row, cell) in cells.enumerate() {
        levels.push(i16::from(held(row)));
        if held(row) {
            values.push(cell);
        }
    }
    to.typed::<T>().write_batch(&values, Some(&levels), None).map(drop)
}

/// Writes columns to a Parquet file; a mask says which cells are missing. The same columns are the same bytes.
#[pyfunction]
pub(crate) fn write_frame(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, Cells<'_>, Option<PyReadonlyArray1<'_, bool>>)>,
) -> PyResult<()> {
    let owned: Vec<(String, Column, Option<Vec<bool>>)> = columns
        .into_iter()
        .map(|(name, cells, missing)| (name, cells.owned(), missing.map(|mask| mask.as_array().to_vec())))
        .collect();
    let rows = owned.first().map_or(0, |(_, cells, _)| cells.len());
    for (name, cells, missing) in &owned {
        let masked = missing.as_ref().map_or(rows, Vec::len);
        if cells.len() != rows || masked != rows {
            let problem =
                format!("column `{name}` has {} rows where the first column has {rows}", cells.len());
            return Err(InputError::new_err(problem));
        }
    }
    let written = py.detach(|| write(&path, owned, rows));
    written.map_err(|error| CahootsError::new_err(format!("cannot write {}: {error}", path.display())))
}

fn write(
    path: &Path,
    columns: Vec<(String, Column, Option<Vec<bool>>)>,
    rows: usize,
) -> Result<(), ParquetError> {
    let fields: Result<Vec<_>, _> =
        columns.iter().map(|(name, cells, _)| cells.field(name).map(Arc::new)).collect();
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields?).build()?);
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, Arc::default())?;
    if rows > 0 {
        let mut group = writer.next_row_group()?;
        for (_, cells, missing) in columns {
            let Some(mut column) = group.next_column()? else { break };
            cells.write(missing.as_deref(), &mut column)?;
            column.close()?;
        }
        group.close()?;
    }
    writer.close().map(drop)
}
