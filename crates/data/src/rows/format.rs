//! How a file of rows is to be read: what is not said is found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a text file before it is opened; Parquet says it all itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// What stands between cells; found when absent.
    pub delimiter: Option<Delimiter>,
    /// How letters are written; found, cell by cell, when absent.
    pub encoding: Option<Encoding>,
    /// Whether the first line names the columns; found when absent.
    pub header: Option<bool>,
    /// Whether `"` encloses cells; where it does not, it is a letter like any other.
    pub quotes: bool,
    /// What becomes of rows with more or fewer cells than the first.
    pub ragged: Ragged,
}

impl Default for Format {
    fn default() -> Format {
        Format { delimiter: None, encoding: None, header: None, quotes: true, ragged: Ragged::Refuse }
    }
}

/// What stands between cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// The tabulator.
    Tab,
    /// `|`
    Pipe,
    /// A blank.
    Space,
}

impl Delimiter {
    /// Those that are looked for, the likeliest first. Blanks stand in texts too often.
    pub(super) const FOUND: [Delimiter; 4] =
        [Delimiter::Comma, Delimiter::Tab, Delimiter::Semicolon, Delimiter::Pipe];

    /// The byte that it is.
    pub fn byte(self) -> u8 {
        match self {
            Delimiter::Comma => b',',
            Delimiter::Semicolon => b';',
            Delimiter::Tab => b'\t',
            Delimiter::Pipe => b'|',
            Delimiter::Space => b' ',
        }
    }

    /// What keys call it.
    pub fn name(self) -> &'static str {
        match self {
            Delimiter::Comma => "comma",
            Delimiter::Semicolon => "semicolon",
            Delimiter::Tab => "tab",
            Delimiter::Pipe => "pipe",
            Delimiter::Space => "space",
        }
    }
}

/// How letters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// What is not UTF-8 is refused.
    #[serde(rename = "utf-8")]
    Utf8,
    /// Latin-1 as it is met: Windows-1252.
    #[serde(rename = "latin-1", alias = "windows-1252")]
    Latin1,
}

impl Encoding {
    /// What keys call it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Latin1 => "latin-1",
        }
    }
}

/// What becomes of rows with more or fewer cells than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ragged {
    /// The file is refused, with the line.
    #[default]
    Refuse,
    /// They are left out and counted.
    Skip,
}

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Text or Parquet, and of text how it is written.
    pub kind: Kind,
    /// Whether it was compressed as a whole.
    pub gzip: bool,
}

/// The kinds of files that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Lines of cells.
    Text {
        /// What stands between them.
        delimiter: Delimiter,
        /// Whether the first line names the columns.
        header: bool,
    },
    /// Columns in groups of rows.
    Parquet,
}
