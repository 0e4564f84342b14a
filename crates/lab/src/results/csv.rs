//! The summary as CSV: a row per entry, parameters as columns.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Summary;

/// The summaries as CSV. Columns keep the order of `summary.json`; nested ones are named with dots.
pub(super) fn csv(summaries: &[Summary]) -> String {
    let rows: Vec<Vec<(String, String)>> = summaries
        .iter()
        .map(|summary| {
            let mut row = Vec::new();
            flatten("", &serde_json::to_value(summary).unwrap_or_default(), &mut row);
            row
        })
        .collect();
    let mut columns: Vec<&String> = Vec::new();
    for (column, _) in rows.iter().flatten() {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    // What every entry has comes first.
    let nested = |column: &&String| column.contains('.');
    columns.sort_by_key(nested);
    let mut out = line(columns.iter().map(|column| column.as_str()));
    for row in &rows {
        let cells: BTreeMap<&str, &str> =
            row.iter().map(|(column, cell)| (column.as_str(), cell.as_str())).collect();
        out += &line(columns.iter().map(|column| cells.get(column.as_str()).copied().unwrap_or_default()));
    }
    out
}

fn flatten(name: &str, value: &Json, row: &mut Vec<(String, String)>) {
    match value {
        Json::Object(object) => {
            for (key, value) in object {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, row);
            }
        }
        Json::Null => row.push((name.into(), String::new())),
        Json::String(text) => row.push((name.into(), text.clone())),
        other => row.push((name.into(), other.to_string())),
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.into()
        }
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        assert_eq!(line(["a", "b,c", "say \"x\""].into_iter()), "a,\"b,c\",\"say \"\"x\"\"\"\n");
    }
}
