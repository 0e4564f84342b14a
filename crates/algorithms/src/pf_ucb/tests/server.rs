//! Algorithm 2.

use cahoots_core::{Membership, NodeId, Tick, snapshot};
use serde_json::json;

use super::super::{ASK, READY};
use super::*;
use crate::testing::released;

pub(super) fn upload(number: u64, phase: u64, of: &[u32], values: &[f64]) -> ArmMsg {
    let values = ArmValues::new(phase, arms(of), values.to_vec());
    ArmMsg::Upload { number, values: released(values) }
}

pub(super) fn set(number: u64, phase: u64, of: &[u32]) -> ArmMsg {
    let active = ActiveArms { phase, arms: arms(of) };
    ArmMsg::UploadActive { number, active: released(active) }
}

fn say(server: &mut Server, from: u32, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    say_at(server, 1, from, message)
}

pub(super) fn say_at(server: &mut Server, now: Tick, from: u32, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

pub(super) fn to(sent: &[(NodeId, ArmMsg)]) -> Vec<u32> {
    sent.iter().map(|(to, _)| to.0).collect()
}

#[test]
fn alg2_lines_3_to_8_averages_means_unites_sets_and_goes_on() {
    let setting = setting(3, 3, 1000);
    let mut server = server(&valid(json!({}), &setting), &setting);
    for (client, own) in [(2, [0.0, 0.5, 1.0]), (0, [1.0, 1.0, 1.0])] {
        assert!(say(&mut server, client, upload(1, 1, &[0, 1, 2], &own)).is_empty(), "waits for all");
    }
    let sent = say(&mut server, 1, upload(1, 1, &[0, 1, 2], &[0.5, 0.0, 1.0]));
    assert_eq!(to(&sent), [0, 1, 2]);
    for (_, message) in &sent {
        let ArmMsg::Download(means) = message else { panic!("{message:?}") };
        assert_eq!(**means, ArmValues::new(1, arms(&[0, 1, 2]), vec![0.5, 0.5, 1.0]));
    }
    assert!(say(&mut server, 0, set(2, 2, &[])).is_empty());
    assert!(say(&mut server, 2, set(2, 2, &[2])).is_empty());
    let sent = say(&mut server, 1, set(2, 2, &[0, 2]));
    assert_eq!(to(&sent), [0, 1, 2]);
    let ArmMsg::DownloadActive(active) = &sent[0].1 else { panic!("{sent:?}") };
    assert_eq!(**active, ActiveArms { phase: 2, arms: arms(&[0, 2]) });
    assert_eq!((server.phase(), server.active()), (2, &arms(&[0, 2])[..]));
}

#[test]
fn alg2_line_4_the_order_of_arrival_does_not_matter() {
    let setting = setting(3, 1, 1000);
    let means = [0.1, 0.2, 0.7];
    let run = |order: [u32; 3]| {
        let mut server = server(&valid(json!({}), &setting), &setting);
        for client in order {
            say(&mut server, client, upload(1, 1, &[0], &[means[client as usize]]));
        }
        snapshot::save(&server)
    };
    assert!(run([0, 1, 2]) == run([2, 0, 1]));
}

#[test]
fn alg2_line_2_ends_when_no_arm_is_active() {
    let setting = setting(2, 2, 1000);
    let mut server = server(&valid(json!({}), &setting), &setting);
    (0..2).for_each(|client| drop(say(&mut server, client, upload(1, 1, &[0, 1], &[0.0, 1.0]))));
    say(&mut server, 0, set(2, 2, &[]));
    let sent = say(&mut server, 1, set(2, 2, &[]));
    assert!(matches!(&sent[0].1, ArmMsg::DownloadActive(active) if active.arms.is_empty()));
    step(&mut server, 1, |s, cx| {
        assert!(s.on_message(NodeId(0), upload(3, 2, &[], &[]), cx).is_err(), "it is over");
    });
}

#[test]
fn the_authors_code_averages_what_clients_know_when_the_last_is_done() {
    let setting = setting(2, 2, 1000);
    let mut server = server(&valid(json!({ "fidelity": "authors" }), &setting), &setting);
    let ready = || ArmMsg::Signal { signal: READY, phase: 1 };
    assert!(say(&mut server, 1, ready()).is_empty());
    let sent = say(&mut server, 0, ready());
    assert_eq!(to(&sent), [0, 1]);
    assert!(sent.iter().all(|(_, message)| matches!(message, ArmMsg::Signal { signal: ASK, phase: 1 })));
}

#[test]
fn appendix_a_gaps_are_shared_as_the_average_of_their_roots() {
    let setting = setting(2, 2, 1000);
    let mut server = server(&valid_enhanced(json!({}), &setting), &setting);
    (0..2).for_each(|client| drop(say(&mut server, client, upload(1, 1, &[0, 1], &[0.0, 1.0]))));
    say(&mut server, 0, upload(2, 2, &[0, 1], &[0.25, 1.0]));
    say(&mut server, 0, set(3, 2, &[1]));
    say(&mut server, 1, upload(2, 2, &[0, 1], &[4.0, 9.0]));
    let sent = say(&mut server, 1, set(3, 2, &[1]));
    assert_eq!(to(&sent), [0, 1, 0, 1]);
    let ArmMsg::Download(roots) = &sent[0].1 else { panic!("{sent:?}") };
    assert_eq!(**roots, ArmValues::new(2, arms(&[1]), vec![2.0]), "of the arms that are still active");
    assert!(matches!(sent[2].1, ArmMsg::DownloadActive(_)), "the set comes last");
}

#[test]
fn what_no_client_would_send_is_refused() {
    let setting = setting(2, 2, 1000);
    let mut server = server(&valid(json!({}), &setting), &setting);
    let refuse = |server: &mut Server, from: u32, message: ArmMsg| {
        let before = snapshot::save(server);
        let sent = step(server, 1, |s, cx| assert!(s.on_message(NodeId(from), message, cx).is_err()));
        assert!(sent.is_empty() && snapshot::save(server) == before);
    };
    let all = [0, 1];
    refuse(&mut server, 7, upload(1, 1, &all, &[0.0; 2]));
    refuse(&mut server, 0, upload(2, 1, &all, &[0.0; 2]));
    refuse(&mut server, 0, upload(1, 2, &all, &[0.0; 2]));
    refuse(&mut server, 0, upload(1, 1, &[0], &[0.0]));
    refuse(&mut server, 0, set(2, 2, &all));
    refuse(&mut server, 0, ArmMsg::Signal { signal: READY, phase: 1 });
    say(&mut server, 0, upload(1, 1, &all, &[0.0; 2]));
    refuse(&mut server, 0, upload(1, 1, &all, &[0.0; 2]));
    say(&mut server, 1, upload(1, 1, &all, &[0.0; 2]));
    refuse(&mut server, 0, upload(2, 2, &all, &[1.0; 2]));
    refuse(&mut server, 0, set(2, 2, &[5]));
    refuse(&mut server, 0, set(2, 3, &all));
    refuse(&mut server, 0, set(4, 2, &all));
}

#[test]
fn a_client_that_leaves_does_not_hold_up_the_others() {
    let setting = setting(3, 1, 1000);
    let mut server = server(&valid(json!({}), &setting), &setting);
    say(&mut server, 0, upload(1, 1, &[0], &[0.5]));
    say(&mut server, 2, upload(1, 1, &[0], &[1.0]));
    let sent = step(&mut server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(1)), cx));
    assert_eq!(to(&sent), [0, 2]);
    let ArmMsg::Download(means) = &sent[0].1 else { panic!("{sent:?}") };
    assert_eq!(means.values, [0.75]);
}
