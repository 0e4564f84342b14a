//! A scene of shapes and texts, and its two renderers.

mod font;
mod palette;
mod png;
mod scene;
mod svg;
mod wrap;

pub(crate) use font::{label_width, width};
pub(crate) use palette::{Colour, Pen};
pub(crate) use png::png;
pub use scene::Scene;
pub(crate) use scene::{Anchor, Label, Outline, Rect, Shape, Spot, Step, Stroke, Text};
pub(crate) use svg::svg;
pub(crate) use wrap::{elide, wrap};
