//! Releases whose numbers are protected and whose times, or whose structure, are not: controls. Algorithms whose
//! noise is right are broken by either.

use cahoots_core::{LinearStats, Mechanism as _};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::{Budget, Calibration, Gaussian, Plan, Privatizer, ReleaseKind};

use super::Subject;
use super::message::rng;

/// Releases that noise is made for.
const RELEASES: u64 = 8;

/// Observations before and after which an upload may come.
const OBSERVATIONS: u64 = 60;

pub(super) fn subjects() -> Vec<Subject> {
    let subject = |name, about| Subject::new(name, about, 1.0, 1e-5).gaussian().share(0.1);
    vec![
        subject("trigger", "uploads after 4, 8, 16, ... observations, whatever they were")
            .pair("a first context of 0 or e1", |second, seed| uploads(second, seed, Trigger::Public)),
        subject(
            "trigger-broken",
            "a first upload once the exact determinant is above 37.5, after 37 observations or 38",
        )
        .control()
        .pair("a first context of 0 or e1", |second, seed| uploads(second, seed, Trigger::Exact)),
        subject("clusters", "reports of two users together, whatever they are like")
            .pair("a user on a cluster's edge", |second, seed| clusters(second, seed, false)),
        subject("clusters-broken", "reports of two users apart where their exact estimates are")
            .control()
            .pair("a user on a cluster's edge", |second, seed| clusters(second, seed, true)),
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Trigger {
    /// Counts of observations are public.
    Public,
    /// Noise-free before the first release.
    Exact,
}

/// A client that observes e1 again and again; the first time it may have been 0.
fn uploads(second: bool, seed: u64, trigger: Trigger) -> Transcript {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic };
    let plan = Plan { uploads: RELEASES, reports: 0, renewals: 0 };
    let deviation = budget.deviation(plan.levels(), 1, 2).unwrap_or(0.0);
    let noise = Gaussian::of_deviation("sd", deviation).unwrap_or(Gaussian::NONE);
    let mut privatizer = Privatizer::new(noise, 1, plan);
    let (mut rng, mut paid) = (rng(seed), 0);
    let mut buffer = LinearStats::empty(1);
    let (mut exact_gram, mut last, mut structure, mut nodes) = (0.0, 0, Vec::new(), [0.0; 2]);
    let mut sum = [0.0; 2];
    for now in 1..=OBSERVATIONS {
        let context = if now == 1 && !second { 0.0 } else { 1.0 };
        buffer.observe(&[context], 0.5);
        exact_gram += context * context;
        let due = match trigger {
            Trigger::Exact if last == 0 => 1.0 + exact_gram > 37.5,
            Trigger::Exact => now == 2 * last,
            Trigger::Public => now >= 4 && now.is_power_of_two(),
        };
        if !due {
            continue;
        }
        last = now;
        let mut leaf = std::mem::replace(&mut buffer, LinearStats::empty(1));
        privatizer.round(&mut leaf);
        let seen = privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(leaf, &mut rng);
        structure.push(now);
        sum[0] += seen.gram.packed()[0];
        sum[1] += seen.moment[0];
        if (structure.len() as u64).is_power_of_two() {
            nodes.iter_mut().zip(sum).for_each(|(node, sum)| *node += sum);
        }
    }
    Transcript { structure, numbers: nodes.to_vec() }
}

/// Two users of a local server, whose mean rewards part by just enough, or by just less: one reward decides. Each report
/// has all the noise it takes.
fn clusters(second: bool, seed: u64, by_exact_data: bool) -> Transcript {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic };
    // Twice: an observation may be reported with its cluster, and again with a part of it.
    let noise =
        Gaussian::of_deviation("sd", budget.deviation(1, 2, 1).unwrap_or(0.0)).unwrap_or(Gaussian::NONE);
    let mut rng = rng(seed);
    let rewards = [12.0 + f64::from(second), 0.0];
    let apart = by_exact_data && (rewards[0] - rewards[1]) / 24.0 > 0.51;
    let reported: Vec<f64> = if apart { rewards.to_vec() } else { vec![rewards.iter().sum()] };
    let numbers: Vec<f64> = reported.iter().map(|sum| noise.noised(*sum, &mut rng)).collect();
    Transcript { structure: vec![numbers.len() as u64], numbers: vec![numbers.iter().sum()] }
}
