//! What the papers say, checked on small federations with scripted inputs; propensities against frequencies.

use std::collections::VecDeque;

use cahoots_core::{
    Algorithm, ArmBuffer, ArmSet, Keys, Learner, LinearStats, Machine, Membership, NodeId, Prior, Ruling,
    Seat, Seating, Setting, Tiles, UserId, View,
};
use serde_json::json;

use super::rules::{Epochs, Gamma};
use super::{Client, FedIgw, Server, Taken, Valid};
use crate::kit::linear::{LinearMsg, Signal};
use crate::testing::{released, step};

const DIM: usize = 3;
const ARMS: usize = 4;

fn setting() -> Setting {
    Setting::linear(3, DIM, ARMS).with_horizon(100)
}

fn valid(params: serde_json::Value) -> Valid {
    FedIgw::check(serde_json::from_value(params).unwrap(), &setting()).unwrap()
}

fn client(valid: &Valid, id: u32) -> Client {
    FedIgw::client(valid, &Seating::PerUser.seat(&setting(), NodeId(id)))
}

fn server(valid: &Valid, joined: u32) -> Server {
    let mut server = FedIgw::server(valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    (0..joined).for_each(|id| assert!(join(&mut server, id).is_empty()));
    server
}

fn join(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Joined(NodeId(id)), cx))
}

fn leave(server: &mut Server, id: u32) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_membership(Membership::Left(NodeId(id)), cx))
}

fn say(server: &mut Server, from: u32, now: u64, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn take(client: &mut Client, message: LinearMsg) -> Vec<(NodeId, LinearMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn over(epoch: u64) -> LinearMsg {
    LinearMsg::signal(Signal::Request, epoch)
}

fn stats(x: [f64; DIM], reward: f64, times: u32) -> LinearStats {
    let mut stats = LinearStats::empty(DIM);
    (0..times).for_each(|_| stats.observe(&x, reward));
    stats
}

fn upload(number: u64, stats: LinearStats) -> LinearMsg {
    LinearMsg::Upload { number, stats: released(stats) }
}

/// A model of so many observations, by which arms along the first axis pay more.
fn model(version: u64, observations: u32) -> LinearMsg {
    LinearMsg::Download { view: View::new(version, stats([0.6, 0.3, 0.1], 0.7, observations)), merged: 0 }
}

fn observe(client: &mut Client, epoch: u64, x: [f64; DIM], reward: f64) -> Vec<(NodeId, LinearMsg)> {
    let taken = Taken { context: x.as_slice().into(), epoch };
    step(client, 1, |c, cx| c.observe(taken, reward, cx))
}

/// What was sent, in short: `Ask 1`, `view of 4`, `Phase 2`.
fn short(sent: &[(NodeId, LinearMsg)]) -> Vec<(u32, String)> {
    let words = |message: &LinearMsg| match message {
        LinearMsg::Signal { signal, number } => format!("{signal:?} {number}"),
        LinearMsg::Download { view, .. } => format!("view of {}", view.stats().count),
        LinearMsg::Upload { stats, .. } => format!("upload of {}", stats.get().count),
        other => format!("{other:?}"),
    };
    sent.iter().map(|(to, message)| (to.0, words(message))).collect()
}

fn to_all(clients: &[u32], words: &[&str]) -> Vec<(u32, String)> {
    clients.iter().flat_map(|&client| words.iter().map(move |word| (client, (*word).to_owned()))).collect()
}

fn arms() -> Tiles {
    let mut arms = Tiles::new(DIM);
    [[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]
        .iter()
        .for_each(|arm| arms.push(arm));
    arms
}

/// A client in the second epoch, by a model of so many observations.
fn in_second_epoch(params: serde_json::Value, observations: u32) -> Client {
    let mut client = client(&valid(params), 0);
    take(&mut client, model(1, observations));
    take(&mut client, LinearMsg::signal(Signal::Phase, 2));
    client
}

#[test]
fn falcon_epochs_double_and_those_of_the_authors_stop_at_4096() {
    let lengths = |epochs: Epochs, to: u64| (1..=to).map(|epoch| epochs.length(epoch)).collect::<Vec<_>>();
    assert_eq!(lengths(valid(json!({})).epochs, 6), [2, 4, 8, 16, 32, 64]);
    let authors = valid(json!({ "fidelity": "authors" })).epochs;
    assert_eq!(lengths(authors, 14)[..4], [1, 2, 4, 8]);
    assert_eq!((authors.length(13), authors.length(14), authors.length(900)), (4096, 4096, 4096));
    let own = valid(json!({ "first_epoch": 3, "longest_epoch": 20 })).epochs;
    assert_eq!(lengths(own, 5), [3, 6, 12, 20, 20]);
    assert_eq!(valid(json!({})).epochs.length(200), u64::MAX, "it does not wrap");
}

#[test]
fn falcon_plus_gamma_is_the_weight_times_the_root_of_arms_over_the_error_of_the_epochs_model() {
    let gamma = valid(json!({ "failure_prob": 0.05, "reward_noise": 0.2 })).gamma;
    assert_eq!(gamma.of(1, 0, ARMS), 1.0);
    for (epoch, n, arms) in [(2, 6u64, 4usize), (5, 96, 4), (5, 96, 3), (11, 6144, 25)] {
        let logarithm = (2.0 * (epoch * epoch) as f64 / 0.05).ln();
        let expected = 0.5 * (arms as f64 * n as f64 / (0.04 * (DIM as f64 + logarithm))).sqrt();
        let found = gamma.of(epoch, n, arms);
        assert!((found / expected - 1.0).abs() < 1e-12, "{epoch} {n} {arms}: {found} against {expected}");
    }
    // sqrt(2) times gamma with every doubling, but for the logarithm.
    let growth = gamma.of(9, 2048, ARMS) / gamma.of(9, 1024, ARMS);
    assert!((growth - 2f64.sqrt()).abs() < 1e-12, "{growth}");
    let twice = valid(json!({ "failure_prob": 0.05, "reward_noise": 0.2, "gap_weight": 1.0 })).gamma;
    assert!((twice.of(3, 12, 4) / gamma.of(3, 12, 4) - 2.0).abs() < 1e-12);
}

#[test]
fn the_authors_gamma_is_the_same_in_every_epoch() {
    for (params, gamma) in [
        (json!({ "fidelity": "authors" }), 7000.0),
        (json!({ "fidelity": "authors", "gamma": 10_000.0 }), 10_000.0),
        (json!({ "gamma": 30.0, "reward_noise": 0.0 }), 30.0),
    ] {
        let found = valid(params).gamma;
        assert_eq!((found.of(1, 0, 4), found.of(9, 5000, 2)), (gamma, gamma));
    }
    let schedule = valid(json!({ "fidelity": "authors", "gap_weight": 1.0 })).gamma;
    assert!(matches!(schedule, Gamma::Schedule { .. }), "an explicit key overrides what fidelity implies");
}

#[test]
fn in_the_first_epoch_all_arms_are_alike() {
    let (mut client, arms) = (client(&valid(json!({})), 0), arms());
    let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
    let odds = client.odds(UserId(0), ArmSet::featured(&arms).unwrap(), &mut rng).unwrap();
    assert_eq!(odds.probabilities(), [0.25; 4]);
}

#[test]
fn inverse_gap_weighting_is_the_formula_of_the_epochs_gamma_and_model_and_sums_to_one() {
    for (epsilon, masked) in [(0.0, None), (0.2, None), (0.0, Some(0)), (0.1, Some(2))] {
        let mut client = in_second_epoch(json!({ "epsilon": epsilon, "ridge": 0.5 }), 40);
        let masked_arms = (0..ARMS).map(|arm| Some(arm) == masked).collect();
        let offer = ArmBuffer { features: arms(), masked: masked_arms, ..ArmBuffer::default() };
        let seat = Seat { masks: true, ..Seating::PerUser.seat(&setting(), NodeId(0)) };
        let (arms, offered) = (arms(), offer.arm_set(&seat).unwrap());
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        let odds = client.odds(UserId(0), offered, &mut rng).unwrap();
        let open: Vec<usize> = (0..ARMS).filter(|arm| Some(*arm) != masked).collect();
        // theta = s x / (0.5 + 40 x'x) for 40 observations of one x, by Sherman and Morrison.
        let x = [0.6, 0.3, 0.1];
        let scale = 40.0 * 0.7 / (0.5 + 40.0 * x.iter().map(|v| v * v).sum::<f64>());
        let estimate = |arm: usize| {
            let mut features = [0.0; DIM];
            arms.row_into(arm, &mut features);
            features.iter().zip(x).map(|(a, b)| a * b * scale).sum::<f64>()
        };
        let best = *open.iter().max_by(|a, b| estimate(**a).total_cmp(&estimate(**b))).unwrap();
        let gamma = valid(json!({})).gamma.of(2, 40, open.len());
        let (k, mut rest) = (open.len() as f64, 1.0);
        let mut expected = vec![0.0; ARMS];
        for &arm in open.iter().filter(|arm| **arm != best) {
            expected[arm] = 1.0 / (k + gamma * (estimate(best) - estimate(arm)));
            rest -= expected[arm];
        }
        expected[best] = rest;
        for &arm in &open {
            expected[arm] = (1.0 - epsilon) * expected[arm] + epsilon / k;
        }
        for (found, expected) in odds.probabilities().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{odds:?} against {expected:?}");
        }
        assert!((odds.probabilities().iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(odds.probabilities().iter().filter(|p| **p > 0.0).count() == open.len());
    }
}

#[test]
fn arms_are_drawn_as_often_as_stated() {
    let (mut client, arms) = (in_second_epoch(json!({}), 40), arms());
    let offered = ArmSet::featured(&arms).unwrap();
    let keys = Keys::from_seed(11);
    let odds = client.odds(UserId(0), offered, &mut keys.choice(NodeId(0), 0)).unwrap();
    let (draws, mut counts) = (200_000u64, [0u64; ARMS]);
    for number in 0..draws {
        let choice = client.choose(UserId(0), offered, &mut keys.choice(NodeId(0), number));
        assert_eq!(
            choice.picked.probability,
            Some(odds.of(choice.arm())),
            "the number that it was drawn with"
        );
        counts[choice.arm().index()] += 1;
    }
    let square = |(count, p): (&u64, &f64)| {
        let expected = draws as f64 * p;
        assert!(expected > 1000.0, "{p}: too rare to be judged");
        (*count as f64 - expected).powi(2) / expected
    };
    let chi_square: f64 = counts.iter().zip(odds.probabilities()).map(square).sum();
    // The 0.999 quantile with 3 degrees of freedom.
    assert!(chi_square < 16.27, "{chi_square}: {counts:?} against {odds:?}");
}

#[test]
fn a_client_says_when_its_epoch_is_over_and_goes_on_with_the_same_policy() {
    let mut client = in_second_epoch(json!({}), 6);
    let arms = arms();
    let odds = |client: &mut Client| {
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        client.odds(UserId(0), ArmSet::featured(&arms).unwrap(), &mut rng).unwrap()
    };
    let before = odds(&mut client);
    let sent: Vec<usize> = (0..6).map(|_| observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 1, 0, 0], "E_2 = 4, and it says so once");
    assert_eq!(odds(&mut client), before, "its own data do not move the model");
    // What came after the fourth is the epoch's too.
    let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    assert_eq!(short(&sent), [(NodeId::SERVER.0, "upload of 6".into())]);
    assert_eq!(odds(&mut client), before, "until the next model comes");
}

#[test]
fn late_rewards_are_part_of_the_next_upload_and_make_no_epoch_shorter() {
    let mut client = in_second_epoch(json!({}), 6);
    for _ in 0..10 {
        assert!(observe(&mut client, 1, [0.0, 1.0, 0.0], 1.0).is_empty(), "decided in the first epoch");
    }
    let sent: Vec<usize> = (0..4).map(|_| observe(&mut client, 2, [1.0, 0.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 1]);
    let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    assert_eq!(short(&sent), [(NodeId::SERVER.0, "upload of 14".into())]);
}

#[test]
fn who_was_not_done_uploads_what_it_has_and_nobody_uploads_anything_twice() {
    let mut client = in_second_epoch(json!({}), 6);
    observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    for expected in ["upload of 1", "upload of 0"] {
        let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
        assert_eq!(short(&sent), [(NodeId::SERVER.0, expected.into())]);
    }
    for _ in 0..8 {
        assert!(observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0).is_empty(), "it has been asked");
    }
}

/// Everything that is sent arrives at once and in order.
struct Federation {
    server: Server,
    clients: Vec<Client>,
    uploads: usize,
    downloads: usize,
}

impl Federation {
    fn new(params: serde_json::Value, clients: u32) -> Federation {
        let valid = valid(params);
        let clients: Vec<Client> = (0..clients).map(|id| client(&valid, id)).collect();
        Federation { server: server(&valid, clients.len() as u32), clients, uploads: 0, downloads: 0 }
    }

    /// One decision of each client; what each observed, and in which epoch.
    fn tick(&mut self, now: u64) -> Vec<(u64, [f64; DIM], f64)> {
        let (arms, keys) = (arms(), Keys::from_seed(5));
        let mut seen = Vec::new();
        for id in 0..self.clients.len() {
            let node = NodeId(id as u32);
            let client = &mut self.clients[id];
            let mut rng = keys.choice(node, now);
            let choice = client.choose(UserId(node.0), ArmSet::featured(&arms).unwrap(), &mut rng);
            let mut x = [0.0; DIM];
            arms.row_into(choice.arm().index(), &mut x);
            let reward = 0.8 * x[0] + 0.4 * x[1] + 0.1 * keys.choice(node, now).normal();
            seen.push((client.epoch(), x, reward));
            let sent = step(client, now, |c, cx| c.observe(choice.pending, reward, cx));
            self.deliver(node, sent, now);
        }
        seen
    }

    fn deliver(&mut self, from: NodeId, sent: Vec<(NodeId, LinearMsg)>, now: u64) {
        let mut queue: VecDeque<_> = sent.into_iter().map(|(to, message)| (from, to, message)).collect();
        while let Some((from, to, message)) = queue.pop_front() {
            self.uploads += usize::from(matches!(message, LinearMsg::Upload { .. }));
            self.downloads += usize::from(matches!(message, LinearMsg::Download { .. }));
            let sent = if to == NodeId::SERVER {
                step(&mut self.server, now, |s, cx| s.on_message(from, message, cx).unwrap())
            } else {
                step(&mut self.clients[to.index()], now, |c, cx| c.on_message(from, message, cx).unwrap())
            };
            queue.extend(sent.into_iter().map(|(next, message)| (to, next, message)));
        }
    }
}

#[test]
fn the_model_of_an_epoch_is_one_central_regression_on_what_all_clients_observed_in_the_epoch_before() {
    for (data, clients) in [("epoch", 3), ("all", 3), ("epoch", 1)] {
        let mut federation = Federation::new(json!({ "data": data, "ridge": 0.3 }), clients);
        let mut seen = Vec::new();
        for now in 1..=30 {
            seen.extend(federation.tick(now));
        }
        // 2 + 4 + 8 + 16 decisions: the fifth epoch has begun with the last of them.
        let of_before = |epoch: u64| if data == "all" { epoch <= 4 } else { epoch == 4 };
        let mut central = LinearStats::empty(DIM);
        for (_, x, reward) in seen.iter().filter(|(epoch, ..)| of_before(*epoch)) {
            central.observe(x, *reward);
        }
        let expected = View::new(1, central);
        let (expected, count) = (expected.factor(0.3).theta(), expected.stats().count);
        for client in &federation.clients {
            assert_eq!(client.epoch(), 5);
            assert_eq!(client.view().stats().count, count);
            assert_eq!(count, u64::from(clients) * if data == "all" { 30 } else { 16 });
            let found = client.view().factor(0.3).theta();
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9, "{data}: {found} against {expected}");
            }
        }
    }
}

#[test]
fn synchronous_clients_upload_and_download_once_an_epoch_and_epochs_are_as_many_as_the_logarithm() {
    let mut federation = Federation::new(json!({}), 3);
    for now in 1..=2046 {
        federation.tick(now);
        // 2 + 4 + ... + 2^m = 2^(m+1) - 2
        let epochs = (now + 2).ilog2() as usize - 1;
        assert_eq!((federation.uploads, federation.downloads), (3 * epochs, 3 * epochs), "{now}");
    }
    assert_eq!(federation.server.epoch(), 11);
    assert_eq!(federation.server.observations(), Some(3 * 2046));
}

#[test]
fn an_epoch_waits_for_those_who_were_there_when_the_first_was_done_with_it() {
    let mut server = server(&valid(json!({})), 2);
    assert!(say(&mut server, 0, 5, over(1)).is_empty());
    assert!(join(&mut server, 2).is_empty(), "there is nothing to send yet");
    assert_eq!(server.waiting_for(), [NodeId(1)]);
    assert!(say(&mut server, 0, 5, over(1)).is_empty(), "heard before");
    // The newcomer counts if it is done, and is asked for what it has if it is not.
    let asked = say(&mut server, 1, 6, over(1));
    assert_eq!(short(&asked), to_all(&[0, 1, 2], &["Ask 1"]));
    assert!(say(&mut server, 2, 6, over(1)).is_empty(), "too late to say so");
    for (from, count) in [(2, 1), (0, 2)] {
        assert!(say(&mut server, from, 6, upload(1, stats([1.0, 0.0, 0.0], 1.0, count))).is_empty());
    }
    let sent = say(&mut server, 1, 6, upload(1, stats([0.0, 1.0, 0.0], 1.0, 3)));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 6", "Phase 2"]));
    assert!(say(&mut server, 0, 7, over(1)).is_empty() && server.waiting_for().is_empty(), "of the past");
}

#[test]
fn who_joins_late_is_sent_the_model_and_the_epoch_at_once_and_is_not_waited_for_before_the_next() {
    let mut server = server(&valid(json!({})), 1);
    say(&mut server, 0, 5, over(1));
    say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    say(&mut server, 0, 9, over(2));
    say(&mut server, 0, 9, upload(2, stats([1.0, 0.0, 0.0], 1.0, 4)));
    assert_eq!(short(&join(&mut server, 1)), to_all(&[1], &["view of 4", "Phase 3"]));
    let mut newcomer = client(&valid(json!({})), 1);
    take(&mut newcomer, model(2, 4));
    take(&mut newcomer, LinearMsg::signal(Signal::Phase, 3));
    let sent: Vec<usize> = (0..8).map(|_| observe(&mut newcomer, 3, [0.0, 1.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 0, 0, 0, 0, 1], "E_3 = 8");
}

#[test]
fn after_the_deadline_an_epoch_ends_without_those_who_are_not_done_and_they_are_asked_too() {
    let mut server = server(&valid(json!({ "deadline": 4, "quorum": 0.5 })), 3);
    say(&mut server, 0, 5, over(1));
    assert!(step(&mut server, 9, |s, cx| s.on_wake(cx)).is_empty(), "1 of 3 is no quorum");
    let asked = say(&mut server, 1, 20, over(1));
    assert_eq!(short(&asked), to_all(&[0, 1, 2], &["Ask 1"]), "2 of 3 are one, after the deadline at once");
    say(&mut server, 0, 20, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    say(&mut server, 1, 21, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(server.waiting_for(), [NodeId(2)]);
    assert!(step(&mut server, 23, |s, cx| s.on_wake(cx)).is_empty(), "too early");
    let sent = step(&mut server, 24, |s, cx| s.on_wake(cx));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 4", "Phase 2"]));
    // What comes too late is part of the next model, once.
    assert!(say(&mut server, 2, 30, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1))).is_empty());
    assert_eq!(server.view().stats().count, 4);
    for client in 0..3 {
        say(&mut server, client, 31, over(2));
    }
    for (client, number) in [(0, 2), (1, 2)] {
        say(&mut server, client, 31, upload(number, stats([1.0, 0.0, 0.0], 1.0, 4)));
    }
    let sent = say(&mut server, 2, 31, upload(2, stats([0.0, 1.0, 0.0], 1.0, 5)));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 14", "Phase 3"]));
    assert_eq!(server.observations(), Some(18));
}

#[test]
fn a_round_that_nobody_answered_waits_beyond_its_deadline() {
    let mut server = server(&valid(json!({ "deadline": 2 })), 1);
    say(&mut server, 0, 5, over(1));
    assert!(step(&mut server, 50, |s, cx| s.on_wake(cx)).is_empty());
    let sent = say(&mut server, 0, 60, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 2", "Phase 2"]));
}

#[test]
fn who_leaves_is_not_waited_for_and_what_it_uploaded_stays() {
    let mut server = server(&valid(json!({})), 3);
    say(&mut server, 0, 5, over(1));
    say(&mut server, 1, 5, over(1));
    assert_eq!(short(&leave(&mut server, 2)), to_all(&[0, 1], &["Ask 1"]));
    say(&mut server, 1, 5, upload(1, stats([0.0, 1.0, 0.0], 1.0, 3)));
    assert!(leave(&mut server, 1).is_empty());
    let sent = say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 5", "Phase 2"]));
    // It comes back as a newcomer, whose uploads are counted from 1.
    assert_eq!(short(&join(&mut server, 1)), to_all(&[1], &["view of 5", "Phase 2"]));
    assert!(say(&mut server, 1, 6, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1))).is_empty());
}

#[test]
fn an_epoch_that_everyone_leaves_is_begun_anew_by_whoever_comes() {
    let mut server = server(&valid(json!({})), 1);
    say(&mut server, 0, 5, over(1));
    assert!(leave(&mut server, 0).is_empty());
    assert_eq!((server.epoch(), server.waiting_for()), (1, vec![]));
    join(&mut server, 1);
    assert_eq!(short(&say(&mut server, 1, 7, over(1))), to_all(&[1], &["Ask 1"]));
}

#[test]
fn what_is_drained_ahead_of_its_time_is_part_of_the_next_model() {
    let (valid, mut leaving) = (valid(json!({})), in_second_epoch(json!({}), 6));
    observe(&mut leaving, 2, [0.0, 1.0, 0.0], 1.0);
    assert_eq!(leaving.unsent(), 1);
    let sent = step(&mut leaving, 1, |c, cx| c.drain(cx));
    assert_eq!((short(&sent), leaving.unsent()), (vec![(NodeId::SERVER.0, "upload of 1".into())], 0));
    assert!(step(&mut leaving, 1, |c, cx| c.drain(cx)).is_empty());
    let mut server = server(&valid, 2);
    say(&mut server, 1, 3, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1)));
    say(&mut server, 1, 3, over(1));
    say(&mut server, 0, 3, over(1));
    say(&mut server, 1, 3, upload(2, stats([0.0, 1.0, 0.0], 1.0, 2)));
    let sent = say(&mut server, 0, 3, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0, 1], &["view of 5", "Phase 2"]));
}

fn rule(server: &mut Server, ruling: Ruling) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_ruling(ruling, cx))
}

#[test]
fn who_was_quarantined_is_told_where_the_others_are_and_says_once_more_that_it_is_done() {
    let mut server = server(&valid(json!({})), 2);
    say(&mut server, 0, 5, over(1));
    assert_eq!(short(&rule(&mut server, Ruling::Quarantined(NodeId(1)))), to_all(&[0], &["Ask 1"]));
    let sent = say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 2", "Phase 2"]));
    assert_eq!(
        short(&rule(&mut server, Ruling::Restored(NodeId(1)))),
        to_all(&[1], &["view of 2", "Phase 2"])
    );
    assert!(say(&mut server, 0, 9, over(2)).is_empty());
    assert_eq!(server.waiting_for(), [NodeId(1)], "it is one of them again");

    let mut client = in_second_epoch(json!({}), 6);
    for _ in 0..4 {
        observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    }
    let again = take(&mut client, LinearMsg::signal(Signal::Phase, 2));
    assert_eq!(short(&again), [(NodeId::SERVER.0, "Request 2".into())], "it may not have been heard");
    assert!(take(&mut client, LinearMsg::signal(Signal::Phase, 1)).is_empty(), "of the past");
    assert_eq!(client.epoch(), 2);
}

#[test]
fn who_is_forgotten_is_in_no_model_any_more_and_epochs_stay_as_long_as_they_were() {
    for (data, others, at_last) in [("epoch", 4, 11), ("all", 6, 17)] {
        let params = serde_json::from_value(json!({ "data": data })).unwrap();
        let valid = FedIgw::check(params, &setting().kept_apart()).unwrap();
        let mut server = server(&valid, 2);
        let end = |server: &mut Server, epoch: u64, counts: &[(u32, u32)]| {
            let mut sent = Vec::new();
            counts.iter().for_each(|(client, _)| drop(say(server, *client, 5, over(epoch))));
            for (client, count) in counts {
                let mut one = stats([1.0, 0.0, 0.0], 1.0, *count);
                one.merge(&stats([0.0, f64::from(*client), 0.5], 0.5, 1));
                sent = say(server, *client, 5, upload(epoch, one));
            }
            sent
        };
        end(&mut server, 1, &[(0, 1), (1, 1)]);
        end(&mut server, 2, &[(0, 3), (1, 5)]);
        // Something of it for the next model, too.
        say(&mut server, 1, 6, upload(3, stats([1.0, 0.0, 0.0], 1.0, 9)));
        say(&mut server, 1, 6, over(3));
        assert!(leave(&mut server, 1).is_empty());
        let sent = rule(&mut server, Ruling::Forgotten(NodeId(1)));
        assert_eq!(short(&sent), to_all(&[0], &[&format!("view of {others}")]), "{data}");
        assert!(server.view().stats().moment[1].abs() < 1e-15, "nothing of its second feature");
        assert_eq!(server.epoch(), 3);
        let sent = end(&mut server, 3, &[(0, 10)]);
        assert_eq!(short(&sent), to_all(&[0], &[&format!("view of {at_last}"), "Phase 4"]), "{data}");
    }
    let added_up = server(&valid(json!({})), 1);
    assert!(added_up.forgets().unwrap_err().contains("keep_apart"));
}

#[test]
fn a_prior_is_the_first_model_and_a_part_of_every_later_one() {
    let valid = valid(json!({}));
    let mut server = FedIgw::server(&valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    let prior = Prior::Linear(stats([1.0, 0.0, 0.0], 0.5, 40));
    server.takes_prior(&prior).unwrap();
    step(&mut server, 1, |s, cx| s.on_prior(prior.clone(), cx));
    assert_eq!(short(&join(&mut server, 0)), to_all(&[0], &["view of 40"]));
    for (epoch, count, merged) in [(1, 2, 42), (2, 4, 44)] {
        say(&mut server, 0, 5, over(epoch));
        let sent = say(&mut server, 0, 5, upload(epoch, stats([0.0, 1.0, 0.0], 1.0, count)));
        let words = [format!("view of {merged}"), format!("Phase {}", epoch + 1)];
        assert_eq!(short(&sent), to_all(&[0], &[&words[0], &words[1]]));
    }
    assert_eq!(server.observations(), Some(46));
    assert!(server.takes_prior(&prior).is_err(), "it has begun");
}

#[test]
fn uploads_out_of_turn_of_strangers_or_not_plausible_are_refused_and_change_nothing() {
    let mut server = server(&valid(json!({})), 2);
    say(&mut server, 0, 5, upload(2, stats([1.0, 0.0, 0.0], 1.0, 1)));
    let before = serde_json::to_value(&server).unwrap();
    let mut hollow = stats([1.0, 0.0, 0.0], 1.0, 1);
    hollow.count = 0;
    for (from, message) in [
        (0, upload(2, stats([1.0, 0.0, 0.0], 1.0, 1))),
        (7, upload(1, stats([1.0, 0.0, 0.0], 1.0, 1))),
        (1, upload(1, hollow)),
        (1, model(1, 3)),
    ] {
        let sent = step(&mut server, 1, |s, cx| {
            assert!(s.on_message(NodeId(from), message, cx).is_err(), "{from}");
        });
        assert!(sent.is_empty());
        assert_eq!(serde_json::to_value(&server).unwrap(), before);
    }
}

#[test]
fn what_the_server_refuses_is_reported_and_the_round_is_answered_all_the_same() {
    let mut client = in_second_epoch(json!({}), 6);
    observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    let again = take(&mut client, LinearMsg::Refused { number: 1, reason: "no".into() });
    assert_eq!(short(&again), [(NodeId::SERVER.0, "upload of 0".into())]);
    let nothing = take(&mut client, LinearMsg::Refused { number: 2, reason: "no".into() });
    assert!(nothing.is_empty(), "there was nothing in it");
}

#[test]
fn downloads_that_cannot_be_are_refused_and_older_ones_change_nothing() {
    let mut client = in_second_epoch(json!({}), 6);
    take(&mut client, model(5, 8));
    let before = serde_json::to_value(&client).unwrap();
    let flat = LinearMsg::Download { view: View::new(9, LinearStats::empty(DIM + 1)), merged: 0 };
    let unheard = LinearMsg::Download { view: View::new(9, stats([1.0, 0.0, 0.0], 1.0, 1)), merged: 1 };
    for message in [flat, unheard, over(2)] {
        step(&mut client, 1, |c, cx| assert!(c.on_message(NodeId::SERVER, message, cx).is_err()));
        assert_eq!(serde_json::to_value(&client).unwrap(), before);
    }
    take(&mut client, model(4, 3));
    assert_eq!(serde_json::to_value(&client).unwrap(), before);
}

#[test]
fn parameters_that_cannot_be_meant_are_refused_by_name() {
    for (params, says) in [
        (json!({ "ridge": 0.0 }), "ridge: "),
        (json!({ "failure_prob": 1.0 }), "failure_prob: "),
        (json!({ "reward_noise": 0.0 }), "reward_noise: must be above 0"),
        (json!({ "gap_weight": -1.0 }), "gap_weight: must be"),
        (json!({ "gamma": -1.0 }), "gamma: must be"),
        (json!({ "gamma": 5.0, "gap_weight": 1.0 }), "gap_weight: has no effect with `gamma`"),
        (json!({ "first_epoch": 0 }), "first_epoch: must be at least 1"),
        (json!({ "longest_epoch": 0 }), "longest_epoch: must be at least 1"),
        (json!({ "epsilon": 1.5 }), "epsilon: must be from 0 to 1"),
        (json!({ "quorum": 0.5 }), "quorum: is for rounds with a deadline"),
    ] {
        let refusal = FedIgw::check(serde_json::from_value(params.clone()).unwrap(), &setting()).unwrap_err();
        assert!(refusal.to_string().starts_with(says), "{params}: {refusal}");
    }
    let plain = Setting::k_armed(3, 3);
    assert_eq!(FedIgw::check(serde_json::from_value(json!({})).unwrap(), &plain).unwrap_err().key, "kind");
}
