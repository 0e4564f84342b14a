//! Thresholds by simulation: run a ladder of them, keep the best that keeps the promise, look closer.

use std::sync::atomic::{AtomicBool, Ordering};

use cahoots_lab::LabError;
use cahoots_lab::results::Estimate;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::ledger::Totals;
use cahoots_sim::run::{Params, RunError, Scenario};
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::Budget;

/// Rungs of a ladder.
const RUNGS: usize = 9;

/// How to simulate.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// Seeds per threshold.
    pub seeds: u64,
    /// Threads.
    pub jobs: usize,
    /// Set to stop.
    pub stop: &'a AtomicBool,
    /// Called after each run.
    pub progress: &'a (dyn Fn() + Sync),
}

/// What thresholds gave.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Regret.
    pub regret: Estimate,
    /// Transfers.
    pub transfers: Estimate,
    /// Encoded bytes.
    pub bytes: Estimate,
}

impl Seen {
    /// Whether a budget is kept, at the upper end of the interval.
    pub fn keeps(&self, budget: Budget, always: f64) -> bool {
        let most = |estimate: &Estimate| estimate.mean + estimate.ci95.unwrap_or_default();
        match budget {
            Budget::Transfers(limit) => most(&self.transfers) <= limit,
            Budget::Bytes(limit) => most(&self.bytes) <= limit,
            Budget::RegretFactor(factor) => most(&self.regret) <= factor * always,
        }
    }

    /// What is to be small once the budget is kept.
    fn price(&self, budget: Budget) -> f64 {
        match budget {
            Budget::Transfers(_) | Budget::Bytes(_) => self.regret.mean,
            Budget::RegretFactor(_) => self.transfers.mean,
        }
    }
}

impl Search<'_> {
    /// How many runs `best` makes.
    pub fn runs(&self) -> usize {
        (2 * RUNGS - 2) * self.seeds as usize
    }

    /// Runs every choice of parameters with every seed.
    pub fn all(
        &self,
        catalogue: &Catalogue,
        algorithm: &str,
        choices: &[Params],
        scenario: &Scenario,
    ) -> Result<Vec<Seen>, LabError> {
        let seeds = self.seeds as usize;
        let one = |job: usize| {
            let (choice, seed) = (&choices[job / seeds], (job % seeds) as u64);
            let mut go_on = |_| !self.stop.load(Ordering::Relaxed);
            let report =
                catalogue.simulate(algorithm, choice, scenario, seed, Options::default(), &mut go_on)?;
            (self.progress)();
            let Totals { regret, traffic, .. } = report.ledger.totals;
            Ok((regret, traffic.transfers() as f64, traffic.bytes as f64))
        };
        let pool = ThreadPoolBuilder::new().num_threads(self.jobs).build();
        let pool = pool.map_err(|error| LabError::Failed(format!("cannot start a thread: {error}")))?;
        let runs: Result<Vec<(f64, f64, f64)>, RunError> =
            pool.install(|| (0..choices.len() * seeds).into_par_iter().map(one).collect());
        let runs = runs.map_err(|error| match error {
            RunError::Stopped => LabError::Stopped("stopped".into()),
            error => LabError::Input(error.to_string()),
        })?;
        let over = |runs: &[(f64, f64, f64)], pick: fn(&(f64, f64, f64)) -> f64| {
            Estimate::new(runs.iter().map(pick))
        };
        Ok(runs
            .chunks_exact(seeds)
            .map(|runs| Seen {
                regret: over(runs, |run| run.0),
                transfers: over(runs, |run| run.1),
                bytes: over(runs, |run| run.2),
            })
            .collect())
    }

    /// The best place between `low` and `high` (both positive, on a logarithmic scale) that keeps the
    /// budget, and what it gave; the place nearest to keeping it when none does.
    pub fn best(
        &self,
        catalogue: &Catalogue,
        algorithm: &str,
        (low, high): (f64, f64),
        params: &dyn Fn(f64) -> Params,
        scenario: &Scenario,
        budget: Budget,
        always: f64,
    ) -> Result<(f64, Seen), LabError> {
        let ladder = |low: f64, high: f64, rungs: usize| -> Vec<f64> {
            let step = (high / low).ln() / (rungs - 1) as f64;
            (0..rungs).map(|rung| low * (step * rung as f64).exp()).collect()
        };
        let mut places = ladder(low, high, RUNGS);
        let tried = |places: &[f64]| places.iter().map(|place| params(*place)).collect::<Vec<_>>();
        let mut seen = self.all(catalogue, algorithm, &tried(&places), scenario)?;
        let first = choose(&seen, budget, always);
        let (below, above) = (places[first.saturating_sub(1)], places[(first + 1).min(RUNGS - 1)]);
        let closer = ladder(below, above, RUNGS);
        let closer = closer[1..RUNGS - 1].to_vec();
        let more = self.all(catalogue, algorithm, &tried(&closer), scenario)?;
        places.extend(closer);
        seen.extend(more);
        let chosen = choose(&seen, budget, always);
        Ok((places[chosen], seen[chosen].clone()))
    }
}

fn choose(seen: &[Seen], budget: Budget, always: f64) -> usize {
    let rank = |one: &Seen| {
        let excess = match budget {
            _ if one.keeps(budget, always) => 0.0,
            Budget::Transfers(limit) => one.transfers.mean / limit,
            Budget::Bytes(limit) => one.bytes.mean / limit,
            Budget::RegretFactor(factor) => one.regret.mean / (factor * always),
        };
        (excess, one.price(budget))
    };
    let order = |a: &usize, b: &usize| {
        let (a, b) = (rank(&seen[*a]), rank(&seen[*b]));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    (0..seen.len()).min_by(order).unwrap_or_default()
}
