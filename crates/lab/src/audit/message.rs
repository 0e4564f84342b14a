//! One mechanism by itself: what is in one message, or in all messages of one tree.

use cahoots_core::{Keys, LinearStats, Mechanism as _, NodeId, Stream};
use cahoots_privacy::{Budget, Calibration, Gaussian, Laplace, Plan, Privatizer, ReleaseKind};

use super::Subject;

/// Levels of the audited trees: 32 releases.
const LEVELS: u32 = 6;

pub(super) fn subjects() -> Vec<Subject> {
    let subject = |name, about, epsilon, delta, run| Subject {
        name,
        about,
        epsilon,
        delta,
        control: false,
        share: 1.0,
        run,
    };
    let tree = subject;
    vec![
        subject("laplace", "one reward, 0 or 1, with noise for epsilon = 1", 1.0, 0.0, laplace),
        subject(
            "laplace-published",
            "one reward with the noise that Li and Song 2021 print for epsilon = 0.1 and 50 clients: truly 5",
            5.0,
            0.0,
            laplace_published,
        ),
        Subject {
            control: true,
            ..subject("laplace-broken", "one reward with half the noise it takes", 1.0, 0.0, laplace_broken)
        },
        subject("gaussian", "one number that moves by 2, analytic noise", 1.0, 1e-5, gaussian),
        tree("tree", "(x, 1) or (-x, 1) in the first leaf, analytic noise", 1.0, 1e-5, tree_strict),
        tree("tree-loose", "the same at delta = 0.1", 1.0, 0.1, tree_loose),
        tree("tree-alg5", "the same with the noise of Algorithm 5", 1.0, 1e-5, tree_alg5),
        tree("tree-text", "the same with the noise of the paper's text", 1.0, 1e-5, tree_text),
        Subject {
            control: true,
            ..tree("tree-broken", "a tree whose noise forgets its levels, delta = 0.1", 1.0, 0.1, tree_broken)
        },
    ]
}

fn rng(seed: u64) -> Stream {
    Keys::from_seed(seed).privacy(NodeId(0), 0)
}

fn laplace_with(scale: f64, second: bool, seed: u64) -> f64 {
    let noise = Laplace::of_scale("scale", scale).unwrap_or(Laplace::NONE);
    noise.noised(f64::from(second), &mut rng(seed))
}

fn laplace(second: bool, seed: u64) -> f64 {
    let noise = Laplace::calibrated("dp_epsilon", 1.0, 1.0, 1).unwrap_or(Laplace::NONE);
    noise.noised(f64::from(second), &mut rng(seed))
}

fn laplace_published(second: bool, seed: u64) -> f64 {
    // Scale 1 / (M epsilon) on what a single reward moves by 1.
    let noise = Laplace::calibrated("dp_epsilon", 5.0, 1.0, 1).unwrap_or(Laplace::NONE);
    noise.noised(f64::from(second), &mut rng(seed))
}

fn laplace_broken(second: bool, seed: u64) -> f64 {
    laplace_with(0.5, second, seed)
}

fn gaussian(second: bool, seed: u64) -> f64 {
    let deviation = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic }
        .deviation(1, 1, 1)
        .unwrap_or(0.0);
    let noise = Gaussian::of_deviation("sd", deviation).unwrap_or(Gaussian::NONE);
    noise.noised(2.0 * f64::from(second), &mut rng(seed))
}

/// The first leaf is in sums 1, 2, 4, ...: each of them is one node. An outsider adds uploads up to these sums,
/// and their moments up: the best there is against Gaussian noise.
fn tree_with(deviation: f64, second: bool, seed: u64) -> f64 {
    let noise = Gaussian::of_deviation("sd", deviation).unwrap_or(Gaussian::NONE);
    let mut privatizer =
        Privatizer::new(noise, 1, Plan { uploads: 1 << (LEVELS - 1), reports: 0, renewals: 0 });
    let (mut rng, mut paid) = (rng(seed), 0);
    let (mut sum, mut score) = (0.0, 0.0);
    for leaf in 1..1u64 << (LEVELS - 1) | 1 {
        let mut exact = LinearStats::empty(1);
        if leaf == 1 {
            exact.observe(&[if second { 1.0 } else { -1.0 }], 1.0);
        }
        privatizer.round(&mut exact);
        sum += privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(exact, &mut rng).moment[0];
        if leaf.is_power_of_two() {
            score += sum;
        }
    }
    score
}

fn tree_by(calibration: Calibration, delta: f64, second: bool, seed: u64) -> f64 {
    tree_with(
        Budget { epsilon: 1.0, delta, calibration }.deviation(LEVELS, 1, 2).unwrap_or(0.0),
        second,
        seed,
    )
}

fn tree_strict(second: bool, seed: u64) -> f64 {
    tree_by(Calibration::Analytic, 1e-5, second, seed)
}

fn tree_loose(second: bool, seed: u64) -> f64 {
    tree_by(Calibration::Analytic, 0.1, second, seed)
}

fn tree_alg5(second: bool, seed: u64) -> f64 {
    tree_by(Calibration::Alg5, 1e-5, second, seed)
}

fn tree_text(second: bool, seed: u64) -> f64 {
    tree_by(Calibration::Text, 1e-5, second, seed)
}

fn tree_broken(second: bool, seed: u64) -> f64 {
    let budget = Budget { epsilon: 1.0, delta: 0.1, calibration: Calibration::Analytic };
    tree_with(budget.deviation(1, 1, 2).unwrap_or(0.0), second, seed)
}
