//! Mechanisms whose loss is known, and what is measured of them.

use cahoots_core::{Keys, NodeId, Stream};

use super::*;
use crate::gaussian::ratio_of;
use crate::{Gaussian, Laplace};

fn rng(seed: u64) -> Stream {
    Keys::from_seed(seed).privacy(NodeId(0), 0)
}

fn laplace(noise: &Laplace, exact: f64, seed: u64, n: usize) -> Vec<f64> {
    let mut rng = rng(seed);
    (0..n).map(|_| noise.noised(exact, &mut rng)).collect()
}

#[test]
fn an_honest_mechanism_passes_and_the_bound_is_close_to_the_truth() {
    let noise = Laplace::calibrated("epsilon", 1.0, 1.0, 1).unwrap();
    let audit = Audit::new(1.0, 0.0, &laplace(&noise, 0.0, 1, 100_000), &laplace(&noise, 1.0, 2, 100_000));
    assert!(audit.verdict() == Verdict::Agrees && audit.measured > 0.93, "{audit:?}");
}

#[test]
fn a_mechanism_with_half_the_noise_is_caught() {
    let noise = Laplace::of_scale("scale", 0.5).unwrap();
    let audit = Audit::new(1.0, 0.0, &laplace(&noise, 0.0, 1, 20_000), &laplace(&noise, 1.0, 2, 20_000));
    assert!(audit.verdict() == Verdict::Contradicts && audit.measured > 1.7, "{audit:?}");
}

#[test]
fn equal_outputs_tell_nothing() {
    let noise = Laplace::of_scale("scale", 1.0).unwrap();
    let audit = Audit::new(0.1, 0.0, &laplace(&noise, 0.0, 1, 5000), &laplace(&noise, 0.0, 2, 5000));
    assert!(audit.agrees() && audit.verdict() == Verdict::SaysNothing, "{audit:?}");
}

/// Something that happens once in a hundred runs on one of the inputs, and never on the other.
#[test]
fn both_directions_are_looked_at() {
    let runs = |often: bool| -> Vec<f64> { (0..40_000).map(|i| f64::from(often && i % 100 == 7)).collect() };
    for (first, second) in [(true, false), (false, true)] {
        let audit = Audit::new(1.0, 1e-5, &runs(first), &runs(second));
        assert_eq!(audit.verdict(), Verdict::Contradicts, "{audit:?}");
    }
}

/// Numbers 1 to 3 of a run in Gaussian noise, of which the second and third move; and a time.
fn transcripts(mu: f64, second: bool, late: bool, seed: u64, n: usize) -> Vec<Transcript> {
    let noise = Gaussian::of_deviation("sd", 1.0).unwrap();
    let mut rng = rng(seed);
    let moved = if second { mu / 2f64.sqrt() } else { 0.0 };
    let mut run = |_| Transcript {
        structure: vec![37 + u64::from(late && second)],
        numbers: [0.0, moved, -moved].map(|exact| noise.noised(exact, &mut rng)).to_vec(),
    };
    (0..n).map(&mut run).collect()
}

fn gaussian(stated: f64, truly: f64, late: bool, seed: u64, n: usize) -> Audit {
    let mu = ratio_of(truly, 1e-5);
    let runs = |second: bool| transcripts(mu, second, late, 2 * seed + u64::from(second), n);
    Audit::of(Stated { epsilon: stated, delta: 1e-5, gaussian: true }, &runs(false), &runs(true))
}

/// What the reading guide expects: 0.95 of 1 where the threshold test reads half.
#[test]
fn gaussian_noise_is_measured_closely_at_a_small_delta() {
    let audit = gaussian(1.0, 1.0, false, 4, 200_000);
    assert!(audit.verdict() == Verdict::Agrees && audit.measured > 0.93, "{audit:?}");
    assert!(audit.test == Test::Gaussian && audit.by_threshold < 0.7, "{audit:?}");
}

#[test]
fn a_loss_of_half_as_much_again_is_caught_every_time_at_twenty_thousand() {
    for seed in 10..20 {
        let audit = gaussian(1.0, 1.5, false, seed, 20_000);
        assert_eq!(audit.verdict(), Verdict::Contradicts, "{seed}: {audit:?}");
    }
}

/// What is certified is right: at the truth, no more than one in twenty runs of the audit may exceed it.
#[test]
fn what_is_certified_holds() {
    let wrong = (100..140).filter(|seed| !gaussian(1.0, 1.0, false, *seed, 4000).agrees()).count();
    assert!(wrong <= 5, "{wrong} of 40");
}

#[test]
fn a_time_gives_away_what_the_numbers_hide() {
    let audit = gaussian(1.0, 1.0, true, 4, 2000);
    assert!(audit.verdict() == Verdict::Contradicts && audit.measured > 4.0, "{audit:?}");
}

/// Live runs are few.
#[test]
fn twenty_runs_are_enough_for_what_is_the_same_every_time() {
    let audit = gaussian(1.0, 1.0, true, 4, 20);
    assert!(audit.verdict() == Verdict::Contradicts, "{audit:?}");
}
