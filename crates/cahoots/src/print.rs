//! Text for stdout. A reader that has gone away (`cahoots ... | head`) is no failure.

use std::io::{self, Write};

use cahoots_lab::LabError;

/// Writes to stdout.
pub(crate) fn out(text: &str) -> Result<(), LabError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(LabError::Failed(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Narrowest that a column is made to fit.
const NARROWEST: usize = 24;

/// Rows as columns. Where there is no room, the widest column is wrapped.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    columns_under(rows, |_| None)
}

/// Rows as columns, with a text above some of them.
pub(crate) fn columns_under(rows: &[Vec<String>], heading: impl Fn(usize) -> Option<String>) -> String {
    let room = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(110usize);
    columns_in(room, rows, heading)
}

fn columns_in(room: usize, rows: &[Vec<String>], heading: impl Fn(usize) -> Option<String>) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let mut widths: Vec<usize> = (0..count).map(width).collect();
    while widths.iter().map(|width| width + 2).sum::<usize>() > room + 2
        && let Some(widest) = widths.iter_mut().max_by_key(|width| **width)
        && *widest > NARROWEST
    {
        *widest -= 1;
    }
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        out += &heading(number).unwrap_or_default();
        let cells: Vec<Vec<String>> =
            row.iter().zip(&widths).map(|(cell, &width)| wrap(cell, width)).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or_default() {
            let parts = cells
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{:<width$}", cell.get(line).map_or("", String::as_str)));
            out += parts.collect::<Vec<_>>().join("  ").trim_end();
            out.push('\n');
        }
    }
    out
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_are_wrapped() {
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("", 5), [""]);
        let rows = [["a", "b"], ["long", "c"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(columns_in(80, &rows, |_| None), "a     b\nlong  c\n");
        let heading = |row| (row == 1).then(|| "below\n".to_string());
        assert_eq!(columns_in(80, &rows, heading), "a     b\nbelow\nlong  c\n");
        let rows = [vec!["a".to_string(), "bb ".repeat(20)]];
        assert_eq!(columns_in(33, &rows, |_| None).lines().count(), 2);
    }
}
