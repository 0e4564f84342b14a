use crate::Scale;

/// Values beyond this are treated like infinity: differences of two must stay finite.
const HUGE: f64 = 1e300;

/// Spans narrower than this share of the values are drawn as if constant.
const NARROW: f64 = 1e-7;

/// Why a value has no place on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undrawable {
    NotFinite,
    NotPositive,
}

/// A value as its coordinate on the scale: itself, or its decimal logarithm.
pub(super) fn coordinate(scale: Scale, value: f64) -> Result<f64, Undrawable> {
    if value.is_nan() || value.abs() > HUGE {
        return Err(Undrawable::NotFinite);
    }
    match scale {
        Scale::Linear => Ok(value),
        Scale::Log if value > 0.0 => Ok(value.log10()),
        Scale::Log => Err(Undrawable::NotPositive),
    }
}

/// How much an axis shows beyond its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Nothing: lines run from edge to edge.
    Tight,
    /// A margin on both sides.
    Loose,
}

/// What an axis shows, in coordinates of its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Range {
    /// A range that shows the coordinates from `low` to `high`.
    pub(super) fn covering(scale: Scale, low: f64, high: f64, fit: Fit) -> Self {
        let (low, high) = match scale {
            Scale::Linear => linear(low, high, fit),
            Scale::Log => logarithmic(low, high, fit),
        };
        Self { scale, low, high }
    }

    /// How far along the axis a coordinate lies, from 0 to 1.
    pub(super) fn share(&self, coordinate: f64) -> f64 {
        ((coordinate - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

fn linear(low: f64, high: f64, fit: Fit) -> (f64, f64) {
    let (span, largest) = (high - low, low.abs().max(high.abs()));
    if span <= NARROW * largest || span < 1.0 / HUGE {
        let middle = low + span / 2.0;
        let around = match middle.abs() * 0.1 {
            nothing if nothing < 1.0 / HUGE => 1.0,
            tenth => tenth,
        };
        return (middle - around, middle + around);
    }
    let (margin, near_zero) = match fit {
        Fit::Tight => (0.0, 0.05),
        Fit::Loose => (0.06 * span, 0.3),
    };
    // An axis that nearly reaches zero shows it, so that heights can be compared.
    if low >= 0.0 && low <= near_zero * high {
        (0.0, high + margin)
    } else if low < 0.0 && -low <= 0.03 * high {
        // A band that dips a little below zero is no reason to show a negative range.
        (low, high + margin)
    } else if high <= 0.0 && high >= near_zero * low {
        (low - margin, 0.0)
    } else {
        (low - margin, high + margin)
    }
}

fn logarithmic(low: f64, high: f64, fit: Fit) -> (f64, f64) {
    let span = high - low;
    if span < NARROW {
        return (low - 0.6, high + 0.6);
    }
    match fit {
        Fit::Tight => (low, high),
        Fit::Loose => (low - 0.06 * span, high + 0.06 * span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates() {
        assert_eq!(coordinate(Scale::Linear, -3.0), Ok(-3.0));
        assert_eq!(coordinate(Scale::Log, 1000.0), Ok(3.0));
        for value in [0.0, -0.0, -2.0] {
            assert_eq!(coordinate(Scale::Log, value), Err(Undrawable::NotPositive));
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            for scale in [Scale::Linear, Scale::Log] {
                assert_eq!(coordinate(scale, value), Err(Undrawable::NotFinite));
            }
        }
    }

    #[test]
    fn an_axis_near_zero_starts_there() {
        let range = Range::covering(Scale::Linear, 1.0, 100.0, Fit::Loose);
        assert_eq!(range.low, 0.0);
        let range = Range::covering(Scale::Linear, 90.0, 100.0, Fit::Loose);
        assert!(range.low > 80.0);
        let range = Range::covering(Scale::Linear, -100.0, 0.0, Fit::Loose);
        assert_eq!(range.high, 0.0);
    }

    #[test]
    fn every_range_has_an_extent() {
        let ends = [0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, 1e-300, 1.0 + 1e-15];
        for low in ends {
            for high in ends.into_iter().filter(|high| *high >= low) {
                for fit in [Fit::Tight, Fit::Loose] {
                    let range = Range::covering(Scale::Linear, low, high, fit);
                    assert!(range.low < range.high, "{low} to {high}");
                    assert!((range.high - range.low).is_finite());
                    let (start, end) = (range.share(low), range.share(high));
                    assert!((0.0..=1.0).contains(&start) && (start..=1.0).contains(&end));
                }
            }
        }
    }
}
