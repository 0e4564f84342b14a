//! Whether a log can answer.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::diagnostics::Diagnostics;
use super::log::Shape;
use super::refusal::Refusal;
use super::settings::Settings;
use super::survey::Survey;

/// Percent of a policy's probability that may be on what the log never shows: rare arms are missed by chance.
const MOST_NEVER_SHOWN: f64 = 1.0;

/// How rarely a right log is warned of, whatever the number of arms.
pub(crate) const FALSE_ALARM: f64 = 0.001;

/// What the log cannot answer is refused; or said, where that was asked for. `never` are the arms in positions that the
/// policy takes and the log never shows.
pub(crate) fn verdict(
    found: &Diagnostics,
    never: &[usize],
    survey: &Survey,
    shape: &Shape,
    settings: &Settings,
) -> Result<Vec<String>, Refusal> {
    if found.rows == 0 {
        return Err(Refusal::Empty);
    }
    let mut warnings = Vec::new();
    let mut refuse = |refusal: Refusal| {
        if !settings.force {
            return Err(refusal);
        }
        warnings.push(format!("by --force: {refusal}"));
        Ok(())
    };
    let names: Vec<String> = never.iter().take(5).map(|cell| shape.cell_name(*cell)).collect();
    let more = if never.len() > names.len() {
        format!(", and {} more", never.len() - names.len())
    } else {
        String::new()
    };
    let never = names.join(", ") + &more;
    if found.never_shown_percent > MOST_NEVER_SHOWN {
        refuse(Refusal::NoOverlap { share: found.never_shown_percent, never: never.clone() })?;
    }
    // Weights beyond all numbers have no effective size, which is below every floor.
    if found.effective.is_nan() || found.effective < settings.least_effective {
        let (rows, effective) = (found.rows, found.effective);
        refuse(Refusal::FewEffective { rows, effective, floor: settings.least_effective })?;
    }
    if found.never_shown_percent > 0.0 && found.never_shown_percent <= MOST_NEVER_SHOWN {
        warnings.push(format!(
            "the policy puts {:.2}% of its probability on what the log never shows ({never})",
            found.never_shown_percent
        ));
    }
    let alarm = |tests: usize| Normal::standard().inverse_cdf(1.0 - FALSE_ALARM / 2.0 / tests.max(1) as f64);
    if found.mean_weight_off.abs() > alarm(1) {
        let why = if found.mean_weight < 1.0 {
            "the log may never take arms that the policy takes, or propensities are too large"
        } else {
            "propensities are too small"
        };
        warnings.push(format!(
            "weights have a mean of {:.3} and not of 1, by {:.1} standard errors: {why}",
            found.mean_weight,
            found.mean_weight_off.abs()
        ));
    }
    let seen = survey.counts.iter().filter(|count| **count > 0).count();
    if let Some(worst) = found.calibration.as_ref().filter(|worst| worst.standard_errors.abs() > alarm(seen))
    {
        warnings.push(format!(
            "the propensities of {} do not fit how often it was taken: 1/p adds up to {:.3} per decision and not to 1, by \
             {:.1} standard errors",
            worst.arm,
            worst.mean,
            worst.standard_errors.abs()
        ));
    }
    if found.largest_share > 0.05 {
        warnings.push(format!(
            "one decision has {:.0}% of all weight: the estimates hang on it",
            100.0 * found.largest_share
        ));
    }
    if let Some(index) = found.tail_index.filter(|index| *index < 2.0 && found.largest_share > 0.001) {
        warnings.push(format!(
            "the weights' tail is heavy (index {index:.1}, below 2): normal and bootstrap intervals may be too narrow"
        ));
    }
    if let Some(clip) = settings.clip.filter(|_| found.clipped > 0) {
        warnings.push(format!(
            "{} weights were cut to {clip}: ips, snips and dr are biased towards what the log does there",
            found.clipped
        ));
    }
    Ok(warnings)
}
