//! Rows of JSON as columns: nested keys are named with dots, and a column has one type.

use serde_json::Value as Json;

/// One value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::results) enum Cell {
    /// A row without this key, or with nothing there.
    Empty,
    Whole(i64),
    Real(f64),
    Flag(bool),
    Text(String),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::results) enum Kind {
    Whole,
    Real,
    Flag,
    Text,
}

/// One column over all rows.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::results) struct Column {
    pub name: String,
    pub kind: Kind,
    pub cells: Vec<Cell>,
}

/// A table with typed columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::results) struct Sheet {
    pub columns: Vec<Column>,
    pub rows: usize,
}

impl Sheet {
    /// Columns in the order in which rows name them; what is nested comes last.
    pub(in crate::results) fn new(rows: impl Iterator<Item = Json>) -> Sheet {
        let mut sheet = Sheet::default();
        for row in rows {
            let mut cells = Vec::new();
            flatten("", &row, &mut cells);
            for (name, cell) in cells {
                let known = sheet.columns.iter().position(|column| column.name == name);
                let index = known.unwrap_or_else(|| {
                    let cells = vec![Cell::Empty; sheet.rows];
                    sheet.columns.push(Column { name, kind: Kind::Text, cells });
                    sheet.columns.len() - 1
                });
                sheet.columns[index].cells.push(cell);
            }
            sheet.rows += 1;
            for column in &mut sheet.columns {
                column.cells.resize(sheet.rows, Cell::Empty);
            }
        }
        sheet.drop_headings();
        sheet.columns.sort_by_key(|column| column.name.contains('.'));
        sheet.columns.iter_mut().for_each(Column::settle);
        sheet
    }

    /// A key that is nothing in one row and a table in another is no column: those of the table are.
    fn drop_headings(&mut self) {
        let names: Vec<String> = self.columns.iter().map(|column| format!("{}.", column.name)).collect();
        let parents: Vec<bool> = names
            .iter()
            .map(|name| self.columns.iter().any(|column| column.name.starts_with(name.as_str())))
            .collect();
        let mut parents = parents.into_iter();
        self.columns.retain(|column| {
            let parent = parents.next().unwrap_or_default();
            !parent || column.cells.iter().any(|cell| *cell != Cell::Empty)
        });
    }

    #[cfg(test)]
    pub(in crate::results) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Column {
    /// Finds the one type of all cells, and makes them of it.
    fn settle(&mut self) {
        let fits = |fit: fn(&Cell) -> bool| self.cells.iter().all(|cell| *cell == Cell::Empty || fit(cell));
        let some = self.cells.iter().any(|cell| *cell != Cell::Empty);
        self.kind = if some && fits(|cell| matches!(cell, Cell::Whole(_))) {
            Kind::Whole
        } else if some && fits(|cell| matches!(cell, Cell::Flag(_))) {
            Kind::Flag
        } else if some && fits(|cell| number(cell).is_some()) {
            Kind::Real
        } else {
            Kind::Text
        };
        for cell in &mut self.cells {
            *cell = match (self.kind, &*cell) {
                (_, Cell::Empty) => Cell::Empty,
                (Kind::Real, one) => Cell::Real(number(one).unwrap_or(f64::NAN)),
                (Kind::Text, one) => Cell::Text(one.text()),
                (_, one) => one.clone(),
            };
        }
    }
}

/// A number, also one that JSON has no word for.
fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Whole(whole) => Some(*whole as f64),
        Cell::Real(real) => Some(*real),
        Cell::Text(text) => match text.as_str() {
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            "nan" => Some(f64::NAN),
            _ => None,
        },
        Cell::Empty | Cell::Flag(_) => None,
    }
}

impl Cell {
    /// As text; nothing where nothing is.
    pub(in crate::results) fn text(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Whole(whole) => whole.to_string(),
            // As JSON writes it, so that it is read back bit for bit.
            Cell::Real(real) if real.is_finite() => Json::from(*real).to_string(),
            Cell::Real(real) => real.to_string().to_lowercase(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }
}

fn flatten(name: &str, value: &Json, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Json::Object(object) => {
            for (key, value) in object {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, cells);
            }
            return;
        }
        Json::Null => Cell::Empty,
        Json::Bool(flag) => Cell::Flag(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Whole(whole),
            None => Cell::Real(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Cell::Text(text.clone()),
        list @ Json::Array(_) => Cell::Text(list.to_string()),
    };
    cells.push((name.into(), cell));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_column_has_one_type_and_every_row() {
        let rows = [
            json!({ "label": "a", "params": { "ratio": 1.5, "radius": "count", "n": 3 }, "privacy": null }),
            json!({ "label": "b", "params": { "ratio": "inf", "radius": { "fixed": 1 } }, "on": true }),
            json!({ "label": "c", "params": { "ratio": 2, "list": [1, 2] }, "privacy": { "epsilon": 1.0 } }),
        ];
        let sheet = Sheet::new(rows.into_iter());
        let names: Vec<&str> = sheet.columns.iter().map(|column| column.name.as_str()).collect();
        let expected = ["label", "on", "params.ratio", "params.radius", "params.n", "params.radius.fixed"];
        assert_eq!(names, [&expected[..], &["params.list", "privacy.epsilon"]].concat());
        let ratio = sheet.column("params.ratio").unwrap();
        assert_eq!(ratio.kind, Kind::Real);
        assert_eq!(ratio.cells, [Cell::Real(1.5), Cell::Real(f64::INFINITY), Cell::Real(2.0)]);
        let n = sheet.column("params.n").unwrap();
        assert_eq!((n.kind, &n.cells[..]), (Kind::Whole, &[Cell::Whole(3), Cell::Empty, Cell::Empty][..]));
        assert_eq!(sheet.column("params.list").unwrap().cells[2], Cell::Text("[1,2]".into()));
        assert_eq!(sheet.column("on").unwrap().kind, Kind::Flag);
    }

    #[test]
    fn words_and_numbers_in_one_column_are_text() {
        let rows = [json!({ "x": 1 }), json!({ "x": "all" }), json!({ "x": false })];
        let sheet = Sheet::new(rows.into_iter());
        assert_eq!(sheet.columns[0].kind, Kind::Text);
        assert_eq!(sheet.columns[0].cells.iter().map(Cell::text).collect::<Vec<_>>(), ["1", "all", "false"]);
    }
}
