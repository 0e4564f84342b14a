//! Audits: what a mechanism promises beside what can be measured of it.
//!
//! Each [`Subject`] runs the real code on two inputs that differ in one unit, and scores what an outsider sees.
//! Subjects that are broken on purpose must be caught; if they are not, the audit itself is worth nothing.

mod arms;
mod federation;
mod message;

use cahoots_figure::{Axis, Figure, Point, Series};
use cahoots_privacy::Audit;
use serde::Serialize;

use crate::error::LabError;

/// Something to be audited.
pub struct Subject {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is run, on which two inputs.
    pub about: &'static str,
    /// What it promises: epsilon.
    pub epsilon: f64,
    /// What it promises: delta.
    pub delta: f64,
    /// Broken on purpose: must be caught.
    pub control: bool,
    /// Runs for each trial that is asked for: slow ones take fewer.
    pub share: f64,
    /// The score of one run, on the second input or the first.
    run: fn(second: bool, seed: u64) -> f64,
}

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was audited.
    pub mechanism: &'static str,
    /// What was run.
    pub about: &'static str,
    /// Broken on purpose.
    pub control: bool,
    /// As it should be: an honest mechanism is not contradicted, a broken one is.
    pub passed: bool,
    /// The numbers.
    #[serde(flatten)]
    pub audit: Audit,
    #[serde(skip)]
    histograms: [Vec<(f64, f64)>; 2],
}

/// All there is to audit.
pub fn subjects() -> Vec<Subject> {
    let mut subjects = message::subjects();
    subjects.extend(arms::subjects());
    subjects.extend(federation::subjects());
    subjects
}

/// The subjects of a name; all of them for `all`.
pub fn select(name: &str) -> Result<Vec<Subject>, LabError> {
    let all = subjects();
    if name == "all" {
        return Ok(all);
    }
    let known: Vec<&str> = all.iter().map(|subject| subject.name).collect();
    let list = known.join(", ");
    let found: Vec<Subject> = all.into_iter().filter(|subject| subject.name == name).collect();
    if found.is_empty() {
        return Err(LabError::Input(format!("there is no mechanism {name}; there are: all, {list}")));
    }
    Ok(found)
}

impl Subject {
    /// Runs it `trials` times on each of the two inputs.
    pub fn audit(&self, trials: usize, seed: u64) -> Finding {
        let trials = ((trials as f64 * self.share) as usize).max(200);
        let outputs = |second: bool| -> Vec<f64> {
            use rayon::prelude::*;
            // Every run has a seed of its own, so that threads change nothing.
            let offset = u64::from(second) << 40 | seed << 44;
            (0..trials as u64).into_par_iter().map(|trial| (self.run)(second, offset | trial)).collect()
        };
        let (first, second) = (outputs(false), outputs(true));
        let audit = Audit::new(self.epsilon, self.delta, &first, &second);
        Finding {
            mechanism: self.name,
            about: self.about,
            control: self.control,
            passed: audit.agrees() != self.control,
            histograms: histograms(&first, &second),
            audit,
        }
    }
}

impl Finding {
    /// Both output distributions.
    pub fn figure(&self) -> Figure {
        let [first, second] = &self.histograms;
        let line = |label: &str, bins: &[(f64, f64)]| {
            Series::line(label, bins.iter().map(|(x, y)| Point::new(*x, *y)).collect())
        };
        let Finding { audit, mechanism, .. } = self;
        let side = if audit.above { "above" } else { "below" };
        Figure {
            title: format!("{mechanism}: what an outsider sees"),
            x: Axis::linear("Score of one run"),
            y: Axis::linear("Share of runs"),
            series: vec![line("first input", first), line("second input", second)],
            note: Some(format!(
                "stated epsilon {}, delta {}; measured at least {:.3} (95% confidence, {} runs on each input, \
                 threshold {:.4}, {side})",
                audit.epsilon, audit.delta, audit.measured, audit.trials, audit.threshold
            )),
        }
    }

    /// In words.
    pub fn verdict(&self) -> &'static str {
        match (self.control, self.passed) {
            (false, true) => "agrees with the statement",
            (false, false) => "CONTRADICTS the statement",
            (true, true) => "broken on purpose, and caught",
            (true, false) => "broken on purpose, and NOT caught",
        }
    }
}

fn histograms(first: &[f64], second: &[f64]) -> [Vec<(f64, f64)>; 2] {
    const BINS: usize = 60;
    let mut pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    pooled.sort_by(f64::total_cmp);
    let at = |part: f64| pooled[(part * (pooled.len() - 1) as f64) as usize];
    let (low, high) = (at(0.001), at(0.999));
    let width = ((high - low) / BINS as f64).max(f64::MIN_POSITIVE);
    [first, second].map(|values| {
        let mut counts = vec![0u64; BINS];
        for value in values {
            let bin = ((value - low) / width).floor();
            if bin >= 0.0 && bin < BINS as f64 {
                counts[bin as usize] += 1;
            }
        }
        let share = |count: u64| count as f64 / values.len() as f64;
        (0..BINS).map(|bin| (low + (bin as f64 + 0.5) * width, share(counts[bin]))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_mechanisms_agree_and_broken_ones_are_caught() {
        for subject in subjects() {
            let finding = subject.audit(40_000, 1);
            assert!(finding.passed, "{}: {} {:?}", subject.name, finding.verdict(), finding.audit);
        }
    }

    #[test]
    fn there_is_a_control_at_both_levels() {
        let controls = subjects().iter().filter(|subject| subject.control).count();
        assert!(controls >= 2);
        assert!(select("nobody").is_err());
        assert_eq!(select("all").unwrap().len(), subjects().len());
    }
}
