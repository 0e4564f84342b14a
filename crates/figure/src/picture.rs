use std::fmt::Debug;

use crate::FigureError;
use crate::drawing::{self, Scene};

/// Anything that can be drawn: a figure, panels, diagrams.
pub trait Picture: Debug {
    /// Where every shape and text goes.
    fn scene(&self) -> Result<Scene, FigureError>;

    /// As an SVG document; its text stays text.
    fn svg(&self) -> Result<String, FigureError> {
        Ok(drawing::svg(&self.scene()?))
    }

    /// As the bytes of a PNG file at twice the scale.
    fn png(&self) -> Result<Vec<u8>, FigureError> {
        drawing::png(&self.scene()?)
    }
}
