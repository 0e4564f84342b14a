//! What whoever watches the server is shown of the arms.

use cahoots_core::{ArmIndex, ArmMean, Learnt, Sure};

use super::rules::Rules;
use crate::kit::arms::Told;

/// Means over all who reported, with the paper's own bound. It lives as long as the process: nothing follows from it.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    told: Told,
    /// Pulls of an arm that are sure to be in every client's mean of it.
    pulls: u64,
}

impl Known {
    /// Someone may have explored less than the others: from now on what counts is what comes next.
    pub(super) fn forget_lengths(&mut self) {
        self.pulls = 0;
    }

    /// The average over so many clients, each of which has explored this phase to its end.
    pub(super) fn tell(
        &mut self,
        rules: &Rules,
        phase: u64,
        clients: usize,
        arms: &[ArmIndex],
        means: &[f64],
    ) {
        let (for_others, _) = rules.exploration(rules.lengths.at(phase), 1.0);
        self.pulls = self.pulls.saturating_add(for_others);
        let radius = self.radius(rules, clients);
        for (arm, value) in arms.iter().zip(means) {
            self.told.tell(*arm, ArmMean { value: *value, radius, pulls: None });
        }
    }

    /// B_p bounds a client's mixed mean, whose variance is 1 / (M F(p)). An average over n clients with at least m pulls each has
    /// 1 / (n m): the same bound, as sure, is B_p with that in its place, and B_p itself where all M pull for nobody but each
    /// other. Not known where gaps decide how long clients explore, nor where pulls count that were chosen by the rewards
    /// before them (the authors' code).
    fn radius(&self, rules: &Rules, clients: usize) -> Option<f64> {
        let pulls = clients as f64 * self.pulls as f64;
        let known = !rules.enhanced && !rules.authors && pulls > 0.0;
        known.then(|| deviations(rules) / pulls.sqrt())
    }

    pub(super) fn learnt(&self, rules: &Rules, active: &[ArmIndex]) -> Learnt {
        self.told.learnt(rules.all_arms(), active, Sure::Deviations(deviations(rules)))
    }
}

/// How many standard deviations B_p is, of rewards whose noise has scale 1.
fn deviations(rules: &Rules) -> f64 {
    (rules.radius * f64::from(rules.clients)).sqrt()
}
