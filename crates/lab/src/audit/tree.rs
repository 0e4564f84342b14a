//! All messages of one tree: its first leaf holds one observation or another, the rest of the leaves are empty.

use cahoots_core::{Keys, LinearStats, Mechanism as _, NodeId};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::audit::canaries::Canary;
use cahoots_privacy::{Budget, Calibration, Gaussian, Plan, Privatizer, ReleaseKind};

use super::Subject;
use super::message::rng;

/// Levels of the audited trees: 8 releases.
const LEVELS: u32 = 4;

/// Releases of one tree.
const RELEASES: u64 = 1 << (LEVELS - 1);

/// Trees in one run with many canaries: a user each, one observation per release.
const TREES: u64 = 2000;

type Observation = ([f64; 2], f64);

/// Pairs that differ in all that an observation has. Under the symmetrised noise they are at a distance of 2, 2, 1.22
/// and 1 standard deviations.
pub(super) const PAIRS: [(&str, [Observation; 2]); 4] = [
    ("(x, 1) or (-x, 1)", [([1.0, 0.0], 1.0), ([-1.0, 0.0], 1.0)]),
    ("a reward of -1 or 1", [([1.0, 0.0], -1.0), ([1.0, 0.0], 1.0)]),
    ("a context of 0 or e1", [([0.0, 0.0], 1.0), ([1.0, 0.0], 1.0)]),
    ("a context of e1 or e2, which differ in the Gram matrix alone", [([1.0, 0.0], 0.0), ([0.0, 1.0], 0.0)]),
];

pub(super) fn subjects() -> Vec<Subject> {
    use Calibration::{Alg5, Analytic, Text};
    let strict = deviation(1.0, 1e-5, Analytic, LEVELS);
    let tree = |name, about, delta, deviation: f64| {
        let subject = Subject::new(name, about, 1.0, delta).gaussian();
        PAIRS.into_iter().fold(subject, |subject, (pair, observations)| {
            subject
                .pair(pair, move |second, seed| released(deviation, observations[usize::from(second)], seed))
        })
    };
    let [alg5, text] = [Alg5, Text].map(|calibration| deviation(1.0, 1e-5, calibration, LEVELS));
    vec![
        tree("tree", "all releases of a tree of 4 levels, analytic noise", 1e-5, strict).canaries(canaries),
        tree("tree-loose", "the same at delta = 0.1", 0.1, deviation(1.0, 0.1, Analytic, LEVELS)),
        tree("tree-alg5", "the same with the noise of Algorithm 5", 1e-5, alg5).share(0.2),
        tree("tree-text", "the same with the noise of the paper's text", 1e-5, text).share(0.2),
        tree("tree-short", "analytic noise for epsilon = 1.5", 1e-5, deviation(1.5, 1e-5, Analytic, LEVELS))
            .control()
            .share(0.2),
        tree("tree-broken", "noise that forgets the levels", 1e-5, deviation(1.0, 1e-5, Analytic, 1))
            .control()
            .share(0.2),
        gram().share(0.2),
    ]
}

fn deviation(epsilon: f64, delta: f64, calibration: Calibration, levels: u32) -> f64 {
    Budget { epsilon, delta, calibration }.deviation(levels, 1, 5).unwrap_or(0.0)
}

/// A control that only the Gram matrix shows: the pair that rewards and signs cannot tell apart.
fn gram() -> Subject {
    let strict = deviation(1.0, 1e-5, Calibration::Analytic, LEVELS);
    let about = "a tree that puts a tenth of the noise on its Gram matrix, and all of it on the moment";
    let subject = Subject::new("tree-gram-broken", about, 1.0, 1e-5).gaussian().control();
    PAIRS.into_iter().fold(subject, |subject, (pair, observations)| {
        subject.pair(pair, move |second, seed| {
            let observation = observations[usize::from(second)];
            let mut seen = released(strict, observation, seed).numbers;
            let weak = released(0.1 * strict, observation, seed).numbers;
            seen[..3].copy_from_slice(&weak[..3]);
            Transcript::numbers(seen)
        })
    })
}

fn privatizer(deviation: f64) -> Privatizer {
    let plan = Plan { uploads: RELEASES, reports: 0, renewals: 0 };
    Privatizer::new(Gaussian::of_deviation("sd", deviation).unwrap_or(Gaussian::NONE), 2, plan)
}

fn leaf(privatizer: &Privatizer, observation: Option<Observation>) -> LinearStats {
    let mut exact = LinearStats::empty(2);
    if let Some((context, reward)) = observation {
        exact.observe(&context, reward);
    }
    privatizer.round(&mut exact);
    exact
}

/// The first leaf is in sums 1, 2, 4, ...: each of them is one node. An observer adds uploads up to these sums, and the
/// sums up: the best there is against equal Gaussian noise.
fn released(deviation: f64, first: Observation, seed: u64) -> Transcript {
    let mut privatizer = privatizer(deviation);
    let (mut rng, mut paid) = (rng(seed), 0);
    let (mut sum, mut score) = ([0.0; 5], [0.0; 5]);
    for release in 1..=RELEASES {
        let exact = leaf(&privatizer, (release == 1).then_some(first));
        let seen = privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(exact, &mut rng);
        let values = seen.gram.packed().iter().chain(&seen.moment);
        sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        if release.is_power_of_two() {
            score.iter_mut().zip(sum).for_each(|(score, sum)| *score += sum);
        }
    }
    Transcript::numbers(score.to_vec())
}

/// Every leaf of many trees is a canary, (x, 1) or (-x, 1). An observer who looks at each upload by itself.
fn canaries(seed: u64) -> Vec<Canary> {
    let mut coins = Keys::from_seed(seed).policy(NodeId(0), 0);
    let deviation = deviation(1.0, 1e-5, Calibration::Analytic, LEVELS);
    let mut canaries = Vec::new();
    for tree in 0..TREES {
        let mut privatizer = privatizer(deviation);
        let (mut rng, mut paid) = (Keys::from_seed(seed).privacy(NodeId(tree as u32 + 1), 0), 0);
        for _ in 0..RELEASES {
            let second = coins.below(2) == 1;
            let exact = leaf(&privatizer, Some(([if second { 1.0 } else { -1.0 }, 0.0], 1.0)));
            let seen = privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(exact, &mut rng);
            canaries.push(Canary { second, score: seen.moment[0] });
        }
    }
    canaries
}
