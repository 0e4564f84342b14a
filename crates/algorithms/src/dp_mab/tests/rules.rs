//! Lines 3 to 5 and 12 to 15 of Algorithm 1, against the printed formulas.

use cahoots_core::{Algorithm, ArmIndex};
use proptest::prelude::*;
use serde_json::json;

use super::super::noise::{Audience, MeanNoise, Protection};
use super::super::rules::{Limit, Rules, average};
use super::super::{CdpMab, CdpValid};
use super::setting;

fn rules(participants: u32, protection: Protection, epsilon: f64) -> Rules {
    Rules {
        arms: 100,
        horizon: 1e5,
        limit: None,
        noise: MeanNoise { protection, epsilon, participants, everyone: true, audience: Audience::Server },
        group: None,
        as_printed: false,
    }
}

fn log(arms: f64, r: f64) -> f64 {
    libm::log(8.0 * arms * r * r * 1e5)
}

#[test]
fn line_4_and_5_as_printed() {
    let (m, epsilon) = (50.0f64, 0.1);
    let rules = rules(50, Protection::Published, epsilon);
    let mut before = 0;
    for (r, active) in [(1u64, 100usize), (2, 60), (3, 17), (4, 3)] {
        let (round, gap) = (r as f64, libm::pow(0.5, r as f64));
        let sampling = 8.0 * log(active as f64, round) / (m * gap * gap);
        let noise = 8.0 * round * (2.0 * log(100.0, round)).sqrt() / ((m * m.sqrt()) * epsilon * gap);
        let pulls = rules.pulls(r, active, before);
        assert_eq!(pulls, sampling.max(noise).ceil() as u64);
        assert!(pulls > before);
        before = pulls;
        let s = pulls as f64;
        let radius = (log(active as f64, round) / (2.0 * m * s)).sqrt()
            + round * (8.0 * log(100.0, round)).sqrt() / ((m * m.sqrt()) * epsilon * s);
        assert!((rules.radius(r, active, pulls) - radius).abs() < 1e-12);
        // Step 2.2 of the proof: C(r) is at most half the target.
        assert!(rules.radius(r, active, pulls) <= gap / 2.0);
    }
}

#[test]
fn section_4b_fewer_participants_and_fewer_rounds() {
    let mut few = rules(10, Protection::Published, 1.0);
    few.limit = Some(Limit { rounds: 4, gap: 0.01 });
    assert!((few.target(1) - libm::pow(0.01, 0.25)).abs() < 1e-15);
    assert!((few.target(4) - 0.01).abs() < 1e-15);
    // Ten are too few for the noise to concentrate: its part of the radius is wider, unless as printed.
    let wide = few.radius(1, 100, 1000);
    few.as_printed = true;
    let printed = few.radius(1, 100, 1000);
    let factor = (log(100.0, 1.0) / 10.0).sqrt();
    let noise = (8.0 * log(100.0, 1.0)).sqrt() / (10.0 * 10f64.sqrt() * 1000.0);
    assert!((wide - printed - (factor - 1.0) * noise).abs() < 1e-15);
}

#[test]
fn the_calibrations_need_their_own_lengths() {
    let log = log(100.0, 2.0);
    let second = |protection| {
        let rules = rules(50, protection, 0.001);
        (rules.pulls(2, 100, 0), rules.radius(2, 100, 1) - rules_none().radius(2, 100, 1))
    };
    let (pulls, radius) = second(Protection::Local);
    assert_eq!(pulls, (8.0 * 2.0 * (2.0 * log).sqrt() / (50f64.sqrt() * 0.001 * 0.25)).ceil() as u64);
    assert!((radius - 2.0 * (8.0 * log).sqrt() / (50f64.sqrt() * 0.001)).abs() < 1e-6);
    let (pulls, radius) = second(Protection::Central);
    assert_eq!(pulls, (4.0 * 2.0 * log / (50.0 * 0.001 * 0.25)).ceil() as u64);
    assert!((radius - 2.0 * log / (50.0 * 0.001)).abs() < 1e-6);
}

fn rules_none() -> Rules {
    rules(50, Protection::None, 1.0)
}

#[test]
fn line_14_who_is_far_below_the_best_goes() {
    let rules = rules_none();
    let arms: Vec<ArmIndex> = [0, 3, 7].map(ArmIndex).to_vec();
    let pulls = rules.pulls(1, 3, 0);
    let radius = rules.radius(1, 3, pulls);
    let means = [0.5, 0.5 + 0.5 * radius, 0.5 + 2.25 * radius];
    assert_eq!(rules.survivors(1, &arms, &means, radius), [ArmIndex(3), ArmIndex(7)]);
    assert!(!Rules::separated(&means, radius));
    let means = [0.5, 0.5, 0.5 + 2.25 * radius];
    assert_eq!(rules.survivors(1, &arms, &means, radius), [ArmIndex(7)]);
    assert!(Rules::separated(&means, radius));
}

#[test]
fn after_the_last_round_the_empirical_best_is_played() {
    let rules = Rules { limit: Some(Limit { rounds: 2, gap: 0.5 }), ..rules_none() };
    let arms: Vec<ArmIndex> = (0..3).map(ArmIndex).collect();
    let means = [0.5, 0.51, 0.505];
    assert_eq!(rules.survivors(1, &arms, &means, rules.radius(1, 3, 10)), arms);
    assert_eq!(rules.survivors(2, &arms, &means, rules.radius(2, 3, 10)), [ArmIndex(1)]);
    assert!(!Rules::separated(&means, rules.radius(2, 3, 10)));
}

#[test]
fn p_m_participants_rounded_up() {
    for (p, clients, n) in [(0.2, 50, 10), (0.07, 100, 7), (0.071, 100, 8), (0.001, 10, 1), (1.0, 3, 3)] {
        let params = serde_json::from_value(json!({ "participation": p })).unwrap();
        let valid: CdpValid = CdpMab::check(params, &setting(clients, 2, 10)).unwrap();
        assert_eq!(valid.rules.noise.participants, n, "{p} of {clients}");
    }
}

proptest! {
    #[test]
    fn epochs_always_grow(
        participants in 1u32..200, epsilon in 0.001f64..10.0, which in 0usize..4, gap in 0.001f64..0.9, rounds in 1u64..9,
    ) {
        let protection = [Protection::Published, Protection::Local, Protection::Central, Protection::None][which];
        let limited = Rules { limit: Some(Limit { rounds, gap }), ..rules(participants, protection, epsilon) };
        for rules in [limited, rules(participants, protection, epsilon)] {
            let mut before = 0;
            for r in 1..=rules.limit.map_or(12, |limit| limit.rounds) {
                let pulls = rules.pulls(r, 100, before);
                prop_assert!(pulls > before);
                let radius = rules.radius(r, 100, pulls);
                // A length beyond any horizon is cut off where numbers end.
                prop_assert!(pulls == u64::MAX || radius <= rules.target(r) / 2.0 * (1.0 + 1e-12));
                prop_assert!(radius > 0.0);
                before = pulls;
            }
        }
    }
}

#[test]
fn averages_have_weights() {
    let rows = [(3.0, &[1.0, 0.0][..]), (1.0, &[0.0, 4.0][..])];
    assert_eq!(average(2, rows.into_iter()), [0.75, 1.0]);
}
