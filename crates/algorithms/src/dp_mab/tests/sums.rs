//! `privacy = "central"` of cdp-mab: sums over all who report, of which nobody sees the parts.

use std::collections::VecDeque;
use std::sync::Arc;

use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, Cx, Effects, Fact, Keys, Learner, Machine, Membership, Misbehaviour, NodeId,
    Positions, Seating, Tick, UserId, snapshot,
};
use cahoots_privacy::aggregation::{Down, Up};
use cahoots_privacy::{Accountant, Statement};
use serde_json::{Value, json};

use super::super::message::{MabMsg, Sum};
use super::super::{CdpClient, CdpMab, CdpParams, CdpValid, Server};
use super::setting;
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues};
use crate::testing::released;

const HORIZON: u64 = 100_000;

/// What is lost on its way to the server: when, from whom, and which message.
type Lost = fn(Tick, NodeId, &Up) -> bool;

struct Federation {
    valid: CdpValid,
    keys: Keys,
    server: Server,
    clients: Vec<CdpClient>,
    positions: Vec<Positions>,
    wire: VecDeque<(NodeId, NodeId, MabMsg)>,
    sent: Vec<(Tick, NodeId, Up)>,
    accountants: Vec<Accountant>,
    counted: Vec<String>,
    wake: Option<Tick>,
    lost: Lost,
    now: Tick,
}

fn with(params: &Value) -> CdpParams {
    let mut all = json!({ "privacy": "central", "missing": 0.2, "colluding": 0.2 });
    all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

impl Federation {
    fn new(n: usize, params: Value) -> Federation {
        let setting = setting(n, 3, HORIZON);
        let valid = CdpMab::check(with(&params), &setting).unwrap();
        let seat = |node| Seating::PerUser.seat(&setting, node);
        let mut federation = Federation {
            keys: Keys::from_seed(7),
            server: CdpMab::server(&valid, &seat(NodeId::SERVER)),
            clients: (0..n as u32).map(|i| CdpMab::client(&valid, &seat(NodeId(i)))).collect(),
            positions: vec![Positions::default(); n + 1],
            wire: VecDeque::new(),
            sent: Vec::new(),
            accountants: vec![Accountant::default(); n],
            counted: Vec::new(),
            wake: None,
            lost: |_, _, _| false,
            now: 0,
            valid,
        };
        federation.at_server(|server, cx| server.on_start(cx));
        federation
    }

    fn at_server(&mut self, input: impl FnOnce(&mut Server, &mut Cx<'_, MabMsg>)) {
        let (mut effects, index) = (Effects::default(), self.clients.len());
        let mut cx = Cx::new(NodeId::SERVER, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.server, &mut cx);
        self.wake = effects.wake.or(self.wake);
        for fact in &effects.facts {
            if let Fact::Count(name, _) = fact {
                self.counted.push(name.to_string());
            }
        }
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
    }

    fn at_client(&mut self, node: u32, input: impl FnOnce(&mut CdpClient, &mut Cx<'_, MabMsg>)) {
        let (mut effects, me, index) = (Effects::default(), NodeId(node), node as usize);
        let mut cx = Cx::new(me, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.clients[index], &mut cx);
        for fact in &effects.facts {
            if let Fact::Release(fact) = fact {
                self.accountants[index].record(me, fact);
            }
        }
        for (to, message) in effects.outbox {
            if let MabMsg::Sum(cahoots_core::Custom(Sum::Up(step))) = &message {
                self.sent.push((self.now, me, step.clone()));
                if (self.lost)(self.now, me, step) {
                    continue;
                }
            }
            self.wire.push_back((me, to, message));
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.wire.pop_front() {
            if to == NodeId::SERVER {
                self.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
            } else {
                self.at_client(to.0, |client, cx| client.on_message(from, message, cx).unwrap());
            }
        }
    }

    /// Each client pulls an arm, of which the second is best.
    fn pull(&mut self) {
        let mut rng = Keys::from_seed(3).policy(NodeId(0), self.now);
        for node in 0..self.clients.len() as u32 {
            let coin = rng.uniform();
            self.at_client(node, |client, cx| {
                let choice = cx.draw(|rng| client.choose(UserId(node), ArmSet::plain(3).unwrap(), rng));
                let reward = f64::from(coin < [0.5, 0.7, 0.55][choice.pending.arm.index()]);
                client.commit(&choice.pending, cx);
                client.observe(choice.pending, reward, cx);
            });
        }
    }

    /// One tick.
    fn tick(&mut self) {
        self.now += 1;
        if self.wake.take_if(|tick| *tick <= self.now).is_some() {
            self.at_server(|server, cx| server.on_wake(cx));
        }
        self.deliver();
        self.pull();
        self.deliver();
    }

    fn live(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.tick());
    }

    /// Until this epoch; ticks are many where someone is waited for in vain.
    fn until(&mut self, epoch: u64) {
        for _ in 0..HORIZON {
            if self.server.epoch() >= epoch {
                return;
            }
            self.tick();
        }
        panic!(
            "epoch {} after {HORIZON} ticks, waiting for {:?}",
            self.server.epoch(),
            self.server.waiting_for()
        );
    }

    /// Who sent a vector in which round, in order.
    fn vectors(&self) -> Vec<(u32, u32)> {
        let masked = |(_, node, step): &(Tick, NodeId, Up)| match step {
            Up::Masked { round, .. } => Some((node.0, *round)),
            _ => None,
        };
        self.sent.iter().filter_map(masked).collect()
    }

    fn spent(&self, client: usize) -> f64 {
        let statement = Statement::new(&CdpMab::privacy(&self.valid).unwrap(), &self.accountants[client]);
        statement.unwrap().epsilon
    }

    fn failed(&self) -> usize {
        self.counted.iter().filter(|name| *name == "sums_failed").count()
    }
}

#[test]
fn the_best_arm_is_found_from_sums_alone_and_every_reward_costs_what_was_asked() {
    let mut federation = Federation::new(10, json!({ "dp_epsilon": 1.0 }));
    federation.live(20_000);
    assert_eq!(federation.server.active(), [ArmIndex(1)]);
    assert!(federation.clients.iter().all(|client| client.active() == [ArmIndex(1)]));
    let rounds = federation.server.epoch() as usize - 1;
    assert!(rounds > 1 && federation.vectors().len() == 10 * rounds, "{rounds} rounds, once each");
    for client in 0..10 {
        let epsilon = federation.spent(client);
        assert!(epsilon <= 1.0 && epsilon > 0.999, "however many rounds there are: {epsilon}");
    }
}

#[test]
fn what_is_shown_comes_from_the_sums_and_outlives_a_restart() {
    let mut federation = Federation::new(10, json!({ "dp_epsilon": 1.0 }));
    assert_eq!(federation.server.observations(), Some(0));
    federation.live(20_000);
    let server = &federation.server;
    let (models, _) = server.learnt(1);
    let mut summed = 0;
    for (known, truth) in models[0].arms.iter().zip([0.5, 0.7, 0.55]) {
        let mean = known.mean.unwrap();
        assert_eq!(mean.pulls, Some(server.summed(known.arm)));
        assert!((mean.value - truth).abs() < mean.radius.unwrap(), "{known:?}");
        assert_eq!(known.active, known.arm == ArmIndex(1));
        summed += server.summed(known.arm);
    }
    assert_eq!((server.observations(), models[0].observations), (Some(summed), Some(summed)));
    let restored: Server = snapshot::restore(&snapshot::save(server)).unwrap();
    assert_eq!((restored.learnt(1).0, restored.observations()), (models, Some(summed)));
}

#[test]
fn what_leaves_is_under_masks() {
    let mut federation = Federation::new(10, json!({ "dp_epsilon": 1e6 }));
    federation.until(2);
    for (_, _, step) in &federation.sent {
        if let Up::Masked { values, .. } = step {
            let values = values.get();
            assert_eq!(values.len(), 6, "a sum and a count for each arm");
            assert!(values.iter().all(|value| value.leading_zeros() < 24 && value.leading_ones() < 24));
        }
    }
    assert!(federation.server.epoch() == 2 && federation.failed() == 0);
}

/// A client of ten fails in mid-round: the others go on, and its rewards, which did not leave, are in the next sum.
#[test]
fn who_fails_before_its_vector_loses_nothing_and_who_fails_after_it_only_that() {
    for (lost, counts) in [
        (
            (|_, from, step| from.0 == 4 && step.round() == 1 && matches!(step, Up::Shares { .. })) as Lost,
            true,
        ),
        (|_, from, step| from.0 == 4 && step.round() == 1 && matches!(step, Up::Masked { .. }), false),
    ] {
        let mut federation = Federation::new(10, json!({ "dp_epsilon": 1e6, "deadline": 3 }));
        federation.lost = lost;
        federation.until(3);
        let rules = &federation.valid.rules;
        let first = rules.pulls(1, 3, 0);
        let all = 10 * rules.pulls(2, 3, first);
        let of_best = federation.server.summed(ArmIndex(1));
        assert!(federation.failed() == 0 && federation.server.epoch() == 3);
        assert_eq!(of_best + if counts { 0 } else { first }, all, "{of_best} of {all}");
        assert!(federation.spent(4) <= 1e6);
    }
}

/// What was sent may have been seen, whatever is said about it: it never leaves again.
#[test]
fn a_round_that_fails_after_vectors_were_sent_is_explored_again() {
    let mut federation = Federation::new(10, json!({ "deadline": 3 }));
    federation.lost = |_, from, step| from.0 < 3 && step.round() == 1 && matches!(step, Up::Masked { .. });
    let pulls = federation.valid.rules.pulls(1, 3, 0);
    federation.live(3 * pulls + 20);
    assert_eq!((federation.failed(), federation.server.epoch()), (1, 1));
    federation.until(2);
    assert!(federation.now >= 6 * pulls, "as many pulls again: {} for {pulls}", federation.now);
    assert_eq!(federation.server.summed(ArmIndex(0)), 10 * pulls, "and no more of them are counted");
    assert!((0..10).all(|client| federation.spent(client) <= 1.0));
}

/// Keys and shares say nothing: nothing is explored again for their sake.
#[test]
fn a_round_that_fails_before_any_vector_costs_nothing_but_time() {
    let mut federation = Federation::new(10, json!({ "deadline": 3 }));
    federation.lost = |_, from, step| from.0 < 3 && step.round() == 1 && matches!(step, Up::Shares { .. });
    let pulls = federation.valid.rules.pulls(1, 3, 0);
    federation.until(2);
    assert_eq!(federation.failed(), 1);
    assert!(federation.now < 3 * pulls + 20, "{} for {pulls}", federation.now);
    assert_eq!(federation.server.summed(ArmIndex(0)), 10 * pulls);
}

/// Without a deadline, someone who has lost its secrets must not be waited for for ever.
#[test]
fn who_starts_anew_in_mid_round_says_so() {
    for stage in 0..3 {
        let mut federation = Federation::new(10, json!({}));
        let due = |step: &Up| match step {
            Up::Keys { .. } => 0,
            Up::Shares { .. } => 1,
            Up::Masked { .. } => 2,
            _ => 3,
        };
        // The process ends as soon as it has sent this.
        for _ in 0..HORIZON {
            federation.tick_with_restart(4, |step| due(step) == stage);
            if federation.server.epoch() == 2 {
                break;
            }
        }
        assert_eq!((federation.server.epoch(), federation.failed()), (2, 0), "stage {stage}");
        let left = federation.sent.iter().filter(|(_, _, step)| matches!(step, Up::Left { .. })).count();
        assert_eq!(left, 1, "stage {stage}");
        assert!(federation.vectors().iter().filter(|(node, round)| (*node, *round) == (4, 1)).count() <= 1);
    }
}

impl Federation {
    /// As `tick`, but a client's process ends once it has sent a step of the first round that `ends` it, and starts again.
    fn tick_with_restart(&mut self, client: u32, ends: impl Fn(&Up) -> bool) {
        let before = self.sent.len();
        self.now += 1;
        self.deliver_restarting(client, &ends, before);
        self.pull();
        self.deliver_restarting(client, &ends, before);
    }

    fn deliver_restarting(&mut self, client: u32, ends: &impl Fn(&Up) -> bool, mut seen: usize) {
        loop {
            for (_, node, step) in self.sent.split_off(seen).into_iter().collect::<Vec<_>>() {
                if node.0 == client && step.round() == 1 && ends(&step) {
                    self.clients[client as usize].on_new_secrets();
                }
                self.sent.push((self.now, node, step));
            }
            seen = self.sent.len();
            let Some((from, to, message)) = self.wire.pop_front() else { return };
            if to == NodeId::SERVER {
                self.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
            } else {
                self.at_client(to.0, |client, cx| client.on_message(from, message, cx).unwrap());
            }
        }
    }
}

#[test]
fn a_copy_that_is_started_sends_no_second_vector_under_the_same_masks() {
    let mut federation = Federation::new(5, json!({}));
    federation.lost = |_, from, step| from.0 == 3 && matches!(step, Up::Shares { .. });
    let pulls = federation.valid.rules.pulls(1, 3, 0);
    federation.live(3 * pulls + 1);
    let copy = snapshot::save(&federation.clients[4]);
    let (_, from, shares) = federation
        .sent
        .iter()
        .find(|(_, from, step)| from.0 == 3 && matches!(step, Up::Shares { .. }))
        .unwrap()
        .clone();
    federation.at_server(|server, cx| server.on_message(from, shares.into(), cx).unwrap());
    let step = federation.wire.iter().find(|(_, to, _)| to.0 == 4).unwrap().2.clone();
    federation.lost = |_, _, _| false;
    federation.deliver();
    let of_four =
        |federation: &Federation| federation.vectors().iter().filter(|(node, _)| *node == 4).count();
    assert_eq!(of_four(&federation), 1);
    let put_back = |told: bool, federation: &mut Federation| {
        federation.clients[4] = snapshot::restore(&copy).unwrap();
        if told {
            federation.clients[4].on_new_secrets();
        }
        let step = step.clone();
        federation.at_client(4, |client, cx| client.on_message(NodeId::SERVER, step, cx).unwrap());
        of_four(federation)
    };
    assert_eq!(put_back(true, &mut federation), 1, "every start of a process tells it");
    assert_eq!(put_back(false, &mut federation), 2, "and must");
}

/// A server that decides while a round is under way, and goes on with that round as if it had not.
#[test]
fn a_round_that_was_decided_hears_no_more_from_its_members() {
    let mut federation = Federation::new(5, json!({}));
    federation.lost = |_, from, step| from.0 == 3 && matches!(step, Up::Shares { .. });
    let pulls = federation.valid.rules.pulls(1, 3, 0);
    federation.live(3 * pulls + 1);
    let next = ActiveArms { phase: 2, arms: [0, 1].map(ArmIndex).to_vec() };
    let decided = MabMsg::Arms(ArmMsg::DownloadActive(Arc::new(next)));
    federation.at_client(4, |client, cx| client.on_message(NodeId::SERVER, decided, cx).unwrap());
    let shares = Down::Shares { round: 1, sealed: (0..5).map(|node| (NodeId(node), Vec::new())).collect() };
    federation.at_client(4, |client, cx| client.on_message(NodeId::SERVER, shares.into(), cx).unwrap());
    assert_eq!(federation.sent.last().unwrap().2, Up::Left { round: 1 });
    assert!(federation.vectors().is_empty());
}

#[test]
fn too_few_are_waited_for_and_who_comes_back_makes_them_enough() {
    let mut federation = Federation::new(5, json!({}));
    federation.at_server(|server, cx| server.on_membership(Membership::Left(NodeId(2)), cx));
    federation.live(2_000);
    assert_eq!(federation.server.epoch(), 1, "four are no group");
    let seat = Seating::PerUser.seat(&setting(5, 3, HORIZON), NodeId(2));
    federation.clients[2] = CdpMab::client(&federation.valid, &seat);
    federation.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(2)), cx));
    federation.until(2);
    assert_eq!(federation.vectors().len(), 5);
}

#[test]
fn who_is_asked_in_some_rounds_only_sends_what_it_has_kept_and_no_reward_costs_more() {
    let mut federation = Federation::new(12, json!({ "participation": 0.5, "dp_epsilon": 1.0 }));
    federation.live(20_000);
    assert_eq!(federation.server.active(), [ArmIndex(1)]);
    assert!(federation.vectors().len() >= 12, "{:?}", federation.vectors());
    assert!(
        (0..12).all(|client| federation.accountants[client] == Accountant::default()
            || federation.spent(client) <= 1.0)
    );
}

#[test]
fn who_was_not_asked_has_no_part() {
    let mut federation = Federation::new(12, json!({ "participation": 0.5 }));
    federation.lost = |_, _, step| matches!(step, Up::Keys { .. });
    federation.live(5_000);
    let keys = federation.sent.iter().find(|(_, _, step)| matches!(step, Up::Keys { .. })).unwrap().2.clone();
    let asked = federation.server.waiting_for();
    assert_eq!(asked.len(), 6);
    let other = (0..12).map(NodeId).find(|node| !asked.contains(node)).unwrap();
    for (node, taken) in [(other, false), (asked[0], true)] {
        let (mut answer, keys) = (Ok(()), keys.clone());
        federation.at_server(|server, cx| answer = server.on_message(node, keys.into(), cx));
        assert_eq!(answer.is_ok(), taken, "{node}");
    }
}

/// Nobody can see who spoils a sum, but that it is spoiled.
#[test]
fn a_sum_that_no_rewards_can_have_led_to_is_not_used() {
    for lie in
        [vec![1 << 61, 0, 0, 0, 0, 0], vec![0, 0, 0, 1 << 40, 0, 0], vec![0, 0, 0, u64::MAX << 30, 0, 0]]
    {
        let mut federation = Federation::new(5, json!({}));
        federation.lost =
            |_, from, step| from.0 == 4 && step.round() == 1 && matches!(step, Up::Masked { .. });
        let pulls = federation.valid.rules.pulls(1, 3, 0);
        federation.live(3 * pulls + 1);
        let lie: MabMsg = Up::Masked { round: 1, values: released(lie) }.into();
        federation.at_server(|server, cx| server.on_message(NodeId(4), lie, cx).unwrap());
        federation.deliver();
        assert_eq!(federation.server.epoch(), 1);
        assert_eq!(federation.counted.iter().filter(|name| *name == "sums_implausible").count(), 1);
        federation.until(2);
        assert_eq!(federation.server.summed(ArmIndex(0)), 5 * pulls);
    }
}

#[test]
fn liars_are_refused() {
    let mut federation = Federation::new(5, json!({}));
    let refuse = |message: MabMsg, federation: &mut Federation| {
        let before = snapshot::save(&federation.server);
        let mut answer = Ok(());
        federation.at_server(|server, cx| answer = server.on_message(NodeId(0), message, cx));
        assert_eq!(snapshot::save(&federation.server), before);
        answer.unwrap_err()
    };
    let means = ArmValues::new(1, vec![ArmIndex(0)], vec![0.5]);
    let plain = MabMsg::Arms(ArmMsg::Upload { number: 1, values: released(means) });
    assert!(matches!(refuse(plain, &mut federation), Misbehaviour::Unexpected(_)), "means in the clear");
    refuse(Up::Left { round: 9 }.into(), &mut federation);
    federation.live(1);
    let begin: MabMsg = Down::Begin { round: 1 }.into();
    let mut answer = Ok(());
    federation.at_client(0, |client, cx| answer = client.on_message(NodeId(1), begin, cx));
    assert!(answer.is_err(), "only the server begins");
}

#[test]
fn what_cannot_be_is_refused_with_the_key() {
    let check = |n: usize, params: Value| {
        CdpMab::check(with(&params), &setting(n, 3, 100)).map(|_| ()).map_err(|e| e.key)
    };
    assert_eq!(check(10, json!({})), Ok(()));
    assert_eq!(check(10, json!({ "deadline": 4 })), Ok(()));
    for (n, params, key) in [
        (4, json!({}), "group_least"),
        (10, json!({ "participation": 0.3 }), "group_least"),
        (256, json!({}), "privacy"),
        (10, json!({ "deadline": 4, "quorum": 0.5 }), "quorum"),
        (10, json!({ "missing": 0.6 }), "missing"),
        (10, json!({ "privacy": "local" }), "missing"),
    ] {
        assert_eq!(check(n, params).unwrap_err(), key, "{n}");
    }
    assert!(check(255, json!({})).is_ok());
}
