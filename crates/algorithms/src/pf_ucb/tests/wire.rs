//! What leaves a client, read from the bytes.

use std::collections::VecDeque;

use cahoots_core::drive::{Encoded, Event, Host, LearnerHost, Outgoing};
use cahoots_core::{ArmSet, Effects, NodeId, Seats, message, wire};
use prost::Message as _;
use serde_json::json;
use wire::payload::Shape;

use super::*;

/// A federation over bytes; every payload that left a client, with its sender.
struct Bytes {
    clients: Vec<LearnerHost<Client>>,
    server: Host<Server>,
    keys: Keys,
    left: Vec<(usize, wire::Payload)>,
    queue: VecDeque<(NodeId, Outgoing<ArmMsg>)>,
}

impl Bytes {
    fn run(
        valid: &Valid,
        setting: &Setting,
        ticks: u64,
        reward: impl Fn(usize, ArmIndex, u64) -> f64,
    ) -> Bytes {
        let seats = Seats::of::<PfUcb>(valid, setting);
        let host = |id: u32| LearnerHost::new(seats.seat(NodeId(id)), client(valid, setting, id), 4);
        let mut bytes = Bytes {
            clients: (0..setting.users as u32).map(host).collect(),
            server: Host::new(seats.seat(NodeId::SERVER), server(valid, setting)),
            keys: Keys::from_seed(0),
            left: Vec::new(),
            queue: VecDeque::new(),
        };
        for now in 1..=ticks {
            for index in 0..setting.users {
                let set = ArmSet::plain(setting.arms).unwrap();
                let choice = bytes.clients[index].choose(UserId(index as u32), set, &bytes.keys);
                let value = reward(index, choice.arm(), now);
                bytes.step(index, |client, keys, effects, out| {
                    client.settle(now, choice.pending, value, keys, effects, out);
                });
                bytes.deliver(now);
            }
        }
        bytes
    }

    fn step(
        &mut self,
        index: usize,
        step: impl FnOnce(&mut LearnerHost<Client>, &Keys, &mut Effects<ArmMsg>, &mut Vec<Outgoing<ArmMsg>>),
    ) {
        let (mut effects, mut out) = (Effects::default(), Vec::new());
        step(&mut self.clients[index], &self.keys, &mut effects, &mut out);
        for sent in out {
            let payload = message::encode(&sent.message);
            self.left.push((index, wire::Payload::decode(&payload[..]).unwrap()));
            self.queue.push_back((NodeId(index as u32), sent));
        }
    }

    fn deliver(&mut self, now: u64) {
        while let Some((from, Outgoing { to, sequence, message, .. })) = self.queue.pop_front() {
            let bytes = message::encode(&message);
            let event = Event::Message { from, sequence, skipped: 0, message: Encoded(&bytes) };
            if to == NodeId::SERVER {
                let (mut effects, mut out) = (Effects::default(), Vec::new());
                self.server.apply(now, event, &self.keys, &mut effects, &mut out).unwrap();
                self.queue.extend(out.into_iter().map(|message| (NodeId::SERVER, message)));
            } else {
                self.step(to.index(), |client, keys, effects, out| {
                    client.apply(now, event, keys, effects, out).unwrap();
                });
            }
        }
    }
}

/// A reward that differs from pull to pull, and is repeatable.
fn reward(client: usize, arm: ArmIndex, tick: u64) -> f64 {
    let noise = (tick.wrapping_mul(2_654_435_761) >> 7) % 1000;
    [0.2, 0.5, 0.9][(arm.index() + client) % 3] + noise as f64 / 1000.0 - 0.5
}

fn shapes(params: Value, enhanced: bool) -> (Setting, Bytes) {
    let setting = setting(3, 3, 4000);
    let valid = if enhanced { valid_enhanced(params, &setting) } else { valid(params, &setting) };
    let bytes = Bytes::run(&valid, &setting, 4000, reward);
    assert!(bytes.server.machine().phase() > 3, "phases go by");
    (setting, bytes)
}

fn check_means(values: &wire::ArmValues, setting: &Setting) {
    assert_eq!(values.values.len(), values.arms.len());
    assert!(values.arms.iter().all(|arm| (*arm as usize) < setting.arms));
}

#[test]
fn section_4_2_nothing_but_sample_means_and_active_sets_leaves_a_client() {
    let (setting, bytes) = shapes(json!({ "schedule": "2^p", "reward_noise": 0.3 }), false);
    let mut sent = vec![0u64; 3];
    for (client, payload) in &bytes.left {
        sent[*client] += 1;
        let number = sent[*client];
        match payload.shape.as_ref().unwrap() {
            Shape::ArmValues(values) => {
                check_means(values, &setting);
                // Means of rewards lie where rewards lie; sums of thousands would not.
                assert!(values.values.iter().all(|mean| (-0.3..1.4).contains(mean)), "{values:?}");
                assert_eq!((values.number, values.phase), (number, number.div_ceil(2)));
                assert_eq!(number % 2, 1, "means and sets take turns");
            }
            Shape::ActiveArms(active) => {
                assert_eq!((active.number, active.phase), (number, number / 2 + 1));
                assert_eq!(number % 2, 0);
            }
            other => panic!("{other:?} left a client"),
        }
    }
    assert!(sent.iter().all(|sent| *sent >= 8), "{sent:?}");
}

#[test]
fn the_authors_fidelity_adds_a_signal_that_says_nothing_but_the_phase() {
    let params = json!({ "schedule": "2^p", "reward_noise": 0.3, "fidelity": "authors" });
    let (setting, bytes) = shapes(params, false);
    for (_, payload) in &bytes.left {
        match payload.shape.as_ref().unwrap() {
            Shape::ArmValues(values) => check_means(values, &setting),
            Shape::ActiveArms(_) => {}
            Shape::Control(control) => assert_eq!((control.signal, control.number), (super::super::READY, 0)),
            other => panic!("{other:?} left a client"),
        }
    }
}

#[test]
fn appendix_a_the_enhancement_also_sends_gap_estimates() {
    let (setting, bytes) = shapes(json!({ "schedule": "2^p", "reward_noise": 0.3 }), true);
    let (mut means, mut gaps, mut sets) = (0, 0, 0);
    for (_, payload) in &bytes.left {
        match payload.shape.as_ref().unwrap() {
            Shape::ArmValues(values) => {
                check_means(values, &setting);
                match values.number % 3 {
                    1 => means += 1,
                    2 => {
                        gaps += 1;
                        assert!(values.values.iter().all(|gap| *gap > 0.0));
                    }
                    _ => panic!("{values:?}"),
                }
            }
            Shape::ActiveArms(active) => {
                sets += 1;
                assert_eq!(active.number % 3, 0);
            }
            other => panic!("{other:?} left a client"),
        }
    }
    assert!(gaps == sets && means >= gaps && gaps > 6, "{means} {gaps} {sets}");
}
