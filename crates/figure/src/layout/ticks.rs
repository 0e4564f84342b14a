use super::numbers;
use super::range::Range;
use crate::Scale;
use crate::drawing::{Label, label_width};

/// The labelled and the small ticks of one axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticks {
    pub major: Vec<Tick>,
    /// Coordinates of the unlabelled ticks.
    pub minor: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct Tick {
    /// Coordinate on the axis' scale.
    pub at: f64,
    pub label: Label,
}

impl Ticks {
    /// About `wanted` ticks, never many more.
    pub(super) fn new(range: &Range, wanted: usize) -> Self {
        match range.scale {
            Scale::Linear => linear(range.low, range.high, wanted),
            Scale::Log => logarithmic(range.low, range.high, wanted),
        }
    }

    /// As many ticks as fit side by side into `room`.
    pub(super) fn side_by_side(range: &Range, room: f64, size: f64) -> Self {
        let most = ((room / (4.5 * size)) as usize).clamp(2, 10);
        (2..=most)
            .rev()
            .map(|wanted| Self::new(range, wanted))
            .find(|ticks| ticks.fit(range, room, size))
            .unwrap_or_else(|| Self::new(range, 2))
    }

    /// A tick per name; where they do not fit side by side, some go without a name.
    pub(super) fn named(range: &Range, names: &[String], room: f64, size: f64) -> Self {
        let tick = |(at, name): (usize, &String)| Tick { at: at as f64, label: name.as_str().into() };
        let all: Vec<Tick> = names.iter().enumerate().map(tick).collect();
        let every = |step: usize| Self {
            major: all.iter().step_by(step).cloned().collect(),
            minor: all.iter().map(|tick| tick.at).collect(),
        };
        let steps = 1..=names.len().max(1);
        steps.map(every).find(|ticks| ticks.fit(range, room, size)).unwrap_or_default()
    }

    fn fit(&self, range: &Range, room: f64, size: f64) -> bool {
        self.major.windows(2).all(|pair| {
            let [left, right] = pair else { return true };
            let distance = (range.share(right.at) - range.share(left.at)) * room;
            let widths = label_width(&left.label, size) + label_width(&right.label, size);
            distance >= widths / 2.0 + size * 0.8
        })
    }

    pub(super) fn widest(&self, size: f64) -> f64 {
        let widths = self.major.iter().map(|tick| label_width(&tick.label, size));
        widths.fold(0.0, f64::max)
    }
}

fn linear(low: f64, high: f64, wanted: usize) -> Ticks {
    let (values, step) = even(low, high, wanted);
    let labels = numbers::even(&values, step);
    let ticks = values.into_iter().zip(labels);
    Ticks { major: ticks.map(|(at, label)| Tick { at, label }).collect(), minor: Vec::new() }
}

/// Multiples of 1, 2 or 5 times a power of ten, and their distance.
fn even(low: f64, high: f64, wanted: usize) -> (Vec<f64>, f64) {
    let rough = (high - low) / wanted.max(1) as f64;
    let exponent = rough.log10().floor() as i32;
    let power = 10_f64.powi(exponent);
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let enough = |step: &&f64| **step >= rough * (1.0 - 1e-9);
    let step = *steps.iter().find(enough).unwrap_or(&steps[3]);
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    let count = (last - first).clamp(0.0, 100.0) as usize;
    // Multiplying by a fraction of ten rounds worse than dividing by a whole power.
    let value = |index: usize| match exponent {
        -300..0 => (first + index as f64) * (step / power).round() / 10_f64.powi(-exponent),
        _ => (first + index as f64) * step,
    };
    ((0..=count).map(value).collect(), step)
}

fn logarithmic(low: f64, high: f64, wanted: usize) -> Ticks {
    let span = high - low;
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    // Powers of a thousandth to a million are read more easily as plain numbers.
    let plain = low > -3.5 && high < 7.0;
    let inside = |at: f64| at >= low - 1e-9 && at <= high + 1e-9;

    if span < 0.7 && low.abs().max(high.abs()) < 290.0 {
        return within_a_decade(low, high, wanted);
    }
    let mut ticks = Ticks::default();
    let digits: &[u32] = if span < 2.0 && wanted >= 4 { &[1, 2, 5] } else { &[1] };
    let decades = (high + 1e-9).floor() - (low - 1e-9).ceil() + 1.0;
    let stride = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
    for exponent in first..=last {
        for digit in 1..=9 {
            let at = f64::from(exponent) + f64::from(digit).log10();
            if !inside(at) {
                continue;
            }
            if digits.contains(&digit) && exponent.rem_euclid(stride) == 0 {
                let label = numbers::power(digit, exponent, plain);
                ticks.major.push(Tick { at, label });
            } else if digit == 1 || (stride == 1 && span <= 8.0) {
                ticks.minor.push(at);
            }
        }
    }
    if ticks.minor.len() > 100 {
        ticks.minor.clear();
    }
    ticks
}

/// Less than a decade has too few powers of ten: evenly spaced values instead.
fn within_a_decade(low: f64, high: f64, wanted: usize) -> Ticks {
    let mut ticks = linear(10_f64.powf(low), 10_f64.powf(high), wanted);
    ticks.major.retain(|tick| tick.at > 0.0);
    for tick in &mut ticks.major {
        tick.at = tick.at.log10();
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64, wanted: usize) -> Vec<String> {
        let ticks = Ticks::new(&Range { scale, low, high }, wanted);
        let write = |tick: Tick| match tick.label.superscript.as_str() {
            "" => tick.label.text,
            raised => format!("{}^{raised}", tick.label.text),
        };
        ticks.major.into_iter().map(write).collect()
    }

    #[test]
    fn round_steps() {
        let found = labels(Scale::Linear, 0.0, 30_000.0, 6);
        assert_eq!(found, ["0", "5k", "10k", "15k", "20k", "25k", "30k"]);
        let found = labels(Scale::Linear, -0.23, 0.31, 5);
        assert_eq!(found, ["−0.2", "0", "0.2"]);
    }

    #[test]
    fn decades_as_plain_numbers() {
        let found = labels(Scale::Log, -3.0, 3.2, 8);
        assert_eq!(found, ["0.001", "0.01", "0.1", "1", "10", "100", "1k"]);
    }

    #[test]
    fn many_decades_as_powers() {
        let found = labels(Scale::Log, -8.0, 4.0, 5);
        assert_eq!(found, ["10^−6", "10^−3", "10^0", "10^3"]);
    }

    #[test]
    fn few_decades_are_subdivided() {
        let found = labels(Scale::Log, 0.9, 2.4, 6);
        assert_eq!(found, ["10", "20", "50", "100", "200"]);
        let found = labels(Scale::Log, 0.5, 0.9, 5);
        assert_eq!(found, ["4", "5", "6", "7"]);
    }

    #[test]
    fn any_range_gives_a_bounded_number_of_increasing_ticks() {
        let ranges = [
            (Scale::Linear, 0.0, 1e300),
            (Scale::Linear, -1e300, 1e300),
            (Scale::Linear, 1e-300, 2e-300),
            (Scale::Linear, 1e9, 1e9 + 200.0),
            (Scale::Log, -323.0, 299.0),
            (Scale::Log, -320.3, -319.9),
            (Scale::Log, 299.0, 300.2),
            (Scale::Log, 0.01, 0.0100002),
        ];
        for (scale, low, high) in ranges {
            for wanted in 1..10 {
                let ticks = Ticks::new(&Range { scale, low, high }, wanted);
                assert!(ticks.major.len() <= 3 * wanted + 2, "{low} {high} {wanted}");
                assert!(ticks.minor.len() <= 100);
                let rising = |pair: &[Tick]| pair[0].at < pair[1].at;
                assert!(ticks.major.windows(2).all(rising), "{low} {high} {wanted}");
                let inside = |tick: &Tick| tick.at.is_finite();
                assert!(ticks.major.iter().all(inside), "{low} {high} {wanted}");
            }
        }
    }
}
