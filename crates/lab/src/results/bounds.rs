//! What no algorithm can beat in a game that is known: the lower bounds of personalised federation.

use cahoots_algorithms::pf_ucb::bounds::{Game, bernoulli, gaussian};
use cahoots_figure::{Point, Series};
use cahoots_sim::arrivals::ArrivalLaw;
use cahoots_sim::environment::Environment;
use cahoots_sim::run::Scenario;
use cahoots_sim::world::arms::Rewards;
use serde_json::Value as Json;

/// Factors of log T, for T to infinity and without communication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerBounds {
    /// Theorem 1 of Shi, Shen and Yang (2021); Corollary 1 where rewards are normal.
    pub theorem_1: f64,
    /// What their Conjecture 1 would allow at least, for normal rewards. Nobody has proved it.
    pub conjecture_1: Option<f64>,
}

impl LowerBounds {
    /// The bounds of an entry: of an algorithm with a `personalization`, in a game that all seeds share and
    /// that has one best arm for each client, where every client acts at every tick.
    pub fn of(scenario: &Scenario, params: &Json) -> Option<LowerBounds> {
        let Environment::Arms(arms) = &scenario.environment else { return None };
        let alpha = params["personalization"].as_f64()?;
        if arms.arrivals != ArrivalLaw::All || arms.objective.is_some() {
            return None;
        }
        let game = Game::new(&arms.fixed_means()?, alpha)?;
        let deviation = arms.reward_noise.unwrap_or(1.0);
        Some(match arms.rewards {
            Rewards::Bernoulli => LowerBounds { theorem_1: game.theorem_1(bernoulli), conjecture_1: None },
            Rewards::Gaussian => LowerBounds {
                theorem_1: game.theorem_1(gaussian(deviation)),
                conjecture_1: Some(game.conjecture_1(deviation)),
            },
        })
    }

    /// The regret they stand for at a horizon, by name.
    pub fn at(&self, horizon: f64) -> impl Iterator<Item = (&'static str, f64)> {
        let each = [("lower_bound", Some(self.theorem_1)), ("conjectured_lower_bound", self.conjecture_1)];
        each.into_iter().filter_map(move |(name, factor)| Some((name, factor? * libm::log(horizon))))
    }

    /// Lines for a figure of regret over time.
    pub fn lines(&self, ticks: &[f64]) -> Vec<Series> {
        let line = |label: &str, factor: f64| {
            let ticks = ticks.iter().filter(|tick| **tick >= 1.0);
            Series::line(label, ticks.map(|tick| Point::new(*tick, factor * libm::log(*tick))).collect())
        };
        let mut lines = vec![line("lower bound (Theorem 1)", self.theorem_1)];
        lines.extend(self.conjecture_1.map(|factor| line("conjectured bound (Conjecture 1)", factor)));
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounds(environment: Json, params: &Json) -> Option<LowerBounds> {
        let scenario = json!({ "horizon": 1000, "environment": environment });
        LowerBounds::of(&serde_json::from_value(scenario).unwrap(), params)
    }

    #[test]
    fn a_game_has_bounds_where_it_is_known() {
        let normal = json!({ "kind": "arms", "rewards": "gaussian", "means": [[0.5, 0.25], [0.5, 0.0]] });
        let own = json!({ "personalization": 1.0 });
        // 2 / gap, client by client.
        let found = bounds(normal.clone(), &own).unwrap();
        assert!((found.theorem_1 - 12.0).abs() < 1e-9);
        assert!((found.conjecture_1.unwrap() - 12.0).abs() < 1e-6);
        let values: Vec<(&str, f64)> = found.at(std::f64::consts::E).collect();
        assert!((values[0].1 - 12.0).abs() < 1e-9 && values[1].0 == "conjectured_lower_bound");

        let with = |key: &str, value: Json| {
            let mut other = normal.clone();
            other[key] = value;
            bounds(other, &own)
        };
        assert_eq!(with("rewards", json!("bernoulli")).unwrap().conjecture_1, None);
        assert_eq!(with("means", json!("uniform")), None);
        assert_eq!(with("means", json!([[0.5, 0.5], [0.5, 0.0]])), None);
        assert_eq!(with("arrivals", json!("uniform")), None);
        assert_eq!(with("objective", json!("global")), None);
        assert_eq!(bounds(normal, &json!({})), None);
    }
}
