/// Sizes of everything that is not data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// Text sizes.
    pub title: f64,
    pub axis: f64,
    pub tick: f64,
    pub legend: f64,
    pub note: f64,
    pub dot_label: f64,
    /// Width of a series' line.
    pub line: f64,
    /// Radius of a marker on a line, and of a dot.
    pub marker: f64,
    pub dot: f64,
    /// Free room around everything.
    pub padding: f64,
}

impl Look {
    /// A figure of its own.
    pub(super) const FIGURE: Self = Self {
        title: 20.0,
        axis: 17.0,
        tick: 15.0,
        legend: 15.0,
        note: 13.0,
        dot_label: 13.0,
        line: 2.0,
        marker: 4.4,
        dot: 5.2,
        padding: 14.0,
    };

    /// One panel of several.
    pub(super) const PANEL: Self = Self {
        title: 17.0,
        axis: 15.5,
        tick: 14.0,
        legend: 15.0,
        note: 12.0,
        dot_label: 12.0,
        line: 1.8,
        marker: 4.0,
        dot: 4.6,
        padding: 8.0,
    };
}

/// Height of a line of text relative to its size.
pub(super) const LEADING: f64 = 1.28;

/// Distance from the middle of a line of text to its baseline, relative to its size.
pub(super) const MIDDLE: f64 = 0.35;
