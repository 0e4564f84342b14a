//! One row, and its cells as text or as numbers.

use std::borrow::Cow;

use csv::ByteRecord;
use encoding_rs::WINDOWS_1252;

use super::error::{Place, RowError};
use super::format::Encoding;
use super::parquet::Value;

/// A row that was just read.
#[derive(Debug)]
pub struct Row<'a> {
    pub(super) file: &'a str,
    pub(super) columns: &'a [String],
    pub(super) place: Place,
    /// Where its columns stand in `cells`.
    pub(super) chosen: &'a [usize],
    pub(super) cells: Cells<'a>,
}

#[derive(Debug)]
pub(super) enum Cells<'a> {
    Text { record: &'a ByteRecord, encoding: Option<Encoding> },
    Parquet { columns: &'a [Vec<Value>], at: usize },
}

/// What is in a cell, by its looks.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing: empty, `NA`, `NaN`, `null`.
    Missing,
    /// A number, which need not be finite; true and false are 1 and 0.
    Number(f64),
    /// Anything else.
    Text(Cow<'a, str>),
}

impl<'a> Row<'a> {
    /// Where it stands in its file.
    pub fn place(&self) -> Place {
        self.place
    }

    /// How many cells it has: as many as there are columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// A complaint about this row.
    pub fn wrong(&self, problem: impl Into<String>) -> RowError {
        RowError { file: self.file.into(), place: Some(self.place), problem: problem.into() }
    }

    /// A cell exactly as it stands.
    pub fn raw(&self, column: usize) -> Result<Cow<'a, str>, RowError> {
        let refuse = |fix: &str| {
            self.wrong(format!("column `{}` holds bytes that are no UTF-8: {fix}", self.columns[column]))
        };
        match self.cells {
            Cells::Text { record, encoding } => {
                let bytes = record.get(self.chosen[column]).unwrap_or_default();
                decode(bytes, encoding)
                    .ok_or_else(|| refuse("say encoding = \"latin-1\", or save it as UTF-8"))
            }
            Cells::Parquet { columns, at } => match &columns[column][at] {
                Value::Missing => Ok(Cow::Borrowed("")),
                Value::Bool(flag) => Ok(Cow::Borrowed(if *flag { "true" } else { "false" })),
                Value::Whole(whole) => Ok(Cow::Owned(whole.to_string())),
                Value::Real(real) => Ok(Cow::Owned(real.to_string())),
                Value::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
                    Ok(text) => Ok(Cow::Borrowed(text)),
                    Err(_) => Err(refuse("write the column as a string, or leave it out")),
                },
            },
        }
    }

    /// A cell without blanks around it, if there is anything.
    pub fn text(&self, column: usize) -> Result<Option<Cow<'a, str>>, RowError> {
        if let Cells::Parquet { columns, at } = self.cells
            && matches!(&columns[column][at], Value::Real(real) if real.is_nan())
        {
            return Ok(None);
        }
        let text = match self.raw(column)? {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) if text.trim().len() == text.len() => Cow::Owned(text),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        };
        Ok((!is_missing(&text)).then_some(text))
    }

    /// A cell by its looks.
    pub fn cell(&self, column: usize) -> Result<Cell<'a>, RowError> {
        if let Cells::Parquet { columns, at } = self.cells {
            match columns[column][at] {
                Value::Missing => return Ok(Cell::Missing),
                Value::Bool(flag) => return Ok(Cell::Number(f64::from(flag))),
                Value::Whole(whole) => return Ok(Cell::Number(whole as f64)),
                Value::Real(real) if real.is_nan() => return Ok(Cell::Missing),
                Value::Real(real) => return Ok(Cell::Number(real)),
                Value::Bytes(_) => {}
            }
        }
        Ok(match self.text(column)? {
            None => Cell::Missing,
            Some(text) => match number(&text) {
                Some(number) => Cell::Number(number),
                None => Cell::Text(text),
            },
        })
    }

    /// A finite number, if there is anything.
    pub fn number(&self, column: usize) -> Result<Option<f64>, RowError> {
        match self.cell(column)? {
            Cell::Missing => Ok(None),
            Cell::Number(number) if number.is_finite() => Ok(Some(number)),
            Cell::Number(number) => Err(self.wrong(format!(
                "column `{}` is {number}, and only finite numbers can be used: mend the cell or leave it empty",
                self.columns[column]
            ))),
            Cell::Text(text) => Err(self.wrong(format!(
                "column `{}` is {}, which is no number",
                self.columns[column],
                shown(&text)
            ))),
        }
    }

    /// A finite number that must be there.
    pub fn needed_number(&self, column: usize) -> Result<f64, RowError> {
        self.number(column)?.ok_or_else(|| self.missing(column))
    }

    /// A text that must be there.
    pub fn needed_text(&self, column: usize) -> Result<Cow<'a, str>, RowError> {
        self.text(column)?.ok_or_else(|| self.missing(column))
    }

    fn missing(&self, column: usize) -> RowError {
        self.wrong(format!("column `{}` is missing, and every row needs it", self.columns[column]))
    }
}

/// Text as it is read: what is UTF-8 is that, unless another encoding was stated.
pub(super) fn decode(bytes: &[u8], encoding: Option<Encoding>) -> Option<Cow<'_, str>> {
    let latin = || WINDOWS_1252.decode_without_bom_handling(bytes).0;
    match (encoding, std::str::from_utf8(bytes)) {
        (Some(Encoding::Latin1), _) => Some(latin()),
        (_, Ok(text)) => Some(Cow::Borrowed(text)),
        (None, Err(_)) => Some(latin()),
        (Some(Encoding::Utf8), Err(_)) => None,
    }
}

/// Whether a cell says that nothing is known.
pub(super) fn is_missing(text: &str) -> bool {
    text.is_empty() || ["na", "n/a", "nan", "null"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The number that a text is, if it is one.
pub(super) fn number(text: &str) -> Option<f64> {
    match text.as_bytes().first()? {
        b't' | b'T' => text.eq_ignore_ascii_case("true").then_some(1.0),
        b'f' | b'F' => text.eq_ignore_ascii_case("false").then_some(0.0),
        _ => text.parse().ok(),
    }
}

/// A cell as it is shown in a complaint, of whatever length.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
