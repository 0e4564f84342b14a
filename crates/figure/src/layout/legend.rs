use super::look::{LEADING, Look, MIDDLE};
use super::telling::distinct;
use crate::drawing::{Colour, Outline, Pen, Rect, Scene, Shape, Spot, Text, elide, width, wrap};
use crate::{Figure, Mark};

/// One series as the legend shows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub label: String,
    pub pen: Pen,
    pub sample: Sample,
}

/// What is drawn beside a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    Line { band: bool },
    Dots { connect: bool },
    Reference,
}

impl Entry {
    /// The entries of one figure.
    pub(super) fn of(figure: &Figure, pens: &[Pen]) -> Vec<Self> {
        let named = |label: &str| !label.trim().is_empty();
        let series = figure.series.iter().zip(pens);
        let shown = series.filter(|(series, _)| named(&series.label));
        shown
            .map(|(series, pen)| Self {
                label: series.label.clone(),
                pen: *pen,
                sample: match &series.mark {
                    Mark::Line { points } => {
                        Sample::Line { band: points.iter().any(|p| p.y_low.is_some() || p.y_high.is_some()) }
                    }
                    Mark::Dots { connect, .. } => Sample::Dots { connect: *connect },
                    Mark::Horizontal { .. } => Sample::Reference,
                },
            })
            .collect()
    }
}

/// A legend with all its places, relative to its upper left corner.
#[derive(Debug, Default)]
pub(super) struct Legend {
    rows: Vec<Row>,
    size: f64,
    pub width: f64,
    pub height: f64,
}

#[derive(Debug)]
struct Row {
    at: Spot,
    lines: Vec<String>,
    entry: Option<Entry>,
}

/// Width of a sample, and its distance from the label, relative to the text's size.
const SAMPLE: f64 = 2.3;
const GAP: f64 = 0.55;

impl Legend {
    /// One entry below the other. Labels wrap; when there are too many entries they are cut to
    /// one line, then made smaller, and at last the remaining ones are only counted.
    pub(super) fn column(entries: &[Entry], look: &Look, room: f64, height: f64) -> Self {
        let [full, smaller, smallest] = [1.0, 0.88, 0.76].map(|share| share * look.legend);
        let attempts =
            [(full, 3), (full, 2), (full, 1), (smaller, 2), (smaller, 1), (smallest, 2), (smallest, 1)];
        // Smaller labels say more than labels with a part left out.
        for may_elide in [false, true] {
            for (size, lines) in attempts {
                let legend = Self::stacked(entries, size, lines, room);
                if legend.height <= height && (may_elide || !legend.elides()) {
                    return legend;
                }
            }
        }
        let (size, lines) = (smallest, 1);
        let legend = Self::stacked(entries, size, lines, room);
        if legend.height <= height {
            return legend;
        }
        let fitting = ((height / legend.height * entries.len() as f64) as usize).max(2) - 1;
        let shown = fitting.min(entries.len());
        let mut legend = Self::stacked(&entries[..shown], size, lines, room);
        let at = Spot::new(0.0, legend.height);
        legend.rows.push(Row {
            at,
            lines: vec![format!("… and {} more", entries.len() - shown)],
            entry: None,
        });
        legend.height += size * LEADING;
        legend
    }

    fn stacked(entries: &[Entry], size: f64, lines: usize, room: f64) -> Self {
        let indent = (SAMPLE + GAP) * size;
        let mut legend = Self { size, ..Self::default() };
        let labels: Vec<&str> = entries.iter().map(|entry| entry.label.as_str()).collect();
        let labels = distinct(&labels, |label| wrap(label, size, room - indent, lines));
        for (entry, lines) in entries.iter().zip(labels) {
            let widest = lines.iter().map(|line| width(line, size));
            legend.width = legend.width.max(indent + widest.fold(0.0, f64::max));
            if !legend.rows.is_empty() {
                legend.height += size * 0.22;
            }
            let at = Spot::new(0.0, legend.height);
            legend.height += lines.len() as f64 * size * LEADING;
            legend.rows.push(Row { at, lines, entry: Some(entry.clone()) });
        }
        legend
    }

    fn elides(&self) -> bool {
        self.rows.iter().any(|row| {
            let shown = row.lines.iter().any(|line| line.contains('…'));
            let given = row.entry.as_ref().is_some_and(|entry| entry.label.contains('…'));
            shown && !given
        })
    }

    /// Row by row in as many columns as fit into `room`.
    pub(super) fn rows(entries: &[Entry], look: &Look, room: f64) -> Self {
        let size = look.legend;
        let (indent, between) = ((SAMPLE + GAP) * size, size * 1.6);
        let labels: Vec<&str> = entries.iter().map(|entry| entry.label.trim()).collect();
        let labels = distinct(&labels, |label| vec![elide(label, size, room * 0.45 - indent)]);
        let widths: Vec<f64> =
            (labels.iter()).map(|label| indent + width(&label[0], size) + between).collect();
        let lefts = (1..=entries.len().max(1))
            .map(|lines| lefts(&widths, entries.len().div_ceil(lines)))
            .find(|lefts| lefts.len() <= 2 || lefts[lefts.len() - 1] - between <= room)
            .unwrap_or_default();
        let columns = lefts.len().saturating_sub(1).max(1);
        let pitch = size * (LEADING + 0.2);
        let rows = entries.iter().zip(labels).enumerate();
        Self {
            rows: rows
                .map(|(number, (entry, label))| Row {
                    at: Spot::new(lefts[number % columns], (number / columns) as f64 * pitch),
                    lines: label,
                    entry: Some(entry.clone()),
                })
                .collect(),
            size,
            width: lefts.last().map_or(0.0, |right| right - between),
            height: entries.len().div_ceil(columns) as f64 * pitch,
        }
    }

    pub(super) fn draw(&self, scene: &mut Scene, at: Spot, look: &Look) {
        let indent = (SAMPLE + GAP) * self.size;
        let half_line = self.size * LEADING / 2.0;
        for row in &self.rows {
            let (x, middle) = (at.x + row.at.x, at.y + row.at.y + half_line);
            if let Some(entry) = &row.entry {
                // Against a label of several lines the sample stands in the middle.
                let down = (row.lines.len().max(1) - 1) as f64 * half_line;
                entry.draw_sample(scene, Spot::new(x, middle + down), self.size, look);
            }
            for (number, line) in row.lines.iter().enumerate() {
                let baseline = middle + number as f64 * 2.0 * half_line + self.size * MIDDLE;
                let place = Spot::new(x + indent, baseline);
                scene.text(Text::new("entry", line.as_str(), place, self.size));
            }
        }
    }
}

/// Where the columns begin, and after them where the last one ends.
fn lefts(widths: &[f64], columns: usize) -> Vec<f64> {
    let mut lefts = vec![0.0];
    for column in 0..columns {
        let in_column = widths.iter().skip(column).step_by(columns);
        let widest = in_column.copied().fold(0.0, f64::max);
        lefts.push(lefts[column] + widest);
    }
    lefts
}

impl Entry {
    fn draw_sample(&self, scene: &mut Scene, left: Spot, size: f64, look: &Look) {
        let length = SAMPLE * size;
        let (centre, right) = (Spot::new(left.x + length / 2.0, left.y), Spot::new(left.x + length, left.y));
        let pen = &self.pen;
        match self.sample {
            Sample::Line { band } => {
                if band {
                    let height = size * 0.75;
                    scene.shape(sample_band(left, length, height, pen.colour));
                }
                scene.line("sample", left, right, pen.stroke(look.line));
                scene.shape(pen.marker.shape(centre, look.marker, pen.colour));
            }
            Sample::Dots { connect } => {
                if connect {
                    scene.line("sample", left, right, pen.stroke(look.line * 0.75));
                }
                scene.shape(pen.marker.shape(centre, look.dot, pen.colour));
            }
            Sample::Reference => scene.line("sample", left, right, pen.stroke(look.line * 0.8)),
        }
    }
}

fn sample_band(left: Spot, length: f64, height: f64, colour: Colour) -> Shape {
    Shape {
        class: "sample",
        outline: Outline::Rect(Rect::new(left.x, left.y - height / 2.0, length, height)),
        fill: Some((colour, 0.18)),
        stroke: None,
    }
}
