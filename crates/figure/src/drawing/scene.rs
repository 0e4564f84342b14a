use super::Colour;
use crate::{FigureError, Reading};

/// A picture as a list of shapes and texts, later ones over earlier ones.
#[derive(Debug)]
pub struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What the picture is, for readers that cannot see it.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
    pub(crate) readings: Vec<Reading>,
}

#[derive(Debug)]
pub(crate) enum Item {
    Open(&'static str),
    Close,
    Shape(Shape),
    Text(Text),
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        Self { width, height, title: title.to_owned(), items: Vec::new(), readings: Vec::new() }
    }

    /// Width and height.
    pub fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// What can be read off it, series by series.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// As an SVG document; its text stays text.
    pub fn svg(&self) -> String {
        super::svg::svg(self)
    }

    /// As the bytes of a PNG file at twice the scale.
    pub fn png(&self) -> Result<Vec<u8>, FigureError> {
        super::png::png(self)
    }

    /// As the bytes of a PDF file of one page.
    pub fn pdf(&self) -> Result<Vec<u8>, FigureError> {
        super::pdf::pdf(self)
    }

    /// Puts everything that `draw` adds into a group named `class`.
    pub(crate) fn group(&mut self, class: &'static str, draw: impl FnOnce(&mut Self)) {
        self.items.push(Item::Open(class));
        draw(self);
        self.items.push(Item::Close);
    }

    pub(crate) fn shape(&mut self, shape: Shape) {
        self.items.push(Item::Shape(shape));
    }

    pub(crate) fn text(&mut self, text: Text) {
        self.items.push(Item::Text(text));
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &'static str, from: Spot, to: Spot, stroke: Stroke) {
        self.shape(Shape {
            class,
            outline: Outline::Path(vec![Step::Move(from), Step::Line(to)]),
            fill: None,
            stroke: Some(stroke),
        });
    }
}

/// A place in the picture; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spot {
    pub x: f64,
    pub y: f64,
}

impl Spot {
    pub(crate) const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

/// An upright rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub(crate) fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { left, top, width, height }
    }

    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) fn centre(&self) -> Spot {
        Spot::new(self.left + self.width / 2.0, self.top + self.height / 2.0)
    }

    /// The rectangle with `by` more room on each side.
    pub(crate) fn grown(&self, by: f64) -> Self {
        Self::new(self.left - by, self.top - by, self.width + 2.0 * by, self.height + 2.0 * by)
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }

    pub(crate) fn holds(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right() >= other.right()
            && self.bottom() >= other.bottom()
    }

    /// Whether the segment from `a` to `b` enters the rectangle (Liang and Barsky's clipping).
    pub(crate) fn meets_segment(&self, a: Spot, b: Spot) -> bool {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        let edges = [
            (a.x - b.x, a.x - self.left),
            (b.x - a.x, self.right() - a.x),
            (a.y - b.y, a.y - self.top),
            (b.y - a.y, self.bottom() - a.y),
        ];
        for (direction, distance) in edges {
            if direction == 0.0 {
                if distance < 0.0 {
                    return false;
                }
            } else if direction < 0.0 {
                enter = enter.max(distance / direction);
            } else {
                leave = leave.min(distance / direction);
            }
        }
        enter <= leave
    }
}

/// A filled or stroked outline.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What it shows, as the class in the SVG; empty for none.
    pub class: &'static str,
    pub outline: Outline,
    /// Colour and opacity.
    pub fill: Option<(Colour, f64)>,
    pub stroke: Option<Stroke>,
}

#[derive(Debug)]
pub(crate) enum Outline {
    Path(Vec<Step>),
    Circle { centre: Spot, radius: f64 },
    Rect(Rect),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Move(Spot),
    Line(Spot),
    Close,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke {
    pub colour: Colour,
    pub width: f64,
    /// Lengths of ink and gap in turn; empty for a solid line.
    pub dash: &'static [f64],
}

impl Stroke {
    pub(crate) fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: &[] }
    }
}

/// One line of text.
#[derive(Debug)]
pub(crate) struct Text {
    pub class: &'static str,
    pub label: Label,
    /// Where the anchor lies, on the baseline.
    pub at: Spot,
    pub anchor: Anchor,
    pub size: f64,
    pub colour: Colour,
    /// Whether the text reads from bottom to top.
    pub upwards: bool,
    /// Whether a white rim keeps it readable over lines.
    pub halo: bool,
}

impl Text {
    pub(crate) fn new(class: &'static str, label: impl Into<Label>, at: Spot, size: f64) -> Self {
        Self {
            class,
            label: label.into(),
            at,
            anchor: Anchor::Start,
            size,
            colour: Colour::INK,
            upwards: false,
            halo: false,
        }
    }

    pub(crate) fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    pub(crate) fn coloured(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }
}

/// A text with an optional superscript after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub text: String,
    pub superscript: String,
}

impl Label {
    /// Size of a superscript relative to its text.
    pub(crate) const SHRINK: f64 = 0.72;
    /// How far a superscript is raised, relative to the size of its text.
    pub(crate) const RAISE: f64 = 0.38;
}

impl From<String> for Label {
    fn from(text: String) -> Self {
        Self { text, superscript: String::new() }
    }
}

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Which part of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}
