//! Rows of a measurement, on stdout: a table, or one JSON object each.

use std::io::{ErrorKind, Write as _};

use serde::Serialize;

/// How rows are written.
pub(crate) struct Report {
    /// One JSON object per row.
    pub json: bool,
}

impl Report {
    /// Writes rows; `cells` gives the names and contents of the columns.
    pub(crate) fn show<R: Serialize>(
        &self,
        title: &str,
        rows: &[R],
        cells: impl Fn(&R) -> Vec<(&'static str, String)>,
    ) -> Result<(), String> {
        if self.json {
            return rows.iter().try_for_each(json);
        }
        let rows: Vec<_> = rows.iter().map(cells).collect();
        let names = rows.first().map(|row| row.iter().map(|(name, _)| (*name).to_string()).collect());
        let values = rows.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
        let table: Vec<Vec<String>> = names.into_iter().chain(values).collect();
        out(&format!("{title}\n{}\n", columns(&table)))
    }
}

/// One JSON object on a line of its own.
pub(crate) fn json(row: &impl Serialize) -> Result<(), String> {
    let line = serde_json::to_string(row).map_err(|error| error.to_string())?;
    out(&format!("{line}\n"))
}

/// A reader that has gone away is no failure.
fn out(text: &str) -> Result<(), String> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let rows = [["a", "b"], ["long", "c"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(columns(&rows), "a     b\nlong  c\n");
    }
}
