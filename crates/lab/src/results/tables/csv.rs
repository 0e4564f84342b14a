//! Tables as CSV.

use super::sheet::{Cell, Sheet};

/// A sheet as CSV, with a line of names.
pub(super) fn csv(sheet: &Sheet) -> String {
    let mut out = line(sheet.columns.iter().map(|column| column.name.as_str()));
    for row in 0..sheet.rows {
        let cells: Vec<String> = sheet.columns.iter().map(|column| Cell::text(&column.cells[row])).collect();
        out += &line(cells.iter().map(String::as_str));
    }
    out
}

/// One line.
pub(super) fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.into()
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

/// The cells of one line, as [`line`] wrote them without line breaks inside.
pub(super) fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let cell = cells.last_mut().expect("never empty");
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be_and_read_back() {
        let given = ["a", "b,c", "say \"x\"", ""];
        let written = line(given.into_iter());
        assert_eq!(written, "a,\"b,c\",\"say \"\"x\"\"\",\n");
        assert_eq!(cells(written.trim_end_matches('\n')), given);
    }
}
