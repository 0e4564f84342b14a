//! An evaluation in words and tables.

use std::fmt::Write as _;
use std::path::Path;

use cahoots_data::evaluate::rejection::Learned;
use cahoots_data::evaluate::{Evaluation, Interval, Settings, Shape};
use cahoots_lab::results::{grouped, readable};

use crate::print;

/// What was asked.
pub(super) struct About<'a> {
    pub policy: &'a str,
    pub path: &'a Path,
    pub shape: &'a Shape,
    pub confidence: f64,
}

impl About<'_> {
    fn heading(&self) -> String {
        let Shape { arms, positions, features, rows, unrewarded, .. } = self.shape;
        let mut text = format!(
            "{}, on {}: {} decisions, {} arms",
            self.policy,
            self.path.display(),
            whole(*rows),
            arms.len()
        );
        if positions.len() > 1 {
            let _ = write!(text, " in {} positions", positions.len());
        }
        if !features.is_empty() {
            let _ = write!(text, ", {} features", features.len());
        }
        text.push('\n');
        if *unrewarded > 0 {
            let _ = writeln!(
                text,
                "left out: {} decisions without a reward, as if whether one comes had nothing to do with how large it is",
                whole(*unrewarded)
            );
        }
        text
    }

    fn percent(&self) -> String {
        format!("{}%", readable(100.0 * self.confidence).trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A policy that does not learn.
pub(super) fn fixed(about: &About<'_>, found: &Evaluation, settings: &Settings) -> String {
    let seen = &found.diagnostics;
    let mut text = about.heading();
    if found.fitted_on > 0 {
        let _ = writeln!(
            text,
            "made from {} of them, and evaluated on the other {}",
            whole(found.fitted_on),
            whole(seen.rows)
        );
    }
    let percent = about.percent();
    let mut rows = vec![vec![
        "estimator".into(),
        "value".into(),
        "standard error".into(),
        format!("{percent}, normal"),
        format!("{percent}, bootstrap"),
        format!("{percent}, at any time"),
    ]];
    for estimate in &found.estimates {
        let decimals = decimals(estimate.standard_error);
        let name = match estimate.tau {
            Some(tau) if tau.is_infinite() => format!("{}, tau inf", estimate.estimator),
            Some(tau) => format!("{}, tau {}", estimate.estimator, readable(tau)),
            None => estimate.estimator.to_string(),
        };
        let interval = |ends: Option<Interval>| {
            ends.map_or("-".into(), |(low, high)| {
                format!("{} to {}", grouped(low, decimals), grouped(high, decimals))
            })
        };
        rows.push(vec![
            name,
            grouped(estimate.value, decimals),
            grouped(estimate.standard_error, decimals),
            interval(Some(estimate.normal)),
            interval(estimate.bootstrap),
            interval(estimate.anytime),
        ]);
    }
    let _ = writeln!(text, "logged: {} per decision\n", grouped(found.logged, 4));
    text += &print::columns(&rows);
    text.push('\n');
    text += &print::columns(&diagnosed(found));
    for warning in &found.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.push('\n');
    let assumed: Vec<Vec<String>> =
        found.estimates.iter().map(|e| vec![e.estimator.to_string(), e.assumes.to_string()]).collect();
    text += "What they assume:\n";
    text += &print::columns(&assumed);
    let (low, high) = settings.rewards.unwrap_or(about.shape.rewards);
    let least = settings.least_propensity.unwrap_or(about.shape.propensities.0);
    let _ = writeln!(
        text,
        "Normal and bootstrap intervals hold as logs grow (beyond 10,000 rows, groups of them are resampled). The one at\n\
         any time holds for every length of the log, and for all at once (Waudby-Smith and Ramdas 2023, theorem 2), where\n\
         rewards stay within {low} to {high} and no propensity is below {}. For snips it is that of ips with rewards held\n\
         against the weighted mean so far; dr and switch take models of earlier rows alone for it.",
        small(least),
    );
    if settings.clip.is_some() {
        text += "Under --clip, snips and dr have none: the mean that a sequence would be of moves as the log goes on.\n";
    }
    if settings.tau.is_none_or(|tau| tau < seen.largest_possible) {
        let _ = writeln!(
            text,
            "switch has one with a stated --tau alone that keeps every weight there can be (here {} or more): below, its mean\n\
             moves with the models.",
            readable(seen.largest_possible)
        );
    }
    text + "\n"
}

fn diagnosed(found: &Evaluation) -> Vec<Vec<String>> {
    let seen = &found.diagnostics;
    let [half, nine, ninety_nine, _, most] = seen.weight_quantiles.map(readable);
    let mut weights = format!(
        "mean {} (1 expected, {} standard errors off); median {half}, 90% {nine}, 99% {ninety_nine}, largest {most} \
         ({} of all weight)",
        grouped(seen.mean_weight, 4),
        grouped(seen.mean_weight_off.abs(), 1),
        share(100.0 * seen.largest_share),
    );
    if let Some(index) = seen.tail_index {
        let _ = write!(weights, "; tail index {}", grouped(index, 1));
    }
    let mut rows = vec![
        vec!["effective".into(), format!("{} of {} decisions", grouped(seen.effective, 1), whole(seen.rows))],
        vec!["weights".into(), weights],
        vec![
            "overlap".into(),
            format!(
                "{} of the policy's probability is on arms that the log never shows",
                share(seen.never_shown_percent)
            ),
        ],
    ];
    if let Some(worst) = &seen.calibration {
        rows.push(vec![
            "propensities".into(),
            format!(
                "from {} up; farthest from what was done: {}, whose 1/p add up to {} per decision (1 expected, {} standard \
                 errors off)",
                small(seen.least_propensity),
                worst.arm,
                grouped(worst.mean, 3),
                grouped(worst.standard_errors.abs(), 1),
            ),
        ]);
    }
    rows
}

/// An algorithm that learns.
pub(super) fn learning(about: &About<'_>, found: &Learned) -> String {
    let decimals = decimals(found.standard_error);
    let number = |value: f64| grouped(value, decimals);
    let mut text = about.heading();
    let _ = writeln!(
        text,
        "{} of {} logged decisions were its own (rejection sampling: {} of a log are, if every arm is at least that likely)\n\
         logged: {} per decision\n",
        whole(found.taken),
        whole(found.events),
        share(100.0 * found.expected_share),
        grouped(found.logged, 4),
    );
    let rows = vec![
        [
            "value",
            "standard error",
            &format!("{}, normal", about.percent()),
            "by quarters",
            "clients",
            "transfers",
        ]
        .map(String::from)
        .to_vec(),
        vec![
            number(found.value),
            number(found.standard_error),
            format!("{} to {}", number(found.normal.0), number(found.normal.1)),
            found.quarters.map(number).join(", "),
            format!("{} of {}", whole(found.clients as u64), whole(found.clients_in_log as u64)),
            whole(found.transfers),
        ],
    ];
    text += &print::columns(&rows);
    for warning in &found.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text += "\nWhat it assumes: propensities are right, and contexts and rewards do not depend on earlier decisions. The\n\
             interval is asymptotic, and of this one run of the algorithm. Each client's decisions stay in their order, but they\n\
             are thinned: what clients learn from one another comes after fewer decisions than in a real run, ticks count\n\
             logged decisions, and transfers are not those of a real run.\n\n";
    text
}

/// As many digits as the standard error is worth.
fn decimals(error: f64) -> usize {
    if error > 0.0 { (1.0 - error.log10().floor()).clamp(0.0, 8.0) as usize } else { 4 }
}

/// Percent.
fn share(percent: f64) -> String {
    let digits = if percent == 0.0 || percent >= 10.0 { 0 } else { 2 };
    format!("{}%", grouped(percent, digits))
}

/// A number that may be very small.
fn small(value: f64) -> String {
    if value < 0.001 { format!("{value:.1e}") } else { readable(value) }
}

fn whole(count: u64) -> String {
    grouped(count as f64, 0)
}
