//! Algorithm 1.

use cahoots_core::{Learner, NodeId, snapshot};
use serde_json::json;

use super::super::{ASK, READY};
use super::*;

/// Two clients, three arms, f(p) = 2: one global and two local pulls of each arm.
fn short(more: Value) -> (Setting, Client) {
    let mut params = json!({ "schedule": 2, "personalization": 0.5 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let setting = setting(2, 3, 1000);
    let client = client(&valid(params, &setting), &setting, 0);
    (setting, client)
}

#[test]
fn alg1_lines_3_to_12_global_then_local_exploration_round_robin() {
    let (_, mut client) = short(json!({}));
    assert_eq!(explore(&mut client, &[0.0; 3]).0, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn alg1_lines_3_to_12_arm_by_arm_in_the_authors_code() {
    let (_, mut client) = short(json!({ "fidelity": "authors" }));
    assert_eq!(explore(&mut client, &[0.0; 3]).0, [0, 1, 2, 0, 0, 1, 1, 2, 2]);
}

#[test]
fn alg1_at_both_ends_of_alpha_one_exploration_is_left_out() {
    let setting = setting(2, 3, 1000);
    for (alpha, pulls) in [(0.0, 3 * 2), (1.0, 3 * 4)] {
        let params = json!({ "schedule": 2, "personalization": alpha });
        let mut client = client(&valid(params, &setting), &setting, 0);
        assert_eq!(explore(&mut client, &[0.0; 3]).0.len(), pulls, "alpha = {alpha}");
    }
}

#[test]
fn section_4_2_lengths_of_the_printed_game() {
    // f(1) = 2 ln 10^6 = 27.63: ceil(0.5 f) = 14 global and ceil(4 * 0.5 f) = 56 local pulls of 9 arms.
    let setting = setting(4, 9, 1_000_000);
    let mut client = client(&valid(json!({}), &setting), &setting, 0);
    assert_eq!(explore(&mut client, &[0.0; 9]).0.len(), 9 * (14 + 56));
}

#[test]
fn alg1_line_14_sends_the_means_of_all_active_arms_without_pulls() {
    let (_, mut client) = short(json!({}));
    let (_, sent) = explore(&mut client, &[0.5, -0.25, 1.0]);
    let [(NodeId::SERVER, ArmMsg::Upload { number: 1, values })] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(*values.get(), ArmValues::new(1, arms(&[0, 1, 2]), vec![0.5, -0.25, 1.0]));
}

#[test]
fn alg1_line_16_waits_on_the_best_active_arm_of_the_previous_phase() {
    let (_, mut client) = short(json!({ "reward_noise": 0.1 }));
    explore(&mut client, &[0.0, 1.0, 0.5]);
    // First phase: nothing but own means.
    assert_eq!(pull(&mut client, &[9.0; 3]).0, 1);
    // Mixed means 0.5, 1, 0.75: nothing is more than 2 B_1 = 0.2 sqrt(4 ln 1000 / 4) = 0.53 away.
    assert_eq!(reduced(&tell(&mut client, means(1, &[0, 1, 2], &[1.0, 1.0, 1.0]))), [0, 1, 2]);
    tell(&mut client, active(2, &[0, 1, 2]));
    // Whatever phase 2 shows, and whatever waiting pays, the arm is the best of phase 1.
    explore(&mut client, &[7.0, 0.0, 0.0]);
    assert_eq!(client.plan(), Some(&[(ArmIndex(1), u64::MAX)][..]));
    for _ in 0..3 {
        assert_eq!(pull(&mut client, &[0.0, -9.0, 0.0]).0, 1);
    }
}

#[test]
fn alg1_line_16_in_the_authors_code_the_newest_means_of_all_arms_decide() {
    let (_, mut client) = short(json!({ "fidelity": "authors" }));
    explore(&mut client, &[0.0, 1.0, 0.9]);
    assert_eq!(client.plan(), None, "it changes with every reward");
    // 3 pulls of mean 1 and one of -3: mean 0, and arm 2 leads.
    assert_eq!(pull(&mut client, &[0.0, -3.0, 0.0]).0, 1);
    assert_eq!(pull(&mut client, &[0.0, 0.0, 0.9]).0, 2);
}

#[test]
fn alg1_waiting_pulls_are_no_statistics_but_in_the_authors_code() {
    let (_, mut paper) = short(json!({}));
    let (_, sent) = explore(&mut paper, &[0.0, 1.0, 0.0]);
    let before = format!("{sent:?}");
    pull(&mut paper, &[5.0; 3]);
    tell(&mut paper, means(1, &[0, 1, 2], &[0.0; 3]));
    tell(&mut paper, active(2, &[0, 1, 2]));
    // Phase 2 pays the same, so the means stay the same but for the phase.
    let after = format!("{:?}", explore(&mut paper, &[0.0, 1.0, 0.0]).1);
    let shape = |text: &str| text.replace("number: 3", "number: 1").replace("phase: 2", "phase: 1");
    assert_eq!(shape(&after), shape(&before));

    let (_, mut authors) = short(json!({ "fidelity": "authors" }));
    let (_, sent) = explore(&mut authors, &[0.0, 1.0, 0.0]);
    assert!(matches!(sent[..], [(NodeId::SERVER, ArmMsg::Signal { signal: READY, phase: 1 })]));
    pull(&mut authors, &[5.0; 3]);
    let sent = tell(&mut authors, ArmMsg::Signal { signal: ASK, phase: 1 });
    let [(NodeId::SERVER, ArmMsg::Upload { values, .. })] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(values.get().values, [0.0, 2.0, 0.0], "(3 * 1 + 5) / 4");
}

#[test]
fn eq_8_eliminates_what_is_two_bounds_below_the_best_active_arm() {
    // M F(1) = 4 and 4 sigma^2 ln T = 1 make B_1 = 1/2 (up to rounding): gaps of 1 and more go.
    let setting = setting(2, 4, 1000);
    let noise = (1.0 / (4.0 * libm::log(1000.0))).sqrt();
    let params = json!({ "schedule": 2, "personalization": 1.0, "reward_noise": noise });
    for (own, left) in [
        ([2.0, 1.001, 0.999, 2.0], vec![0, 1, 3]),
        ([2.0, 0.9, 0.0, 1.5], vec![0, 3]),
        ([0.5; 4], vec![0, 1, 2, 3]),
    ] {
        let mut client = client(&valid(params.clone(), &setting), &setting, 0);
        explore(&mut client, &own);
        assert_eq!(reduced(&tell(&mut client, means(1, &[0, 1, 2, 3], &[0.0; 4]))), left);
    }
}

#[test]
fn eq_8_in_the_authors_code_looks_at_eliminated_arms_too() {
    let setting = setting(2, 3, 1000);
    let noise = (1.0 / libm::log(1000.0)).sqrt();
    let params =
        json!({ "schedule": 2, "personalization": 0.0, "fidelity": "authors", "reward_noise": noise });
    let mut client = client(&valid(params, &setting), &setting, 0);
    let phase = |client: &mut Client, phase: u64, global: [f64; 3]| {
        explore(client, &[0.0; 3]);
        tell(client, ArmMsg::Signal { signal: ASK, phase });
        reduced(&tell(client, means(phase, &[0, 1, 2], &global)))
    };
    // B_1 = 1/2, B_2 = 0.35.
    assert_eq!(phase(&mut client, 1, [3.0, 2.9, 0.0]), [0, 1]);
    tell(&mut client, active(2, &[0, 1]));
    assert_eq!(phase(&mut client, 2, [0.0, 0.0, 9.0]), [] as [u32; 0], "an arm that was given up is best");
    assert_eq!(client.fixed(), None);
    tell(&mut client, active(3, &[]));
    assert_eq!(client.plan(), Some(&[(ArmIndex(2), u64::MAX)][..]), "it plays its best arm for good");
}

#[test]
fn alg1_line_20_mixes_own_and_global_means() {
    let (_, mut client) = short(json!({ "personalization": 0.25, "reward_noise": 1e-3 }));
    explore(&mut client, &[1.0, 0.0, 0.5]);
    // 0.25 * (1, 0, 0.5) + 0.75 * (0, 1, 0.7): the second arm is best by far.
    assert_eq!(reduced(&tell(&mut client, means(1, &[0, 1, 2], &[0.0, 1.0, 0.7]))), [] as [u32; 0]);
    assert_eq!(client.fixed(), Some(ArmIndex(1)));
}

#[test]
fn alg1_line_24_a_single_arm_is_fixed_and_the_client_helps_on() {
    let (_, mut client) = short(json!({ "reward_noise": 1e-3 }));
    explore(&mut client, &[0.0, 0.0, 1.0]);
    assert_eq!(reduced(&tell(&mut client, means(1, &[0, 1, 2], &[0.0, 0.0, 1.0]))), [] as [u32; 0]);
    assert_eq!((client.fixed(), client.active()), (Some(ArmIndex(2)), &[][..]));
    // Others still need arms 0 and 1: global exploration of these, and no local one.
    tell(&mut client, active(2, &[0, 1]));
    let (pulled, sent) = explore(&mut client, &[0.0; 3]);
    assert_eq!(pulled, [0, 1]);
    let [(_, ArmMsg::Upload { number: 3, values })] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(values.get().arms, arms(&[0, 1]));
    assert_eq!(pull(&mut client, &[0.0; 3]).0, 2, "line 17");
}

#[test]
fn alg1_line_30_all_settled_is_a_plan_without_end() {
    let (_, mut client) = short(json!({ "reward_noise": 1e-3 }));
    explore(&mut client, &[0.0, 1.0, 0.0]);
    tell(&mut client, means(1, &[0, 1, 2], &[0.0, 1.0, 0.0]));
    assert!(tell(&mut client, active(2, &[])).is_empty());
    assert_eq!(client.plan(), Some(&[(ArmIndex(1), u64::MAX)][..]));
    for _ in 0..100 {
        let (arm, sent) = pull(&mut client, &[0.0; 3]);
        assert_eq!((arm, sent.len()), (1, 0));
    }
}

#[test]
fn a_phase_without_pulls_is_reported_at_once() {
    // alpha = 1: a client with a fixed arm has nothing to explore for others.
    let (_, mut client) = short(json!({ "personalization": 1.0, "reward_noise": 1e-3 }));
    explore(&mut client, &[0.0, 1.0, 0.0]);
    tell(&mut client, means(1, &[0, 1, 2], &[0.0; 3]));
    let sent = tell(&mut client, active(2, &[0, 2]));
    assert!(matches!(sent[..], [(NodeId::SERVER, ArmMsg::Upload { number: 3, .. })]), "{sent:?}");
}

#[test]
fn an_abandoned_pull_returns_to_its_schedule_and_the_phase_waits_for_it() {
    let (_, mut client) = short(json!({}));
    let (arm, lost) = decide(&mut client, 3);
    assert_eq!(arm, ArmIndex(0));
    let (_, late) = decide(&mut client, 3);
    for _ in 0..7 {
        assert!(pull(&mut client, &[1.0; 3]).1.is_empty());
    }
    // Nothing is left to explore, but two rewards are missing: exploit.
    assert!(!decide(&mut client, 3).1.exploring);
    assert!(step(&mut client, 1, |c, cx| c.abandon(lost, cx)).is_empty());
    assert_eq!(client.plan(), Some(&[(ArmIndex(0), 1)][..]));
    assert_eq!(pull(&mut client, &[1.0; 3]).0, 0);
    let sent = step(&mut client, 1, |c, cx| c.observe(late, 1.0, cx));
    assert!(matches!(sent[..], [(NodeId::SERVER, ArmMsg::Upload { .. })]), "the last reward ends the phase");
}

#[test]
fn a_block_of_planned_pulls_is_the_same_as_its_single_pulls() {
    for fidelity in ["paper", "authors"] {
        let (_, mut single) = short(json!({ "schedule": 20, "fidelity": fidelity }));
        let mut block = single.clone();
        let rewards = [0.5, 0.25, 1.0];
        while block.plan().is_some_and(|plan| cahoots_core::plan::total(plan) < u64::MAX) {
            let plan = block.plan().unwrap();
            let pulls = (cahoots_core::plan::total(plan) - 1).clamp(1, 7);
            let split = cahoots_core::plan::split(plan, pulls);
            let sums: Vec<_> = split.iter().map(|&(a, n)| (a, n, n as f64 * rewards[a.index()])).collect();
            step(&mut block, 1, |c, cx| c.observe_block(&sums, cx));
            (0..pulls).for_each(|_| drop(pull(&mut single, &rewards)));
            assert!(snapshot::save(&single) == snapshot::save(&block), "{fidelity}");
        }
    }
}

#[test]
fn what_the_server_would_not_say_is_refused() {
    let (_, mut client) = short(json!({}));
    let refuse = |client: &mut Client, from: NodeId, message: ArmMsg| {
        let before = snapshot::save(client);
        let sent = step(client, 1, |c, cx| assert!(c.on_message(from, message, cx).is_err()));
        assert!(sent.is_empty() && snapshot::save(client) == before);
    };
    refuse(&mut client, NodeId::SERVER, means(1, &[0, 1, 2], &[0.0; 3]));
    explore(&mut client, &[0.0; 3]);
    refuse(&mut client, NodeId(1), means(1, &[0, 1, 2], &[0.0; 3]));
    refuse(&mut client, NodeId::SERVER, means(2, &[0, 1, 2], &[0.0; 3]));
    refuse(&mut client, NodeId::SERVER, means(1, &[0, 1], &[0.0; 2]));
    refuse(&mut client, NodeId::SERVER, active(1, &[0, 1, 2]));
    refuse(&mut client, NodeId::SERVER, active(2, &[0, 1, 2, 3]));
    tell(&mut client, means(1, &[0, 1, 2], &[0.0; 3]));
    refuse(&mut client, NodeId::SERVER, active(2, &[0, 1]));
    refuse(&mut client, NodeId::SERVER, active(3, &[0, 1, 2]));
    refuse(&mut client, NodeId::SERVER, active(2, &[0, 1, 2, 3]));
    refuse(&mut client, NodeId::SERVER, means(2, &[0, 1, 2], &[1.0; 3]));
    tell(&mut client, active(2, &[0, 1, 2]));
}
