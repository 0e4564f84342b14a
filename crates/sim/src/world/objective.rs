//! What the arms of a K-armed world are worth: to the client that pulls them, to
//! all clients on average, under an objective between the two, or to the population
//! that clients are drawn from, which nobody sees.

use std::fmt;

use cahoots_core::{ArmIndex, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::means::Table;
use super::{Sides, Worth};

/// What regret is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The client's own means.
    #[default]
    Local,
    /// The average of all clients' means.
    Global,
    /// The means of the population that the clients are drawn from: no client has exactly these, and no
    /// average over some of them is exact.
    Population,
    /// This much of the client's own means, the rest of the average.
    Mixed(#[schemars(range(min = 0.0, max = 1.0))] f64),
}

/// In a word, as an experiment file would say it.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Objective::Local => f.write_str("local"),
            Objective::Global => f.write_str("global"),
            Objective::Population => f.write_str("population"),
            Objective::Mixed(own) => write!(f, "mixed:{own}"),
        }
    }
}

/// What a world has to say about objectives: which of them two runs in it are held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// What the experiment states, whatever algorithms pursue.
    pub stated: Option<Objective>,
    /// Whether all clients' means are the same, so that own and average are one thing.
    pub alike: bool,
}

impl Default for Aim {
    /// Each client's own reward, and nothing else to pursue.
    fn default() -> Aim {
        Aim { stated: Some(Objective::Local), alike: true }
    }
}

impl Aim {
    /// What the regret of an algorithm is measured against that pursues this much of a client's own reward.
    pub fn objective(self, pursued: Option<f64>) -> Objective {
        let objective = self.stated.unwrap_or_else(|| pursued.map_or(Objective::Local, Objective::Mixed));
        match objective {
            Objective::Population => Objective::Population,
            Objective::Mixed(own) if own < 1.0 && own > 0.0 && !self.alike => Objective::Mixed(own),
            other if other.own() < 1.0 && !self.alike => Objective::Global,
            _ => Objective::Local,
        }
    }
}

impl Objective {
    /// Weight of the client's own means.
    pub fn own(self) -> f64 {
        match self {
            Objective::Local => 1.0,
            Objective::Global | Objective::Population => 0.0,
            Objective::Mixed(own) => own,
        }
    }
}

/// The worth of every arm to every client.
pub(crate) struct Worths {
    /// Under the objective, where that is not the clients' own means.
    objective: Option<Table>,
    best: Table,
    /// The average over clients, and the best of each row; none where all rows are alike.
    sides: Option<(Table, Table, f64)>,
}

impl Worths {
    /// From the clients' means, and those of the population that they were drawn from.
    pub(crate) fn new(means: &Table, population: &Table, objective: Objective) -> Worths {
        let own = objective.own();
        let mixed = match objective {
            Objective::Population => Some(population.clone()),
            _ => (own < 1.0).then(|| means.mixed(own)),
        };
        let best = mixed.as_ref().unwrap_or(means).best();
        let sides = means.has_rows().then(|| {
            let global = means.mixed(0.0);
            let best_global = global.best().row(UserId(0))[0];
            (global, means.best(), best_global)
        });
        Worths { objective: mixed, best, sides }
    }

    /// One arm's worth to one client.
    pub(crate) fn of(&self, means: &Table, user: UserId, arm: ArmIndex) -> Worth {
        let worth = self.objective.as_ref().unwrap_or(means);
        Worth { expected: worth.row(user)[arm.index()], best: self.best.row(user)[0] }
    }

    /// The same, to the client alone and to all, where that makes a difference.
    pub(crate) fn sides(&self, means: &Table, user: UserId, arm: ArmIndex) -> Option<Sides> {
        self.sides.as_ref().map(|(global, best_local, best_global)| Sides {
            local: Worth { expected: means.row(user)[arm.index()], best: best_local.row(user)[0] },
            global: Worth { expected: global.row(user)[arm.index()], best: *best_global },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_has_a_worth_under_every_objective() {
        let means = Table::given(&[vec![1.0, 0.0], vec![0.0, 0.5]]);
        let worth = |objective, arm| {
            let worth = Worths::new(&means, &means, objective).of(&means, UserId(0), ArmIndex(arm));
            (worth.expected, worth.best)
        };
        assert_eq!(worth(Objective::Local, 1), (0.0, 1.0));
        assert_eq!(worth(Objective::Global, 1), (0.25, 0.5));
        assert_eq!(worth(Objective::Mixed(0.5), 1), (0.125, 0.75));
        assert_eq!(worth(Objective::Mixed(1.0), 1), (0.0, 1.0));
        let sides =
            Worths::new(&means, &means, Objective::Mixed(0.5)).sides(&means, UserId(1), ArmIndex(0)).unwrap();
        assert_eq!((sides.local.expected, sides.local.best), (0.0, 0.5));
        assert_eq!((sides.global.expected, sides.global.best), (0.5, 0.5));
    }

    #[test]
    fn a_population_is_another_thing_than_those_drawn_from_it() {
        let means = Table::given(&[vec![0.75, 0.5], vec![0.5, 0.0]]);
        let population = Table::given(&[vec![0.25, 0.75]]);
        let worths = Worths::new(&means, &population, Objective::Population);
        for user in [0, 1] {
            let worth = worths.of(&means, UserId(user), ArmIndex(0));
            assert_eq!((worth.expected, worth.best), (0.25, 0.75));
        }
        // What clients see stays theirs.
        let sides = worths.sides(&means, UserId(1), ArmIndex(0)).unwrap();
        assert_eq!((sides.local.expected, sides.global.expected), (0.5, 0.625));
    }

    #[test]
    fn one_objective_has_one_name() {
        let differing = Aim { stated: None, alike: false };
        let named = |aim: Aim, pursued| aim.objective(pursued).to_string();
        assert_eq!(named(differing, None), "local");
        assert_eq!(named(differing, Some(1.0)), "local");
        assert_eq!(named(differing, Some(0.0)), "global");
        assert_eq!(named(differing, Some(0.25)), "mixed:0.25");
        // Where clients are alike, all of these are the same thing.
        assert_eq!(named(Aim { stated: None, alike: true }, Some(0.25)), "local");
        let stated = |objective| Aim { stated: Some(objective), alike: false };
        assert_eq!(named(stated(Objective::Mixed(0.0)), Some(0.5)), "global");
        assert_eq!(named(stated(Objective::Population), Some(0.5)), "population");
        assert_eq!(named(Aim::default(), Some(0.0)), "local");
    }

    #[test]
    fn clients_that_are_alike_have_one_side() {
        let means = Table::given(&[vec![1.0, 0.0]]);
        assert_eq!(
            Worths::new(&means, &means, Objective::Global).sides(&means, UserId(3), ArmIndex(0)),
            None
        );
    }
}
