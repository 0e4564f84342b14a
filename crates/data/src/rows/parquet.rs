//! Rows of a Parquet file: a thousand at a time, column by column, so that memory does not grow with the file.

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescPtr;

use super::delimited::LONGEST;
use super::error::Place;

/// How many rows are held at once.
const BATCH: usize = 1024;

/// How many texts are read before their length is looked at: a few bytes of a file can stand for any number of long ones.
const PIECE: usize = 16;

/// How long the texts of a column may be together, in the rows that are held at once.
const LONGEST_TOGETHER: usize = 1 << 26;

/// How complaints about such texts begin.
const TOO_LONG: &str = "texts that are too long";

/// What is in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Missing,
    Bool(bool),
    Whole(i128),
    Real(f64),
    /// Shared with what it was read from.
    Bytes(ByteArray),
}

/// What went wrong, and in which group.
pub(super) struct Broken {
    pub(super) place: Option<Place>,
    pub(super) problem: String,
}

pub(super) struct ParquetRows {
    reader: SerializedFileReader<File>,
    /// The columns that are read, by their number in the file.
    leaves: Vec<usize>,
    /// The group that is read, from 0, and how many of its rows are still to come.
    group: usize,
    left: u64,
    open: Vec<ColumnReader>,
    /// Rows that were read.
    pub(super) batch: Vec<Vec<Value>>,
    filled: usize,
    /// The row of the batch that is next.
    next: usize,
    /// Rows of the file before the batch.
    before: u64,
}

impl ParquetRows {
    /// Opens a file, with the names of the columns that can be read and of those that cannot.
    pub(super) fn open(file: File) -> Result<(ParquetRows, Vec<String>, Vec<String>), Broken> {
        let reader = guarded(|| SerializedFileReader::new(file)).map_err(|error| Broken {
            place: None,
            problem: format!(
                "begins like a Parquet file, but its end does not tell what is in it ({error}): it was cut short, \
                 or not closed by what wrote it"
            ),
        })?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let (mut leaves, mut names, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for leaf in 0..schema.num_columns() {
            let column = schema.column(leaf);
            if readable(&column) {
                leaves.push(leaf);
                names.push(column.name().to_owned());
            } else {
                unread.push(column.path().string());
            }
        }
        let rows = ParquetRows {
            batch: vec![Vec::new(); leaves.len()],
            reader,
            leaves,
            group: 0,
            left: 0,
            open: Vec::new(),
            filled: 0,
            next: 0,
            before: 0,
        };
        Ok((rows, names, unread))
    }

    /// From now on reads only these of its columns, in this order. Before the first row only.
    pub(super) fn select(&mut self, chosen: &[usize]) {
        self.leaves = chosen.iter().map(|column| self.leaves[*column]).collect();
        self.batch = vec![Vec::new(); self.leaves.len()];
    }

    /// Goes to the next row: where it stands in the file and in the batch.
    pub(super) fn next(&mut self) -> Result<Option<(Place, usize)>, Broken> {
        while self.next == self.filled {
            if !self.fill()? {
                return Ok(None);
            }
        }
        self.next += 1;
        let row = self.before + self.next as u64;
        Ok(Some((Place::Group { group: self.group, row }, self.next - 1)))
    }

    fn fill(&mut self) -> Result<bool, Broken> {
        self.before += self.filled as u64;
        (self.filled, self.next) = (0, 0);
        let place = |group: usize, row: u64| Some(Place::Group { group, row: row + 1 });
        if self.left == 0 {
            if self.group == self.reader.metadata().num_row_groups() {
                return Ok(false);
            }
            let (reader, leaves) = (&self.reader, &self.leaves);
            let (left, open) = guarded(|| {
                let group = reader.get_row_group(self.group)?;
                let rows = group.metadata().num_rows();
                let left = u64::try_from(rows).map_err(|_| ParquetError::General(format!("{rows} rows")))?;
                let open: Result<Vec<_>, _> =
                    leaves.iter().map(|leaf| group.get_column_reader(*leaf)).collect();
                Ok((left, open?))
            })
            .map_err(|error| self.broken(place(self.group + 1, self.before), &error))?;
            (self.left, self.open) = (left, open);
            self.group += 1;
            return Ok(true);
        }
        let rows = (BATCH as u64).min(self.left) as usize;
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        for (index, leaf) in self.leaves.iter().enumerate() {
            let (column, descriptor) = (&mut self.open[index], schema.column(*leaf));
            let out = &mut self.batch[index];
            out.clear();
            guarded(|| read(column, &descriptor, rows, out)).map_err(|error| {
                let problem = format!("column `{}`: {error}", descriptor.name());
                self.broken(place(self.group, self.before), &problem)
            })?;
        }
        self.left -= rows as u64;
        self.filled = rows;
        Ok(true)
    }

    fn broken(&self, place: Option<Place>, error: &impl ToString) -> Broken {
        let error = error.to_string();
        let fix = if error.contains("Disabled feature") || error.contains("not implemented") {
            "write the file with snappy, gzip or zstd"
        } else if error.contains(TOO_LONG) {
            "leave the column out"
        } else {
            "the file is damaged: make or fetch it again"
        };
        Broken { place, problem: format!("{error}; {fix}") }
    }
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is where a panic will be caught and told as a file's fault: nothing that a program's hook need
/// speak of.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// What the library does with bytes that lie, a panic included, is an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    GUARDED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    done.unwrap_or_else(|_| Err(ParquetError::General("what it says of itself cannot be".into())))
}

/// Plain columns of numbers, truths and texts.
fn readable(column: &ColumnDescPtr) -> bool {
    let plain =
        column.path().parts().len() == 1 && column.max_rep_level() == 0 && column.max_def_level() <= 1;
    let decimal = column.converted_type() == ConvertedType::DECIMAL
        || matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }));
    plain
        && match column.physical_type() {
            Physical::BYTE_ARRAY => !decimal,
            Physical::FIXED_LEN_BYTE_ARRAY => false,
            _ => true,
        }
}

/// The next `rows` cells of a column.
fn read(
    column: &mut ColumnReader,
    descriptor: &ColumnDescPtr,
    rows: usize,
    out: &mut Vec<Value>,
) -> Result<(), ParquetError> {
    let unsigned = matches!(
        descriptor.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    let scale = match descriptor.converted_type() {
        ConvertedType::DECIMAL => descriptor.type_scale(),
        _ => 0,
    };
    let whole = |value: i128| match scale {
        0 => Value::Whole(value),
        // Divided, so that a decimal fraction is the number that its digits are read as.
        scale => Value::Real(value as f64 / libm::pow(10.0, f64::from(scale))),
    };
    let optional = descriptor.max_def_level() > 0;
    match column {
        ColumnReader::BoolColumnReader(column) => cells(column, optional, rows, out, Value::Bool),
        ColumnReader::Int32ColumnReader(column) => cells(column, optional, rows, out, |value| {
            whole(if unsigned { (value as u32).into() } else { value.into() })
        }),
        ColumnReader::Int64ColumnReader(column) => cells(column, optional, rows, out, |value| {
            whole(if unsigned { (value as u64).into() } else { value.into() })
        }),
        ColumnReader::Int96ColumnReader(column) => {
            cells(column, optional, rows, out, |value| Value::Whole(value.to_millis().into()))
        }
        ColumnReader::FloatColumnReader(column) => {
            cells(column, optional, rows, out, |value| Value::Real(value.into()))
        }
        ColumnReader::DoubleColumnReader(column) => cells(column, optional, rows, out, Value::Real),
        ColumnReader::ByteArrayColumnReader(column) => {
            let mut together = 0;
            while out.len() < rows {
                let from = out.len();
                cells(column, optional, PIECE.min(rows - from), out, Value::Bytes)?;
                for value in &out[from..] {
                    let Value::Bytes(bytes) = value else { continue };
                    together += bytes.len();
                    if bytes.len() as u64 > LONGEST || together > LONGEST_TOGETHER {
                        return Err(ParquetError::General(too_long(bytes.len(), together)));
                    }
                }
            }
            Ok(())
        }
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(ParquetError::NYI("columns of fixed length".into()))
        }
    }
}

fn too_long(cell: usize, together: usize) -> String {
    match cell as u64 > LONGEST {
        true => format!("{TOO_LONG}: a cell of more than {} MiB", LONGEST >> 20),
        false => format!("{TOO_LONG}: {} MiB in less than {BATCH} rows", together >> 20),
    }
}

fn cells<T: DataType>(
    column: &mut ColumnReaderImpl<T>,
    optional: bool,
    rows: usize,
    out: &mut Vec<Value>,
    value: impl Fn(T::T) -> Value,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (read, _, _) = column.read_records(rows, Some(&mut levels), None, &mut values)?;
    let held = if optional { levels.iter().filter(|level| **level > 0).count() } else { read };
    if read != rows || values.len() != held || (optional && levels.len() != rows) {
        return Err(ParquetError::General(format!("{read} cells where {rows} should be")));
    }
    let mut values = values.into_iter();
    out.extend((0..rows).map(|row| {
        let there = !optional || levels[row] > 0;
        if there { values.next().map_or(Value::Missing, &value) } else { Value::Missing }
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_over_bytes_that_lie_is_an_error() {
        let mut inside = false;
        let told = guarded::<()>(|| {
            inside = is_guarded();
            panic!("column start and length should not be negative")
        });
        assert!(told.unwrap_err().to_string().contains("what it says of itself cannot be"));
        assert!(inside && !is_guarded(), "only there");
        assert!(guarded(|| Ok(())).is_ok());
    }
}
