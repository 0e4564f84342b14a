use std::path::Path;

use crate::drawing::{self, Scene};
use crate::{Figure, FigureError, layout, save};

/// Several figures in a grid under one title.
///
/// A label has the same colour, marker and dashes in every panel. Panels that mostly show the
/// same series share one legend below the grid; otherwise each has its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panels {
    /// The line above the grid; empty for none.
    pub title: String,
    /// Panels per row; zero counts as one.
    pub columns: usize,
    /// The panels, row by row.
    pub panels: Vec<Figure>,
}

impl Panels {
    /// Writes `stem.svg` and `stem.png` (at twice the scale), creating the folder if needed.
    ///
    /// Both files appear complete or not at all.
    pub fn save(&self, stem: &Path) -> Result<(), FigureError> {
        save::save(&self.scene()?, stem)
    }

    /// The grid as an SVG document; its text stays text.
    pub fn svg(&self) -> Result<String, FigureError> {
        Ok(drawing::svg(&self.scene()?))
    }

    /// The grid as the bytes of a PNG file at twice the scale.
    pub fn png(&self) -> Result<Vec<u8>, FigureError> {
        drawing::png(&self.scene()?)
    }

    fn scene(&self) -> Result<Scene, FigureError> {
        layout::panels(self)
    }
}
