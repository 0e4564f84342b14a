//! Tables of a folder of results, as Arrow and as columns of numpy.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};
use numpy::PyArray1;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType as Physical;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyNone, PyString};

use crate::error::{CahootsError, InputError};

/// One column, all rows.
enum Cells {
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
    Text(Vec<Option<String>>),
}

/// A table of results. Whatever reads Arrow takes it as it is: `polars.DataFrame(table)`, `pyarrow.table(table)`.
#[pyclass(module = "cahoots._cahoots", frozen)]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// Reads a Parquet file of a folder of results.
#[pyfunction]
pub(crate) fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    py.detach(|| {
        let columns = read(&path)?;
        let fields: Vec<Field> =
            columns.iter().map(|(name, cells)| Field::new(name, cells.data_type(), true)).collect();
        let arrays = columns.into_iter().map(|(_, cells)| cells.array()).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        batch.map(|batch| Table { batch }).map_err(|error| unreadable(&path, &error.to_string()))
    })
}

#[pymethods]
impl Table {
    /// A stream of the Arrow C data interface.
    #[pyo3(signature = (requested_schema: "object" = None) -> "object")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer keep to the types it has.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The types of the columns, as the Arrow C data interface has them.
    #[pyo3(signature = () -> "object")]
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        let schema = schema.map_err(|error| CahootsError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<cahoots table of {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Columns by name: arrays of numpy, and lists where there are texts, or flags that are not known. A number that is
    /// not known is NaN.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, array) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            dict.set_item(field.name(), column(py, array)?)?;
        }
        Ok(dict)
    }
}

fn column<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    let any = array.as_any();
    if let Some(real) = any.downcast_ref::<Float64Array>() {
        let values = real.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        return Ok(PyArray1::from_vec(py, values).into_any());
    }
    if let Some(whole) = any.downcast_ref::<Int64Array>() {
        if whole.null_count() == 0 {
            return Ok(PyArray1::from_vec(py, whole.values().to_vec()).into_any());
        }
        let values = whole.iter().map(|value| value.map_or(f64::NAN, |value| value as f64)).collect();
        return Ok(PyArray1::from_vec(py, values).into_any());
    }
    if let Some(flag) = any.downcast_ref::<BooleanArray>() {
        if flag.null_count() == 0 {
            return Ok(PyArray1::from_vec(py, flag.iter().flatten().collect()).into_any());
        }
        return Ok(PyList::new(py, flag.iter())?.into_any());
    }
    let list = PyList::empty(py);
    // Rows that follow each other mostly say the same.
    let mut last: Option<(&str, Bound<'py, PyString>)> = None;
    for text in any.downcast_ref::<StringArray>().into_iter().flatten() {
        let Some(text) = text else {
            list.append(PyNone::get(py))?;
            continue;
        };
        if last.as_ref().is_none_or(|(known, _)| *known != text) {
            last = Some((text, PyString::new(py, text)));
        }
        if let Some((_, object)) = &last {
            list.append(object)?;
        }
    }
    Ok(list.into_any())
}

fn unreadable(path: &Path, why: &str) -> PyErr {
    CahootsError::new_err(format!("cannot read {}: {why}", path.display()))
}

fn read(path: &Path) -> PyResult<Vec<(String, Cells)>> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => InputError::new_err(format!("there is no file {}", path.display())),
        _ => unreadable(path, &error.to_string()),
    })?;
    columns(file).map_err(|error| unreadable(path, &error.to_string()))
}

fn columns(file: File) -> Result<Vec<(String, Cells)>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns = Vec::with_capacity(schema.num_columns());
    for place in 0..schema.num_columns() {
        let about = schema.column(place);
        let optional = about.max_def_level() > 0;
        let mut cells: Option<Cells> = None;
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
            match group.get_column_reader(place)? {
                ColumnReader::BoolColumnReader(column) => {
                    let cells = cells.get_or_insert_with(|| Cells::Flag(Vec::new()));
                    if let Cells::Flag(cells) = cells {
                        fill(column, rows, optional, cells, |value| Ok(*value))?;
                    }
                }
                ColumnReader::Int32ColumnReader(column) => {
                    let cells = cells.get_or_insert_with(|| Cells::Whole(Vec::new()));
                    if let Cells::Whole(cells) = cells {
                        // The only narrow numbers are counts, stored in the bits of signed ones.
                        fill(column, rows, optional, cells, |value| Ok(i64::from(*value as u32)))?;
                    }
                }
                ColumnReader::Int64ColumnReader(column) => {
                    let cells = cells.get_or_insert_with(|| Cells::Whole(Vec::new()));
                    if let Cells::Whole(cells) = cells {
                        fill(column, rows, optional, cells, |value| Ok(*value))?;
                    }
                }
                ColumnReader::DoubleColumnReader(column) => {
                    let cells = cells.get_or_insert_with(|| Cells::Real(Vec::new()));
                    if let Cells::Real(cells) = cells {
                        fill(column, rows, optional, cells, |value| Ok(*value))?;
                    }
                }
                ColumnReader::ByteArrayColumnReader(column) => {
                    let cells = cells.get_or_insert_with(|| Cells::Text(Vec::new()));
                    if let Cells::Text(cells) = cells {
                        fill(column, rows, optional, cells, |value| value.as_utf8().map(str::to_owned))?;
                    }
                }
                _ => {
                    return Err(ParquetError::General(format!(
                        "column {} is of another program",
                        about.name()
                    )));
                }
            }
        }
        columns.push((about.name().to_string(), cells.unwrap_or(Cells::Text(Vec::new()))));
    }
    Ok(columns)
}

/// Appends a column of one group of rows.
fn fill<T: Physical, C>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
    optional: bool,
    cells: &mut Vec<Option<C>>,
    cell: impl Fn(&T::T) -> Result<C, ParquetError>,
) -> Result<(), ParquetError> {
    let mut left = rows;
    while left > 0 {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let (read, _, _) = column.read_records(left, optional.then_some(&mut levels), None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::General("it ends too early".into()));
        }
        let mut values = values.iter();
        for row in 0..read {
            let there = !optional || levels.get(row).is_some_and(|level| *level > 0);
            let value = if there { values.next() } else { None };
            cells.push(value.map(&cell).transpose()?);
        }
        left -= read;
    }
    Ok(())
}

impl Cells {
    fn data_type(&self) -> DataType {
        match self {
            Cells::Whole(_) => DataType::Int64,
            Cells::Real(_) => DataType::Float64,
            Cells::Flag(_) => DataType::Boolean,
            Cells::Text(_) => DataType::Utf8,
        }
    }

    fn array(self) -> ArrayRef {
        match self {
            Cells::Whole(cells) => Arc::new(Int64Array::from(cells)),
            Cells::Real(cells) => Arc::new(Float64Array::from(cells)),
            Cells::Flag(cells) => Arc::new(BooleanArray::from(cells)),
            Cells::Text(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}
