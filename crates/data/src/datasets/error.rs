//! What is wrong with data, and where.

use std::fmt;

/// Why data cannot be used: the file, the line, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// The file's name; empty where none is to blame.
    pub file: String,
    /// Its line, from 1, where one is to blame.
    pub line: Option<u64>,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl DataError {
    /// About a file as a whole.
    pub fn of(file: &str, problem: impl Into<String>) -> DataError {
        DataError { file: file.into(), line: None, problem: problem.into() }
    }

    /// About a line of a file.
    pub fn at(file: &str, line: u64, problem: impl Into<String>) -> DataError {
        DataError { file: file.into(), line: Some(line), problem: problem.into() }
    }

    /// About no file in particular.
    pub fn plain(problem: impl Into<String>) -> DataError {
        DataError { file: String::new(), line: None, problem: problem.into() }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.line, self.file.as_str()) {
            (_, "") => write!(f, "{}", self.problem),
            (None, file) => write!(f, "{file} {}", self.problem),
            (Some(line), file) => write!(f, "{file}, line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for DataError {}
