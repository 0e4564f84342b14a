use super::look::{Look, MIDDLE};
use super::range::Range;
use super::ticks::Ticks;
use crate::drawing::{Anchor, Colour, Label, Outline, Rect, Scene, Shape, Spot, Stroke, Text};

/// Length of a labelled tick; the small ones have half of it.
pub(super) const TICK: f64 = 5.0;

/// Distance between a tick and its label.
pub(super) const TICK_GAP: f64 = 4.0;

/// The frame of a plot with its grid and ticks.
#[derive(Debug)]
pub(super) struct Frame {
    area: Rect,
    x: Stops,
    y: Stops,
}

/// The ticks of one axis as distances in the picture.
#[derive(Debug, Default)]
struct Stops {
    major: Vec<(f64, Label)>,
    minor: Vec<f64>,
}

impl Stops {
    fn new(range: &Range, ticks: Ticks, place: impl Fn(f64) -> f64) -> Self {
        let at = |coordinate: f64| crisp(place(range.share(coordinate)));
        Self {
            major: (ticks.major.into_iter()).map(|tick| (at(tick.at), tick.label)).collect(),
            minor: ticks.minor.into_iter().map(at).collect(),
        }
    }
}

impl Frame {
    pub(super) fn new(area: Rect, x: Option<(Range, Ticks)>, y: Option<(Range, Ticks)>) -> Self {
        let across = |share: f64| area.left + share * area.width;
        let up = |share: f64| area.bottom() - share * area.height;
        Self {
            area,
            x: x.map_or_else(Stops::default, |(range, ticks)| Stops::new(&range, ticks, across)),
            y: y.map_or_else(Stops::default, |(range, ticks)| Stops::new(&range, ticks, up)),
        }
    }

    /// The light lines behind the data.
    pub(super) fn draw_grid(&self, scene: &mut Scene) {
        let stroke = Stroke::solid(Colour::GRID, 1.0);
        let (left, right) = (self.area.left, self.area.right());
        let (top, bottom) = (self.area.top, self.area.bottom());
        scene.group("grid", |scene| {
            for (x, _) in &self.x.major {
                scene.line("", Spot::new(*x, top), Spot::new(*x, bottom), stroke);
            }
            for (y, _) in &self.y.major {
                scene.line("", Spot::new(left, *y), Spot::new(right, *y), stroke);
            }
        });
    }

    /// The frame, the ticks and their labels.
    pub(super) fn draw_axes(&self, scene: &mut Scene, look: &Look) {
        let stroke = Stroke::solid(Colour::FRAME, 1.0);
        scene.shape(Shape {
            class: "frame",
            outline: Outline::Rect(self.area),
            fill: None,
            stroke: Some(stroke),
        });
        let size = look.tick;
        scene.group("x-axis", |scene| {
            let tick = |scene: &mut Scene, x: f64, length: f64| {
                let from = Spot::new(x, self.area.bottom());
                scene.line("", from, Spot::new(x, from.y + length), stroke);
            };
            for x in &self.x.minor {
                tick(scene, *x, TICK / 2.0);
            }
            for (x, label) in &self.x.major {
                tick(scene, *x, TICK);
                let at = Spot::new(*x, self.area.bottom() + TICK + TICK_GAP + size * 0.75);
                scene.text(Text::new("tick", label.clone(), at, size).anchored(Anchor::Middle));
            }
        });
        scene.group("y-axis", |scene| {
            let tick = |scene: &mut Scene, y: f64, length: f64| {
                let from = Spot::new(self.area.left, y);
                scene.line("", from, Spot::new(from.x - length, y), stroke);
            };
            for y in &self.y.minor {
                tick(scene, *y, TICK / 2.0);
            }
            for (y, label) in &self.y.major {
                tick(scene, *y, TICK);
                let at = Spot::new(self.area.left - TICK - TICK_GAP, y + size * MIDDLE);
                scene.text(Text::new("tick", label.clone(), at, size).anchored(Anchor::End));
            }
        });
    }
}

/// The nearest middle of a pixel, where a thin line is sharp.
pub(super) fn crisp(distance: f64) -> f64 {
    distance.floor() + 0.5
}
