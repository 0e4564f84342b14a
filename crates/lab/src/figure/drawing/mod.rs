//! A scene of shapes and texts, and its two renderers.

mod font;
mod palette;
mod png;
mod scene;
mod svg;
mod wrap;

pub(super) use font::{label_width, width};
pub(super) use palette::{Colour, Pen};
pub(super) use png::png;
pub(super) use scene::{Anchor, Label, Outline, Rect, Scene, Shape, Spot, Step, Stroke, Text};
pub(super) use svg::svg;
pub(super) use wrap::{elide, wrap};
