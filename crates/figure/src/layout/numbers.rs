//! Numbers as people write them beside an axis.

use crate::drawing::Label;

/// Labels for evenly spaced values on one axis.
pub(super) fn even(values: &[f64], step: f64) -> Vec<Label> {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let write = |value: f64| {
        // Multiples of the step that should be zero may miss it by a rounding error.
        if value.abs() < step * 1e-6 {
            "0".into()
        } else if !(1e-4..1e15).contains(&largest) {
            scientific(value, largest.log10().floor() as i32, step)
        } else if largest >= 1e4 {
            sign(value, with_unit(value.abs(), step))
        } else {
            sign(value, fixed(value.abs(), decimals(step)))
        }
    };
    values.iter().map(|value| write(*value)).collect()
}

/// A single value in about four digits.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() || !(1e-4..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    // The step that the fourth digit counts.
    let step = 10_f64.powf(size.log10().floor() - 3.0);
    let digits = if size >= 1e4 { with_unit(size, step) } else { fixed(size, decimals(step).min(4)) };
    let digits = match digits.contains('.') && !digits.ends_with(char::is_alphabetic) {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    };
    sign(value, digits).text
}

/// The label of `digit` times ten to the power `exponent`: plain where that is easily read.
pub(super) fn power(digit: u32, exponent: i32, plain: bool) -> Label {
    if plain {
        let value = f64::from(digit) * 10_f64.powi(exponent);
        let places = usize::try_from(-exponent).unwrap_or(0);
        return match exponent {
            ..0 => fixed(value, places).into(),
            _ => with_unit(value, value).into(),
        };
    }
    let text = match digit {
        1 => "10".to_owned(),
        _ => format!("{digit}×10"),
    };
    Label { text, superscript: sign(f64::from(exponent), exponent.abs().to_string()).text }
}

/// `2.5×10⁻⁷`, all labels of one axis with the same power.
fn scientific(value: f64, exponent: i32, step: f64) -> Label {
    // Dividing twice keeps powers beyond the range of f64 out of the way.
    let half = exponent / 2;
    let divide = |value: f64| value / 10_f64.powi(half) / 10_f64.powi(exponent - half);
    let digits = fixed(divide(value.abs()), decimals(divide(step)));
    let mut label = sign(value, format!("{digits}×10"));
    label.superscript = sign(f64::from(exponent), exponent.abs().to_string()).text;
    label
}

/// `500`, `10k`, `1.5M`.
fn with_unit(value: f64, step: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    for (size, unit) in units {
        if value >= size * (1.0 - 1e-9) {
            let places = decimals(step / size);
            if places > 3 {
                break;
            }
            let digits = fixed(value / size, places);
            let digits = match digits.contains('.') {
                true => digits.trim_end_matches('0').trim_end_matches('.'),
                false => &digits,
            };
            return format!("{digits}{unit}");
        }
    }
    fixed(value, decimals(step))
}

/// How many decimals tell multiples of `step` apart.
fn decimals(step: f64) -> usize {
    let places = -(step.log10() + 1e-9).floor();
    places.clamp(0.0, 12.0) as usize
}

fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn sign(value: f64, digits: String) -> Label {
    match value < 0.0 {
        true => format!("−{digits}").into(),
        false => digits.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[f64], step: f64) -> Vec<String> {
        even(values, step).into_iter().map(written).collect()
    }

    fn written(label: Label) -> String {
        match label.superscript.as_str() {
            "" => label.text,
            raised => format!("{}^{raised}", label.text),
        }
    }

    #[test]
    fn thousands_and_millions() {
        assert_eq!(texts(&[0.0, 1e4, 2e4, 3e4], 1e4), ["0", "10k", "20k", "30k"]);
        assert_eq!(texts(&[5e5, 1e6, 1.5e6], 5e5), ["500k", "1M", "1.5M"]);
        assert_eq!(texts(&[0.0, 2000.0, 4000.0], 2000.0), ["0", "2000", "4000"]);
        assert_eq!(texts(&[-2e4, -1e4], 1e4), ["−20k", "−10k"]);
        assert_eq!(texts(&[2e9, 4e9], 2e9), ["2G", "4G"]);
    }

    #[test]
    fn single_values() {
        let written = [0.0, 0.5, 581.27, 1234.5, 12_345.6, 1_234_567.0, -3.25, 1e-7].map(value);
        assert_eq!(written, ["0", "0.5", "581.3", "1234", "12.35k", "1.235M", "−3.25", "1.000e-7"]);
    }

    #[test]
    fn fractions() {
        assert_eq!(texts(&[0.0, 0.5, 1.0], 0.5), ["0", "0.5", "1.0"]);
        assert_eq!(texts(&[0.001, 0.002], 0.001), ["0.001", "0.002"]);
        assert_eq!(texts(&[0.1 + 0.2], 0.1), ["0.3"]);
        assert_eq!(texts(&[1e-17, 0.2], 0.2), ["0", "0.2"]);
    }

    #[test]
    fn close_large_values_stay_distinct() {
        let labels = texts(&[1_000_000.0, 1_000_002.0], 2.0);
        assert_eq!(labels, ["1000000", "1000002"]);
    }

    #[test]
    fn very_small_and_very_large() {
        assert_eq!(texts(&[0.0, 2e-7, 4e-7], 2e-7), ["0", "2×10^−7", "4×10^−7"]);
        assert_eq!(texts(&[5e19, 1e20], 5e19), ["0.5×10^20", "1.0×10^20"]);
        assert_eq!(texts(&[1e300], 1e300), ["1×10^300"]);
    }

    #[test]
    fn powers() {
        assert_eq!(written(power(1, 3, false)), "10^3");
        assert_eq!(written(power(2, -5, false)), "2×10^−5");
        assert_eq!(written(power(1, -3, true)), "0.001");
        assert_eq!(written(power(5, 0, true)), "5");
        assert_eq!(written(power(1, 2, true)), "100");
        assert_eq!(written(power(2, 3, true)), "2k");
        assert_eq!(written(power(1, 6, true)), "1M");
    }
}
