use crate::drawing::Scene;
use crate::{Figure, FigureError, Picture, layout};

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

impl Picture for Panels {
    fn scene(&self) -> Result<Scene, FigureError> {
        layout::panels(self)
    }
}
