//! Tables as Parquet. Unsigned numbers are stored in the bits of signed ones.

use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::sheet::{Cell, Column, Kind, Sheet};

/// What a group of rows is written to.
pub(super) type Group<'a, 'b> = SerializedRowGroupWriter<'a, &'b mut File>;

/// Begins a file with these columns.
pub(super) fn begin<'a>(
    file: &'a mut File,
    name: &str,
    columns: Vec<TypePtr>,
) -> Result<SerializedFileWriter<&'a mut File>, ParquetError> {
    let schema = Type::group_type_builder(name).with_fields(columns).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
}

/// A column that every row has.
pub(super) fn required(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
) -> Result<TypePtr, ParquetError> {
    let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    Ok(Arc::new(column.with_repetition(Repetition::REQUIRED).build()?))
}

/// Counts, which are never negative.
pub(super) fn count(bits: i8) -> Option<LogicalType> {
    Some(LogicalType::integer(bits, false))
}

/// The columns of a sheet, any of which may be empty in a row.
pub(super) fn optional(sheet: &Sheet) -> Result<Vec<TypePtr>, ParquetError> {
    let column = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Whole => (Physical::INT64, None),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Flag => (Physical::BOOLEAN, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let built = Type::primitive_type_builder(&column.name, physical).with_logical_type(logical);
        Ok(Arc::new(built.with_repetition(Repetition::OPTIONAL).build()?))
    };
    sheet.columns.iter().map(column).collect()
}

/// Writes a column that every row has.
pub(super) fn column<T: DataType>(group: &mut Group<'_, '_>, values: &[T::T]) -> Result<(), ParquetError> {
    with_levels::<T>(group, values, None)
}

/// Writes the cells of a column.
pub(super) fn cells(group: &mut Group<'_, '_>, kind: Kind, cells: &[Cell]) -> Result<(), ParquetError> {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(*cell != Cell::Empty)).collect();
    let levels = Some(levels.as_slice());
    match kind {
        Kind::Whole => {
            let values = cells.iter().filter_map(|cell| match cell {
                Cell::Whole(whole) => Some(*whole),
                _ => None,
            });
            with_levels::<Int64Type>(group, &values.collect::<Vec<_>>(), levels)
        }
        Kind::Real => {
            let values = cells.iter().filter_map(|cell| match cell {
                Cell::Real(real) => Some(*real),
                _ => None,
            });
            with_levels::<DoubleType>(group, &values.collect::<Vec<_>>(), levels)
        }
        Kind::Flag => {
            let values = cells.iter().filter_map(|cell| match cell {
                Cell::Flag(flag) => Some(*flag),
                _ => None,
            });
            with_levels::<BoolType>(group, &values.collect::<Vec<_>>(), levels)
        }
        Kind::Text => {
            let values = cells.iter().filter_map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            with_levels::<ByteArrayType>(group, &values.collect::<Vec<_>>(), levels)
        }
    }
}

fn with_levels<T: DataType>(
    group: &mut Group<'_, '_>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("no such column".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Writes a whole sheet.
pub(super) fn write(file: &mut File, name: &str, sheet: &Sheet) -> io::Result<()> {
    let mut all = || -> Result<(), ParquetError> {
        let mut writer = begin(file, name, optional(sheet)?)?;
        let mut group = writer.next_row_group()?;
        for column in &sheet.columns {
            cells(&mut group, column.kind, &column.cells)?;
        }
        group.close()?;
        writer.close().map(|_| ())
    };
    all().map_err(system_error)
}

/// What the system said, if it was the system.
pub(super) fn system_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
