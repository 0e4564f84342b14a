use super::{Outline, Rect, Shape, Spot, Step, Stroke};

/// An opaque colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    pub(crate) const WHITE: Self = Self(0xff, 0xff, 0xff);
    pub(crate) const INK: Self = Self(0x1a, 0x1a, 0x1a);
    pub(crate) const SOFT_INK: Self = Self(0x55, 0x55, 0x55);
    pub(crate) const FRAME: Self = Self(0x80, 0x80, 0x80);
    pub(crate) const GRID: Self = Self(0xe8, 0xe8, 0xe8);

    /// The same hue, dark enough for text on white.
    pub(crate) fn darker(self) -> Self {
        let darken = |part: u8| (f64::from(part) * 0.72) as u8;
        Self(darken(self.0), darken(self.1), darken(self.2))
    }
}

/// Okabe and Ito's colours for every kind of colour vision, without the yellow that vanishes on
/// white.
const COLOURS: [Colour; 7] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0x30, 0x30, 0x30),
];

/// Nine markers against seven colours: the pair repeats only after 63 series.
const MARKERS: [Marker; 9] = [
    Marker::new(Form::Circle, true),
    Marker::new(Form::Square, true),
    Marker::new(Form::Triangle, true),
    Marker::new(Form::Diamond, true),
    Marker::new(Form::Circle, false),
    Marker::new(Form::Wedge, true),
    Marker::new(Form::Square, false),
    Marker::new(Form::Triangle, false),
    Marker::new(Form::Diamond, false),
];

/// Lengths of ink and gap of a dashed line.
pub(crate) type Dash = &'static [f64];

const DASHES: [Dash; 4] = [&[], &[7.0, 3.0], &[9.0, 2.5, 2.0, 2.5], &[2.5, 2.0]];

const REFERENCE_DASHES: [Dash; 4] = [&[5.0, 4.0], &[1.5, 3.0], &[10.0, 3.0, 1.5, 3.0], &[14.0, 4.0]];

/// How one series looks: told apart by colour, and by marker and dashes when printed in grey.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pen {
    pub colour: Colour,
    pub dash: Dash,
    pub marker: Marker,
    /// Number of the series, by which its markers are shifted against the others'.
    pub number: usize,
}

impl Pen {
    pub(crate) fn series(number: usize) -> Self {
        Self {
            colour: COLOURS[number % COLOURS.len()],
            dash: DASHES[number % DASHES.len()],
            marker: MARKERS[number % MARKERS.len()],
            number,
        }
    }

    pub(crate) fn reference(number: usize) -> Self {
        Self {
            colour: Colour::SOFT_INK,
            dash: REFERENCE_DASHES[number % REFERENCE_DASHES.len()],
            marker: MARKERS[0],
            number,
        }
    }

    pub(crate) fn stroke(&self, width: f64) -> Stroke {
        Stroke { colour: self.colour, width, dash: self.dash }
    }
}

/// The form of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    form: Form,
    filled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Circle,
    Square,
    Triangle,
    Wedge,
    Diamond,
}

impl Marker {
    const fn new(form: Form, filled: bool) -> Self {
        Self { form, filled }
    }

    /// The marker at `centre`; all forms weigh about as much as a circle of `radius`.
    pub(crate) fn shape(self, centre: Spot, radius: f64, colour: Colour) -> Shape {
        let (fill, stroke) = if self.filled {
            (colour, Stroke::solid(Colour::WHITE, radius * 0.22))
        } else {
            (Colour::WHITE, Stroke::solid(colour, radius * 0.42))
        };
        Shape {
            class: "marker",
            outline: self.outline(centre, radius),
            fill: Some((fill, 1.0)),
            stroke: Some(stroke),
        }
    }

    fn outline(self, centre: Spot, radius: f64) -> Outline {
        let corners = |corners: &[(f64, f64)]| {
            let mut steps = Vec::with_capacity(corners.len() + 1);
            for (number, (x, y)) in corners.iter().enumerate() {
                let spot = Spot::new(centre.x + x * radius, centre.y + y * radius);
                steps.push(match number {
                    0 => Step::Move(spot),
                    _ => Step::Line(spot),
                });
            }
            steps.push(Step::Close);
            Outline::Path(steps)
        };
        match self.form {
            Form::Circle => Outline::Circle { centre, radius },
            Form::Square => {
                let half = radius * 0.9;
                let (left, top) = (centre.x - half, centre.y - half);
                Outline::Rect(Rect::new(left, top, 2.0 * half, 2.0 * half))
            }
            Form::Triangle => corners(&[(0.0, -1.25), (1.14, 0.8), (-1.14, 0.8)]),
            Form::Wedge => corners(&[(0.0, 1.25), (1.14, -0.8), (-1.14, -0.8)]),
            Form::Diamond => corners(&[(0.0, -1.32), (1.15, 0.0), (0.0, 1.32), (-1.15, 0.0)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_series_differ_in_colour_and_marker() {
        for first in 0..20 {
            for second in 0..first {
                let (a, b) = (Pen::series(first), Pen::series(second));
                assert!(a.colour != b.colour || a.marker != b.marker);
            }
        }
    }

    #[test]
    fn twenty_series_differ_without_colour() {
        for first in 0..20 {
            for second in 0..first {
                let (a, b) = (Pen::series(first), Pen::series(second));
                assert!(a.dash != b.dash || a.marker != b.marker);
            }
        }
    }
}
