use crate::drawing::Scene;
use crate::{Figure, FigureError, Picture, Size, layout};

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
    /// The same with one scale on each axis, so that heights can be compared across panels.
    pub fn on_one_scale(mut self) -> Self {
        let (x, y) = layout::extents(&self.panels);
        for panel in &mut self.panels {
            panel.x.range = x.or(panel.x.range);
            panel.y.range = y.or(panel.y.range);
        }
        self
    }
}

impl Picture for Panels {
    fn scene_in(&self, size: Option<Size>) -> Result<Scene, FigureError> {
        layout::panels(self, size)
    }
}
