//! Section 6 and Appendix A.

use cahoots_core::NodeId;
use serde_json::json;

use super::*;

/// Plays phase 1 with these means, own and global; what is sent then.
fn first_phase(params: Value, own: &[f64], global: &[f64]) -> (Client, Vec<(NodeId, ArmMsg)>) {
    let setting = setting(2, own.len(), 1000);
    let mut client = client(&valid_enhanced(params, &setting), &setting, 0);
    explore(&mut client, own);
    let all: Vec<u32> = (0..own.len() as u32).collect();
    let sent = tell(&mut client, means(1, &all, global));
    (client, sent)
}

fn gaps(sent: &[(NodeId, ArmMsg)]) -> &[f64] {
    let Some((NodeId::SERVER, ArmMsg::Upload { number: 2, values })) = sent.first() else {
        panic!("{sent:?}")
    };
    assert_eq!(values.get().phase, 2);
    &values.get().values
}

#[test]
fn section_6_gaps_are_estimated_with_two_bounds_on_top() {
    let params = json!({ "schedule": 1000, "personalization": 0.5 });
    let (_, sent) = first_phase(params, &[0.5, 0.0], &[0.5, 0.5]);
    let bound = (4.0 * libm::log(1000.0) / 2000.0).sqrt();
    assert_eq!(gaps(&sent), [2.0 * bound, 0.5 - 0.25 + 2.0 * bound]);
    assert_eq!(sent.len(), 2, "gaps and the active set");
}

#[test]
fn section_6_the_authors_code_clips_gaps_at_1() {
    let params = |fidelity| json!({ "schedule": 2, "personalization": 1.0, "fidelity": fidelity });
    let setting = setting(2, 2, 1000);
    let (_, sent) = first_phase(params("paper"), &[5.0, 0.0], &[0.0; 2]);
    assert!(gaps(&sent).iter().all(|gap| *gap > 1.0));
    let mut client = client(&valid_enhanced(params("authors"), &setting), &setting, 0);
    explore(&mut client, &[5.0, 0.0]);
    tell(&mut client, ArmMsg::Signal { signal: super::super::ASK, phase: 1 });
    assert_eq!(gaps(&tell(&mut client, means(1, &[0, 1], &[0.0; 2]))), [1.0, 1.0]);
}

#[test]
fn appendix_a_lengths_grow_with_the_other_clients_gaps_and_shrink_with_ones_own() {
    let params = json!({ "schedule": 1000, "personalization": 0.5 });
    let (mut client, sent) = first_phase(params, &[0.5, 0.4], &[0.5, 0.5]);
    let own = gaps(&sent).to_vec();
    let roots = [0.9, 0.3];
    tell(&mut client, means(2, &[0, 1], &roots));
    tell(&mut client, active(2, &[0, 1]));
    let (pulled, _) = explore(&mut client, &[0.5, 0.4]);
    for arm in 0..2 {
        let factor = (0.5 * own[arm].sqrt() + 0.5 * roots[arm]) / own[arm].sqrt();
        let expected = (0.5 * 1000.0 * factor).ceil() + (2.0 * 0.5 * 1000.0 * factor).ceil();
        assert_eq!(pulled.iter().filter(|pull| **pull == arm as u32).count() as f64, expected);
    }
}

#[test]
fn appendix_a_equal_gaps_give_the_lengths_of_section_4() {
    let params = json!({ "schedule": 10, "personalization": 0.5 });
    let (mut client, sent) = first_phase(params, &[0.5, 0.5], &[0.5, 0.5]);
    let roots: Vec<f64> = gaps(&sent).iter().map(|gap| gap.sqrt()).collect();
    tell(&mut client, means(2, &[0, 1], &roots));
    tell(&mut client, active(2, &[0, 1]));
    assert_eq!(explore(&mut client, &[0.5; 2]).0.len(), 2 * (5 + 10));
}

#[test]
fn section_6_the_authors_code_pulls_every_arm_at_least_once() {
    // alpha = 1 leaves nothing to explore for others; their code explores once all the same.
    let setting = setting(2, 3, 1000);
    for (fidelity, pulls) in [("paper", 3 * 4), ("authors", 3 * 4 + 3)] {
        let params = json!({ "schedule": 2, "personalization": 1.0, "fidelity": fidelity });
        let mut client = client(&valid_enhanced(params, &setting), &setting, 0);
        assert_eq!(explore(&mut client, &[0.0; 3]).0.len(), pulls, "{fidelity}");
    }
}

#[test]
fn an_active_set_without_its_gaps_is_refused() {
    let (mut client, _) = first_phase(json!({ "schedule": 10 }), &[0.5; 3], &[0.5; 3]);
    let refuse = |client: &mut Client, message: ArmMsg| {
        step(client, 1, |c, cx| assert!(c.on_message(NodeId::SERVER, message, cx).is_err()))
    };
    refuse(&mut client, active(2, &[0, 1, 2]));
    refuse(&mut client, means(2, &[0, 1, 2], &[0.5, 0.0, 0.5]));
    refuse(&mut client, means(1, &[0, 1, 2], &[0.5; 3]));
    tell(&mut client, means(2, &[0, 1, 2], &[0.5; 3]));
    refuse(&mut client, means(2, &[0, 1, 2], &[0.5; 3]));
    tell(&mut client, active(2, &[0, 1, 2]));
}
