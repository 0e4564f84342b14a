//! Who acts at a tick: everyone, or one client drawn by a law that does not
//! change over time. Keyed by (seed, tick), so that all algorithms of an
//! experiment meet the same clients.

use cahoots_core::{ParamError, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};

/// The law of arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalLaw {
    /// One client per tick, all equally likely.
    #[default]
    Uniform,
    /// Every client at every tick.
    All,
    /// One client per tick, in turn.
    RoundRobin,
    /// One client per tick, client i (from 0) with a chance proportional to (i + 1)^-s.
    Zipf(#[schemars(range(min = 0.0))] f64),
    /// One client per tick, with chances drawn once from a symmetric Dirichlet law: the smaller the
    /// number, the fewer clients do most of the acting.
    Dirichlet(#[schemars(extend("exclusiveMinimum" = 0.0))] f64),
}

impl ArrivalLaw {
    /// Refuses exponents and concentrations that define no law.
    pub fn check(&self) -> Result<(), ParamError> {
        let problem = match *self {
            ArrivalLaw::Zipf(s) if !(s.is_finite() && s >= 0.0) => format!("zipf must be 0 or more, not {s}"),
            ArrivalLaw::Dirichlet(a) if !(a.is_finite() && a > 0.0) => {
                format!("dirichlet must be a number above 0, not {a}")
            }
            _ => return Ok(()),
        };
        Err(ParamError::new("arrivals", problem))
    }
}

/// The arrivals of one run.
#[derive(Clone, Debug)]
pub struct Arrivals {
    seed: u64,
    clients: usize,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    All,
    RoundRobin,
    /// Weights summed up to and including each client.
    Weighted(Vec<f64>),
}

impl Arrivals {
    /// The arrivals of `clients` clients under a law that passed its check.
    pub fn new(law: &ArrivalLaw, clients: usize, seed: u64) -> Arrivals {
        let law = match *law {
            ArrivalLaw::Uniform => Law::Uniform,
            ArrivalLaw::All => Law::All,
            ArrivalLaw::RoundRobin => Law::RoundRobin,
            ArrivalLaw::Zipf(s) => Law::Weighted((1..=clients).map(|i| libm::pow(i as f64, -s)).collect()),
            ArrivalLaw::Dirichlet(alpha) => {
                // Ticks start at 1: 0 is free for what is drawn once. Most weights are tiny when alpha is,
                // so logarithms are compared before anything is called 0.
                let mut draw = Draw::keyed(seed, Purpose::Arrival, 0, 0);
                let logs: Vec<f64> = (0..clients).map(|_| draw.ln_gamma(alpha)).collect();
                let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Law::Weighted(logs.iter().map(|log| libm::exp(log - largest)).collect())
            }
        };
        let law = match law {
            Law::Weighted(mut weights) => {
                for i in 1..clients {
                    weights[i] += weights[i - 1];
                }
                Law::Weighted(weights)
            }
            law => law,
        };
        Arrivals { seed, clients, law }
    }

    /// Who acts at `tick`, in the order of their numbers. Replaces what `out` held.
    pub fn at(&mut self, tick: Tick, out: &mut Vec<UserId>) {
        out.clear();
        let mut draw = Draw::keyed(self.seed, Purpose::Arrival, tick, 0);
        let one = match &self.law {
            Law::All => {
                out.extend((0..self.clients as u32).map(UserId));
                return;
            }
            Law::Uniform => draw.below(self.clients as u64) as usize,
            Law::RoundRobin => (tick.saturating_sub(1) % self.clients as u64) as usize,
            Law::Weighted(sums) => {
                // Below the total, so that a client is found, and never one of weight 0.
                let total = sums[self.clients - 1];
                let at = (draw.uniform() * total).min(total.next_down());
                sums.partition_point(|sum| *sum <= at)
            }
        };
        out.push(UserId(one as u32));
    }

    /// How many act at each tick.
    pub fn per_tick(&self) -> usize {
        if self.is_everyone() { self.clients } else { 1 }
    }

    /// Whether every client acts at every tick.
    pub fn is_everyone(&self) -> bool {
        matches!(self.law, Law::All)
    }
}
