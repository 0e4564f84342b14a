//! Files that tests write.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// A Parquet file with these columns: numbers where all cells are, texts otherwise.
pub(crate) fn write_parquet(path: &Path, columns: &[(&str, &[Option<&str>])]) {
    let numeric = |cells: &[Option<&str>]| cells.iter().flatten().all(|cell| cell.parse::<f64>().is_ok());
    let field = |(name, cells): &(&str, &[Option<&str>])| {
        let built = if numeric(cells) {
            Type::primitive_type_builder(name, Physical::DOUBLE)
        } else {
            Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
        };
        Arc::new(built.with_repetition(Repetition::OPTIONAL).build().unwrap())
    };
    let fields = columns.iter().map(field).collect();
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build().unwrap());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, cells) in columns {
        let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let mut column = group.next_column().unwrap().unwrap();
        if numeric(cells) {
            let values: Vec<f64> = cells.iter().flatten().map(|cell| cell.parse().unwrap()).collect();
            column.typed::<DoubleType>().write_batch(&values, Some(&levels), None).unwrap();
        } else {
            let values: Vec<ByteArray> = cells.iter().flatten().map(|cell| ByteArray::from(*cell)).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}
