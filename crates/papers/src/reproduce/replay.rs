//! What figures over real data share: rewards beside those of a random choice, and claims that are checked once for each
//! kind of features, since the choice of features can flip them.

use cahoots_figure::{Axis, Figure};
use cahoots_lab::LabError;
use cahoots_lab::run::{Curve, Record};

use super::ReportBuilder;
use super::claim::{Claim, Verdict};
use super::measured::{MeasuredExperiment, Runs};

/// Arms on offer in the papers' worlds, one of which is the user's own: a random choice earns one in so many.
const ARMS: f64 = 25.0;

/// Reward, as a multiple of what a random choice earns.
pub(crate) fn normalised(record: &Record) -> f64 {
    record.normalised_reward().unwrap_or(f64::NAN)
}

/// The same over time, where one client acts at a tick.
pub(crate) fn normalised_at(curve: &Curve, at: usize) -> f64 {
    curve.reward[at] * ARMS / curve.tick[at] as f64
}

/// The runs of an experiment in one of its worlds.
pub(crate) struct World<'a> {
    /// The experiment.
    pub part: &'a MeasuredExperiment,
    /// The world.
    pub stage: &'a str,
}

impl<'a> World<'a> {
    /// The entries of a block.
    pub(crate) fn block(&self, block: &'a str) -> Vec<&'a Runs> {
        let (part, stage) = (self.part, self.stage);
        part.block(block).filter(|runs| runs.stage == stage).collect()
    }

    /// The one entry of a block.
    pub(crate) fn entry(&self, block: &'a str) -> Result<&'a Runs, LabError> {
        match self.block(block)[..] {
            [one] => Ok(one),
            ref all => Err(fault(&format!("{} entries are {block} with {}", all.len(), self.stage))),
        }
    }

    /// The entry of a block where a swept key has this value.
    pub(crate) fn swept(&self, block: &'a str, key: &str, value: f64) -> Result<&'a Runs, LabError> {
        let found = self.block(block).into_iter().find(|runs| runs.swept_number(key) == Some(value));
        found.ok_or_else(|| fault(&format!("no entry is {block} with {key} = {value}")))
    }

    /// All of them over time, one line per entry.
    pub(crate) fn over_time(&self, title: String, y: Axis, value: fn(&Curve, usize) -> f64) -> Figure {
        let here = self.part.runs.iter().filter(|runs| runs.stage == self.stage);
        let seeds = self.part.experiment.seeds.len();
        Figure {
            title,
            x: Axis::linear("Interactions"),
            y,
            series: here.map(|runs| runs.line(runs.block.clone(), value)).collect(),
            note: Some(format!("mean over {seeds} seeds, bands: 95% confidence")),
        }
    }
}

fn fault(problem: &str) -> LabError {
    LabError::Failed(format!("{problem}; this is a fault of the program"))
}

/// Checks the same claims in every world of an experiment, and says which of them depend on it.
pub(crate) fn in_every_world(
    part: &MeasuredExperiment,
    report: &mut ReportBuilder,
    check: impl Fn(&World<'_>, &mut ReportBuilder) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let mut worlds: Vec<(&str, Vec<Claim>)> = Vec::new();
    for stage in part.stages() {
        let before = report.claims.len();
        check(&World { part, stage }, report)?;
        for claim in report.claims[before..].iter_mut().filter(|claim| !claim.what.contains(stage)) {
            claim.what = format!("{}, {stage}", claim.what);
        }
        worlds.push((stage, report.claims[before..].to_vec()));
    }
    let flipped = flipped(&worlds);
    report.note(match flipped.is_empty() {
        true => "Nothing that holds with one kind of features is refuted with the other.".to_string(),
        false => format!("The choice of features decides: {}.", flipped.join("; ")),
    });
    Ok(())
}

/// Claims that hold in one world and are refuted in another, in words.
fn flipped(worlds: &[(&str, Vec<Claim>)]) -> Vec<String> {
    let Some((stage, first)) = worlds.first() else { return Vec::new() };
    let found = |at: usize, verdict| worlds.iter().any(|(_, claims)| claims[at].verdict == verdict);
    let differs = |at: &usize| found(*at, Verdict::Holds) && found(*at, Verdict::DoesNotHold);
    let words = |at: usize| {
        let each = worlds.iter().map(|(stage, claims)| format!("{} with {stage}", claims[at].verdict.text()));
        let what = first[at].what.replace(&format!(" {stage}"), "");
        let what = what.trim_end_matches(',');
        format!("\"{what}: {}\" {}", first[at].paper, each.collect::<Vec<_>>().join(", "))
    };
    (0..first.len()).filter(differs).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_the_features_is_said() {
        let claim = |verdict, stage: &str| {
            let mut report = ReportBuilder::default();
            report.claim(format!("A {stage} against B {stage}"), "is better", "", verdict);
            report.claims.remove(0)
        };
        let worlds = |one, other| vec![("gob", vec![claim(one, "gob")]), ("svd", vec![claim(other, "svd")])];
        assert!(flipped(&worlds(Verdict::Holds, Verdict::Holds)).is_empty());
        assert!(flipped(&worlds(Verdict::Holds, Verdict::Undecided)).is_empty());
        assert_eq!(
            flipped(&worlds(Verdict::Holds, Verdict::DoesNotHold)),
            ["\"A against B: is better\" holds with gob, does not hold with svd"]
        );
    }
}
