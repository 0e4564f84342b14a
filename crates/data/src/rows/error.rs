//! What is wrong with a file, where, and what to do about it.

use std::fmt;

/// A file, or a row of it, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The file as it was named.
    pub file: String,
    /// Where in it, if not everywhere.
    pub place: Option<Place>,
    /// What is wrong there, and the remedy.
    pub problem: String,
}

impl std::error::Error for RowError {}

impl fmt::Display for RowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(out, "{}, {place}: {}", self.file, self.problem),
            None => write!(out, "{}: {}", self.file, self.problem),
        }
    }
}

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The line of a text that it begins on, from 1.
    Line(u64),
    /// In a Parquet file.
    Group {
        /// Which group of rows, from 1.
        group: usize,
        /// Which row of the whole file, from 1.
        row: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(out, "line {line}"),
            Place::Group { group, row } => write!(out, "row group {group}, row {row}"),
        }
    }
}

/// The remedy for a name that is none of `known`: the nearest, or all of them.
pub fn remedy(name: &str, known: &[String]) -> String {
    let plain = |text: &str| text.trim().to_lowercase().replace(['_', ' '], "-");
    let wanted = plain(name);
    let score = |candidate: &String| {
        let candidate = plain(candidate);
        let whole = strsim::jaro_winkler(&wanted, &candidate);
        let begun = wanted.len() >= 2 && (candidate.starts_with(&wanted) || wanted.starts_with(&candidate));
        if begun && !candidate.is_empty() { whole.max(0.9) } else { whole }
    };
    let nearest = known.iter().map(|candidate| (score(candidate), candidate));
    match nearest.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((score, near)) if score > 0.8 => format!("did you mean `{near}`?"),
        _ => {
            let shown: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
            let more = if known.len() > shown.len() { ", ..." } else { "" };
            format!("there are: {}{more}", shown.join(", "))
        }
    }
}
