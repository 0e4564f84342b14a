//! Rows of a text: CSV and its relatives, as they are or compressed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::{ByteRecord, ReaderBuilder};
use flate2::read::MultiGzDecoder;

use super::error::Place;
use super::format::{Delimiter, Encoding, Format, Ragged};
use super::parquet::Broken;
use super::row::decode;
use super::sniff;

/// What is looked at before the first row is read.
const HEAD: u64 = 1 << 16;
/// The longest row: a quote that is never closed would otherwise swallow all that follows.
pub(super) const LONGEST: u64 = 1 << 24;
/// A last line that no file has. Where it is not read as a line of its own, a quote was still open.
const END: &[u8] = b"\0\x01end\x01\0";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) struct DelimitedRows {
    reader: csv::Reader<Watched>,
    since: Arc<AtomicU64>,
    pub(super) encoding: Option<Encoding>,
    pub(super) delimiter: Delimiter,
    pub(super) header: bool,
    ragged: Ragged,
    width: usize,
    /// The first row, where it is not a header.
    first: Option<ByteRecord>,
    pub(super) record: ByteRecord,
    /// Rows with more or fewer cells than the first that were left out.
    pub(super) skipped: u64,
    rows: u64,
}

impl DelimitedRows {
    /// Opens a text, with the names of its columns.
    pub(super) fn open(
        file: File,
        gzip: bool,
        format: &Format,
    ) -> Result<(DelimitedRows, Vec<String>), Broken> {
        let mut text: Box<dyn Read + Send> =
            if gzip { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
        let mut head = Vec::new();
        if let Err(error) = text.by_ref().take(HEAD).read_to_end(&mut head) {
            // Told where it is met: after the rows that are whole.
            text = Box::new(Ends(Some(error)));
        }
        if head.starts_with(BYTE_ORDER_MARK) {
            head.drain(..BYTE_ORDER_MARK.len());
        }
        if let Some(problem) = not_a_text(&head) {
            return Err(Broken { place: None, problem });
        }
        let delimiter = format.delimiter.unwrap_or_else(|| sniff::delimiter(&head, format.quotes));
        let header =
            format.header.unwrap_or_else(|| sniff::header(&head, delimiter, format.quotes, format.encoding));
        let since = Arc::new(AtomicU64::new(0));
        let whole = Box::new(Cursor::new(head).chain(text).chain(Cursor::new([b"\n", END].concat())));
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(format.quotes)
            .delimiter(delimiter.byte())
            .buffer_capacity(1 << 16)
            .from_reader(Watched { text: whole, since: since.clone() });
        let mut rows = DelimitedRows {
            reader,
            since,
            encoding: format.encoding,
            delimiter,
            header,
            ragged: format.ragged,
            width: 0,
            first: None,
            record: ByteRecord::new(),
            skipped: 0,
            rows: 0,
        };
        let names = rows.names()?;
        Ok((rows, names))
    }

    fn names(&mut self) -> Result<Vec<String>, Broken> {
        if !self.read()? {
            return Err(Broken { place: None, problem: "there is nothing in it".into() });
        }
        self.width = self.record.len();
        if !self.header {
            self.first = Some(std::mem::take(&mut self.record));
            return Ok((1..=self.width).map(|column| format!("c{column}")).collect());
        }
        let place = Some(self.place());
        let mut names: Vec<String> = Vec::new();
        for (index, cell) in self.record.iter().enumerate() {
            let name = decode(cell, self.encoding).ok_or_else(|| Broken {
                place,
                problem: "the names of columns are no UTF-8: say encoding = \"latin-1\", or save it as UTF-8"
                    .into(),
            })?;
            let name = match name.trim() {
                "" => format!("c{}", index + 1),
                name => name.to_owned(),
            };
            if let Some(other) = names.iter().position(|other| *other == name) {
                let problem = format!(
                    "columns {} and {} are both called `{name}`: rename one, or say header = false if these are no names",
                    other + 1,
                    index + 1
                );
                return Err(Broken { place, problem });
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Goes to the next row, which then is `record`.
    pub(super) fn next(&mut self) -> Result<Option<Place>, Broken> {
        if let Some(first) = self.first.take() {
            self.record = first;
        } else {
            loop {
                if !self.read()? {
                    return Ok(None);
                }
                if self.record.len() == self.width {
                    break;
                }
                if self.ragged == Ragged::Refuse {
                    return Err(self.uneven());
                }
                self.skipped += 1;
            }
        }
        self.rows += 1;
        Ok(Some(self.place()))
    }

    fn uneven(&self) -> Broken {
        let (here, width) = (self.record.len(), self.width);
        let problem = format!(
            "{here} cells, where the first line has {width}: quote cells that hold a {}, or say ragged = \"skip\" (describe: --skip-ragged) \
             to leave such rows out; if it is the last line, the file was cut short",
            self.delimiter.name()
        );
        Broken { place: Some(self.place()), problem }
    }

    fn place(&self) -> Place {
        Place::Line(self.record.position().map_or(1, csv::Position::line))
    }

    /// Reads a record; false at the end.
    fn read(&mut self) -> Result<bool, Broken> {
        self.since.store(0, Ordering::Relaxed);
        let line = self.reader.position().line();
        let more = self.reader.read_byte_record(&mut self.record).map_err(|error| match error.kind() {
            csv::ErrorKind::Io(error) => failed(error, self.rows, Some(Place::Line(line))),
            _ => Broken { place: Some(Place::Line(line)), problem: error.to_string() },
        })?;
        let last = self.record.len().checked_sub(1).map(|last| &self.record[last]);
        match last {
            Some(END) if self.record.len() == 1 => Ok(false),
            Some(last) if last.ends_with(END) => {
                let problem = format!(
                    "a quote (\") is opened in this row and never closed, {} rows after the beginning: the file was \
                     cut short, or the quote is a letter",
                    self.rows
                );
                Err(Broken { place: Some(self.place()), problem })
            }
            _ => Ok(more),
        }
    }
}

/// Why these bytes are no lines of cells, where that is plain.
fn not_a_text(head: &[u8]) -> Option<String> {
    let kinds: [(&[u8], &str); 5] = [
        (b"PK\x03\x04", "is a zip archive (as spreadsheets are): unpack it, or save the sheet as CSV"),
        (b"\xff\xfe", "is UTF-16: save it as UTF-8"),
        (b"\xfe\xff", "is UTF-16: save it as UTF-8"),
        (b"PAR1", "is Parquet inside gzip: unpack it, Parquet files are compressed within"),
        (b"\x1f\x8b", "was compressed twice: unpack it once"),
    ];
    kinds.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, problem)| (*problem).to_owned())
}

fn failed(error: &io::Error, rows: u64, place: Option<Place>) -> Broken {
    let problem = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            format!(
                "its compressed bytes end in the middle, after {rows} whole rows: it was cut short; fetch it again"
            )
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("its compressed bytes are damaged, after {rows} whole rows ({error}): fetch it again")
        }
        _ => error.to_string(),
    };
    Broken { place, problem }
}

/// What comes after the last byte that could be read.
struct Ends(Option<io::Error>);

impl Read for Ends {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Stops at a row that would not fit into memory.
struct Watched {
    text: Box<dyn Read + Send>,
    since: Arc<AtomicU64>,
}

impl Read for Watched {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.since.load(Ordering::Relaxed) > LONGEST {
            return Err(io::Error::other(format!(
                "a row of more than {} MiB begins here: a quote (\") that is never closed?",
                LONGEST >> 20
            )));
        }
        let read = self.text.read(out)?;
        self.since.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
