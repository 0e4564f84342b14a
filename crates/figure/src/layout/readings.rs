//! What can be read off a chart, point by point.

use super::data::Data;
use super::marks::Projection;
use super::numbers;
use super::range::coordinate;
use crate::drawing::Rect;
use crate::{Figure, Mark, Point, ReadPoint, Reading};

/// Points of one line, at most.
const MOST: usize = 250;

/// One reading per series that has a label.
pub(super) fn of(figure: &Figure, data: &Data, frame: Rect) -> Vec<Reading> {
    let projection = Projection { x: data.x, y: data.y, frame };
    let named = figure.series.iter().filter(|series| !series.label.trim().is_empty());
    let reading = |(label, mark): (&String, &Mark)| Reading {
        panel: figure.title.clone(),
        series: label.clone(),
        points: match mark {
            Mark::Line { points } | Mark::Dots { points, .. } => spread(figure, points, &projection),
            Mark::Horizontal { y } => across(figure, *y, &projection),
        },
    };
    let all = named.map(|series| reading((&series.label, &series.mark)));
    all.filter(|reading| !reading.points.is_empty()).collect()
}

fn spread(figure: &Figure, points: &[Point], projection: &Projection) -> Vec<ReadPoint> {
    let step = points.len().div_ceil(MOST).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(number, _)| number % step == 0 || *number == last);
    let read = |point: &Point| {
        let x = coordinate(figure.x.scale, point.x).ok()?;
        let y = coordinate(figure.y.scale, point.y).ok()?;
        let at = projection.spot(x, y);
        let name = figure.x.names.get(point.x.max(0.0).round() as usize);
        Some(ReadPoint {
            at: (at.x, at.y),
            x: match (name, &point.label) {
                (Some(name), _) => name.clone(),
                (None, Some(label)) => format!("{} ({label})", numbers::value(point.x)),
                (None, None) => numbers::value(point.x),
            },
            y: point.y,
            range: point.y_low.zip(point.y_high),
        })
    };
    kept.filter_map(|(_, point)| read(point)).collect()
}

/// A line across, wherever one looks at it.
fn across(figure: &Figure, y: f64, projection: &Projection) -> Vec<ReadPoint> {
    const PLACES: usize = 12;
    let Ok(height) = coordinate(figure.y.scale, y) else { return Vec::new() };
    let Some(range) = projection.x else { return Vec::new() };
    let place = |number: usize| {
        let share = number as f64 / PLACES as f64;
        let at = projection.spot(range.low + share * (range.high - range.low), height);
        ReadPoint { at: (at.x, at.y), x: String::new(), y, range: None }
    };
    (0..=PLACES).map(place).collect()
}
