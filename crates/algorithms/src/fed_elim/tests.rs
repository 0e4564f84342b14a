//! What the paper says, checked on scripted inputs.

use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, Cx, Fact, Keys, Learner, Machine, Membership, NodeId, Seating, Setting,
    Tick, UserId, snapshot,
};
use serde_json::{Value, json};

use super::rules::Rules;
use super::{Client, FOUND, FedElim, Server, Valid};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, Pull};
use crate::testing::{released, step};

fn setting(clients: usize, arms: usize) -> Setting {
    Setting::k_armed(clients, arms).with_horizon(100_000).with_reward_noise(1.0)
}

fn valid(params: Value, setting: &Setting) -> Valid {
    FedElim::check(serde_json::from_value(params).unwrap(), setting).unwrap()
}

fn client(params: Value, clients: usize, arms: usize) -> Client {
    let setting = setting(clients, arms);
    FedElim::client(&valid(params, &setting), &Seating::PerUser.seat(&setting, NodeId(0)))
}

fn server(params: Value, clients: usize, arms: usize) -> Server {
    let setting = setting(clients, arms);
    FedElim::server(&valid(params, &setting), &Seating::PerUser.seat(&setting, NodeId::SERVER))
}

fn decide(client: &mut Client, arms: usize) -> Pull {
    let mut rng = Keys::from_seed(0).choice(NodeId(0), 1);
    let pending = client.choose(UserId(0), ArmSet::plain(arms).unwrap(), &mut rng).pending;
    step(client, 1, |c, cx| c.commit(&pending, cx));
    pending
}

fn pull(client: &mut Client, means: &[f64]) -> (u32, Vec<(NodeId, ArmMsg)>) {
    let pending = decide(client, means.len());
    (pending.arm.0, step(client, 1, |c, cx| c.observe(pending, means[pending.arm.index()], cx)))
}

/// Pulls until something is sent.
fn explore(client: &mut Client, means: &[f64]) -> (Vec<u32>, Vec<ArmMsg>) {
    let mut pulled = Vec::new();
    loop {
        let (arm, sent) = pull(client, means);
        pulled.push(arm);
        if !sent.is_empty() {
            return (pulled, sent.into_iter().map(|(_, message)| message).collect());
        }
        assert!(pulled.len() < 100_000, "nothing is ever sent");
    }
}

fn arms(arms: &[u32]) -> Vec<ArmIndex> {
    arms.iter().map(|arm| ArmIndex(*arm)).collect()
}

fn left(round: u64, of: &[u32]) -> ArmMsg {
    ArmMsg::DownloadActive(ActiveArms { phase: round, arms: arms(of) }.into())
}

fn tell(client: &mut Client, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn means(round: u64, of: &[u32], values: &[f64]) -> ArmMsg {
    ArmMsg::Upload { number: round, values: released(ArmValues::new(round, arms(of), values.to_vec())) }
}

fn found() -> ArmMsg {
    ArmMsg::Signal { signal: FOUND, phase: 1 }
}

fn say(server: &mut Server, now: Tick, from: u32, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn rules(clients: usize, arms: usize, delta: f64) -> Rules {
    valid(json!({ "failure_prob": delta }), &setting(clients, arms)).rules
}

#[test]
fn the_bounds_are_the_papers() {
    let rules = rules(3, 4, 0.1);
    // sqrt(2 ln(8 K M n^2 / delta) / n) and sqrt(2 ln(8 K n^2 / delta) / (M n)), worked out elsewhere.
    for (n, local, global) in [
        (1, 3.705_923_173_640_242, 1.961_006_713_534_959),
        (100, 0.567_049_797_750_393, 0.316_002_757_031_960),
    ] {
        assert!((rules.local_bound(n) - local).abs() < 1e-12);
        assert!((rules.global_bound(n, 3) - global).abs() < 1e-12);
    }
}

/// All bounds hold at once, of all clients, arms and n, but for a probability of at most delta.
#[test]
fn the_union_bound_adds_up_to_less_than_delta() {
    for (clients, arms, delta) in [(3, 4, 0.1), (50, 2, 0.9), (1, 100, 1e-6)] {
        let rules = rules(clients, arms, delta);
        let tail = |n: f64, bound: f64| 2.0 * libm::exp(-n * bound * bound / 2.0);
        let (m, k) = (clients as f64, arms as f64);
        let all: f64 = (1..100_000u64)
            .map(|n| {
                let local = m * k * tail(n as f64, rules.local_bound(n));
                local + k * tail(m * n as f64, rules.global_bound(n, clients))
            })
            .sum();
        assert!(all < delta && all > 0.8 * delta, "{all} of {delta}");
    }
}

#[test]
fn arms_more_than_two_bounds_below_the_best_are_given_up() {
    let kept = |means: &[f64]| Rules::keep(&arms(&[1, 4, 7]), means, 0.25);
    assert_eq!(kept(&[1.0, 0.5, 0.499]), arms(&[1, 4]));
    assert_eq!(kept(&[0.0, 9.0, 8.6]), arms(&[4, 7]));
    assert_eq!(kept(&[-3.0, -3.0, -3.0]), arms(&[1, 4, 7]));
}

#[test]
fn means_are_sent_after_1_2_4_8_pulls_of_each_arm_or_after_every_h() {
    for (communicate, expected) in
        [(json!("2^t"), [1, 2, 4, 8, 16]), (json!(3), [3, 6, 9, 12, 15]), (json!(1), [1, 2, 3, 4, 5])]
    {
        let mut client = client(json!({ "communicate": communicate }), 2, 3);
        let mut steps = Vec::new();
        for round in 1..=5 {
            let sent = explore(&mut client, &[0.5, 0.25, 1.0]).1;
            let [ArmMsg::Upload { number, values }] = &sent[..] else { panic!("{sent:?}") };
            assert_eq!(
                (*number, values.get()),
                (round, &ArmValues::new(round, arms(&[0, 1, 2]), vec![0.5, 0.25, 1.0]))
            );
            steps.push(client.steps());
            tell(&mut client, left(round + 1, &[0, 1, 2]));
        }
        assert_eq!(steps, expected);
    }
}

#[test]
fn every_step_pulls_each_arm_once_that_is_in_question_for_itself_or_for_all() {
    let mut client = client(json!({ "reward_noise": 0.01 }), 2, 4);
    // Arm 2 is best by far: found after the first step, and not told.
    let (pulled, sent) = explore(&mut client, &[0.0, 0.1, 1.0, 0.2]);
    assert_eq!(pulled, [0, 1, 2, 3]);
    assert!(
        matches!(sent[..], [ArmMsg::Signal { signal: FOUND, phase: 1 }, ArmMsg::Upload { .. }]),
        "{sent:?}"
    );
    assert_eq!((client.local_best(), client.global_best()), (Some(ArmIndex(2)), None));
    // It waits with its best arm, and what that pays is no statistic.
    assert!(client.waits());
    assert_eq!(pull(&mut client, &[0.0, 0.0, -9.0, 0.0]).0, 2);
    // The others still ask for arms 1 and 3; its own is found, and is not in question.
    assert!(tell(&mut client, left(2, &[1, 3])).is_empty());
    let (pulled, sent) = explore(&mut client, &[0.0, 0.1, 1.0, 0.2]);
    assert_eq!(pulled, [1, 3]);
    let [ArmMsg::Upload { number: 2, values }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(values.get().values, [0.1, 0.2]);
    tell(&mut client, left(3, &[3]));
    assert_eq!(
        (client.global_best(), client.plan()),
        (Some(ArmIndex(3)), Some(&[(ArmIndex(2), u64::MAX)][..]))
    );
}

#[test]
fn a_client_that_is_told_the_global_arm_goes_on_for_itself() {
    let mut client = client(json!({ "play": "global" }), 2, 3);
    explore(&mut client, &[0.0; 3]);
    tell(&mut client, left(2, &[1]));
    let pulled: Vec<u32> = (0..6).map(|_| pull(&mut client, &[0.0; 3]).0).collect();
    assert_eq!(pulled, [0, 1, 2, 0, 1, 2]);
    // Until it can tell its own arms apart, and then plays what is best for all.
    let (pulled, sent) = explore(&mut client, &[0.0, 0.0, 40.0]);
    assert_eq!((pulled.len(), sent.len()), (3, 1), "two bounds at n = 4: {sent:?}");
    assert_eq!(client.plan(), Some(&[(ArmIndex(1), u64::MAX)][..]));
}

#[test]
fn an_abandoned_pull_returns_to_its_step() {
    let mut client = client(json!({}), 2, 3);
    let lost = decide(&mut client, 3);
    pull(&mut client, &[1.0; 3]);
    assert!(pull(&mut client, &[1.0; 3]).1.is_empty(), "one reward is missing");
    assert!(!decide(&mut client, 3).exploring);
    step(&mut client, 1, |c, cx| c.abandon(lost, cx));
    assert_eq!(client.plan(), Some(&[(ArmIndex(0), 1)][..]));
    assert_eq!(explore(&mut client, &[1.0; 3]).0, [0]);
}

/// Late, and narrowed in the middle of a step: what is left is pulled as often as everywhere.
#[test]
fn a_late_client_goes_on_from_where_it_is_with_the_arms_that_are_left() {
    let mut client = client(json!({ "deadline": 5 }), 2, 3);
    pull(&mut client, &[1.0, 2.0, 3.0]);
    tell(&mut client, left(4, &[1, 2]));
    // It is in question for itself still: all three, until its own bounds say otherwise.
    let (pulled, sent) = explore(&mut client, &[1.0, 2.0, 3.0]);
    assert_eq!((pulled.len(), client.steps()), (23, 8), "the rest of 8 steps of 3");
    let [ArmMsg::Upload { number: 4, values }] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(*values.get(), ArmValues::new(4, arms(&[1, 2]), vec![2.0, 3.0]));
}

#[test]
fn what_the_server_would_not_say_is_refused() {
    let mut client = client(json!({}), 2, 3);
    let refuse = |client: &mut Client, from: NodeId, message: ArmMsg| {
        let before = snapshot::save(client);
        step(client, 1, |c, cx| assert!(c.on_message(from, message, cx).is_err()));
        assert!(snapshot::save(client) == before);
    };
    refuse(&mut client, NodeId::SERVER, left(1, &[0, 1]));
    explore(&mut client, &[0.0; 3]);
    refuse(&mut client, NodeId(1), left(2, &[0, 1]));
    refuse(&mut client, NodeId::SERVER, left(2, &[]));
    refuse(&mut client, NodeId::SERVER, left(2, &[0, 3]));
    refuse(&mut client, NodeId::SERVER, means(1, &[0, 1, 2], &[0.0; 3]));
    tell(&mut client, left(2, &[0, 1]));
    refuse(&mut client, NodeId::SERVER, left(4, &[0, 1]));
    explore(&mut client, &[0.0; 3]);
    refuse(&mut client, NodeId::SERVER, left(3, &[0, 2]));
    tell(&mut client, left(3, &[0]));
    refuse(&mut client, NodeId::SERVER, left(4, &[0]));
}

#[test]
fn the_server_averages_in_node_order_and_gives_up_what_is_too_far_behind() {
    // Noise so small that the bounds are 0.0098 (n = 1) for two clients.
    let mut server = server(json!({ "reward_noise": 0.003 }), 2, 3);
    assert!(say(&mut server, 1, 1, means(1, &[0, 1, 2], &[0.0, 1.0, 0.5])).is_empty());
    let sent = say(&mut server, 2, 0, means(1, &[0, 1, 2], &[1.0, 0.0, 0.49]));
    let told: Vec<String> = sent.iter().map(|(to, message)| format!("{to} {message:?}")).collect();
    let [(NodeId(0), ArmMsg::DownloadActive(next)), (NodeId(1), _)] = &sent[..] else { panic!("{told:?}") };
    assert_eq!((next.phase, &next.arms), (2, &arms(&[0, 1, 2])), "averages 0.5, 0.5, 0.495");
    assert_eq!(server.observations(), Some(6));
    say(&mut server, 3, 0, means(2, &[0, 1, 2], &[1.0, 0.0, 0.4]));
    say(&mut server, 3, 1, means(2, &[0, 1, 2], &[0.0, 1.1, 0.4]));
    assert_eq!(server.active(), arms(&[1]));
    let known = server.learnt(1).0.remove(0);
    assert_eq!(known.arms[1].mean.unwrap().value, 0.55);
    assert_eq!((known.observations, known.arms.iter().filter(|arm| arm.active).count()), (Some(12), 1));
}

fn levels(
    server: &mut Server,
    now: Tick,
    input: impl FnOnce(&mut Server, &mut Cx<'_, ArmMsg>),
) -> Vec<(String, f64)> {
    let ((), effects) = Cx::rehearse(NodeId::SERVER, now, |cx| input(server, cx));
    let level = |fact: Fact| match fact {
        Fact::Level(name, value) => Some((name.into_owned(), value)),
        _ => None,
    };
    effects.facts.into_iter().filter_map(level).collect()
}

#[test]
fn it_is_settled_since_the_tick_at_which_the_last_answer_was_found() {
    let level = |name: &str, value: f64| (name.to_string(), value);
    let mut server = server(json!({ "reward_noise": 1e-6 }), 2, 2);
    say(&mut server, 3, 0, found());
    say(&mut server, 4, 0, means(1, &[0, 1], &[0.0, 1.0]));
    say(&mut server, 5, 1, means(1, &[0, 1], &[0.0, 1.0]));
    assert_eq!((server.active(), server.settled()), (&arms(&[1])[..], None));
    let said = levels(&mut server, 9, |s, cx| s.on_message(NodeId(1), found(), cx).unwrap());
    assert_eq!(said, [level("global_best", 1.0), level("settled_at", 9.0), level("settled", 1.0)]);
    assert_eq!(server.settled(), Some(9));
    // Who comes back anew has to find its own arm again, and is told the one that is found.
    levels(&mut server, 10, |s, cx| s.on_membership(Membership::Left(NodeId(0)), cx));
    assert_eq!(server.settled(), Some(9), "nothing is left to find");
    let sent = step(&mut server, 11, |s, cx| s.on_membership(Membership::Joined(NodeId(0)), cx));
    assert_eq!((sent.len(), server.settled()), (1, None));
    say(&mut server, 20, 0, found());
    assert_eq!(server.settled(), Some(20));
}

#[test]
fn a_round_goes_on_at_its_deadline_with_a_bound_for_those_who_answered() {
    let mut server = server(json!({ "deadline": 5, "quorum": 0.5, "reward_noise": 0.1 }), 3, 2);
    let radius = |server: &Server| server.learnt(1).0[0].arms[0].mean.unwrap().radius.unwrap();
    let bound = rules(3, 2, 0.05);
    say(&mut server, 10, 0, means(1, &[0, 1], &[0.5, 0.5]));
    say(&mut server, 11, 2, means(1, &[0, 1], &[0.5, 0.5]));
    assert!(step(&mut server, 14, |s, cx| s.on_wake(cx)).is_empty());
    assert_eq!(step(&mut server, 15, |s, cx| s.on_wake(cx)).len(), 3, "the late one is told too");
    assert!((radius(&server) - 0.1 * bound.global_bound(1, 2)).abs() < 1e-12);
    assert!(say(&mut server, 16, 1, means(1, &[0, 1], &[0.5, 0.5])).is_empty(), "too late");
    (0..3).for_each(|client| drop(say(&mut server, 17, client, means(2, &[0, 1], &[0.5, 0.5]))));
    assert!((radius(&server) - 0.1 * bound.global_bound(2, 3)).abs() < 1e-12);
}

#[test]
fn one_that_leaves_is_not_waited_for_and_one_that_comes_back_is() {
    let mut server = server(json!({ "reward_noise": 0.1 }), 2, 2);
    say(&mut server, 1, 0, means(1, &[0, 1], &[0.5, 0.5]));
    assert_eq!(server.waiting_for(), [NodeId(1)]);
    let sent = step(&mut server, 2, |s, cx| s.on_membership(Membership::Left(NodeId(1)), cx));
    assert!(matches!(sent[..], [(NodeId(0), ArmMsg::DownloadActive(_))]));
    let sent = step(&mut server, 3, |s, cx| s.on_membership(Membership::Joined(NodeId(1)), cx));
    assert!(matches!(sent[..], [(NodeId(1), ArmMsg::DownloadActive(_))]), "where the others are");
    assert_eq!(server.waiting_for(), [NodeId(0), NodeId(1)]);
    let mut fresh = client(json!({}), 2, 2);
    tell(&mut fresh, sent[0].1.clone());
    assert!(matches!(explore(&mut fresh, &[0.5; 2]).1[..], [ArmMsg::Upload { number: 2, .. }]));
    assert_eq!(fresh.steps(), 2);
}

#[test]
fn parameters_that_cannot_be_meant_are_refused_and_the_key_is_named() {
    let problem = |params: Value| match serde_json::from_value(params) {
        Ok(params) => FedElim::check(params, &setting(2, 2)).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(problem(json!({ "failure_prob": 0.0 })).starts_with("failure_prob: "));
    assert!(problem(json!({ "failure_prob": 1.0 })).starts_with("failure_prob: "));
    assert!(problem(json!({ "communicate": 0 })).starts_with("communicate: "));
    assert!(problem(json!({ "communicate": "3^t" })).starts_with("communicate: "));
    assert!(problem(json!({ "communicate": -1 })).contains("communicate must be"));
    assert!(problem(json!({ "communication_cost": -1.0 })).starts_with("communication_cost: "));
    assert!(problem(json!({ "reward_noise": -1.0 })).starts_with("reward_noise: "));
    assert!(problem(json!({ "quorum": 0.5 })).starts_with("quorum: "));
}
