//! What an audit found, in numbers, in words and drawn.

use cahoots_figure::{Axis, Figure, Point, Series};
use cahoots_privacy::Audit;
use cahoots_privacy::audit::Verdict;
use serde::Serialize;

use super::Subject;

/// What an audit found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was audited.
    pub mechanism: &'static str,
    /// What was run.
    pub about: &'static str,
    /// The pair of inputs that told most.
    pub pair: &'static str,
    /// Broken on purpose.
    pub control: bool,
    /// What was measured, beside what was stated.
    pub verdict: Verdict,
    /// As it should be: an honest mechanism is not contradicted, a broken one is.
    pub passed: bool,
    /// The bound from one run with many canaries, where that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_canaries: Option<f64>,
    /// The numbers.
    #[serde(flatten)]
    pub audit: Audit,
    #[serde(skip)]
    histograms: [Vec<(f64, f64)>; 2],
}

impl Finding {
    pub(super) fn new(
        subject: &Subject,
        pair: &'static str,
        audit: Audit,
        by_canaries: Option<f64>,
        verdict: Verdict,
        first: &[f64],
        second: &[f64],
    ) -> Finding {
        Finding {
            mechanism: subject.name,
            about: subject.about,
            pair,
            control: subject.control,
            verdict,
            passed: (verdict == Verdict::Contradicts) == subject.control,
            by_canaries,
            histograms: histograms(first, second),
            audit,
        }
    }

    /// The largest lower bound.
    pub fn measured(&self) -> f64 {
        self.audit.measured.max(self.by_canaries.unwrap_or(0.0))
    }

    /// In words.
    pub fn words(&self) -> &'static str {
        match (self.control, self.verdict) {
            (false, Verdict::Agrees) => "agrees with the statement",
            (false, Verdict::SaysNothing) => "says nothing: less than half of what is stated was seen",
            (false, Verdict::Contradicts) => "CONTRADICTS the statement",
            (true, Verdict::Contradicts) => "broken on purpose, and caught",
            (true, _) => "broken on purpose, and NOT caught",
        }
    }

    /// Both distributions of the score.
    pub fn figure(&self) -> Figure {
        let [first, second] = &self.histograms;
        let line = |label: &str, bins: &[(f64, f64)]| {
            Series::line(label, bins.iter().map(|(x, y)| Point::new(*x, *y)).collect())
        };
        let Finding { audit, mechanism, pair, .. } = self;
        let side = if audit.above { "above" } else { "below" };
        Figure {
            title: format!("{mechanism}: what an observer sees"),
            x: Axis::linear("Score of one run"),
            y: Axis::linear("Share of runs"),
            series: vec![line("first input", first), line("second input", second)],
            note: Some(format!(
                "{pair}; stated epsilon {}, delta {}; measured at least {:.3} (95% confidence, {} runs on each input, \
                 threshold {:.4}, {side})",
                audit.epsilon, audit.delta, audit.measured, audit.trials, audit.threshold
            )),
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
