//! Messages that no honest machine sends, and honest ones from those who must not send them.

use std::sync::{Arc, Mutex};

use cahoots_core::drive::{Encoded, Event, Host, Outcome};
use cahoots_core::message::Message as _;
use cahoots_core::{Algorithm, Effects, Keys, Machine, NodeId, Setting, custom, message, snapshot, wire};
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use prost::Message as _;
use serde_json::Value;

use super::SEED;

/// Whatever anyone sends, a machine takes it or is unchanged; and what a machine does not hear (a peer that
/// is no neighbour, a stranger, itself) never reaches it, however well formed.
pub fn an_error_changes_nothing<A: Algorithm>(worlds: &Worlds, params: &Value, scenario: &Scenario) {
    let mut simulation = prepare::<A>(worlds, params, scenario, SEED, Options::default()).expect("fits");
    let honest = Arc::new(Mutex::new(Vec::new()));
    let tape = honest.clone();
    simulation.on_message(Box::new(move |_, to, sent| {
        tape.lock().unwrap().push((to == NodeId::SERVER, message::encode(sent)));
    }));
    let (world, _) = scenario.build(worlds, SEED).expect("checked");
    let hostile: Vec<_> = hostile_payloads(world.setting()).iter().map(|p| p.encode_to_vec()).collect();
    let clients = simulation.clients() as u32;
    let speakers: Vec<NodeId> =
        (0..clients.min(4)).chain([clients, clients + 7]).map(NodeId).chain([NodeId::SERVER]).collect();
    let mut refused = 0;
    for tick in 0..scenario.horizon.min(60) {
        simulation.step();
        if tick % 7 != 0 {
            continue;
        }
        let sent = honest.lock().unwrap();
        let last = sent.last().map(|(_, payload)| payload.clone());
        let each_way = [true, false].map(|up| sent.iter().rfind(|(upward, _)| *upward == up));
        let damaged: Vec<_> =
            each_way.into_iter().flatten().flat_map(|(_, payload)| damaged(payload)).collect();
        drop(sent);
        for payload in hostile.iter().chain(&last).chain(&damaged) {
            for &from in &speakers {
                refused += try_on(simulation.server_host(), from, payload);
                for client in (0..clients.min(2)).map(NodeId) {
                    refused += try_on(simulation.client_host(client), from, payload);
                }
            }
        }
    }
    assert!(refused > 0, "{}: nothing was ever refused", A::NAME);
}

fn try_on<M: Machine>(host: &Host<M>, from: NodeId, payload: &[u8]) -> u64 {
    let seat = host.seat();
    let mut copy: Host<M> = Host::restore(seat.clone(), &host.save()).expect("saved a moment ago");
    let (mut effects, mut out) = (Effects::default(), Vec::new());
    let sequence = host.ends(from).received + 1;
    let event = Event::Message { from, sequence, skipped: 0, message: Encoded(payload) };
    let taken = copy.apply(99, event, &Keys::from_seed(0), &mut effects, &mut out);
    let heard = match seat.me {
        NodeId::SERVER => from.0 < seat.clients,
        me => from == NodeId::SERVER || from != me && seat.neighbours.contains(&from),
    };
    match taken {
        Ok(Outcome::Done) => assert!(heard, "{} took a message of {from}, whom it does not hear", seat.me),
        Ok(Outcome::Seen) => panic!("the next number was taken for an old one"),
        Ok(Outcome::Refused(why)) => {
            assert!(heard, "{}'s machine was shown a message of {from}, whom it does not hear", seat.me);
            let unchanged = snapshot::save(copy.machine()) == snapshot::save(host.machine());
            assert!(unchanged, "a refused message changed the machine: {why}");
            // Whoever sent it may be told that it was refused; nothing else, and nobody else.
            let receipt = message::decode::<M::Msg>(payload).ok().and_then(|message| message.receipt());
            let told = receipt.and_then(|receipt| M::Msg::refused(receipt, why.to_string()));
            let told: Vec<_> = told.iter().map(|told| (from, message::encode(told))).collect();
            let said: Vec<_> = out.iter().map(|said| (said.to, message::encode(&said.message))).collect();
            assert_eq!(said, told, "a refused message had another answer than its refusal");
            return 1;
        }
        Err(why) => {
            assert!(!heard, "{}: {from} was not heard: {why}", seat.me);
            assert!(copy.save() == host.save(), "a message that was not heard left a trace");
            return 1;
        }
    }
    0
}

/// A message of an algorithm's own (see [`wire::Custom`]) with bytes that only its own machines can refuse.
fn damaged(honest: &[u8]) -> Vec<Vec<u8>> {
    use wire::payload::Shape;
    let payload = wire::Payload::decode(honest).expect("what an honest machine sent");
    let Some(Shape::Custom(wire::Custom { name, body })) = payload.shape else { return Vec::new() };
    let shorter = body[..body.len().saturating_sub(1)].to_vec();
    let mut bodies = vec![vec![], vec![u8::MAX; 64], shorter, [&body[..], &[0]].concat()];
    for at in 0..body.len().min(48) {
        let with = |byte: u8, rest: &[u8]| [&body[..at], &[byte], rest].concat();
        let rest = &body[at + 1..];
        bodies.push(with(u8::MAX, rest));
        // Any byte may be the length of a list: one element more, one less, of a byte or of a number.
        for width in [1, 8] {
            bodies.push(with(body[at].wrapping_add(1), &[&vec![1; width], rest].concat()));
            bodies.push(with(body[at].wrapping_sub(1), rest.get(width..).unwrap_or_default()));
        }
    }
    bodies.into_iter().map(|body| custom::payload(&name, body).encode_to_vec()).collect()
}

/// Payloads of every shape, each wrong in its own way.
fn hostile_payloads(setting: &Setting) -> Vec<wire::Payload> {
    use wire::payload::Shape;
    let dim = setting.dim.max(2);
    let stats = |dim: usize, value: f64| wire::LinearStats {
        dim: dim as u32,
        count: 3,
        gram: vec![value; dim * (dim + 1) / 2],
        moment: vec![value; dim],
        contexts: vec![],
    };
    let upload =
        |number, stats| Shape::LinearUpload(wire::LinearUpload { number, phase: 0, stats, cluster: 0 });
    let view =
        |merged, stats| Shape::View(wire::View { version: u64::MAX, merged, phase: 0, stats, cluster: 0 });
    let mut indefinite = stats(dim, 0.0);
    indefinite.gram[0] = -1e9;
    let mut ragged = stats(dim, 1.0);
    ragged.gram.pop();
    let mut shapes = vec![None];
    for bad in [None, Some(stats(dim + 1, 1.0)), Some(stats(dim, f64::NAN)), Some(indefinite), Some(ragged)] {
        shapes.push(Some(upload(1, bad.clone())));
        shapes.push(Some(view(0, bad)));
    }
    shapes.push(Some(upload(1 << 40, Some(stats(dim, 0.0)))));
    shapes.push(Some(view(1 << 40, Some(stats(dim, 0.0)))));
    for arms in [0, setting.arms + 1] {
        let values = vec![f64::INFINITY; arms];
        shapes.push(Some(Shape::ArmValues(wire::ArmValues {
            number: 1 << 40,
            phase: 1 << 40,
            arms: (0..arms as u32).collect(),
            values,
        })));
        shapes.push(Some(Shape::ActiveArms(wire::ActiveArms {
            phase: 1 << 40,
            arms: vec![u32::MAX; arms.max(1)],
            number: 1 << 40,
        })));
    }
    for sizes in [vec![], vec![u32::MAX, 0]] {
        let clusters = wire::Clusters { phase: 1 << 40, sizes, ..Default::default() };
        shapes.push(Some(Shape::Clusters(clusters)));
    }
    for signal in [0, 1, 99] {
        shapes.push(Some(Shape::Control(wire::Control { signal, number: 1 << 40, phase: 1 << 40 })));
    }
    for name in ["", "no one's"] {
        shapes.push(Some(Shape::Custom(wire::Custom { name: name.into(), body: vec![1, 2, 3] })));
    }
    shapes.into_iter().map(|shape| wire::Payload { shape }).collect()
}
