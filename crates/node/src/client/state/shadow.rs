//! What is known of decisions and rewards beside the machine: what happened, and what own data alone would have done.

use cahoots_core::DecisionId;

use super::State;
use crate::client::gain;

impl State {
    /// A reward was learned from.
    pub(super) fn rewarded(&mut self, id: DecisionId, value: f64) {
        self.history.rewarded(self.clock.wall(), value);
        let left = self.beside.shadowed().is_some_and(|shadowed| shadowed.rewarded(id, value));
        if left {
            tracing::warn!("federation hurts this client: from now on it decides by its own data alone");
            self.save_shadow();
            self.flush = true;
        }
        self.keep_shadow();
    }

    /// Now and then the shadow is kept, in the next commit.
    pub(super) fn keep_shadow(&mut self) {
        if self.beside.shadowed().is_some_and(|shadowed| shadowed.is_due()) {
            self.save_shadow();
        }
    }

    fn save_shadow(&mut self) {
        if let Some(shadow) = self.beside.save() {
            self.journal.batch.set(gain::KEY, shadow);
        }
    }
}
