//! Bounds on regret that are known before anything is run. Which theory knows them is not decided
//! here: whoever starts a run passes it in.

use cahoots_figure::{Point, Series};
use cahoots_sim::run::Scenario;
use serde_json::Value as Json;

/// Finds what no algorithm can beat in a world, given an algorithm's parameters.
pub type Theory = fn(&Scenario, &Json) -> Option<LowerBounds>;

/// A theory that knows nothing.
pub fn no_theory(_: &Scenario, _: &Json) -> Option<LowerBounds> {
    None
}

/// What no algorithm can beat in a known world.
#[derive(Clone, Debug, PartialEq)]
pub struct LowerBounds {
    /// One or several, the surest first.
    pub bounds: Vec<LowerBound>,
    /// When they hold, for the note of a figure.
    pub holds: &'static str,
}

/// A regret that cannot be beaten, as a factor of log T.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerBound {
    /// Its name among the metrics of a summary.
    pub metric: &'static str,
    /// Its name in a legend.
    pub label: &'static str,
    /// What log T is multiplied by.
    pub factor: f64,
}

impl LowerBounds {
    /// The factor of a bound, by its name among the metrics.
    pub fn factor(&self, metric: &str) -> Option<f64> {
        self.bounds.iter().find(|bound| bound.metric == metric).map(|bound| bound.factor)
    }

    /// The regret they stand for at a horizon, by name.
    pub fn at(&self, horizon: f64) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.bounds.iter().map(move |bound| (bound.metric, bound.factor * libm::log(horizon)))
    }

    /// Lines for a figure of regret over time.
    pub fn lines(&self, ticks: &[f64]) -> Vec<Series> {
        let line = |bound: &LowerBound| {
            let ticks = ticks.iter().filter(|tick| **tick >= 1.0);
            let points = ticks.map(|tick| Point::new(*tick, bound.factor * libm::log(*tick)));
            Series::line(bound.label, points.collect())
        };
        self.bounds.iter().map(line).collect()
    }
}
