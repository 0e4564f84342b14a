mod membership;
mod private;

use cahoots_core::message::Receipt;
use cahoots_core::{
    Algorithm, Claim, Context, Cx, Effects, Fact, Keys, Learner, LinearStats, Machine, Membership, Message,
    NodeId, Noise, Positions, Seating, Setting, UserId, View, snapshot,
};
use cahoots_privacy::Accountant;
use prost::Message as _;
use serde_json::{Value, json};

use super::{CdpFclubDc, Fclub, FclubDc, FclubMsg, GlobalServer, HomoDc, LocalServer};
use crate::kit::clusters::ChosenFor;
use crate::testing::released;
use cahoots_core::message::decode;

const DIM: usize = 2;

/// Two local servers with two users each: 0, 1 | 2, 3.
fn setting() -> Setting {
    Setting::linear(4, DIM, 2).with_hosts([0, 0, 1, 1].map(NodeId))
}

/// A federation in miniature, with a step counter for a clock.
struct Miniature {
    keys: Keys,
    server: GlobalServer,
    locals: Vec<LocalServer>,
    positions: Vec<Positions>,
    wire: Vec<(NodeId, NodeId, FclubMsg)>,
    releases: Vec<cahoots_core::ReleaseFact>,
    accountant: Accountant,
    now: u64,
}

impl Miniature {
    fn new<A: Algorithm<Client = LocalServer, Server = GlobalServer>>(params: Value) -> Miniature {
        let setting = setting();
        let valid = A::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
        let seat = |node| Seating::PerHost.seat(&setting, node);
        let mut miniature = Miniature {
            keys: Keys::from_seed(3),
            server: A::server(&valid, &seat(NodeId::SERVER)),
            locals: (0..2).map(|i| A::client(&valid, &seat(NodeId(i)))).collect(),
            positions: vec![Positions::default(); 3],
            wire: Vec::new(),
            releases: Vec::new(),
            accountant: Accountant::default(),
            now: 1,
        };
        for node in 0..2 {
            miniature.at_server(|server, cx| server.on_membership(Membership::Joined(NodeId(node)), cx));
        }
        miniature.deliver();
        miniature
    }

    fn at_server(&mut self, input: impl FnOnce(&mut GlobalServer, &mut Cx<'_, FclubMsg>)) {
        let mut effects = Effects::default();
        let mut cx = Cx::new(NodeId::SERVER, self.now, &self.keys, &mut self.positions[2], &mut effects);
        input(&mut self.server, &mut cx);
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
    }

    fn at_local(&mut self, node: u32, input: impl FnOnce(&mut LocalServer, &mut Cx<'_, FclubMsg>)) {
        let mut effects = Effects::default();
        let (index, me) = (node as usize, NodeId(node));
        let mut cx = Cx::new(me, self.now, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.locals[index], &mut cx);
        for fact in effects.facts {
            if let Fact::Release(release) = fact {
                self.accountant.record(me, &release);
                self.releases.push(release);
            }
        }
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (me, to, message)));
    }

    /// Delivers until quiet; gives all messages, each by way of its bytes.
    fn deliver(&mut self) -> Vec<FclubMsg> {
        let mut seen = Vec::new();
        while !self.wire.is_empty() {
            let (from, to, message) = self.wire.remove(0);
            let bytes = message.to_wire().encode_to_vec();
            let message = decode::<FclubMsg>(&bytes).unwrap();
            seen.push(message.clone());
            if to == NodeId::SERVER {
                self.at_server(|server, cx| server.on_message(from, message, cx).unwrap());
            } else {
                self.at_local(to.0, |local, cx| local.on_message(from, message, cx).unwrap());
            }
        }
        seen
    }

    fn observe(&mut self, user: u32, x: [f64; DIM], reward: f64) -> Vec<FclubMsg> {
        self.now += 1;
        let node = setting().hosts[user as usize].0;
        let chosen = ChosenFor { user: UserId(user), context: Context::from_slice(&x) };
        self.at_local(node, |local, cx| local.observe(chosen, reward, cx));
        self.deliver()
    }

    fn phase(&mut self) -> Vec<FclubMsg> {
        self.at_server(|server, cx| server.on_wake(cx));
        self.deliver()
    }

    /// Users 0 and 2 like the first feature, 1 and 3 the second.
    fn live(&mut self, rounds: usize) {
        let mut rng = self.keys.policy(NodeId(9), self.now << 20);
        for _ in 0..rounds {
            for user in 0..4 {
                let (a, b) = (rng.normal(), rng.normal());
                let norm = (a * a + b * b).sqrt();
                let x = [a / norm, b / norm];
                self.observe(user, x, 0.9 * x[user as usize % 2] + 0.01 * rng.normal());
            }
        }
    }
}

fn uploads(messages: &[FclubMsg]) -> Vec<LinearStats> {
    let upload = |message: &FclubMsg| match message {
        FclubMsg::Upload { stats, .. } => Some(stats.get().clone()),
        _ => None,
    };
    messages.iter().filter_map(upload).collect()
}

#[test]
fn eq5_uploads_when_the_determinant_has_grown_by_u() {
    let mut federation = Miniature::new::<FclubDc>(json!({ "upload_ratio": 1.6, "download_ratio": 1.01 }));
    // S starts as 2 I (two local servers): det grows by 1 + 1/2 with a unit vector, then by 1 + 2/2.
    assert_eq!(uploads(&federation.observe(0, [1.0, 0.0], 0.5)).len(), 0);
    let messages = federation.observe(1, [1.0, 0.0], 0.5);
    let sent = uploads(&messages);
    assert_eq!((sent.len(), sent[0].count), (1, 2));
    // Eq. (6): the other local server lags by a factor of 2; the sender has it all.
    let downloads = messages.iter().filter(|m| matches!(m, FclubMsg::Download { .. })).count();
    assert_eq!(downloads, 1);
    assert_eq!(federation.locals[1].cluster(0).unwrap().shared().count, 0, "until it is used");
    federation.observe(2, [0.0, 0.1], 0.0);
    assert_eq!(federation.locals[1].cluster(0).unwrap().shared().count, 2);
}

#[test]
fn fclub_synchronises_every_observation() {
    let mut federation = Miniature::new::<Fclub>(json!({}));
    for user in [0, 2, 1, 3] {
        let messages = federation.observe(user, [0.6, 0.1], 0.5);
        assert_eq!(uploads(&messages).len(), 1);
        let downloads = messages.iter().filter(|m| matches!(m, FclubMsg::Download { .. })).count();
        assert_eq!(downloads, 1, "to the other, and not to the sender");
    }
    assert_eq!(federation.server.groups()[0].view().stats().count, 4);
}

#[test]
fn eq3_and_eq4_users_part_and_clusters_of_different_servers_are_merged() {
    let mut federation = Miniature::new::<FclubDc>(json!({ "deletion": 0.5, "merge": 0.5 }));
    federation.live(150);
    assert_eq!(federation.server.groups().len(), 1);
    let messages = federation.phase();
    let reports = messages.iter().filter(|m| matches!(m, FclubMsg::Report { .. })).count();
    assert_eq!(reports, 4, "one for each local cluster");
    for local in &federation.locals {
        assert_eq!(local.clusters().count(), 2);
    }
    let groups: Vec<Vec<(u32, u32)>> = federation
        .server
        .groups()
        .iter()
        .map(|group| group.members().map(|(node, cluster)| (node.0, cluster)).collect())
        .collect();
    assert_eq!(groups, [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]);
    // Line 11: all that was reported, every observation once.
    assert_eq!(federation.server.groups().iter().map(|group| group.view().stats().count).sum::<u64>(), 600);
    // Nothing changes: nothing is renewed, and what was pending stays pending.
    federation.live(5);
    let messages = federation.phase();
    assert!(messages.iter().any(|m| matches!(m, FclubMsg::Merged { renewed: false, .. })));
    assert!(!messages.iter().any(|m| matches!(m, FclubMsg::Download { .. })));
    federation.live(200);
    let total: u64 = federation.server.groups().iter().map(|group| group.view().stats().count).sum();
    assert!(total > 1300 && total <= 600 + 20 + 800, "{total}");
}

#[test]
fn alg2_line7_pieces_of_one_server_are_merged_again_unless_as_printed() {
    for (within, groups) in [(true, 1), (false, 4)] {
        // Everyone parts at once; a wide merge then joins what it may.
        let params =
            json!({ "deletion": 0.0, "merge": if within { 50.0 } else { 0.0 }, "merge_within": within });
        let mut federation = Miniature::new::<FclubDc>(params);
        federation.live(5);
        federation.phase();
        assert_eq!(federation.server.groups().len(), groups);
    }
    let mut federation =
        Miniature::new::<FclubDc>(json!({ "deletion": 0.0, "merge": 0.9, "merge_within": false }));
    federation.live(150);
    federation.phase();
    let alone = |server: &GlobalServer| {
        server.groups().iter().all(|group| {
            let mut nodes: Vec<NodeId> = group.members().map(|(node, _)| node).collect();
            nodes.dedup();
            nodes.len() == group.members().count()
        })
    };
    assert!(alone(&federation.server), "no two clusters of one server are joined directly");
}

#[test]
fn footnote_2_a_tolerance_keeps_similar_users_together() {
    let mut federation = Miniature::new::<FclubDc>(json!({ "deletion": 0.5, "tolerance": 2.0 }));
    federation.live(150);
    federation.phase();
    assert_eq!(federation.locals[0].clusters().count(), 1);
}

#[test]
fn homo_has_one_cluster_for_ever() {
    let mut federation = Miniature::new::<HomoDc>(json!({}));
    federation.live(100);
    assert_eq!(federation.server.groups().len(), 1);
}

#[test]
fn uploads_of_an_older_phase_are_dropped_for_they_have_been_reported() {
    let mut federation = Miniature::new::<FclubDc>(json!({ "deletion": 0.5, "merge": 0.5 }));
    federation.live(150);
    federation.phase();
    let before = snapshot::save(&federation.server);
    let late = FclubMsg::Upload { phase: 0, cluster: 0, number: 1, stats: released(LinearStats::empty(DIM)) };
    federation.at_server(|server, cx| server.on_message(NodeId(0), late, cx).unwrap());
    assert_eq!(snapshot::save(&federation.server), before);
}

#[test]
fn a_local_server_that_is_away_is_taken_as_last_known() {
    let mut federation = Miniature::new::<FclubDc>(json!({ "deletion": 0.5, "merge": 0.5 }));
    federation.live(150);
    federation.phase();
    federation.at_server(|server, cx| server.on_membership(Membership::Left(NodeId(1)), cx));
    for _ in 0..50 {
        federation.observe(0, [0.6, 0.8], 0.54);
        federation.observe(1, [0.6, 0.8], 0.72);
    }
    federation.phase();
    assert_eq!(federation.server.groups().len(), 2);
    assert!(federation.server.groups().iter().all(|group| group.members().count() == 2));
}

#[test]
fn messages_that_do_not_fit_change_nothing() {
    let mut federation = Miniature::new::<FclubDc>(json!({}));
    federation.live(3);
    let before = (snapshot::save(&federation.server), snapshot::save(&federation.locals[0]));
    let stats = || released(LinearStats::empty(DIM));
    for message in [
        FclubMsg::Upload { phase: 1, cluster: 0, number: 1, stats: stats() },
        FclubMsg::Upload { phase: 0, cluster: 7, number: 1, stats: stats() },
        FclubMsg::Report { phase: 1, cluster: 0, stats: stats() },
        FclubMsg::Structure { phase: 1, clusters: 2 },
        FclubMsg::Begin { phase: 1 },
    ] {
        federation.at_server(|server, cx| assert!(server.on_message(NodeId(0), message, cx).is_err()));
    }
    let view = || View::new(1 << 40, LinearStats::empty(DIM));
    for message in [
        FclubMsg::Merged { phase: 0, clusters: 1, members: vec![1], renewed: false },
        FclubMsg::Merged { phase: 1, clusters: 1, members: vec![1, 1], renewed: true },
        FclubMsg::Download { phase: 0, cluster: 3, view: view(), merged: 0 },
        FclubMsg::Download { phase: 0, cluster: 0, view: view(), merged: 1 << 40 },
        FclubMsg::Taken { phase: 0, cluster: 0, number: 1 << 40 },
        FclubMsg::Refused {
            receipt: Receipt { number: 1 << 40, phase: 0, cluster: 0 },
            reason: String::new(),
        },
        FclubMsg::Structure { phase: 1, clusters: 2 },
    ] {
        federation.at_local(0, |local, cx| {
            assert!(local.on_message(NodeId::SERVER, message, cx).is_err());
        });
    }
    assert_eq!((snapshot::save(&federation.server), snapshot::save(&federation.locals[0])), before);
}

#[test]
fn parameters_that_cannot_be_used_are_named() {
    for (params, key) in [
        (json!({ "ridge": 0.0 }), "ridge"),
        (json!({ "ratio": 0.5 }), "upload_ratio"),
        (json!({ "deletion": -1.0, "dp_delta": 1e-5 }), "deletion"),
        (json!({ "dp_epsilon": 0.0, "dp_delta": 1e-5 }), "dp_epsilon"),
        (json!({ "dp_delta": 1.0, "large_delta": true }), "dp_delta"),
        (json!({ "dp_delta": 0.1 }), "dp_delta"),
        (json!({}), "dp_delta"),
        (json!({ "planned_uploads": 0, "dp_delta": 1e-5 }), "planned_uploads"),
        (json!({ "failure_prob": 0.0 }), "failure_prob"),
        (json!({ "radius": { "fixed": -1.0 }, "dp_delta": 1e-5 }), "radius"),
    ] {
        let params = serde_json::from_value(params).unwrap();
        assert_eq!(CdpFclubDc::check(params, &setting()).unwrap_err().key, key);
    }
}
