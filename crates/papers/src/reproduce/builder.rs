//! What is found when an item's claims are checked.

use cahoots_figure::Picture;
use cahoots_lab::results::{Estimate, plus_minus, readable};
use cahoots_lab::run::Record;

use super::claim::{Claim, Reference, Verdict};
use super::measured::Runs;

/// Claims, figures and notes.
#[derive(Debug, Default)]
pub struct ReportBuilder {
    /// Claims in the order of the paper.
    pub claims: Vec<Claim>,
    /// Figures and their names.
    pub figures: Vec<(String, Box<dyn Picture>)>,
    /// What a reader must know to read the rest: choices made where the paper is silent, and what was found out.
    pub notes: Vec<String>,
}

/// Who says so.
const PAPER: &str = "paper";

/// Whose question it is, where no paper says anything.
pub const OURS: &str = "asked here";

/// Who says so, where the paper prints no number.
pub const AUTHORS_CODE: &str = "authors' code";

impl ReportBuilder {
    /// A number of the paper's, beside the mean of ours.
    pub fn number(
        &mut self,
        what: impl Into<String>,
        reference: Reference,
        runs: &Runs,
        value: fn(&Record) -> f64,
    ) {
        self.number_from(PAPER, what, reference, runs, value);
    }

    /// A number from some source, beside the mean of ours.
    pub fn number_from(
        &mut self,
        source: &str,
        what: impl Into<String>,
        reference: Reference,
        runs: &Runs,
        value: fn(&Record) -> f64,
    ) {
        let ours = runs.estimate(value);
        self.claims.push(Claim {
            what: what.into(),
            source: source.into(),
            paper: match reference.sd {
                Some(sd) => format!("{} (sd {})", readable(reference.mean), readable(sd)),
                None => readable(reference.mean),
            },
            ours: plus_minus(ours.mean, ours.ci95, false),
            verdict: reference.verdict(&ours, runs.records.len()),
            mean: Some(ours.mean),
            ci95: ours.ci95,
        });
    }

    /// That one entry has less of something than another in the same world, compared seed by seed.
    pub fn less(&mut self, paper: impl Into<String>, one: &Runs, other: &Runs, value: fn(&Record) -> f64) {
        self.compare(paper, one, other, value, 1.0);
    }

    /// That one entry has more of something than another in the same world, compared seed by seed.
    pub fn more(&mut self, paper: impl Into<String>, one: &Runs, other: &Runs, value: fn(&Record) -> f64) {
        self.compare(paper, one, other, value, -1.0);
    }

    /// That the difference of two entries, times a sign, lies below zero.
    fn compare(
        &mut self,
        paper: impl Into<String>,
        one: &Runs,
        other: &Runs,
        value: fn(&Record) -> f64,
        sign: f64,
    ) {
        let difference = one.difference(other, value);
        let (a, b) = (one.estimate(value), other.estimate(value));
        self.claims.push(Claim {
            what: format!("{} against {}", one.label, other.label),
            source: PAPER.into(),
            paper: paper.into(),
            ours: format!(
                "{} against {}: {}",
                readable(a.mean),
                readable(b.mean),
                plus_minus(difference.mean, difference.ci95, true)
            ),
            verdict: Verdict::below_zero(&Estimate { mean: sign * difference.mean, ..difference }),
            mean: Some(difference.mean),
            ci95: difference.ci95,
        });
    }

    /// That a quantity, one value per seed, lies below zero; `ours` says in words what was seen.
    pub fn below_zero(
        &mut self,
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        difference: &Estimate,
    ) {
        self.claims.push(Claim {
            what: what.into(),
            source: PAPER.into(),
            paper: paper.into(),
            ours: ours.into(),
            verdict: Verdict::below_zero(difference),
            mean: Some(difference.mean),
            ci95: difference.ci95,
        });
    }

    /// A ratio from some source, beside ours, one value per seed.
    pub fn ratio_from(
        &mut self,
        source: &str,
        what: impl Into<String>,
        reference: Reference,
        ours: &Estimate,
        seeds: usize,
    ) {
        self.claims.push(Claim {
            what: what.into(),
            source: source.into(),
            paper: readable(reference.mean),
            ours: plus_minus(ours.mean, ours.ci95, false),
            verdict: reference.verdict(ours, seeds),
            mean: Some(ours.mean),
            ci95: ours.ci95,
        });
    }

    /// The last claim is no paper's.
    pub fn asked_here(&mut self) {
        if let Some(claim) = self.claims.last_mut() {
            claim.source = OURS.into();
        }
    }

    /// Any other claim from some source.
    pub fn claim_from(
        &mut self,
        source: &str,
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        verdict: Verdict,
    ) {
        self.claim(what, paper, ours, verdict);
        if let Some(claim) = self.claims.last_mut() {
            claim.source = source.into();
        }
    }

    /// Any other claim.
    pub fn claim(
        &mut self,
        what: impl Into<String>,
        paper: impl Into<String>,
        ours: impl Into<String>,
        verdict: Verdict,
    ) {
        self.claims.push(Claim {
            what: what.into(),
            source: PAPER.into(),
            paper: paper.into(),
            ours: ours.into(),
            verdict,
            mean: None,
            ci95: None,
        });
    }

    /// A figure, written to `name.svg` and `name.png`.
    pub fn figure(&mut self, name: impl Into<String>, picture: impl Picture + 'static) {
        self.figures.push((name.into(), Box::new(picture)));
    }

    /// Something a reader must know.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}
