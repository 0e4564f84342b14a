//! Text as HTML.

use std::fmt::Write as _;

/// Text that means itself, in an element or in an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// JSON inside a script element: nothing in it can end the element.
pub(super) fn in_script(json: &serde_json::Value) -> String {
    json.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub text: String,
    /// What it is sorted by, where that is not its text.
    pub sort: Option<f64>,
    /// Its class; empty for none.
    pub class: &'static str,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), sort: None, class: "" }
    }

    pub(super) fn number(text: impl Into<String>, value: f64) -> Cell {
        Cell { text: text.into(), sort: Some(value), class: "number" }
    }
}

/// A table that can be sorted by any of its columns; the first column names the rows.
pub(super) fn cells(id: &str, titles: &[&str], rows: &[Vec<Cell>]) -> String {
    let mut out = format!("<div class=\"wide\"><table id=\"{}\" class=\"sortable\"><thead><tr>", escape(id));
    for (number, title) in titles.iter().enumerate() {
        let numbers = rows.iter().any(|row| row.get(number).is_some_and(|cell| cell.class == "number"));
        let class = if numbers { " class=\"number\"" } else { "" };
        let _ =
            write!(out, "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>", escape(title));
    }
    out += "</tr></thead><tbody>\n";
    for row in rows {
        out += "<tr>";
        for (number, cell) in row.iter().enumerate() {
            let element = if number == 0 { "th scope=\"row\"" } else { "td" };
            let class =
                if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
            let sort = cell.sort.map_or(String::new(), |value| format!(" data-sort=\"{value}\""));
            let end = if number == 0 { "th" } else { "td" };
            let _ = write!(out, "<{element}{class}{sort}>{}</{end}>", escape(&cell.text));
        }
        out += "</tr>\n";
    }
    out + "</tbody></table></div>\n"
}

/// A table of text that can be sorted by any of its columns; the first row has the titles. Verdicts are marked.
pub fn table(id: &str, rows: &[Vec<String>]) -> String {
    let Some((titles, rows)) = rows.split_first() else { return String::new() };
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let cell = |text: &String| Cell { class: verdict(text), ..Cell::text(text.clone()) };
    let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    cells(id, &titles, &rows)
}

/// The class of a cell that says how a comparison ended.
pub(super) fn verdict(text: &str) -> &'static str {
    match text {
        "holds" | "less regret" => "good",
        "does not hold" | "more regret" => "bad",
        "undecided" | "cannot tell" => "open",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_breaks_out() {
        let evil = "</script><script>alert('x')</script>\"&";
        assert!(!escape(evil).contains(['<', '>', '"', '\'']));
        assert!(!in_script(&json!([evil])).contains('<'));
        let text = table(evil, &[vec![evil.into()], vec![evil.into()]]);
        assert!(!text.contains("<script") && !text.contains("alert('"));
    }
}
