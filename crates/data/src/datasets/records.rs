//! Rows of fields out of text files: plain or gzipped, CRLF or LF, UTF-8 or Latin-1. What is not as expected is said
//! with its file and line; what is held at a time is one line of bounded length.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;
use std::rc::Rc;
use std::str::FromStr;

use csv::{ByteRecord, ReaderBuilder};
use flate2::bufread::MultiGzDecoder;

use super::error::DataError;

/// No row is longer than this many bytes.
const LONGEST_ROW: usize = 1 << 20;

/// How a file parts its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// By tabs; quotes are characters like others.
    Tabs,
    /// By commas; fields may be quoted.
    Commas,
}

/// A file of fields below a header.
pub struct Records {
    file: String,
    header: Vec<String>,
    reader: csv::Reader<Box<dyn Read>>,
    record: ByteRecord,
    seen: Rc<RefCell<Seen>>,
}

/// One row.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    file: &'a str,
    header: &'a [String],
    record: &'a ByteRecord,
}

impl Records {
    /// Opens a file that begins with a header, whatever that says.
    pub fn open(path: &Path, dialect: Dialect) -> Result<Records, DataError> {
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let unreadable = |error: io::Error| DataError::of(&file, format!("cannot be read: {error}"));
        let mut plain = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
        // By its first bytes, not by its name.
        let zipped = plain.fill_buf().map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
        let seen = Rc::new(RefCell::new(Seen::default()));
        let inner: Box<dyn Read> =
            if zipped { Box::new(MultiGzDecoder::new(plain)) } else { Box::new(plain) };
        let watched: Box<dyn Read> = Box::new(Watched { inner, seen: seen.clone() });
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).buffer_capacity(1 << 16);
        match dialect {
            Dialect::Tabs => builder.delimiter(b'\t').quoting(false),
            Dialect::Commas => builder.delimiter(b','),
        };
        let reader = builder.from_reader(watched);
        let mut records = Records { file, header: Vec::new(), reader, record: ByteRecord::new(), seen };
        if !records.advance()? {
            return Err(DataError::of(&records.file, "is empty: a header was expected"));
        }
        let header: Vec<String> = records.record.iter().map(|field| text(field).into_owned()).collect();
        if header.iter().any(|name| name.contains('\0')) {
            let problem = "is in an encoding of two bytes per character: UTF-8 or Latin-1 was expected";
            return Err(DataError::of(&records.file, problem));
        }
        records.header = header;
        Ok(records)
    }

    /// Opens a file whose header is this one.
    pub fn open_with(path: &Path, dialect: Dialect, header: &[&str]) -> Result<Records, DataError> {
        let records = Records::open(path, dialect)?;
        if records.header != header {
            let between = if dialect == Dialect::Tabs { "\t" } else { "," };
            let problem = format!(
                "expected the header {:?}, not {:?}",
                header.join(between),
                shortened(&records.header.join(between))
            );
            return Err(DataError::at(&records.file, 1, problem));
        }
        Ok(records)
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The next row, as wide as the header.
    #[expect(clippy::should_implement_trait, reason = "a row borrows from its file")]
    pub fn next(&mut self) -> Result<Option<Row<'_>>, DataError> {
        if !self.advance()? {
            return Ok(None);
        }
        let row = Row { file: &self.file, header: &self.header, record: &self.record };
        let (found, expected) = (self.record.len(), self.header.len());
        if found != expected {
            return Err(row.complain(format!("{expected} columns were expected, not {found}")));
        }
        Ok(Some(row))
    }

    fn advance(&mut self) -> Result<bool, DataError> {
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| {
            let line = self.reader.position().line();
            let problem = match error.into_kind() {
                csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    "is cut short: its gzip stream ends too early".to_string()
                }
                csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    "is damaged: its gzip stream cannot be read".to_string()
                }
                csv::ErrorKind::Io(error) => format!("cannot be read: {error}"),
                other => format!("cannot be read: {other:?}"),
            };
            DataError::at(&self.file, line, problem)
        })?;
        self.seen.borrow_mut().since_row = 0;
        if !more && self.seen.borrow().last.is_some_and(|last| last != b'\n') {
            let problem =
                "the last line has no end: the file may be cut short (if it is whole, add a line end)";
            return Err(DataError::at(&self.file, self.reader.position().line(), problem));
        }
        Ok(more)
    }
}

impl<'a> Row<'a> {
    /// The line that it begins on.
    pub fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// A field as text.
    pub fn text(&self, column: usize) -> Cow<'a, str> {
        text(&self.record[column])
    }

    /// A field as a number of some type.
    pub fn number<T: FromStr>(&self, column: usize, expected: &str) -> Result<T, DataError> {
        let field = self.text(column);
        field.trim().parse().map_err(|_| {
            let name = &self.header[column];
            let repeated = if field == *name { " (is the header there twice?)" } else { "" };
            self.complain(format!("{name}: {expected} was expected, not {:?}{repeated}", shortened(&field)))
        })
    }

    /// A field as the number of someone or something.
    pub fn id(&self, column: usize) -> Result<u32, DataError> {
        self.number(column, "a whole number below 4294967296")
    }

    /// What is wrong with this row.
    pub fn complain(&self, problem: impl Into<String>) -> DataError {
        DataError::at(self.file, self.line(), problem)
    }
}

/// UTF-8 where it is, Latin-1 (as browsers understand it) where it cannot be.
fn text(field: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(field) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(field).0,
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 80 {
        text.into()
    } else {
        text.chars().take(77).chain("...".chars()).collect()
    }
}

/// What went by.
#[derive(Default)]
struct Seen {
    last: Option<u8>,
    /// Read since a row was last complete.
    since_row: usize,
}

/// Passes bytes on, unless a row has no end.
struct Watched {
    inner: Box<dyn Read>,
    seen: Rc<RefCell<Seen>>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let mut seen = self.seen.borrow_mut();
        let bytes = &buffer[..count];
        seen.last = bytes.last().copied().or(seen.last);
        seen.since_row += count;
        if seen.since_row > LONGEST_ROW + buffer.len() {
            let problem = format!("a row is longer than {LONGEST_ROW} bytes (is a quote left open?)");
            return Err(io::Error::other(problem));
        }
        Ok(count)
    }
}
