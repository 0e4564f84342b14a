//! Dubey and Pentland 2020 (FedUCB): a published algorithm whose promise fails, as a control. It exists here alone, and
//! nobody can deploy it.
//!
//! # The protocol, in essence
//! ```text
//! agent i, round t:   V = lambda I + S~ + W_i          S~ released sums of all, W_i its own exact Gram matrix since then
//!                     if (t - t_last) log(det V / det(lambda I + S~)) >= D:    everyone synchronises
//! synchronise:        each agent releases its sum, with all the noise that a tree takes
//! ```
//!
//! # Why it leaks
//! Whoever receives the releases sees when they come, and that is a function of exact data: W_i has no noise. One
//! observation moves the determinant, so that the inequality turns true a round earlier or later; for such neighbours
//! the two sets of transcripts have no element in common until then, and no (epsilon, delta) with delta < 1 holds,
//! however much noise is on the numbers. That pairs and threshold are chosen for each other here takes nothing away:
//! a promise is for all of them. (Zhou and Chowdhury 2024 found it; their batches have a fixed length, and
//! `private-fed-linucb`, which has the same tree, agrees.)

use cahoots_core::linalg::log_det;
use cahoots_core::{LinearStats, Mechanism as _, Symmetric};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::{Batched, Batches, Budget, Calibration};

use super::message::rng;
use super::tree::PAIRS;
use super::{Observer, Subject};

const ROUNDS: u64 = 64;

/// Synchronisations that noise is made for: more than come.
const RELEASES: u32 = 15;

/// lambda, about twice the norm of the noise in a sum of two agents.
const LAMBDA: f64 = 640.0;

/// D: reached after 30 rounds with 30 contexts of norm 1, and not with 29.
const THRESHOLD: f64 = 1.35;

pub(super) fn subjects() -> Vec<Subject> {
    let about =
        "FedUCB: noise as it takes, synchronised once the exact determinant has grown, so that times tell";
    let subject = Subject::new("dubey-pentland-2020", about, 1.0, 1e-5).gaussian().share(0.1).control();
    vec![PAIRS.into_iter().fold(subject, |subject, (pair, observations)| {
        subject.pair(pair, move |second, seed| transcript(seed, observations[usize::from(second)]))
    })]
}

/// An agent: what it has not released yet, and the tree it releases through.
struct Agent {
    open: LinearStats,
    batched: Batched,
    released: LinearStats,
}

impl Agent {
    fn new(batches: Batches) -> Agent {
        Agent {
            open: LinearStats::empty(2),
            batched: Batched::new(batches, 2),
            released: LinearStats::empty(2),
        }
    }

    /// The determinant of exact data has grown enough since `synced`.
    fn asks(&self, synced: &Symmetric, rounds: u64) -> bool {
        let mut now = synced.clone();
        now.add(&self.open.gram);
        let grown = match (log_det(&now, LAMBDA), log_det(synced, LAMBDA)) {
            (Ok(now), Ok(before)) => now - before,
            // Noise above lambda: nobody can tell.
            _ => 0.0,
        };
        rounds as f64 * grown >= THRESHOLD
    }
}

/// All that the first of two agents sends, and when, where its first observation is this.
fn transcript(seed: u64, audited: ([f64; 2], f64)) -> Transcript {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic };
    let batches = Batches::new(&budget, RELEASES, 2.0, 2).expect("a budget that can be kept");
    let mut agents = [Agent::new(batches), Agent::new(batches)];
    let (mut rng, mut observer) = (rng(seed), Observer::of_trees());
    let (mut synced, mut last) = (Symmetric::zero(2), 0);
    for round in 1..=ROUNDS {
        let (context, reward) = if round == 1 { audited } else { ([0.6, 0.8], 0.0) };
        agents[0].open.observe(&context, reward);
        agents[1].open.observe(&[0.3, 0.4], 0.0);
        let due = agents.iter().any(|agent| agent.asks(&synced, round - last));
        if !due || agents[0].batched.releases() == RELEASES {
            continue;
        }
        (synced, last) = (Symmetric::zero(2), round);
        for agent in &mut agents {
            let leaf = std::mem::replace(&mut agent.open, LinearStats::empty(2));
            agent.released = agent.batched.mechanism("one observation", "all others").release(leaf, &mut rng);
            synced.add(&agent.released.gram);
        }
        observer.release(round, 0, agents[0].batched.releases(), &agents[0].released);
    }
    observer.transcript()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_privacy::audit::{Audit, Stated, Verdict};

    /// The numbers are as private as is stated; it is their times that are not.
    #[test]
    fn it_is_the_times_that_tell() {
        let stated = Stated { epsilon: 1.0, delta: 1e-5, gaussian: true };
        let [zero, one] = PAIRS[2].1;
        let runs = |observation, first: u64| -> Vec<Transcript> {
            (first..first + 2000).map(|seed| transcript(seed, observation)).collect()
        };
        let (first, second) = (runs(zero, 0), runs(one, 10_000));
        assert!(
            first.iter().all(|run| run.structure[0] == 31) && second.iter().all(|run| run.structure[0] == 30)
        );
        let numbers = |runs: &[Transcript]| -> Vec<Transcript> {
            runs.iter().map(|run| Transcript::numbers(run.numbers[..5].to_vec())).collect()
        };
        let times = |runs: &[Transcript]| -> Vec<Transcript> {
            let time = |run: &Transcript| vec![run.structure[0]];
            runs.iter().map(|run| Transcript { structure: time(run), numbers: Vec::new() }).collect()
        };
        let of = |look: &dyn Fn(&[Transcript]) -> Vec<Transcript>| {
            Audit::of(stated, &look(&first), &look(&second)).verdict()
        };
        assert_ne!(of(&numbers), Verdict::Contradicts);
        assert_eq!(of(&times), Verdict::Contradicts);
    }
}
