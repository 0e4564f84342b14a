use std::fmt::Debug;

use crate::FigureError;
use crate::drawing::Scene;

/// Width and height of a picture, in pixels of a screen (96 to the inch).
pub type Size = (f64, f64);

/// Anything that can be drawn: a figure, panels, diagrams.
pub trait Picture: Debug {
    /// Where every shape and text goes. `size` is that of a figure, or of each panel where there are several;
    /// pictures whose size follows from what they show leave it aside.
    fn scene_in(&self, size: Option<Size>) -> Result<Scene, FigureError>;

    /// The same, in the usual size.
    fn scene(&self) -> Result<Scene, FigureError> {
        self.scene_in(None)
    }

    /// As an SVG document; its text stays text.
    fn svg(&self) -> Result<String, FigureError> {
        Ok(self.scene()?.svg())
    }

    /// As the bytes of a PNG file at twice the scale.
    fn png(&self) -> Result<Vec<u8>, FigureError> {
        self.scene()?.png()
    }

    /// As the bytes of a PDF file of one page; its text stays text, in a font that is part of it.
    fn pdf(&self) -> Result<Vec<u8>, FigureError> {
        self.scene()?.pdf()
    }
}
