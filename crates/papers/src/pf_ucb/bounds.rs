//! What no algorithm can beat in a game that is known: the lower bounds of personalised federation.

use cahoots_algorithms::pf_ucb::bounds::{Game, bernoulli, gaussian};
use cahoots_lab::results::{LowerBound, LowerBounds};
use cahoots_sim::arrivals::ArrivalLaw;
use cahoots_sim::run::Scenario;
use cahoots_sim::world::arms::{ArmsParams, Rewards};
use serde_json::Value as Json;

/// Theorem 1 of Shi, Shen and Yang (2021); Corollary 1 where rewards are normal.
pub const THEOREM_1: &str = "lower_bound";

/// What their Conjecture 1 would allow at least, for normal rewards. Nobody has proved it.
pub const CONJECTURE_1: &str = "conjectured_lower_bound";

/// The bounds of an entry: of an algorithm with a `personalization`, in a game that all seeds share and
/// that has one best arm for each client, where every client acts at every tick.
pub fn lower_bounds(scenario: &Scenario, params: &Json) -> Option<LowerBounds> {
    let arms = scenario.environment.keys::<ArmsParams>()?.ok()?;
    let alpha = params["personalization"].as_f64()?;
    if arms.arrivals != ArrivalLaw::All || arms.objective.is_some() {
        return None;
    }
    let game = Game::new(&arms.fixed_means()?, alpha)?;
    let deviation = arms.reward_noise.unwrap_or(1.0);
    let theorem = |factor| LowerBound { metric: THEOREM_1, label: "lower bound (Theorem 1)", factor };
    let conjecture =
        |factor| LowerBound { metric: CONJECTURE_1, label: "conjectured bound (Conjecture 1)", factor };
    let bounds = match arms.rewards {
        Rewards::Bernoulli => vec![theorem(game.theorem_1(bernoulli))],
        Rewards::Gaussian => {
            vec![theorem(game.theorem_1(gaussian(deviation))), conjecture(game.conjecture_1(deviation))]
        }
    };
    Some(LowerBounds { bounds, holds: "for T to infinity, without communication" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounds(environment: Json, params: &Json) -> Option<LowerBounds> {
        let scenario = json!({ "horizon": 1000, "environment": environment });
        lower_bounds(&serde_json::from_value(scenario).unwrap(), params)
    }

    #[test]
    fn a_game_has_bounds_where_it_is_known() {
        let normal = json!({ "kind": "arms", "arrivals": "all", "rewards": "gaussian",
            "means": [[0.5, 0.25], [0.5, 0.0]] });
        let own = json!({ "personalization": 1.0 });
        // 2 / gap, client by client.
        let found = bounds(normal.clone(), &own).unwrap();
        assert!((found.factor(THEOREM_1).unwrap() - 12.0).abs() < 1e-9);
        assert!((found.factor(CONJECTURE_1).unwrap() - 12.0).abs() < 1e-6);
        let values: Vec<(&str, f64)> = found.at(std::f64::consts::E).collect();
        assert!((values[0].1 - 12.0).abs() < 1e-9 && values[1].0 == CONJECTURE_1);

        let with = |key: &str, value: Json| {
            let mut other = normal.clone();
            other[key] = value;
            bounds(other, &own)
        };
        assert_eq!(with("rewards", json!("bernoulli")).unwrap().factor(CONJECTURE_1), None);
        assert_eq!(with("means", json!("uniform")), None);
        assert_eq!(with("means", json!([[0.5, 0.5], [0.5, 0.0]])), None);
        assert_eq!(with("arrivals", json!("uniform")), None);
        assert_eq!(with("objective", json!("global")), None);
        assert_eq!(bounds(normal, &json!({})), None);
    }
}
