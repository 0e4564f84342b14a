//! What can be read off a picture, as a page keeps it, and a figure on a page.

use std::fmt::Write as _;

use cahoots_figure::{ReadPoint, Reading, Scene};
use serde_json::{Value as Json, json};

use super::html::{escape, in_script};
use crate::results::readable;

/// What can be read off a picture: its size, and the points of its series with their places in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(pub Json);

impl Values {
    /// What can be read off a picture.
    pub fn of(scene: &Scene) -> Values {
        let point = |point: &ReadPoint| {
            let mut row =
                vec![json!(tenth(point.at.0)), json!(tenth(point.at.1)), json!(point.x), number(point.y)];
            if let Some((low, high)) = point.range {
                row.extend([number(low), number(high)]);
            }
            Json::Array(row)
        };
        let series = |reading: &Reading| {
            json!({
                "panel": reading.panel, "name": reading.series,
                "points": reading.points.iter().map(point).collect::<Vec<_>>(),
            })
        };
        let (width, height) = scene.size();
        let series: Vec<Json> = scene.readings().iter().map(series).collect();
        Values(json!({ "width": width, "height": height, "series": series }))
    }
}

/// Rows of a line's points in a table, at most.
const MOST_ROWS: usize = 12;

/// A picture with its values: on hover, and as a table.
pub fn figure(name: &str, svg: &str, values: Option<&Values>) -> String {
    // The picture's own declaration of its size gives way to the page's.
    let svg = svg.trim();
    let natural = values.and_then(|values| values.0["width"].as_f64()).unwrap_or(800.0);
    // Panels side by side stay readable on a small screen: there the figure scrolls, and the page does not.
    let least = if natural > 900.0 { natural * 0.62 } else { 480.0_f64.min(natural) };
    let mut out = format!(
        "<figure class=\"figure\" id=\"figure-{0}\"><div class=\"wide\" tabindex=\"0\" aria-label=\"{0}\">\
         <div class=\"picture\" style=\"min-width:{least:.0}px;max-width:{natural:.0}px\">{svg}</div></div>",
        escape(name)
    );
    if let Some(values) = values {
        let _ = write!(
            out,
            "<script type=\"application/json\" class=\"values\">{}</script>",
            in_script(&values.0)
        );
        let _ =
            write!(out, "<details><summary>Values of {}</summary>{}</details>", escape(name), rows(values));
    }
    let _ = writeln!(out, "<figcaption>{}</figcaption></figure>", escape(name));
    out
}

/// The values as a table; of long lines only some.
fn rows(values: &Values) -> String {
    let mut rows = vec![["series", "panel", "at", "value", "from", "to"].map(String::from).to_vec()];
    for series in values.0["series"].as_array().into_iter().flatten() {
        let points = series["points"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Json| value.as_str().unwrap_or_default().to_string();
        let level = points.iter().all(|point| point[2] == "");
        let step = if level { points.len() } else { points.len().div_ceil(MOST_ROWS) }.max(1);
        let last = points.len().saturating_sub(1);
        for (number, point) in points.iter().enumerate() {
            if number % step != 0 && (number != last || level) {
                continue;
            }
            let value = |place: usize| point[place].as_f64().map(readable).unwrap_or_default();
            let (name, panel) = (text(&series["name"]), text(&series["panel"]));
            rows.push(vec![name, panel, text(&point[2]), value(3), value(4), value(5)]);
        }
    }
    // Columns that say nothing are left out.
    for column in (0..rows[0].len()).rev() {
        if rows.len() > 1 && rows[1..].iter().all(|row| row[column].is_empty()) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    super::table("", &rows).replace(" id=\"\"", "")
}

/// A tenth of a pixel is finer than anyone can point.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Six digits.
fn number(value: f64) -> Json {
    json!(format!("{value:.5e}").parse::<f64>().unwrap_or(value))
}
