/// One entry of the legend and what is drawn for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The text in the legend; an empty label has no legend entry.
    pub label: String,
    /// What is drawn.
    pub mark: Mark,
}

impl Series {
    /// A line, with a shaded band where its points have a range in y.
    pub fn line(label: impl Into<String>, points: Vec<Point>) -> Self {
        Self { label: label.into(), mark: Mark::Line { points } }
    }

    /// Single dots, with error bars where they have a range.
    pub fn dots(label: impl Into<String>, points: Vec<Point>) -> Self {
        Self { label: label.into(), mark: Mark::Dots { points, connect: false } }
    }

    /// Dots joined in the given order, as for one method at several settings.
    pub fn connected_dots(label: impl Into<String>, points: Vec<Point>) -> Self {
        Self { label: label.into(), mark: Mark::Dots { points, connect: true } }
    }

    /// A reference line at one height.
    pub fn horizontal(label: impl Into<String>, y: f64) -> Self {
        Self { label: label.into(), mark: Mark::Horizontal { y } }
    }
}

/// What is drawn for a [`Series`].
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A line through the points in the given order; a value that cannot be drawn leaves a gap.
    Line {
        /// The points; a range in y becomes a shaded band.
        points: Vec<Point>,
    },
    /// One marker per point.
    Dots {
        /// The points; ranges become error bars, labels are written beside the dots.
        points: Vec<Point>,
        /// Whether a thin line joins the dots in the given order.
        connect: bool,
    },
    /// A reference line across the whole plot.
    Horizontal {
        /// Its height.
        y: f64,
    },
}

/// One measured place, optionally with its uncertainty and a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Lower end of the range in y; with only one end given, the other is the value itself.
    pub y_low: Option<f64>,
    /// Upper end of the range in y.
    pub y_high: Option<f64>,
    /// Lower end of the range in x (dots only).
    pub x_low: Option<f64>,
    /// Upper end of the range in x (dots only).
    pub x_high: Option<f64>,
    /// Text beside the dot (dots only).
    pub label: Option<String>,
}

impl Point {
    /// A bare point.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }

    /// Adds a range in y.
    pub fn with_y_range(mut self, low: f64, high: f64) -> Self {
        self.y_low = Some(low);
        self.y_high = Some(high);
        self
    }

    /// Adds a range in x.
    pub fn with_x_range(mut self, low: f64, high: f64) -> Self {
        self.x_low = Some(low);
        self.x_high = Some(high);
        self
    }

    /// Adds a label.
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
