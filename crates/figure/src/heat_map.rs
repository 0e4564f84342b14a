//! A value over two settings, as colours and numbers.

use crate::drawing::{Anchor, Colour, Outline, Rect, Scene, Shape, Spot, Stroke, Text, elide, width, wrap};
use crate::{FigureError, Picture, ReadPoint, Reading, Scale, Size, layout};

/// Several heat maps in a grid under one title, all on one scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMaps {
    /// The line above the grid; empty for none.
    pub title: String,
    /// Maps per row; zero counts as one.
    pub columns: usize,
    /// What the colours stand for.
    pub value: String,
    /// How values become colours.
    pub scale: Scale,
    /// The maps, row by row.
    pub maps: Vec<HeatMap>,
    /// Small text under the maps.
    pub note: Option<String>,
}

/// One value per pair of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// The line above it.
    pub title: String,
    /// What changes from left to right, and its settings.
    pub x: (String, Vec<String>),
    /// What changes from bottom to top, and its settings.
    pub y: (String, Vec<String>),
    /// Values, one row per setting of `y`, from bottom to top; absent ones stay empty.
    pub rows: Vec<Vec<Option<f64>>>,
}

const TITLE: f64 = 20.0;
const CAPTION: f64 = 16.0;
const TICK: f64 = 14.0;
const CELL_TEXT: f64 = 13.0;
const NOTE: f64 = 13.0;
const PADDING: f64 = 14.0;
const BAR: f64 = 18.0;
/// A map without its words, at most.
const ROOM: Size = (620.0, 420.0);
const LARGEST_CELL: Size = (110.0, 56.0);
const SMALLEST_CELL: Size = (14.0, 14.0);

/// Dark to light, even in brightness and for every kind of colour vision (the ends and knots of viridis).
const COLOURS: [Colour; 9] = [
    Colour(0x44, 0x01, 0x54),
    Colour(0x47, 0x2d, 0x7b),
    Colour(0x3b, 0x52, 0x8b),
    Colour(0x2c, 0x72, 0x8e),
    Colour(0x21, 0x91, 0x8c),
    Colour(0x28, 0xae, 0x80),
    Colour(0x5e, 0xc9, 0x62),
    Colour(0xad, 0xdc, 0x30),
    Colour(0xfd, 0xe7, 0x25),
];

impl Picture for HeatMaps {
    fn scene_in(&self, _: Option<Size>) -> Result<Scene, FigureError> {
        let columns = self.columns.clamp(1, self.maps.len().max(1));
        let range = self.range();
        let sizes: Vec<Size> = self.maps.iter().map(HeatMap::size).collect();
        let cell = sizes.iter().fold((0.0_f64, 0.0_f64), |(w, h), size| (w.max(size.0), h.max(size.1)));
        let bar_words = range.map_or(0.0, |(low, high)| {
            let values = [low, high].map(|value| width(&layout::number(value), TICK));
            values[0].max(values[1])
        });
        let legend = BAR + 10.0 + bar_words + TICK * 1.8;
        let rows = self.maps.len().div_ceil(columns);
        let total = columns as f64 * (cell.0 + PADDING) + PADDING * 2.0 + legend;
        let title = wrap(&self.title, TITLE, total - 2.0 * PADDING, 3);
        let note = wrap(self.note.as_deref().unwrap_or_default(), NOTE, total - 2.0 * PADDING, 3);
        let top = PADDING + title.len() as f64 * TITLE * 1.3 + 6.0;
        let bottom = PADDING + note.len() as f64 * NOTE * 1.3;
        let height = top + rows as f64 * (cell.1 + PADDING) + bottom;
        layout::within_limit(total, height)?;
        let mut scene = Scene::new(total.ceil(), height.ceil(), self.title.trim());
        for (number, line) in title.into_iter().enumerate() {
            let at = Spot::new(total / 2.0, PADDING + TITLE * (1.0 + number as f64 * 1.3));
            scene.text(Text::new("title", line, at, TITLE).anchored(Anchor::Middle));
        }
        for (number, map) in self.maps.iter().enumerate() {
            let left = PADDING + (number % columns) as f64 * (cell.0 + PADDING);
            let above = top + (number / columns) as f64 * (cell.1 + PADDING);
            map.draw(Rect::new(left, above, cell.0, cell.1), &mut scene, &|value| self.colour(range, value));
        }
        if let Some((low, high)) = range {
            let plot = self.maps.first().map_or(Rect::new(0.0, 0.0, 0.0, 0.0), |map| {
                map.plot(Rect::new(PADDING, top, cell.0, cell.1))
            });
            let left = PADDING + columns as f64 * (cell.0 + PADDING);
            let bar = Rect::new(left, plot.top, BAR, plot.height.max(80.0));
            self.draw_bar(&mut scene, bar, low, high, bar_words);
        }
        for (number, line) in note.into_iter().enumerate() {
            let at = Spot::new(PADDING, height - bottom + NOTE * (0.8 + number as f64 * 1.3));
            scene.text(Text::new("note", line, at, NOTE).coloured(Colour::SOFT_INK));
        }
        Ok(scene)
    }
}

impl HeatMaps {
    /// The least and the greatest value of all maps.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.maps.iter().flat_map(|map| map.rows.iter().flatten().flatten());
        let shown = values.filter(|value| self.coordinate(**value).is_some());
        shown.fold(None, |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((*value, *value));
            Some((low.min(*value), high.max(*value)))
        })
    }

    fn coordinate(&self, value: f64) -> Option<f64> {
        match self.scale {
            Scale::Log if value > 0.0 && value.is_finite() => Some(value.ln()),
            Scale::Linear if value.is_finite() => Some(value),
            _ => None,
        }
    }

    fn colour(&self, range: Option<(f64, f64)>, value: f64) -> Option<Colour> {
        let (low, high) = range?;
        let (low, high) = (self.coordinate(low)?, self.coordinate(high)?);
        let share = if high > low { (self.coordinate(value)? - low) / (high - low) } else { 0.5 };
        Some(between(share))
    }

    fn draw_bar(&self, scene: &mut Scene, bar: Rect, low: f64, high: f64, words: f64) {
        const STEPS: usize = 48;
        scene.group("colours", |scene| {
            let step = bar.height / STEPS as f64;
            for number in 0..STEPS {
                // A little overlap, so that no seam shows.
                let top = bar.bottom() - (number as f64 + 1.0) * step;
                let rect = Rect::new(bar.left, top, bar.width, step + if number > 0 { 0.5 } else { 0.0 });
                let fill = Some((between((number as f64 + 0.5) / STEPS as f64), 1.0));
                scene.shape(Shape { class: "", outline: Outline::Rect(rect), fill, stroke: None });
            }
            let stroke = Some(Stroke::solid(Colour::FRAME, 1.0));
            scene.shape(Shape { class: "", outline: Outline::Rect(bar), fill: None, stroke });
            let middle = match self.scale {
                Scale::Linear => low + (high - low) / 2.0,
                Scale::Log => (low.ln() + (high.ln() - low.ln()) / 2.0).exp(),
            };
            let ends = [(low, bar.bottom()), (middle, bar.centre().y), (high, bar.top)];
            for (value, y) in ends.into_iter().take(if high > low { 3 } else { 1 }) {
                let at = Spot::new(bar.right() + 6.0, y + TICK * 0.35);
                scene.text(Text::new("tick", layout::number(value), at, TICK));
            }
            let at = Spot::new(bar.right() + words + TICK * 1.6, bar.centre().y);
            let mut text = Text::new("value", elide(&self.value, TICK, bar.height), at, TICK);
            text.upwards = true;
            scene.text(text.anchored(Anchor::Middle));
        });
    }
}

impl HeatMap {
    fn cell(&self) -> Size {
        let side =
            |room: f64, count: usize, least: f64, most: f64| (room / count.max(1) as f64).clamp(least, most);
        (
            side(ROOM.0, self.x.1.len(), SMALLEST_CELL.0, LARGEST_CELL.0),
            side(ROOM.1, self.y.1.len(), SMALLEST_CELL.1, LARGEST_CELL.1),
        )
    }

    /// Room for what stands to the left of the cells.
    fn left(&self) -> f64 {
        let names = self.y.1.iter().map(|name| width(name, TICK).min(160.0)).fold(0.0, f64::max);
        CAPTION * 1.7 + names + 8.0
    }

    fn size(&self) -> Size {
        let cell = self.cell();
        let across = cell.0 * self.x.1.len() as f64 + self.left() + 6.0;
        let up = cell.1 * self.y.1.len() as f64 + 2.0 * CAPTION * 1.5 + TICK * 1.8;
        (across.max(width(&self.title, CAPTION).min(420.0)).max(220.0), up)
    }

    fn plot(&self, room: Rect) -> Rect {
        let cell = self.cell();
        let (across, up) = (cell.0 * self.x.1.len() as f64, cell.1 * self.y.1.len() as f64);
        Rect::new(room.left + self.left(), room.top + CAPTION * 1.5, across, up)
    }

    fn draw(&self, room: Rect, scene: &mut Scene, colour: &dyn Fn(f64) -> Option<Colour>) {
        let (plot, cell) = (self.plot(room), self.cell());
        let at = Spot::new(plot.centre().x, room.top + CAPTION);
        let title = elide(&self.title, CAPTION, room.width);
        scene.text(Text::new("map-title", title, at, CAPTION).anchored(Anchor::Middle));
        let least = self.rows.iter().flatten().flatten().copied().fold(f64::INFINITY, f64::min);
        scene.group("cells", |scene| {
            for (row, values) in self.rows.iter().enumerate() {
                for (column, value) in values.iter().enumerate() {
                    let left = plot.left + column as f64 * cell.0;
                    let top = plot.bottom() - (row as f64 + 1.0) * cell.1;
                    self.draw_cell(scene, Rect::new(left, top, cell.0, cell.1), *value, colour);
                }
            }
        });
        self.frame_least(scene, plot, cell, least);
        self.draw_names(scene, plot, cell);
        self.read(scene, plot, cell);
    }

    fn draw_cell(
        &self,
        scene: &mut Scene,
        area: Rect,
        value: Option<f64>,
        colour: &dyn Fn(f64) -> Option<Colour>,
    ) {
        let fill = value.and_then(colour).unwrap_or(Colour::GRID);
        scene.shape(Shape {
            class: "cell",
            outline: Outline::Rect(area),
            fill: Some((fill, 1.0)),
            stroke: Some(Stroke::solid(Colour::WHITE, 1.0)),
        });
        let text = value.map_or(String::new(), layout::number);
        let size = CELL_TEXT.min(area.height * 0.6);
        if size >= 9.0 && width(&text, size) <= area.width - 4.0 {
            let at = Spot::new(area.centre().x, area.centre().y + size * 0.35);
            let ink = if is_dark(fill) { Colour::WHITE } else { Colour::INK };
            scene.text(Text::new("cell-value", text, at, size).anchored(Anchor::Middle).coloured(ink));
        }
    }

    fn frame_least(&self, scene: &mut Scene, plot: Rect, cell: Size, least: f64) {
        for (row, values) in self.rows.iter().enumerate() {
            for (column, value) in values.iter().enumerate() {
                if *value == Some(least) {
                    let left = plot.left + column as f64 * cell.0;
                    let top = plot.bottom() - (row as f64 + 1.0) * cell.1;
                    scene.shape(Shape {
                        class: "least",
                        outline: Outline::Rect(Rect::new(left, top, cell.0, cell.1).grown(-1.5)),
                        fill: None,
                        stroke: Some(Stroke::solid(Colour(0xd5, 0x5e, 0x00), 3.0)),
                    });
                }
            }
        }
    }

    fn draw_names(&self, scene: &mut Scene, plot: Rect, cell: Size) {
        // Names that would meet are left out, evenly.
        let widest = self.x.1.iter().map(|name| width(name, TICK)).fold(0.0, f64::max) + 6.0;
        let every = (widest / cell.0).ceil().max(1.0) as usize;
        let every = if widest > cell.0 && every == 1 { 2 } else { every };
        for (column, name) in self.x.1.iter().enumerate().step_by(every) {
            let x = plot.left + (column as f64 + 0.5) * cell.0;
            let at = Spot::new(x, plot.bottom() + TICK * 1.2);
            let name = elide(name, TICK, cell.0 * every as f64);
            scene.text(Text::new("tick", name, at, TICK).anchored(Anchor::Middle));
        }
        let every = (TICK * 1.1 / cell.1).ceil().max(1.0) as usize;
        for (row, name) in self.y.1.iter().enumerate().step_by(every) {
            let y = plot.bottom() - (row as f64 + 0.5) * cell.1;
            let at = Spot::new(plot.left - 6.0, y + TICK * 0.35);
            let name = elide(name, TICK, 160.0);
            scene.text(Text::new("tick", name, at, TICK).anchored(Anchor::End));
        }
        let at = Spot::new(plot.centre().x, plot.bottom() + TICK * 1.6 + CAPTION);
        scene.text(Text::new("x-label", self.x.0.as_str(), at, CAPTION).anchored(Anchor::Middle));
        let at = Spot::new(plot.left - self.left() + CAPTION, plot.centre().y);
        let mut text = Text::new("y-label", self.y.0.as_str(), at, CAPTION);
        text.upwards = true;
        scene.text(text.anchored(Anchor::Middle));
    }

    fn read(&self, scene: &mut Scene, plot: Rect, cell: Size) {
        for (row, values) in self.rows.iter().enumerate() {
            let point = |(column, value): (usize, &Option<f64>)| {
                let x = plot.left + (column as f64 + 0.5) * cell.0;
                let y = plot.bottom() - (row as f64 + 0.5) * cell.1;
                let name = self.x.1.get(column).cloned().unwrap_or_default();
                let x_name = format!("{} = {name}", self.x.0);
                value.map(|value| ReadPoint { at: (x, y), x: x_name, y: value, range: None })
            };
            let name = self.y.1.get(row).cloned().unwrap_or_default();
            scene.readings.push(Reading {
                panel: self.title.clone(),
                series: format!("{} = {name}", self.y.0),
                points: values.iter().enumerate().filter_map(point).collect(),
            });
        }
    }
}

/// The colour at a share of the way.
fn between(share: f64) -> Colour {
    let place = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let (a, b) = (COLOURS[low], COLOURS[(low + 1).min(COLOURS.len() - 1)]);
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    Colour(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

fn is_dark(Colour(red, green, blue): Colour) -> bool {
    0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue) < 140.0
}
