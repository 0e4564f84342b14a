//! Li and Song's means: one of a client's twelve rewards is 0 or 1, everything else is the same.

use cahoots_algorithms::dp_mab::{Audience, MeanNoise, Means, Protection};
use cahoots_algorithms::kit::arms::ArmValues;
use cahoots_core::{ArmIndex, Keys, Mechanism as _, NodeId};
use cahoots_privacy::Laplace;
use cahoots_privacy::aggregation::{LaplaceShares, Terms};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::audit::canaries::Canary;

use super::Subject;
use super::message::rng;

/// Rewards behind a mean.
const PULLS: u64 = 12;

/// Arms of one run with many canaries.
const ARMS: u32 = 40_000;

pub(super) fn subjects() -> Vec<Subject> {
    let subject = |name, about, stated: f64, noise: MeanNoise, messages: u32| {
        Subject::new(name, about, stated, 0.0)
            .pair("a reward of 0 or 1", move |second, seed| seen(noise, messages, second, seed))
    };
    let published = noise(Protection::Published, 0.1, 50);
    let (local, shares) = (noise(Protection::Local, 1.0, 50), noise(Protection::Central, 1.0, 10));
    // What is stated where a share is missing: computed as the federation computes it.
    let law = Laplace::calibrated("dp_epsilon", 1.0, 1.0, 1).unwrap_or(Laplace::NONE);
    let missing = law.epsilon_of_shares(1.0, 9, 10);
    let sums = |name, about, honest: u32| {
        Subject::new(name, about, 1.0, 0.0)
            .pair("a reward of 0 or 1", move |second, seed| summed(honest, second, seed))
    };
    vec![
        subject(
            "cdp-mab-published",
            "a client's mean with the noise that Li and Song 2021 print for epsilon = 0.1 and 50 clients: truly 5",
            5.0,
            published,
            1,
        ),
        subject(
            "cdp-mab-local",
            "a client's mean with noise for epsilon = 1 against the server",
            1.0,
            local,
            1,
        )
        .canaries(canaries),
        sums(
            "cdp-mab-central",
            "what six honest ones of ten add to a sum that two are missing in and two have told all about: epsilon = 1",
            6,
        )
        .share(0.2),
        subject(
            "cdp-mab-central-missing",
            "the sum of ten clients' means with one share missing, and that stated",
            missing,
            shares,
            9,
        )
        .share(0.2),
        subject("cdp-mab-broken", "the paper's epsilon = 0.1 taken at its word", 0.1, published, 1).control(),
        sums("cdp-mab-central-broken", "two more of them missing, and not stated", 4)
            .control()
            .share(0.5),
    ]
}

fn noise(protection: Protection, epsilon: f64, participants: u32) -> MeanNoise {
    MeanNoise { protection, epsilon, participants, everyone: true, audience: Audience::Server }
}

/// What is seen of `messages` clients: the sum of their means.
fn seen(noise: MeanNoise, messages: u32, second: bool, seed: u64) -> Transcript {
    let mut rng = rng(seed);
    let mut mean = |client: u32| {
        let sum = if second && client == 0 { 6.0 } else { 5.0 };
        let exact = ArmValues::new(1, vec![ArmIndex(0)], vec![sum / PULLS as f64]);
        Means::new(noise, PULLS).release(exact, &mut rng).values[0]
    };
    Transcript::numbers(vec![(0..messages).map(&mut mean).sum()])
}

/// What honest members of a group of ten add to a sum, of which the rest is known.
fn summed(honest: u32, second: bool, seed: u64) -> Transcript {
    let mut rng = rng(seed);
    let shares =
        LaplaceShares::new("dp_epsilon", 1.0, 1.0, Terms::USUAL).expect("an epsilon that can be kept");
    let mut sum = shares.encode(&[if second { 6.0 } else { 5.0 }], 10).expect("small");
    (0..honest).for_each(|_| shares.add_share(&mut sum, 10, &mut rng));
    Transcript::numbers(vec![shares.decode(sum[0] as i64)])
}

/// One message about many arms: in each mean one reward is 0 or 1.
fn canaries(seed: u64) -> Vec<Canary> {
    let mut coins = Keys::from_seed(seed).policy(NodeId(0), 0);
    let seconds: Vec<bool> = (0..ARMS).map(|_| coins.below(2) == 1).collect();
    let means = seconds.iter().map(|second| (5.0 + f64::from(*second)) / PULLS as f64).collect();
    let exact = ArmValues::new(1, (0..ARMS).map(ArmIndex).collect(), means);
    let seen = Means::new(noise(Protection::Local, 1.0, 50), PULLS).release(exact, &mut rng(seed));
    let canary = |(second, value): (bool, &f64)| Canary { second, score: value * PULLS as f64 - 5.5 };
    seconds.into_iter().zip(&seen.values).map(canary).collect()
}
