//! A scene of shapes and texts, and its renderers.

mod font;
mod palette;
mod pdf;
mod png;
mod scene;
mod svg;
mod wrap;

pub(crate) use font::{label_width, width};
pub(crate) use palette::{Colour, Pen};
pub use scene::Scene;
pub(crate) use scene::{Anchor, Label, Outline, Rect, Shape, Spot, Step, Stroke, Text};
pub(crate) use wrap::{elide, wrap};
