//! Rows with named columns, from CSV and its relatives, plain or gzipped, and from Parquet: one after the other, in
//! memory that does not grow with the file. What is wrong is said with file, line and remedy; nothing is guessed
//! about content, only about form, and [`Rows::found`] says what was.
//!
//! ```no_run
//! # use cahoots_data::rows::{Format, RowError, Rows};
//! # fn main() -> Result<(), RowError> {
//! let mut rows = Rows::open("ratings.csv.gz".as_ref(), &Format::default())?.select(&["user", "rating"])?;
//! while let Some(row) = rows.next_row()? {
//!     let (user, rating) = (row.needed_text(0)?, row.needed_number(1)?);
//!     println!("{user}: {rating}");
//! }
//! # Ok(())
//! # }
//! ```

mod delimited;
mod error;
mod format;
mod parquet;
mod row;
mod sniff;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

pub use self::error::{Place, RowError, remedy};
pub use self::format::{Delimiter, Encoding, Format, Found, Kind, Ragged};
pub use self::parquet::is_guarded;
pub use self::row::{Cell, Row};

use self::delimited::DelimitedRows;
use self::parquet::{Broken, ParquetRows};
use self::row::Cells;

/// A file that is read row by row.
pub struct Rows {
    file: String,
    columns: Vec<String>,
    /// Where these are in what the source gives.
    chosen: Vec<usize>,
    unread: Vec<String>,
    gzip: bool,
    source: Source,
}

enum Source {
    Text(Box<DelimitedRows>),
    Parquet(Box<ParquetRows>),
}

impl Rows {
    /// Opens a file of any of the formats; which one its first bytes tell.
    pub fn open(path: &Path, format: &Format) -> Result<Rows, RowError> {
        let file = path.display().to_string();
        let broken =
            |broken: Broken| RowError { file: file.clone(), place: broken.place, problem: broken.problem };
        let system = |error: std::io::Error| broken(Broken { place: None, problem: error.to_string() });
        let mut opened = File::open(path).map_err(system)?;
        let mut magic = Vec::new();
        opened.by_ref().take(4).read_to_end(&mut magic).map_err(system)?;
        opened.seek(SeekFrom::Start(0)).map_err(system)?;
        let gzip = magic.starts_with(b"\x1f\x8b");
        let (source, columns, unread) = if magic.as_slice() == b"PAR1" {
            let (rows, names, unread) = ParquetRows::open(opened).map_err(broken)?;
            (Source::Parquet(Box::new(rows)), names, unread)
        } else {
            let (rows, names) = DelimitedRows::open(opened, gzip, format).map_err(broken)?;
            (Source::Text(Box::new(rows)), names, Vec::new())
        };
        if columns.is_empty() {
            let problem =
                format!("none of its columns can be read ({}): plain ones are needed", unread.join(", "));
            return Err(broken(Broken { place: None, problem }));
        }
        Ok(Rows { file, chosen: (0..columns.len()).collect(), columns, unread, gzip, source })
    }

    /// The names of the columns: of the header, or `c1`, `c2` and so on where there is none.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Columns of a Parquet file that cannot be read: nested ones and raw bytes of fixed length.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Where a column is.
    pub fn column(&self, name: &str) -> Result<usize, RowError> {
        if let Some(found) = self.columns.iter().position(|column| column == name) {
            return Ok(found);
        }
        let problem =
            if self.unread.iter().any(|column| column == name || column.split('.').next() == Some(name)) {
                format!(
                    "column `{name}` is nested or of raw bytes, which is not read: write it as plain columns"
                )
            } else {
                format!("there is no column `{name}`; {}", remedy(name, &self.columns))
            };
        Err(RowError { file: self.file.clone(), place: None, problem })
    }

    /// Only these columns, in this order. Before the first row is read.
    pub fn select(mut self, names: &[&str]) -> Result<Rows, RowError> {
        let found: Vec<usize> = names.iter().map(|name| self.column(name)).collect::<Result<_, _>>()?;
        self.columns = names.iter().map(|name| (*name).to_owned()).collect();
        self.chosen = found.iter().map(|column| self.chosen[*column]).collect();
        if let Source::Parquet(rows) = &mut self.source {
            rows.select(&found);
        }
        Ok(self)
    }

    /// What the file turned out to be.
    pub fn found(&self) -> Found {
        let kind = match &self.source {
            Source::Text(rows) => Kind::Text { delimiter: rows.delimiter, header: rows.header },
            Source::Parquet(_) => Kind::Parquet,
        };
        Found { kind, gzip: self.gzip }
    }

    /// How many rows had more or fewer cells than the first, and were left out as asked.
    pub fn skipped(&self) -> u64 {
        match &self.source {
            Source::Text(rows) => rows.skipped,
            Source::Parquet(_) => 0,
        }
    }

    /// The next row.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, RowError> {
        let file = &self.file;
        let broken =
            |broken: Broken| RowError { file: file.clone(), place: broken.place, problem: broken.problem };
        let (place, cells) = match &mut self.source {
            Source::Text(rows) => match rows.next().map_err(broken)? {
                Some(place) => (place, Cells::Text { record: &rows.record, encoding: rows.encoding }),
                None => return Ok(None),
            },
            Source::Parquet(rows) => match rows.next().map_err(broken)? {
                Some((place, at)) => (place, Cells::Parquet { columns: &rows.batch, at }),
                None => return Ok(None),
            },
        };
        Ok(Some(Row { file: &self.file, columns: &self.columns, place, chosen: &self.chosen, cells }))
    }
}
