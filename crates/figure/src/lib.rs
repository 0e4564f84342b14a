//! Figures for papers and reports: one description, drawn as SVG, PNG and PDF.
//!
//! A [`Figure`] says what is to be seen (axes, series, a note); layout, colours, ticks and the
//! legend's place follow from it. [`Panels`] puts several figures in a grid, [`HeatMaps`] show a value
//! over two settings. The same description
//! always gives the same bytes: the font is part of the crate, nothing is read from the system, and
//! nothing is written to it.
//!
//! The code has three parts: the description (this folder), `layout` (where everything goes) and
//! `drawing` (a scene of shapes and texts, and its three renderers). How results become a figure is
//! not decided here.

mod axis;
mod diagrams;
mod drawing;
mod error;
mod heat_map;
mod layout;
mod panels;
mod picture;
mod reading;
mod series;

pub use axis::{Axis, Scale};
pub use diagrams::{Diagram, Diagrams};
pub use error::FigureError;
pub use heat_map::{HeatMap, HeatMaps};
pub use panels::Panels;
pub use picture::{Picture, Size};
pub use reading::{ReadPoint, Reading};
pub use series::{Mark, Point, Series};

pub use drawing::Scene;

/// One plot: a title, two axes, some series and a note.
///
/// ```
/// use cahoots_figure::{Axis, Figure, Picture, Point, Series};
///
/// let regret = (0..=100)
///     .map(|t| f64::from(t))
///     .map(|t| Point::new(t, t.sqrt()).with_y_range(0.9 * t.sqrt(), 1.1 * t.sqrt()))
///     .collect();
/// let figure = Figure {
///     title: "Regret grows with the square root of time".into(),
///     x: Axis::linear("Rounds"),
///     y: Axis::linear("Cumulative regret"),
///     series: vec![Series::line("LinUCB", regret), Series::horizontal("Oracle", 0.0)],
///     note: Some("mean over 10 seeds, band: 95% confidence".into()),
/// };
/// let svg = figure.svg()?;
/// assert!(svg.contains("Cumulative regret"));
/// # Ok::<(), cahoots_figure::FigureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// The line above the plot; empty for none.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, in the order of the legend.
    pub series: Vec<Series>,
    /// Small text under the plot, such as "mean over 10 seeds, band: 95% confidence".
    ///
    /// Whatever could not be drawn (values that are not finite, values at or below zero on a
    /// logarithmic axis, dot labels without room) is said after it.
    pub note: Option<String>,
}

impl Picture for Figure {
    fn scene_in(&self, size: Option<Size>) -> Result<Scene, FigureError> {
        layout::figure(self, size)
    }
}
