//! Theorem 1, Corollary 1 and Conjecture 1, on the printed game.

use super::super::bounds::{Game, bernoulli, gaussian};
use super::printed_game;

fn about(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6 * other.abs(), "{one} is not {other}");
}

#[test]
fn appendix_e_best_arms_of_the_printed_game() {
    let best = |alpha| Game::new(&printed_game(), alpha).unwrap().best_arms().to_vec();
    assert_eq!(best(1.0), [0, 1, 2, 3], "client m's local optimum is arm m");
    assert_eq!(best(0.0), [8; 4], "the global optimum is arm 9");
    assert_eq!(best(0.5), [4, 5, 6, 7]);
}

/// Values computed apart from this code.
#[test]
fn corollary_1_of_the_printed_game() {
    for (alpha, bound) in [
        (0.0, 141.333_333_333_333),
        (0.2, 76.184_800_543_554_9),
        (0.5, 148.627_059_974_498),
        (0.9, 177.481_567_098_491),
        (1.0, 156.556_776_556_777),
    ] {
        about(Game::new(&printed_game(), alpha).unwrap().corollary_1(1.0), bound);
    }
}

#[test]
fn theorem_1_with_gaussian_rewards_is_corollary_1() {
    for (alpha, deviation) in [(0.0, 1.0), (0.2, 1.0), (0.5, 0.5), (0.9, 2.0), (1.0, 1.0)] {
        let game = Game::new(&printed_game(), alpha).unwrap();
        about(game.theorem_1(gaussian(deviation)), game.corollary_1(deviation));
    }
}

#[test]
fn theorem_1_local_only_is_the_sum_of_single_player_bounds() {
    // Eq. (2) for Bernoulli rewards, client by client.
    let game = vec![vec![0.9, 0.5, 0.2], vec![0.1, 0.3, 0.6]];
    let kl = |p: f64, q: f64| p * libm::log(p / q) + (1.0 - p) * libm::log((1.0 - p) / (1.0 - q));
    let single = (0.4 / kl(0.5, 0.9)) + (0.7 / kl(0.2, 0.9)) + (0.5 / kl(0.1, 0.6)) + (0.3 / kl(0.3, 0.6));
    about(Game::new(&game, 1.0).unwrap().theorem_1(bernoulli), single);
    // Any other mixture shifts the arms apart, and the bound says nothing.
    assert_eq!(Game::new(&game, 0.5).unwrap().theorem_1(bernoulli), 0.0);
}

#[test]
fn conjecture_1_recovers_both_ends() {
    let local = Game::new(&printed_game(), 1.0).unwrap();
    about(local.conjecture_1(1.0), local.corollary_1(1.0));
    // Global-only: M Delta_k / kl(X_k, X_k*) = 2 / Delta_k for the average of M unit variances.
    let global = Game::new(&printed_game(), 0.0).unwrap();
    let sum: f64 = (0..8).map(|arm| 2.0 / global.gap(0, arm)).sum();
    about(global.conjecture_1(1.0), sum);
}

/// Values from a general-purpose solver of the program that the conjecture states.
#[test]
fn conjecture_1_between_the_ends() {
    for (alpha, value) in [(0.2, 190.887_413_48), (0.5, 424.551_340_36), (0.9, 196.952_276_69)] {
        let game = Game::new(&printed_game(), alpha).unwrap();
        about(game.conjecture_1(1.0), value);
        assert!(game.conjecture_1(1.0) >= game.corollary_1(1.0));
        about(game.conjecture_1(3.0), 9.0 * value);
    }
}

#[test]
fn games_without_a_best_arm_have_no_bound() {
    assert_eq!(Game::new(&[vec![0.5, 0.5]], 1.0), None);
    assert_eq!(Game::new(&[vec![0.5, 0.4], vec![0.5]], 1.0), None);
    assert_eq!(Game::new(&[], 1.0), None);
    let alone = Game::new(&[vec![0.5, 0.25]], 0.3).unwrap();
    about(alone.corollary_1(1.0), 2.0 / 0.25);
    about(alone.theorem_1(gaussian(1.0)), 2.0 / 0.25);
    about(alone.conjecture_1(1.0), 2.0 / 0.25);
}
