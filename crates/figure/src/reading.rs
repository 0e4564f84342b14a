/// What one series of a picture shows, for whoever wants to read values off it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Title of its panel; empty where there is one.
    pub panel: String,
    /// Its label.
    pub series: String,
    /// Its points; at most a few hundred of a long line.
    pub points: Vec<ReadPoint>,
}

/// One point of a [`Reading`].
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPoint {
    /// Where it is in the picture, from its upper left corner.
    pub at: (f64, f64),
    /// What it shows across, in words: a number, a name; empty for a line across.
    pub x: String,
    /// What it shows.
    pub y: f64,
    /// From where to where it may be, where that is known.
    pub range: Option<(f64, f64)>,
}
