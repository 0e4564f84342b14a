//! Li and Song's means: one of a client's twelve rewards is 0 or 1, everything else is the same.

use cahoots_algorithms::dp_mab::{Audience, MeanNoise, Means, Protection};
use cahoots_algorithms::kit::arms::ArmValues;
use cahoots_core::{ArmIndex, Keys, Mechanism as _, NodeId};

use super::Subject;

/// Rewards behind a mean.
const PULLS: u64 = 12;

pub(super) fn subjects() -> Vec<Subject> {
    let subject = |name, about, epsilon, run| Subject {
        name,
        about,
        epsilon,
        delta: 0.0,
        control: false,
        share: 1.0,
        run,
    };
    vec![
        subject(
            "cdp-mab-published",
            "a client's mean with the noise that Li and Song 2021 print for epsilon = 0.1 and 50 clients: truly 5",
            5.0,
            published,
        ),
        subject("cdp-mab-local", "a client's mean with noise for epsilon = 1 against the server", 1.0, local),
        Subject {
            share: 0.2,
            ..subject(
                "cdp-mab-central",
                "the sum of ten clients' means, epsilon = 1 for the sum",
                1.0,
                central,
            )
        },
        Subject {
            control: true,
            ..subject("cdp-mab-broken", "the paper's epsilon = 0.1 taken at its word", 0.1, published)
        },
    ]
}

fn published(second: bool, seed: u64) -> f64 {
    seen(Protection::Published, 0.1, 50, 1, second, seed)
}

fn local(second: bool, seed: u64) -> f64 {
    seen(Protection::Local, 1.0, 50, 1, second, seed)
}

fn central(second: bool, seed: u64) -> f64 {
    seen(Protection::Central, 1.0, 10, 10, second, seed)
}

/// What is seen of `messages` clients: the sum of their means.
fn seen(
    protection: Protection,
    epsilon: f64,
    participants: u32,
    messages: u32,
    second: bool,
    seed: u64,
) -> f64 {
    let noise = MeanNoise { protection, epsilon, participants, everyone: true, audience: Audience::Server };
    let mut rng = Keys::from_seed(seed).privacy(NodeId(0), 0);
    let mut mean = |client: u32| {
        let sum = if second && client == 0 { 6.0 } else { 5.0 };
        let exact = ArmValues::new(1, vec![ArmIndex(0)], vec![sum / PULLS as f64]);
        Means::new(noise, PULLS).release(exact, &mut rng).values[0]
    };
    (0..messages).map(&mut mean).sum()
}
