//! The first reading: what the log did, arm by arm, and the sums of the models.

use super::diagnostics::Calibration;
use super::log::{Event, Log, Shape};
use super::models::Ridge;
use super::refusal::Refusal;
use super::settings::{Settings, part};
use super::target::Target;

/// Gigabytes of sums that are not asked for.
const MOST_GIGABYTES: f64 = 4.0;

/// What each row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The policy is made from it.
    Fit,
    /// It is evaluated; in this fold.
    Evaluate(usize),
}

/// What a first reading found.
pub struct Survey {
    /// How often each arm was taken, in each position.
    pub counts: Vec<u64>,
    /// Sums of 1/p, likewise.
    inverse: Vec<f64>,
    /// Decisions in each position.
    positions: Vec<u64>,
    /// Sums of the models: one part for each fold, and one for the half that a policy is made from.
    pub(crate) sums: Ridge,
}

/// What a row is for.
pub(crate) fn purpose(target: &Target, settings: &Settings, row: u64) -> Use {
    if target.is_fitted() && part(settings.seed, 1, row, 2) == 0 {
        return Use::Fit;
    }
    Use::Evaluate(part(settings.seed, 2, row, settings.folds))
}

/// The context, with a 1 before it.
pub(crate) fn with_one(event: &Event<'_>, features: &mut Vec<f64>) {
    features.clear();
    features.push(1.0);
    features.extend_from_slice(event.context);
}

impl Survey {
    /// Reads the log once.
    pub fn of(log: &dyn Log, target: &Target, settings: &Settings) -> Result<Survey, Refusal> {
        let shape = log.shape();
        let (cells, features) = (shape.cells(), shape.features.len());
        let gigabytes = Ridge::bytes(settings.folds + 2, cells, features) / 1e9;
        if gigabytes > MOST_GIGABYTES {
            return Err(Refusal::TooLarge { cells, features, gigabytes });
        }
        let range = settings.rewards.unwrap_or(shape.rewards);
        let mut survey = Survey {
            counts: vec![0; cells],
            inverse: vec![0.0; cells],
            positions: vec![0; shape.positions.len()],
            sums: Ridge::new(settings.folds + 1, cells, features, settings.ridge, range),
        };
        let mut features = Vec::new();
        log.each(&mut |event| {
            let row = event.row + 1;
            if !(range.0..=range.1).contains(&event.reward) {
                let (what, stated) = if event.reward < range.0 {
                    ("the smallest reward", range.0)
                } else {
                    ("the largest reward", range.1)
                };
                return Err(Refusal::Bound { what, stated, found: event.reward, row });
            }
            if let Some(stated) = settings.least_propensity.filter(|least| event.propensity < *least) {
                let what = "the smallest propensity";
                return Err(Refusal::Bound { what, stated, found: event.propensity, row });
            }
            let cell = shape.cell(event.position, event.arm as usize);
            survey.counts[cell] += 1;
            survey.positions[event.position as usize] += 1;
            survey.inverse[cell] += 1.0 / event.propensity;
            with_one(&event, &mut features);
            let fold = match purpose(target, settings, event.row) {
                Use::Fit => settings.folds,
                Use::Evaluate(fold) => fold,
            };
            survey.sums.learn(fold, cell, &features, event.reward);
            Ok(())
        })?;
        Ok(survey)
    }

    /// The sum of 1/p over the decisions for an arm, per decision of all, is 1 where propensities are what they are said
    /// to be: the arm that is farthest from it, in standard errors. Those are the largest that a smallest propensity of
    /// `least` allows: the spread of what was seen says too little where rare decisions have most of the weight.
    pub(crate) fn calibration(&self, shape: &Shape, least: f64) -> Option<Calibration> {
        let one = |cell: usize| {
            let rows = self.positions[cell / shape.arms.len()] as f64;
            let mean = self.inverse[cell] / rows;
            // Var(1/p where it was taken, else 0) is at most 1/least - 1. An arm that is always taken is right.
            let error = ((1.0 / least - 1.0) / rows).sqrt();
            let off = if error > 0.0 { (mean - 1.0) / error } else { 0.0 };
            Calibration { arm: shape.cell_name(cell), mean, standard_errors: off }
        };
        let seen = (0..self.counts.len()).filter(|cell| self.counts[*cell] > 0);
        seen.map(one).max_by(|a, b| a.standard_errors.abs().total_cmp(&b.standard_errors.abs()))
    }
}
