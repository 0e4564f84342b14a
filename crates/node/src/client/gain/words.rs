//! A gain in plain words.

use cahoots_core::gain::Gain;

/// What it comes to.
pub(super) fn in_words(gain: &Gain) -> String {
    let Gain { decisions, differed, low, estimate, high, confidence } = *gain;
    if differed == 0 {
        return format!(
            "Federation has gained this client nothing yet: own data alone would have chosen the same in all of {decisions} \
             decisions."
        );
    }
    let sure = format!("with {}% confidence) over {decisions} decisions.", figure(100.0 * confidence));
    if high < 0.0 {
        return format!(
            "Federation hurts this client: it has cost {} of reward (between {} and {}, {sure}",
            figure(-estimate),
            figure(-high),
            figure(-low)
        );
    }
    let gained = format!("Federation has gained this client {} of reward", figure(estimate));
    let doubt = if low <= 0.0 { " That it helps is not certain yet." } else { "" };
    format!("{gained} (between {} and {}, {sure}{doubt}", figure(low), figure(high))
}

/// A number with as many digits as it deserves.
pub(in crate::client) fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 0.1 => trimmed(&format!("{value:.2}")),
        size if size >= 1e-3 => trimmed(&format!("{value:.4}")),
        _ => format!("{value:.1e}"),
    }
}

fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (value, text) in [
            (3.2, "3.2"),
            (-0.1, "-0.1"),
            (1234.56, "1235"),
            (0.0, "0"),
            (95.0, "95"),
            (0.00123, "0.0012"),
            (1e-9, "1.0e-9"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn words_say_which_way_it_goes() {
        let gain = |low, estimate, high| Gain {
            decisions: 120,
            differed: 31,
            low,
            estimate,
            high,
            confidence: 0.95,
        };
        assert_eq!(
            in_words(&gain(-0.1, 3.2, 6.5)),
            "Federation has gained this client 3.2 of reward (between -0.1 and 6.5, with 95% confidence) over 120 decisions. That it \
             helps is not certain yet."
        );
        assert_eq!(
            in_words(&gain(-6.5, -3.2, -0.5)),
            "Federation hurts this client: it has cost 3.2 of reward (between 0.5 and 6.5, with 95% confidence) over 120 decisions."
        );
        assert!(in_words(&gain(1.0, 3.2, 6.5)).ends_with("decisions."));
    }
}
