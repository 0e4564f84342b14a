//! single-mab: every client alone, by the same rules with M = 1. Nothing leaves it, so nothing needs noise.

use cahoots_core::{ArmIndex, Cx, Silence, hears_nothing};
use serde::{Deserialize, Serialize};

use super::epochs::{Epochs, explores};
use super::rules::Rules;

/// A client on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    epochs: Epochs,
}

impl Client {
    pub(super) fn new(rules: Rules) -> Self {
        Client { epochs: Epochs::new(rules) }
    }

    /// Arms that are still in the running.
    pub fn active(&self) -> &[ArmIndex] {
        self.epochs.active()
    }

    fn explored(&mut self, cx: &mut Cx<'_, Silence>) {
        let (epoch, means) = (self.epochs.epoch(), self.epochs.own_means());
        let (rules, active) = (self.epochs.rules(), self.epochs.active());
        let radius = rules.radius(epoch, active.len(), self.epochs.pulls());
        let next = rules.survivors(epoch, active, &means, radius);
        if next.len() == 1 {
            cx.count("finished_clients", 1.0);
        }
        self.epochs.advance(next);
    }
}

hears_nothing!(Client);

explores!(Client, Silence);
