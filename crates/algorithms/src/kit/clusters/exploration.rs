//! Algorithm 3 of HetoFedBandit: random pulls until there is enough to tell clients apart. How
//! many is a number, Theorem 3.3's formula, or a guess that grows.

use cahoots_core::ParamError;
use cahoots_core::homogeneity::chi_square::{noncentrality_at, upper_quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pairs::Constants;

/// T0, as a user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Exploration {
    /// So many pulls.
    Steps(u64),
    /// Theorem 3.3.
    Theory {
        /// What the formula needs to know.
        theory: Theory,
    },
    /// For unknown sigma and gamma.
    Doubling {
        /// The first epoch.
        doubling: Doubling,
    },
}

/// T0 = 16 psi^d sigma^2 / (lambda_c gamma^2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Theory {
    /// gamma, the distance between clusters.
    #[schemars(range(min = 0.0))]
    pub separation: f64,
    /// lambda_c, the smallest eigenvalue of E[x x']; 1 / d when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub context_eigenvalue: Option<f64>,
    /// M, the number of clusters.
    #[serde(default = "two")]
    #[schemars(range(min = 1))]
    pub clusters: usize,
}

/// Epochs of doubling length. Each begins with random pulls and a new estimate of the clusters. T0
/// depends on sigma^2 / gamma^2 alone, and the guess at it grows by sqrt 2 from epoch to epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Doubling {
    /// A client's pulls in the first epoch; each epoch is twice as long as the one before.
    #[schemars(range(min = 1))]
    pub first: u64,
    /// How many of them are random; sqrt 2 times as many in each further epoch.
    #[schemars(range(min = 1))]
    pub explore: u64,
}

fn two() -> usize {
    2
}

/// What T0 counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Each client's own pulls.
    #[default]
    PerClient,
    /// Ticks of the federation, whoever acts in them.
    Total,
}

/// A checked plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Plan {
    /// So many pulls of each client.
    Steps(u64),
    /// Until this tick.
    Ticks(u64),
    /// Epochs.
    Doubling { first: u64, explore: u64 },
}

impl Exploration {
    pub(crate) fn check(&self, unit: Unit, c: &Constants) -> Result<Plan, ParamError> {
        let key = "exploration";
        let steps = match self {
            Exploration::Steps(steps) => *steps,
            Exploration::Theory { theory } => theory.steps(c)?,
            Exploration::Doubling { doubling } => {
                let Doubling { first, explore } = *doubling;
                if unit == Unit::Total {
                    return Err(ParamError::new("exploration_unit", "must be \"per-client\" with doubling"));
                }
                if explore == 0 || explore > first {
                    let problem = format!("explore must lie between 1 and first ({first}), not {explore}");
                    return Err(ParamError::new(key, problem));
                }
                return Ok(Plan::Doubling { first, explore });
            }
        };
        Ok(match unit {
            Unit::Total if steps > 0 => Plan::Ticks(steps),
            _ => Plan::Steps(steps),
        })
    }
}

impl Theory {
    /// Theorem 3.3, where psi^d is the non-centrality at which two clients that differ are taken for
    /// similar with probability delta / (N^2 (M - 1)).
    fn steps(&self, c: &Constants) -> Result<u64, ParamError> {
        let separation = ParamError::positive("exploration.theory.separation", self.separation)?;
        let eigenvalue = ParamError::positive(
            "exploration.theory.context_eigenvalue",
            self.context_eigenvalue.unwrap_or(1.0 / c.dim),
        )?;
        let critical = upper_quantile(c.cut(), c.dim, c.proof());
        let mistaken = c.cut() / (self.clusters.max(2) - 1) as f64;
        let psi = noncentrality_at(mistaken, critical, c.dim);
        Ok((16.0 * psi * c.variance / (eigenvalue * separation * separation)).ceil() as u64)
    }
}

/// Where one client stands in its exploration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RandomPulls {
    plan: Plan,
    /// Decisions taken.
    decided: u64,
    /// Decisions whose reward came or never will.
    resolved: u64,
    /// The federation's exploration is over.
    over: bool,
}

impl RandomPulls {
    pub(crate) fn new(plan: Plan) -> Self {
        RandomPulls { plan, decided: 0, resolved: 0, over: false }
    }

    /// Is the next decision a random one?
    pub(crate) fn is_random(&self) -> bool {
        self.is_exploring_at(self.decided)
    }

    /// Has everything been seen that was to be explored?
    pub(crate) fn is_done(&self) -> bool {
        !self.is_exploring_at(self.resolved)
    }

    pub(crate) fn decide(&mut self) {
        self.decided += 1;
    }

    /// A reward came, or never will; true if that was the last of a phase of exploration.
    pub(crate) fn resolve(&mut self) -> bool {
        let before = self.is_exploring_at(self.resolved);
        self.resolved += 1;
        before && !self.is_exploring_at(self.resolved)
    }

    /// The server says that the exploration is over.
    pub(crate) fn end(&mut self) {
        self.over = true;
    }

    fn is_exploring_at(&self, step: u64) -> bool {
        match self.plan {
            Plan::Steps(steps) => step < steps,
            Plan::Ticks(_) => !self.over,
            Plan::Doubling { first, explore } => {
                // Epoch e begins after first (2^e - 1) pulls.
                let epoch = (step / first + 1).ilog2();
                let begin = first * ((1 << epoch) - 1);
                let random = explore as f64 * ((1u64 << epoch) as f64).sqrt();
                ((step - begin) as f64) < random
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants() -> Constants {
        Constants { clients: 30.0, dim: 25.0, horizon: 3000.0, variance: 0.01, failure_prob: 0.1 }
    }

    #[test]
    fn theorem_3_3_explores_for_hundreds_of_steps() {
        let plan = |separation| {
            let theory = Theory { separation, context_eigenvalue: None, clusters: 4 };
            Exploration::Theory { theory }.check(Unit::PerClient, &constants()).unwrap()
        };
        let Plan::Steps(far) = plan(0.85) else { panic!("not a number") };
        let Plan::Steps(near) = plan(0.425) else { panic!("not a number") };
        assert!((500..1000).contains(&far), "{far}");
        assert!(near.abs_diff(4 * far) <= 4, "T0 grows with 1 / gamma^2: {far} {near}");
    }

    #[test]
    fn section_4_2_doubling_explores_at_the_start_of_every_epoch() {
        let doubling = Exploration::Doubling { doubling: Doubling { first: 10, explore: 4 } };
        let mut pulls = RandomPulls::new(doubling.check(Unit::PerClient, &constants()).unwrap());
        let random: Vec<u64> = (0..70)
            .filter(|_| {
                let random = pulls.is_random();
                pulls.decide();
                random
            })
            .collect();
        // Epochs begin at 0, 10, 30, 70; 4, 4 sqrt 2 and 8 random pulls, rounded up.
        let expected: Vec<u64> = (0..4).chain(10..16).chain(30..38).collect();
        assert_eq!(random, expected);
        let ends = (0..70).filter(|_| pulls.resolve()).count();
        assert_eq!(ends, 3);
    }
}
