use super::range::{Fit, Range, Undrawable, coordinate};
use crate::{Axis, Figure, Mark, Point, Scale};

/// The least and the greatest value.
pub(crate) type Ends = (f64, f64);

/// The data of a figure that can be drawn, in coordinates of its axes.
#[derive(Debug)]
pub(super) struct Data {
    /// One per series.
    pub traces: Vec<Trace>,
    /// What the axes show; `None` when there is nothing to show.
    pub x: Option<Range>,
    pub y: Option<Range>,
    /// The least and the greatest value of each axis.
    ends: (Option<Ends>, Option<Ends>),
    not_finite: usize,
    not_positive: usize,
}

#[derive(Debug)]
pub(super) enum Trace {
    /// Uninterrupted runs of points.
    Line(Vec<Vec<Place>>),
    Dots {
        runs: Vec<Vec<Place>>,
        connect: bool,
    },
    /// The height of a reference line, if it can be drawn.
    Horizontal(Option<f64>),
}

/// A point that can be drawn.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub x: f64,
    pub y: f64,
    /// Lower and upper end; on a logarithmic axis the lower may be minus infinity.
    pub y_ends: Option<(f64, f64)>,
    pub x_ends: Option<(f64, f64)>,
    pub label: Option<String>,
}

impl Data {
    pub(super) fn new(figure: &Figure) -> Self {
        let mut data = Self {
            traces: Vec::with_capacity(figure.series.len()),
            x: None,
            y: None,
            ends: (None, None),
            not_finite: 0,
            not_positive: 0,
        };
        for series in &figure.series {
            let trace = match &series.mark {
                Mark::Line { points } => Trace::Line(data.runs(figure, points, false)),
                Mark::Dots { points, connect } => {
                    Trace::Dots { runs: data.runs(figure, points, true), connect: *connect }
                }
                Mark::Horizontal { y } => {
                    let height = coordinate(figure.y.scale, *y);
                    Trace::Horizontal(height.map_err(|why| data.count(why)).ok())
                }
            };
            data.traces.push(trace);
        }
        data.set_ranges(&figure.x, &figure.y);
        data
    }

    /// What had to be left out, in words.
    pub(super) fn omissions(&self) -> Vec<String> {
        let mut said = Vec::new();
        let values = |count: usize| match count {
            1 => "1 value is".to_owned(),
            _ => format!("{count} values are"),
        };
        if self.not_positive > 0 {
            said.push(format!(
                "{} not drawn: at or below zero on a logarithmic axis.",
                values(self.not_positive)
            ));
        }
        if self.not_finite > 0 {
            said.push(format!("{} not drawn: not finite.", values(self.not_finite)));
        }
        said
    }

    fn runs(&mut self, figure: &Figure, points: &[Point], is_dots: bool) -> Vec<Vec<Place>> {
        let mut runs = vec![Vec::new()];
        for point in points {
            match place(figure, point, is_dots) {
                Ok(place) => runs.last_mut().expect("never empty").push(place),
                Err(why) => {
                    self.count(why);
                    runs.push(Vec::new());
                }
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn count(&mut self, why: Undrawable) {
        match why {
            Undrawable::NotFinite => self.not_finite += 1,
            Undrawable::NotPositive => self.not_positive += 1,
        }
    }

    fn set_ranges(&mut self, x_axis: &Axis, y_axis: &Axis) {
        let (mut x, mut y) = (Extent::default(), Extent::default());
        let mut x_fit = Fit::Tight;
        for trace in &self.traces {
            match trace {
                Trace::Line(runs) => extend(&mut x, &mut y, runs),
                Trace::Dots { runs, .. } => {
                    x_fit = Fit::Loose;
                    extend(&mut x, &mut y, runs);
                }
                Trace::Horizontal(height) => height.iter().for_each(|height| y.add(*height)),
            }
        }
        self.ends = (x.values(x_axis.scale), y.values(y_axis.scale));
        if !x_axis.names.is_empty() {
            x.add(0.0);
            x.add((x_axis.names.len() - 1) as f64);
            x_fit = Fit::Loose;
        }
        x.add_range(x_axis);
        y.add_range(y_axis);
        self.x = match x_axis.names.len() {
            0 => x.range(x_axis, x_fit),
            // Half a place on each side.
            names => x.0.map(|_| Range { scale: Scale::Linear, low: -0.5, high: names as f64 - 0.5 }),
        };
        // A dot at zero stands beside the axis, not on it.
        if let (Some(range), Some((0.0, high)), Fit::Loose) = (&mut self.x, x.0, x_fit)
            && range.scale == Scale::Linear
            && range.low == 0.0
        {
            range.low = -0.04 * high;
        }
        self.y = y.range(y_axis, Fit::Loose);
    }

    /// The least and the greatest value, across and upwards; what axes ask for is left aside.
    pub(super) fn extents(&self) -> (Option<Ends>, Option<Ends>) {
        self.ends
    }
}

fn extend(x: &mut Extent, y: &mut Extent, runs: &[Vec<Place>]) {
    for place in runs.iter().flatten() {
        x.add(place.x);
        y.add(place.y);
        if let Some((low, high)) = place.x_ends {
            x.add(low);
            x.add(high);
        }
        if let Some((low, high)) = place.y_ends {
            y.add(low);
            y.add(high);
        }
    }
}

fn place(figure: &Figure, point: &Point, is_dots: bool) -> Result<Place, Undrawable> {
    let x = coordinate(figure.x.scale, point.x)?;
    let y = coordinate(figure.y.scale, point.y)?;
    let (x_ends, label) = match is_dots {
        true => (ends(&figure.x, x, point.x_low, point.x_high), point.label.clone()),
        false => (None, None),
    };
    Ok(Place {
        x,
        y,
        y_ends: ends(&figure.y, y, point.y_low, point.y_high),
        x_ends,
        label: label.filter(|label| !label.trim().is_empty()),
    })
}

/// Both ends of a range around `middle`; an end that is missing or not finite is the middle.
fn ends(axis: &Axis, middle: f64, low: Option<f64>, high: Option<f64>) -> Option<(f64, f64)> {
    if low.is_none() && high.is_none() {
        return None;
    }
    let end = |value: Option<f64>| match value.map(|value| coordinate(axis.scale, value)) {
        Some(Ok(end)) => end,
        // A range that reaches zero reaches below any logarithmic axis.
        Some(Err(Undrawable::NotPositive)) => f64::NEG_INFINITY,
        Some(Err(Undrawable::NotFinite)) | None => middle,
    };
    let (low, high) = (end(low), end(high));
    Some((low.min(high), low.max(high)))
}

/// The least and the greatest of some coordinates.
#[derive(Default)]
struct Extent(Option<(f64, f64)>);

impl Extent {
    fn add(&mut self, coordinate: f64) {
        if !coordinate.is_finite() {
            return;
        }
        let (low, high) = self.0.unwrap_or((coordinate, coordinate));
        self.0 = Some((low.min(coordinate), high.max(coordinate)));
    }

    /// Makes room for what the axis shows whatever the data are; where there are none it shows nothing.
    fn add_range(&mut self, axis: &Axis) {
        let Some((low, high)) = axis.range.filter(|_| self.0.is_some()) else { return };
        for value in [low, high] {
            self.add(coordinate(axis.scale, value).unwrap_or(f64::NAN));
        }
    }

    /// Its ends as values.
    fn values(&self, scale: Scale) -> Option<(f64, f64)> {
        let value = |coordinate: f64| match scale {
            Scale::Linear => coordinate,
            Scale::Log => 10_f64.powf(coordinate),
        };
        self.0.map(|(low, high)| (value(low), value(high)))
    }

    fn range(&self, axis: &Axis, fit: Fit) -> Option<Range> {
        self.0.map(|(low, high)| Range::covering(axis.scale, low, high, fit))
    }
}
