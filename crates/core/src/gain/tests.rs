use super::*;
use crate::policy::{Confidence, Radius, Rule};
use crate::{ArmBuffer, Keys, NodeId, Seating, Setting, UserId};

fn alone(rule: Rule, dim: usize) -> Option<Alone> {
    let confidence = Confidence::new(Radius::LogDet, 0.1, 0.1, 0.5, dim).unwrap();
    Alone::new(LinearPolicy { rule, confidence, sampling_scale: 0.1, perturbation: 1.0 }, 0.5)
}

fn linucb() -> Alone {
    alone(Rule::LinUcb, 2).unwrap()
}

#[test]
fn before_anything_differed_nothing_was_gained_for_certain() {
    let mut shadow = Shadow::new(&linucb(), 2);
    shadow.learn(&[1.0, 0.0], 0.7);
    assert!(!shadow.compare(&[1.0, 0.0], &[1.0, 0.0]));
    let gain = shadow.gain(&linucb().assumed(0.95)).unwrap();
    assert_eq!((gain.decisions, gain.differed), (1, 0));
    assert_eq!((gain.low, gain.estimate, gain.high), (0.0, 0.0, 0.0));
}

/// By hand: V = diag(0.5 + 2, 0.5), b = (1.2, 0), D = (1, -1).
#[test]
fn the_interval_is_that_of_the_ellipsoid() {
    let mut shadow = Shadow::new(&linucb(), 2);
    shadow.learn(&[1.0, 0.0], 0.7);
    shadow.learn(&[1.0, 0.0], 0.5);
    assert!(shadow.compare(&[1.0, 0.0], &[0.0, 1.0]));
    let gain = shadow.gain(&linucb().assumed(0.95)).unwrap();
    let radius = 0.1 * (libm::log(2.5 * 0.5 / 0.25) + 2.0 * libm::log(20.0)).sqrt() + 0.5f64.sqrt();
    let half = radius * (1.0f64 / 2.5 + 1.0 / 0.5).sqrt();
    assert!((gain.estimate - 1.2 / 2.5).abs() < 1e-12, "{gain:?}");
    assert!((gain.high - gain.estimate - half).abs() < 1e-12, "{gain:?} against {half}");
    assert!((gain.estimate - gain.low - half).abs() < 1e-12, "{gain:?} against {half}");
}

#[test]
fn a_longer_parameter_or_more_noise_makes_it_wider() {
    let mut shadow = Shadow::new(&linucb(), 2);
    shadow.learn(&[1.0, 0.0], 0.7);
    shadow.compare(&[1.0, 0.0], &[0.0, 1.0]);
    let width = |assumed: Assumed| shadow.gain(&assumed).map(|gain| gain.high - gain.low).unwrap();
    let usual = linucb().assumed(0.95);
    assert!(width(Assumed { noise: 0.2, ..usual }) > width(usual));
    assert!(width(Assumed { norm: 2.0, ..usual }) > width(usual));
    assert!(width(Assumed { confidence: 0.99, ..usual }) > width(usual));
}

#[test]
fn what_cannot_be_computed_with_is_not_known() {
    let mut shadow = Shadow::new(&linucb(), 2);
    for _ in 0..4 {
        shadow.compare(&[f64::MAX, 0.0], &[0.0, 0.0]);
    }
    assert_eq!(shadow.gain(&linucb().assumed(0.95)), None);
}

/// Own features count too: a shadow that overlooked them could not tell these arms apart.
#[test]
fn own_features_are_part_of_the_choice() {
    let setting = Setting::linear(1, 1, 2).with_local_dims([1]);
    let seat = Seating::PerUser.seat(&setting, NodeId(UserId(0).0));
    let mut offered = ArmBuffer::default();
    offered.features.fill(1, [&[1.0][..], &[1.0]].into_iter());
    offered.local.fill(1, [&[0.2][..], &[1.0]].into_iter());
    let arms = offered.arm_set(&seat).unwrap();
    assert_eq!(offered.row(ArmIndex(0)).as_slice(), [1.0, 0.2]);
    let mut shadow = Shadow::new(&linucb(), 2);
    let mut rng = Keys::from_seed(1).choice(NodeId(0), 1);
    for _ in 0..200 {
        shadow.learn(&[1.0, 1.0], -1.0);
        shadow.learn(&[1.0, 0.2], 1.0);
    }
    assert_eq!(shadow.choose(&linucb(), arms, &mut rng).arm, ArmIndex(0));
}

#[test]
fn a_policy_that_needs_more_than_a_model_has_no_shadow() {
    assert_eq!(alone(Rule::LinPhe, 2), None);
    assert!(alone(Rule::LinTs, 2).is_some());
}

/// Rewards of 0 or 1 are not of noise 0.1: an interval that rests on it would be too narrow.
#[test]
fn noisier_rewards_than_assumed_are_found_out_and_others_are_not() {
    let scatter = |noise: f64, assumed: f64| {
        let mut found = None;
        let mut shadow = Shadow::new(&linucb(), 2);
        let mut rng = Keys::from_seed(7).choice(NodeId(0), 1);
        for _ in 0..300 {
            let x = [rng.uniform(), rng.uniform()];
            shadow.learn(&x, 0.6 * x[0] - 0.3 * x[1] + noise * rng.normal());
            let usual = linucb().assumed(0.95);
            found = found.or(shadow.scatter_refutes(&Assumed { noise: assumed, ..usual }));
        }
        found
    };
    assert_eq!(scatter(0.1, 0.1), None);
    assert_eq!(scatter(0.0, 0.0), None);
    let found = scatter(0.5, 0.1).expect("five times the noise");
    assert!(found > 0.2, "{found}");
}

#[test]
fn it_can_be_kept() {
    let mut shadow = Shadow::new(&linucb(), 2);
    shadow.learn(&[0.3, 0.4], 0.2);
    shadow.compare(&[0.3, 0.4], &[0.1, 0.4]);
    let bytes = postcard::to_stdvec(&shadow).unwrap();
    assert_eq!(postcard::from_bytes::<Shadow>(&bytes).unwrap(), shadow);
}
