//! Servers that do not believe everyone, message by message: lies that came first go again, everyone is told, and whoever
//! says what no data give changes nothing.

use std::collections::BTreeMap;

use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_algorithms::{async_linucb, fed_linucb, private, sync_linucb};
use cahoots_core::drive::{Event, Host, Outcome, Typed};
use cahoots_core::linalg::dot;
use cahoots_core::{
    Algorithm, Cx, Effects, Factor, Keys, LinearStats, Membership, NodeId, Private, Seats, Setting,
    Unprotected,
};
use serde_json::{Value, json};

const CLIENTS: u32 = 12;
const THETA: [f64; 2] = [0.6, -0.8];

struct Served<A: Algorithm> {
    host: Host<A::Server>,
    /// The last view of each client.
    views: BTreeMap<NodeId, LinearStats>,
    numbers: BTreeMap<NodeId, u64>,
}

impl<A: Algorithm<Msg = LinearMsg>> Served<A> {
    fn new(params: Value) -> Self {
        let params: A::Params = serde_json::from_value(params).unwrap();
        let setting = Setting::linear(CLIENTS as usize, 2, 2);
        let valid = A::check(params, &setting).unwrap();
        let seat = Seats::of::<A>(&valid, &setting).seat(NodeId::SERVER);
        let host = Host::new(seat.clone(), A::server(&valid, &seat));
        let mut served = Served { host, views: BTreeMap::new(), numbers: BTreeMap::new() };
        served.event(Event::Start);
        (0..CLIENTS).for_each(|client| {
            served.event(Event::Membership(Membership::Joined(NodeId(client))));
        });
        served
    }

    fn event(&mut self, event: Event<Typed<LinearMsg>>) -> Outcome {
        let (mut effects, mut out) = (Effects::default(), Vec::new());
        let outcome = self.host.apply(0, event, &Keys::from_seed(1), &mut effects, &mut out).unwrap();
        for sent in out {
            if let LinearMsg::Download { view, .. } = sent.message {
                self.views.insert(sent.to, view.stats().clone());
            }
        }
        outcome
    }

    fn say(&mut self, from: u32, message: LinearMsg) -> Outcome {
        let from = NodeId(from);
        let sequence = self.host.ends(from).received + 1;
        self.event(Event::Message { from, sequence, skipped: 0, message: Typed(message) })
    }

    fn upload(&mut self, from: u32, stats: LinearStats) -> Outcome {
        let number = self.numbers.entry(NodeId(from)).or_default();
        *number += 1;
        let message = LinearMsg::Upload { number: *number, stats: released(stats) };
        self.say(from, message)
    }
}

fn released(stats: LinearStats) -> Private<LinearStats> {
    Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, stats)).0
}

/// Ten more observations of an honest client.
fn honest(client: u32, round: u32) -> LinearStats {
    let mut stats = LinearStats::empty(2);
    let mut rng = Keys::from_seed(u64::from(100 * round + client)).policy(NodeId(0), 0);
    for _ in 0..10 {
        let x = [rng.normal(), rng.normal()];
        stats.observe(&x, dot(&x, &THETA) + 0.1 * rng.normal());
    }
    stats
}

/// A million times what anyone knows, all of it wrong.
fn lie() -> LinearStats {
    let mut stats = LinearStats::empty(2);
    for x in [[3e3, 0.0], [0.0, 3e3], [2e3, 2e3]] {
        stats.observe(&x, -dot(&x, &THETA));
    }
    stats
}

fn error(stats: &LinearStats) -> f64 {
    let theta = Factor::of(stats.gram.packed(), &stats.moment, 0.1).unwrap().theta();
    theta.iter().zip(THETA).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

const RULES: [&str; 2] = [r#"{ "trim": 0.3 }"#, r#""geometric-median""#];

fn with(own: Value, rule: &str) -> Value {
    let mut params = own;
    params["robust"] = serde_json::from_str(rule).unwrap();
    params
}

/// The log-det of what is believed falls when a lie is found that was believed while there was nothing to hold it against.
/// Whoever has the lie is served all the same.
#[test]
fn a_lie_that_came_first_does_not_stay_with_anybody() {
    for rule in RULES {
        let mut served = Served::<async_linucb::AsyncLinucb>::new(with(json!({ "ratio": 1.5 }), rule));
        for liar in 0..3 {
            served.upload(liar, lie());
        }
        assert!(served.views.values().any(|view| error(view) > 1.9), "it was believed, and told on");
        for round in 0..6 {
            (3..CLIENTS).for_each(|client| {
                served.upload(client, honest(client, round));
            });
        }
        for client in (3..CLIENTS).map(NodeId) {
            let view = &served.views[&client];
            assert!(error(view) < 0.2 && view.count > 50, "{rule} {client}: {}", error(view));
        }
    }
}

#[test]
fn rounds_and_answers_are_of_what_is_believed() {
    for rule in RULES {
        let mut served = Served::<sync_linucb::SyncLinucb>::new(with(json!({}), rule));
        let mut alone = Served::<fed_linucb::FedLinucb>::new(with(json!({}), rule));
        for round in 0..4 {
            served.say(3, LinearMsg::signal(Signal::Request, 0));
            for client in 0..CLIENTS {
                let stats = if client < 3 { lie() } else { honest(client, round) };
                served.upload(client, stats.clone());
                alone.upload(client, stats);
            }
        }
        for client in (3..CLIENTS).map(NodeId) {
            assert!(
                error(&served.views[&client]) < 0.2,
                "{rule} {client}: {}",
                error(&served.views[&client])
            );
            assert!(error(&alone.views[&client]) < 0.2, "{rule} {client}: {}", error(&alone.views[&client]));
        }
    }
}

#[test]
fn what_no_data_give_is_refused_as_ever_and_changes_nothing() {
    for rule in RULES {
        let mut served = Served::<async_linucb::AsyncLinucb>::new(with(json!({ "ratio": 1.5 }), rule));
        (0..CLIENTS).for_each(|client| {
            served.upload(client, honest(client, 0));
        });
        let before = cahoots_core::snapshot::save(served.host.machine());
        let mut indefinite = honest(1, 1);
        indefinite.gram.packed_mut()[0] = -1.0;
        let mut beyond = honest(1, 1);
        beyond.moment[0] = f64::INFINITY;
        let mut impossible = honest(1, 1);
        impossible.count = u64::MAX;
        for stats in [indefinite, beyond, impossible, LinearStats::empty(3)] {
            let message = LinearMsg::Upload { number: 2, stats: released(stats) };
            assert!(matches!(served.say(1, message), Outcome::Refused(_)));
            assert_eq!(cahoots_core::snapshot::save(served.host.machine()), before);
        }
    }
}

/// Servers without the key keep what they kept, and no more.
#[test]
fn contributions_are_kept_apart_where_the_setting_does_not_ask_for_it() {
    use cahoots_core::Machine;
    let robust = Served::<async_linucb::AsyncLinucb>::new(with(json!({}), RULES[0]));
    assert_eq!(robust.host.machine().forgets(), Ok(()));
    let plain = Served::<async_linucb::AsyncLinucb>::new(json!({}));
    assert!(plain.host.machine().forgets().is_err());
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    fn why<A: Algorithm>(params: Value) -> String {
        let params: A::Params = serde_json::from_value(params).unwrap();
        A::check(params, &Setting::linear(8, 2, 2)).map(drop).unwrap_err().to_string()
    }
    for trim in [0.0, -0.1, 0.5, 0.9] {
        let refused = why::<async_linucb::AsyncLinucb>(json!({ "robust": { "trim": trim } }));
        assert!(refused.starts_with("robust: trim must lie between 0 and 0.5"), "{refused}");
    }
    let group = json!({ "dp_delta": 1e-5, "trust": "group", "robust": { "trim": 0.3 } });
    let refused = why::<private::PrivateLinucb>(group);
    assert!(refused.starts_with("robust: ") && refused.contains("sums over groups"), "{refused}");
    let silo = json!({ "dp_delta": 1e-5, "robust": "geometric-median" });
    assert!(why::<private::PrivateLinucb>(silo).contains("noise"));
    let unknown = serde_json::from_value::<fed_linucb::Params>(json!({ "robust": "median" }));
    assert!(unknown.is_err());
}

/// Sums of contexts, which no rewards speak for, can be made up.
#[test]
fn a_policy_that_needs_sums_of_contexts_is_refused() {
    let setting = Setting::linear(CLIENTS as usize, 2, 2);
    let params = json!({ "policy": "linphe", "robust": { "trim": 0.3 } });
    let refused = [
        async_linucb::AsyncLinucb::check(serde_json::from_value(params.clone()).unwrap(), &setting).err(),
        fed_linucb::FedLinucb::check(serde_json::from_value(params.clone()).unwrap(), &setting).err(),
        sync_linucb::SyncLinucb::check(serde_json::from_value(params).unwrap(), &setting).err(),
    ];
    for error in refused {
        let error = error.expect("refused");
        assert!(error.key == "robust" && error.to_string().contains("linphe"), "{error}");
    }
}
