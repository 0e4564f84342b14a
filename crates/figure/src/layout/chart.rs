use super::data::{Data, Trace};
use super::frame::{Frame, TICK, TICK_GAP, crisp};
use super::legend::{Entry, Legend};
use super::look::{LEADING, Look, MIDDLE};
use super::marks::Marks;
use super::range::Range;
use super::readings;
use super::ticks::Ticks;
use crate::Figure;
use crate::drawing::{
    Anchor, Colour, Outline, Pen, Rect, Scene, Shape, Spot, Step, Stroke, Text, width, wrap,
};

/// Where a figure's legend may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegendPlace {
    /// In a corner of the plot if one is empty, else to the right of it.
    Anywhere,
    Right,
    /// The figure's entries are shown elsewhere.
    Nowhere,
}

/// Room around the plot for everything that is not data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Margins {
    pub top: f64,
    pub bottom: f64,
    pub left: f64,
    pub right: f64,
    /// Whether the right side holds the legend.
    pub legend: bool,
}

/// A figure made ready for drawing.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    figure: &'a Figure,
    look: Look,
    data: Data,
    pens: Vec<Pen>,
    entries: Vec<Entry>,
    place: LegendPlace,
    /// Said when dot labels had to be left out.
    crowded: bool,
}

/// More entries than this never go into a corner.
const MOST_IN_CORNER: usize = 7;

/// Room inside the box of a legend in a corner.
const BOX: f64 = 7.0;

impl<'a> Chart<'a> {
    pub(super) fn new(figure: &'a Figure, pens: Vec<Pen>, look: Look, place: LegendPlace) -> Self {
        let entries = match place {
            LegendPlace::Nowhere => Vec::new(),
            _ => Entry::of(figure, &pens),
        };
        Self { figure, look, data: Data::new(figure), pens, entries, place, crowded: false }
    }

    /// Room above and below, once the width of the whole area is known.
    pub(super) fn vertical(&self, area_width: f64) -> (f64, f64) {
        let look = &self.look;
        let title = match self.title(area_width).len() {
            0 => look.tick * 0.5,
            lines => lines as f64 * look.title * LEADING + look.title * 0.4,
        };
        let axis = match self.x_label(area_width).len() {
            0 => 0.0,
            lines => lines as f64 * look.axis * LEADING + look.axis * 0.12,
        };
        let ticks = TICK + TICK_GAP + look.tick;
        let note = match self.note(area_width).len() {
            0 => 0.0,
            lines => lines as f64 * look.note * LEADING + look.note * 0.5,
        };
        (look.padding + title, ticks + axis + note + look.padding)
    }

    /// Sets the room to the left and right, once that above and below is known.
    pub(super) fn set_horizontal(&self, area: Rect, margins: &mut Margins) {
        let look = &self.look;
        let height = area.height - margins.top - margins.bottom;
        let label = self.y_label(height).len() as f64 * look.axis * LEADING;
        let gap = if label > 0.0 { look.axis * 0.35 } else { 0.0 };
        let ticks = match self.y_ticks(height) {
            Some(ticks) => ticks.widest(look.tick) + TICK + TICK_GAP,
            None => look.tick,
        };
        margins.left = look.padding + label + gap + ticks;
        margins.right = look.padding + look.tick * 0.9;
        margins.legend = !self.entries.is_empty() && self.corner(plot(area, margins)).is_none();
        if margins.legend {
            let legend = self.side_legend(area.width, height);
            margins.right = look.padding + legend.width + look.legend;
        }
    }

    /// Notes that some labels have no room in this layout; returns whether that is news.
    pub(super) fn notice_crowding(&mut self, area: Rect, margins: &Margins) -> bool {
        let marks = self.marks(plot(area, margins));
        let news = marks.labels_left_out > 0 && !self.crowded;
        self.crowded |= news;
        news
    }

    pub(super) fn draw(&self, scene: &mut Scene, area: Rect, margins: &Margins) {
        let plot = plot(area, margins);
        let frame = Frame::new(
            plot,
            (self.data.x).map(|x| (x, self.x_ticks(&x, plot.width))),
            self.data.y.zip(self.y_ticks(plot.height)),
        );
        let marks = self.marks(plot);
        scene.group("chart", |scene| {
            frame.draw_grid(scene);
            self.draw_bands(scene, &marks);
            self.draw_leaders(scene, &marks);
            self.draw_series(scene, &marks, plot);
            frame.draw_axes(scene, &self.look);
            self.draw_dot_labels(scene, &marks);
            if self.data.x.is_none() && self.data.y.is_none() {
                let centre = Spot::new(plot.centre().x, plot.centre().y + self.look.axis * MIDDLE);
                let text = Text::new("empty", "no data", centre, self.look.axis);
                scene.text(text.anchored(Anchor::Middle).coloured(Colour::SOFT_INK));
            }
            self.draw_words(scene, area, plot);
            self.draw_legend(scene, area, plot, margins.legend);
        });
        scene.readings.extend(readings::of(self.figure, &self.data, plot));
    }

    fn marks(&self, plot: Rect) -> Marks {
        Marks::new(&self.data, &self.pens, plot, &self.look)
    }

    fn x_ticks(&self, range: &Range, width: f64) -> Ticks {
        match self.figure.x.names.as_slice() {
            [] => Ticks::side_by_side(range, width, self.look.tick),
            names => Ticks::named(range, names, width, self.look.tick),
        }
    }

    fn y_ticks(&self, height: f64) -> Option<Ticks> {
        let wanted = ((height / (self.look.tick * 2.8)) as usize).clamp(2, 10);
        self.data.y.map(|range| Ticks::new(&range, wanted))
    }

    fn title(&self, area_width: f64) -> Vec<String> {
        let room = area_width - 2.0 * self.look.padding;
        wrap(&self.figure.title, self.look.title, room, 3)
    }

    fn x_label(&self, area_width: f64) -> Vec<String> {
        let room = area_width - 2.0 * self.look.padding;
        wrap(&self.figure.x.label, self.look.axis, room, 2)
    }

    fn y_label(&self, height: f64) -> Vec<String> {
        wrap(&self.figure.y.label, self.look.axis, height, 2)
    }

    fn note(&self, area_width: f64) -> Vec<String> {
        let mut said = self.data.omissions();
        if self.crowded {
            said.push("Some dot labels are left out for want of room.".to_owned());
        }
        let own = self.figure.note.as_deref().unwrap_or("").trim();
        if !own.is_empty() {
            let ends = own.ends_with(['.', '!', '?', ':', ';']) || said.is_empty();
            said.insert(0, if ends { own.into() } else { format!("{own}.") });
        }
        let room = area_width - 2.0 * self.look.padding;
        wrap(&said.join(" "), self.look.note, room, 4)
    }

    fn side_legend(&self, area_width: f64, height: f64) -> Legend {
        Legend::column(&self.entries, &self.look, area_width * 0.3, height)
    }

    /// The legend and its place in the emptiest corner of the plot, if one is empty.
    fn corner(&self, plot: Rect) -> Option<(Legend, Spot)> {
        if self.place != LegendPlace::Anywhere || self.entries.len() > MOST_IN_CORNER {
            return None;
        }
        let legend = Legend::column(&self.entries, &self.look, plot.width * 0.42, plot.height);
        let (width, height) = (legend.width + 2.0 * BOX, legend.height + 2.0 * BOX);
        let inner = plot.grown(-8.0);
        if width > inner.width || height > inner.height {
            return None;
        }
        let (right, bottom) = (inner.right() - width, inner.bottom() - height);
        let corners = [(inner.left, inner.top), (right, inner.top), (right, bottom), (inner.left, bottom)];
        let obstacles = self.marks(plot).obstacles;
        for distance in [40.0, 20.0, 10.0, 5.0] {
            for (x, y) in corners {
                let wanted = Rect::new(x, y, width, height).grown(distance);
                if !obstacles.in_the_way(&wanted) {
                    return Some((legend, Spot::new(x + BOX, y + BOX)));
                }
            }
        }
        None
    }

    fn draw_legend(&self, scene: &mut Scene, area: Rect, plot: Rect, beside: bool) {
        if self.entries.is_empty() {
            return;
        }
        scene.group("legend", |scene| {
            if beside {
                let legend = self.side_legend(area.width, plot.height);
                let at = Spot::new(plot.right() + self.look.legend, plot.top);
                legend.draw(scene, at, &self.look);
            } else if let Some((legend, at)) = self.corner(plot) {
                let legend_box = Rect::new(at.x, at.y, legend.width, legend.height).grown(BOX);
                scene.shape(Shape {
                    class: "",
                    outline: Outline::Rect(legend_box),
                    fill: Some((Colour::WHITE, 0.9)),
                    stroke: Some(Stroke::solid(Colour::GRID, 1.0)),
                });
                legend.draw(scene, at, &self.look);
            }
        });
    }

    fn draw_bands(&self, scene: &mut Scene, marks: &Marks) {
        let banded = marks.drawn.iter().filter(|d| !d.bands.is_empty()).count();
        let opacity = match banded {
            0..=6 => 0.18,
            7..=12 => 0.13,
            _ => 0.09,
        };
        for (drawn, pen) in marks.drawn.iter().zip(&self.pens) {
            if !drawn.bands.is_empty() {
                scene.shape(Shape {
                    class: "band",
                    outline: Outline::Path(steps(&drawn.bands, true)),
                    fill: Some((pen.colour, opacity)),
                    stroke: None,
                });
            }
        }
    }

    fn draw_series(&self, scene: &mut Scene, marks: &Marks, plot: Rect) {
        let look = &self.look;
        let traces = self.data.traces.iter();
        for ((trace, drawn), pen) in traces.zip(&marks.drawn).zip(&self.pens) {
            let (radius, width) = match trace {
                Trace::Line(_) => (look.marker, look.line),
                Trace::Dots { .. } => (look.dot, look.line * 0.75),
                Trace::Horizontal(_) => (0.0, look.line * 0.8),
            };
            scene.group("series", |scene| {
                if let Some(y) = drawn.level {
                    let (from, to) = (Spot::new(plot.left, y), Spot::new(plot.right(), y));
                    scene.line("reference", from, to, pen.stroke(width));
                }
                if !drawn.lines.is_empty() {
                    scene.shape(Shape {
                        class: "line",
                        outline: Outline::Path(steps(&drawn.lines, false)),
                        fill: None,
                        stroke: Some(pen.stroke(width)),
                    });
                }
                for (from, to) in &drawn.bars {
                    error_bar(scene, *from, *to, pen.colour);
                }
                for centre in &drawn.markers {
                    scene.shape(pen.marker.shape(*centre, radius, pen.colour));
                }
            });
        }
    }

    fn draw_leaders(&self, scene: &mut Scene, marks: &Marks) {
        for (series, label) in marks.labels.iter().filter(|(_, label)| label.led) {
            let area = label.area;
            let x = label.dot.x.clamp(area.left, area.right());
            let y = label.dot.y.clamp(area.top, area.bottom());
            let stroke = Stroke::solid(self.pens[*series].colour, 0.8);
            scene.line("leader", label.dot, Spot::new(x, y), stroke);
        }
    }

    fn draw_dot_labels(&self, scene: &mut Scene, marks: &Marks) {
        for (series, label) in &marks.labels {
            let colour = self.pens[*series].colour;
            let (area, size) = (label.area, self.look.dot_label);
            let at = Spot::new(area.left, area.centre().y + size * MIDDLE);
            let mut text = Text::new("dot-label", label.text.as_str(), at, size);
            text.halo = true;
            scene.text(text.coloured(colour.darker()));
        }
    }

    /// Title, axis labels and note.
    fn draw_words(&self, scene: &mut Scene, area: Rect, plot: Rect) {
        let look = &self.look;
        // In the middle of the plot, unless that would reach beyond the area.
        let middle = |lines: &[String], size: f64| {
            let widest = lines.iter().map(|line| width(line, size)).fold(0.0, f64::max);
            let half = widest / 2.0 + look.padding;
            plot.centre().x.min(area.right() - half).max(area.left + half)
        };
        let title = self.title(area.width);
        let mut at = Spot::new(middle(&title, look.title), area.top + look.padding + look.title);
        for line in title {
            scene.text(Text::new("title", line, at, look.title).anchored(Anchor::Middle));
            at.y += look.title * LEADING;
        }

        let label = self.x_label(area.width);
        let y = plot.bottom() + TICK + TICK_GAP + look.tick + look.axis * 1.15;
        let mut at = Spot::new(middle(&label, look.axis), y);
        for line in label {
            scene.text(Text::new("x-label", line, at, look.axis).anchored(Anchor::Middle));
            at.y += look.axis * LEADING;
        }

        let mut x = area.left + look.padding + look.axis;
        for line in self.y_label(plot.height) {
            let at = Spot::new(x, plot.centre().y);
            let mut text = Text::new("y-label", line, at, look.axis);
            text.upwards = true;
            scene.text(text.anchored(Anchor::Middle));
            x += look.axis * LEADING;
        }

        let note = self.note(area.width);
        let mut y = area.bottom() - look.padding - note.len() as f64 * look.note * LEADING;
        for line in note {
            y += look.note * LEADING;
            let at = Spot::new(area.left + look.padding, y - look.note * 0.25);
            scene.text(Text::new("note", line, at, look.note).coloured(Colour::SOFT_INK));
        }
    }
}

/// What remains of the area for the plot itself.
fn plot(area: Rect, margins: &Margins) -> Rect {
    let (left, top) = (crisp(area.left + margins.left), crisp(area.top + margins.top));
    let right = crisp(area.right() - margins.right);
    let bottom = crisp(area.bottom() - margins.bottom);
    Rect::new(left, top, right - left, bottom - top)
}

fn steps(lines: &[Vec<Spot>], close: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in lines {
        let (first, rest) = line.split_first().expect("lines have points");
        steps.push(Step::Move(*first));
        steps.extend(rest.iter().map(|spot| Step::Line(*spot)));
        if close {
            steps.push(Step::Close);
        }
    }
    steps
}

fn error_bar(scene: &mut Scene, from: Spot, to: Spot, colour: Colour) {
    const CAP: f64 = 3.0;
    let (across, down) = if from.x == to.x { (CAP, 0.0) } else { (0.0, CAP) };
    let cap = |end: Spot| {
        [
            Step::Move(Spot::new(end.x - across, end.y - down)),
            Step::Line(Spot::new(end.x + across, end.y + down)),
        ]
    };
    let mut steps = vec![Step::Move(from), Step::Line(to)];
    steps.extend(cap(from));
    steps.extend(cap(to));
    scene.shape(Shape {
        class: "error-bar",
        outline: Outline::Path(steps),
        fill: None,
        stroke: Some(Stroke::solid(colour, 1.1)),
    });
}
