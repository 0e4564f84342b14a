//! single-mab: every client alone, by the same rules with M = 1. Nothing leaves it, so nothing needs noise.

use cahoots_core::{ArmIndex, Cx, Silence, hears_nothing};
use serde::{Deserialize, Serialize};

use super::explorer::{Explorer, explores};
use super::rules::Rules;

/// A client on its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    explorer: Explorer,
}

impl Client {
    pub(super) fn new(rules: Rules) -> Self {
        Client { explorer: Explorer::new(rules) }
    }

    /// Arms that are still in the running.
    pub fn active(&self) -> &[ArmIndex] {
        self.explorer.active()
    }

    fn explored(&mut self, cx: &mut Cx<'_, Silence>) {
        let (epoch, means) = (self.explorer.epoch(), self.explorer.own_means());
        let pulls = self.explorer.pulls();
        let next = self.explorer.rules().survivors(epoch, self.explorer.active(), &means, pulls);
        if next.len() == 1 {
            cx.count("finished_clients", 1.0);
        }
        self.explorer.advance(next);
    }
}

hears_nothing!(Client);

explores!(Client, Silence);
