//! What leaves a client, measured: one reward is 0 or 1, everything else is the same.

use cahoots_core::{ArmIndex, Composition, Keys, Mechanism, NodeId, Stream};
use cahoots_privacy::Audit;

use super::super::noise::{Audience, MeanNoise, Means, Protection};
use crate::kit::arms::ArmValues;

/// Pulls behind each mean.
const PULLS: u64 = 12;
const TRIALS: usize = 100_000;

fn noise(protection: Protection, epsilon: f64, participants: u32) -> MeanNoise {
    MeanNoise { protection, epsilon, participants, everyone: true, audience: Audience::Server }
}

/// The message of one client whose 12 rewards sum to 5, or to 6.
fn message(noise: MeanNoise, second: bool, rng: &mut Stream) -> f64 {
    let mean = (5.0 + f64::from(second)) / PULLS as f64;
    let exact = ArmValues::new(1, vec![ArmIndex(3)], vec![mean]);
    Means::new(noise, PULLS).release(exact, rng).values[0]
}

/// What is seen of a round: one client's message, or the sum of all.
fn seen(noise: MeanNoise, second: bool, rng: &mut Stream) -> f64 {
    match noise.protection {
        Protection::Central => {
            (0..noise.participants).map(|client| message(noise, second && client == 0, rng)).sum()
        }
        _ => message(noise, second, rng),
    }
}

fn audit(noise: MeanNoise, stated: f64) -> Audit {
    let mut rng = Keys::from_seed(7).privacy(NodeId(0), 0);
    let mut outputs = |second| (0..TRIALS).map(|_| seen(noise, second, &mut rng)).collect::<Vec<f64>>();
    let (first, second) = (outputs(false), outputs(true));
    Audit::new(stated, 0.0, &first, &second)
}

#[test]
fn every_calibration_keeps_what_it_states_and_little_more() {
    for (noise, stated) in [
        (noise(Protection::Published, 0.1, 50), 5.0),
        (noise(Protection::Local, 1.0, 50), 1.0),
        (noise(Protection::Central, 1.0, 10), 1.0),
    ] {
        let audit = audit(noise, stated);
        assert!(audit.agrees(), "{noise:?}: {audit:?}");
        assert!(audit.measured > 0.85 * stated, "{noise:?}: {audit:?}");
    }
}

/// The audit is worth something: it catches the paper's epsilon taken at its word.
#[test]
fn the_papers_epsilon_taken_for_a_clients_own_is_caught() {
    let audit = audit(noise(Protection::Published, 0.1, 50), 0.1);
    assert!(!audit.agrees(), "{audit:?}");
}

/// A single share of central noise protects nothing: most of the time there is none.
#[test]
fn central_noise_does_not_protect_a_single_message() {
    let noise = noise(Protection::Central, 1.0, 50);
    let mut rng = Keys::from_seed(8).privacy(NodeId(0), 0);
    let bare = |second| (5.0 + f64::from(second)) / PULLS as f64;
    let close = (0..2_000).filter(|_| (message(noise, true, &mut rng) - bare(true)).abs() < 1e-6).count();
    assert!(close > 800, "{close}");
}

#[test]
fn the_accountant_is_told_what_is_true() {
    let fact = |noise: MeanNoise| Means::new(noise, PULLS).fact();
    let loss = |noise: MeanNoise| fact(noise).sensitivity / fact(noise).scale;
    for (noise, stated) in [
        (noise(Protection::Published, 0.1, 50), 5.0),
        (noise(Protection::Local, 0.1, 50), 0.1),
        (noise(Protection::Central, 0.1, 50), 0.1),
    ] {
        // Rounding to the grid is part of it.
        assert!(loss(noise) <= stated && loss(noise) > 0.9999 * stated, "{noise:?}");
        assert_eq!(fact(noise).composition, Composition::Disjoint, "a reward is in one mean");
    }
    let some = MeanNoise { everyone: false, ..noise(Protection::Central, 1.0, 10) };
    assert_eq!(fact(some).composition, Composition::Adds, "every round is another sum");
    assert!(noise(Protection::None, 1.0, 5).claim(false).is_none());
    let claim = noise(Protection::Central, 1.0, 5).claim(false).unwrap();
    assert!(claim.not_protected.iter().any(|gap| gap.contains("a single client's messages")));
}

#[test]
fn no_noise_draws_nothing_and_changes_nothing() {
    let mut rng = Keys::from_seed(8).privacy(NodeId(0), 0);
    assert_eq!(message(noise(Protection::None, 1.0, 5), true, &mut rng), 0.5);
    assert_eq!(rng.position(), 0);
}
