//! What whoever watches the server is shown.

use cahoots_core::{
    Algorithm, ArmIndex, ArmMean, Learnt, Machine, Membership, NodeId, Seating, Sure, snapshot,
};
use serde_json::{Value, json};

use super::super::message::MabMsg;
use super::super::{CdpMab, HdpMab, Server};
use super::setting;
use crate::kit::arms::{ArmMsg, ArmValues};
use crate::testing::{released, step};

const HORIZON: u64 = 100_000;

fn cdp(params: Value) -> Server {
    let setting = setting(3, 2, HORIZON);
    let valid = CdpMab::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
    let mut server = CdpMab::server(&valid, &Seating::PerUser.seat(&setting, NodeId::SERVER));
    step(&mut server, 0, |s, cx| s.on_start(cx));
    server
}

fn report(server: &mut Server, epoch: u64, from: u32, values: [f64; 2]) {
    let values = ArmValues::new(epoch, [0, 1].map(ArmIndex).to_vec(), values.to_vec());
    let message = MabMsg::Arms(ArmMsg::Upload { number: epoch, values: released(values) });
    step(server, 1, |s, cx| s.on_message(NodeId(from), message, cx).unwrap());
}

fn shown(server: &Server) -> Learnt {
    let (mut models, all) = server.learnt(20);
    assert_eq!((models.len(), all), (1, 1));
    models.remove(0)
}

fn mean(server: &Server, arm: u32) -> Option<ArmMean> {
    shown(server).arms.into_iter().find(|known| known.arm == ArmIndex(arm)).unwrap().mean
}

/// C(r) and S(r) of the first round by the paper's formulas: N clients, K = 2 arms, no noise.
fn first_round(n: f64) -> (f64, f64) {
    let log = libm::log(8.0 * 2.0 * HORIZON as f64);
    let pulls = (8.0 * log / (n * 0.25)).ceil();
    ((log / (2.0 * n * pulls)).sqrt(), pulls)
}

#[test]
fn arms_have_the_average_that_decided_with_its_radius_and_pulls() {
    let mut server = cdp(json!({ "privacy": "none" }));
    assert!(shown(&server).arms.iter().all(|arm| arm.active && arm.mean.is_none()));
    report(&mut server, 1, 0, [0.9, 0.1]);
    report(&mut server, 1, 1, [0.6, 0.3]);
    assert_eq!(mean(&server, 0), None, "no client's means are shown on their own");
    report(&mut server, 1, 2, [0.6, 0.5]);
    let (radius, pulls) = first_round(3.0);
    for (arm, value) in [(0, 0.7), (1, 0.3)] {
        let mean = mean(&server, arm).unwrap();
        assert!((mean.value - value).abs() < 1e-12 && (mean.radius.unwrap() - radius).abs() < 1e-12);
        assert_eq!(mean.pulls, Some(3 * pulls as u64));
    }
    assert_eq!(shown(&server).sure, Some(Sure::Chance(1.0 - 0.5 / HORIZON as f64)));
    let restored: Server = snapshot::restore(&snapshot::save(&server)).unwrap();
    assert_eq!(mean(&restored, 0), None, "it is no part of the state");
    assert_eq!(server.observations(), None, "and so the pulls of means are not counted");
}

#[test]
fn where_some_have_left_the_radius_is_that_of_fewer() {
    let mut server = cdp(json!({ "privacy": "none" }));
    step(&mut server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(2)), cx));
    report(&mut server, 1, 0, [0.9, 0.1]);
    report(&mut server, 1, 1, [0.7, 0.3]);
    let (radius, pulls) = first_round(3.0);
    let mean = mean(&server, 0).unwrap();
    assert!((mean.radius.unwrap() - 1.5 * radius).abs() < 1e-12, "{mean:?}");
    assert!(mean.radius.unwrap() > (3.0 / 2.0f64).sqrt() * radius, "at least what two of three are good for");
    assert_eq!(mean.pulls, Some(2 * pulls as u64));
}

#[test]
fn noise_is_in_the_radius_and_what_does_not_hold_as_printed_is_not_shown() {
    let run = |params: Value| {
        let mut server = cdp(params);
        (0..3).for_each(|client| report(&mut server, 1, client, [0.9, 0.1]));
        mean(&server, 0).unwrap()
    };
    let quiet = run(json!({ "privacy": "none" }));
    let noisy = run(json!({ "privacy": "local", "dp_epsilon": 0.1 }));
    // Per pull, since there are more of them where there is noise.
    let per_pull = |mean: ArmMean| mean.radius.unwrap() * (mean.pulls.unwrap() as f64).sqrt();
    assert!(per_pull(noisy) > 1.01 * per_pull(quiet), "{noisy:?} {quiet:?}");
    let printed = run(json!({ "privacy": "local", "dp_epsilon": 0.1, "fidelity": "paper" }));
    assert_eq!((printed.value, printed.radius), (0.9, None));
}

/// A sink's mean is one of all in its component: that many are in the average, and no number of pulls is told where a
/// component counts as one.
#[test]
fn what_sinks_report_counts_for_those_behind_them() {
    let setting = setting(3, 2, HORIZON);
    for (fidelity, pulled) in [("corrected", true), ("paper", false)] {
        let params = json!({ "privacy": "none", "fidelity": fidelity, "topology": { "edges": [[0, 1]] } });
        let valid = HdpMab::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
        let mut server = HdpMab::server(&valid, &Seating::PerUser.seat(&setting, NodeId::SERVER));
        step(&mut server, 0, |s, cx| s.on_start(cx));
        for sink in server.waiting_for() {
            report(&mut server, 1, sink.0, if sink.0 == 2 { [0.9, 0.3] } else { [0.6, 0.3] });
        }
        let (_, pulls) = first_round(3.0);
        let mean = mean(&server, 0).unwrap();
        assert_eq!(mean.pulls, pulled.then_some(3 * pulls as u64), "{fidelity}");
        assert!((mean.value - if pulled { 0.7 } else { 0.75 }).abs() < 1e-12, "{mean:?}");
    }
}
