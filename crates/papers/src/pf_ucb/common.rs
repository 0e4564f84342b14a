//! What the figures of this paper share.

use cahoots_figure::{Axis, Figure};
use cahoots_lab::run::Record;

use crate::reproduce::{MeasuredExperiment, ReportBuilder, Runs, Verdict};

/// The label of entries that follow the paper's text.
pub(super) const PAPER: &str = "PF-UCB";

/// The label of entries that follow its authors' code.
pub(super) const AUTHORS: &str = "PF-UCB, as in the authors' code";

/// The paper's communication times: 2 M per phase, as C = 1.
pub(super) fn communications(record: &Record) -> f64 {
    record.cost
}

/// alpha.
pub(super) fn alpha(runs: &Runs) -> f64 {
    runs.swept_number("personalization").unwrap_or(f64::NAN)
}

/// Regret at a share of the horizon.
pub(super) fn regret_at(record: &Record, share: f64) -> f64 {
    let end = record.curve.tick.last().copied().unwrap_or_default() as f64;
    let point = record.curve.tick.iter().rposition(|tick| *tick as f64 <= share * end);
    point.map_or(0.0, |point| record.curve.regret[point])
}

/// Whether nothing was lost in the last hundredth of a run. Regret is of expectations, so this is whether
/// every client has ended on the best arm of its mixed model.
pub(super) fn settled(record: &Record) -> bool {
    record.regret - regret_at(record, 0.99) <= 1e-9 * record.regret.abs()
}

/// How many runs ended with every client on its best arm.
pub(super) fn settled_runs(runs: &Runs) -> usize {
    runs.records.iter().filter(|record| settled(record)).count()
}

/// The claim that every client ends on the best arm of its mixed model.
pub(super) fn converges(report: &mut ReportBuilder, paper: &str, runs: &Runs) {
    let (count, all) = (settled_runs(runs), runs.records.len());
    let verdict = if count == all { Verdict::Holds } else { Verdict::DoesNotHold };
    let ours = format!("every client on its best arm at the end: {count} of {all} runs");
    report.claim(runs.label.clone(), paper, ours, verdict);
}

/// Regret over time, a line per alpha.
pub(super) fn over_time(part: &MeasuredExperiment, block: &str, title: &str) -> Figure {
    let line =
        |runs: &Runs| runs.line(format!("alpha = {}", alpha(runs)), |curve, point| curve.regret[point]);
    Figure {
        title: title.into(),
        x: Axis::linear("Time"),
        y: Axis::linear("Cumulative regret"),
        series: part.block(block).map(line).collect(),
        note: Some(seeds_note(part, "band")),
    }
}

/// How many seeds a figure shows, and what its marks are.
pub(super) fn seeds_note(part: &MeasuredExperiment, mark: &str) -> String {
    match part.experiment.seeds.len() {
        1 => "one seed".into(),
        seeds => format!("mean over {seeds} seeds, {mark}: 95% confidence"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A run of 200 ticks with this regret at each.
    fn record(regret: impl Fn(u64) -> f64) -> Record {
        let ticks: Vec<u64> = (1..=200).collect();
        let over_time: Vec<f64> = ticks.iter().map(|tick| regret(*tick)).collect();
        let zeros = vec![0; 200];
        serde_json::from_value(json!({
            "entry": "", "seed": 0, "steps": 200, "regret": over_time[199], "reward": 0.0, "uploads": 0,
            "downloads": 0, "peer_messages": 0, "control_messages": 0, "scalars": 0, "bytes": 0, "cost": 0.0,
            "rounds": 0, "duplicates_dropped": 0, "refused": 0, "abandoned": 0, "metrics": {}, "privacy": null,
            "curve": { "tick": ticks, "regret": over_time, "reward": vec![0.0; 200], "transfers": zeros,
                "bytes": zeros },
            "effort": { "nanoseconds": 0, "peak_rss_bytes": 0 }
        }))
        .unwrap()
    }

    #[test]
    fn a_run_has_settled_when_nothing_more_is_lost() {
        assert!(settled(&record(|tick| 0.1 * tick.min(198) as f64)));
        assert!(!settled(&record(|tick| 0.1 * tick.min(199) as f64)));
        assert!(!settled(&record(|tick| 1e6 + 1e-2 * tick as f64)), "one client, one arm slightly wrong");
    }

    #[test]
    fn regret_is_read_at_a_share_of_the_horizon() {
        let linear = record(|tick| tick as f64);
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|share| regret_at(&linear, share)), [0.0, 100.0, 180.0, 200.0]);
    }
}
