//! A whole federation: two local servers and a global one, and all that travels between them.

use std::collections::VecDeque;

use cahoots_algorithms::fclub::{CdpFclubDc, FclubMsg, GlobalServer, LocalServer};
use cahoots_algorithms::kit::clusters::ChosenFor;
use cahoots_core::drive::{Encoded, Event, Host, LearnerHost, Outcome, Outgoing};
use cahoots_core::message::{decode, encode};
use cahoots_core::{Algorithm, Context, Effects, Keys, Membership, NodeId, Seats, Setting, Tick, UserId};
use serde_json::json;

use super::Subject;

const USERS: u32 = 2;
/// Observations of the audited user; its first one differs.
const OBSERVATIONS: usize = 24;
/// All of it happens at one tick.
const NOW: Tick = 1;

pub(super) fn subjects() -> Vec<Subject> {
    let subject = Subject {
        name: "cdp-fclub-dc",
        about: "the transcript of a small federation in which one observation is (x, 1) or (-x, 1)",
        epsilon: 1.0,
        delta: 1e-5,
        control: false,
        share: 0.1,
        run: honest,
    };
    let broken = Subject {
        name: "cdp-fclub-dc-broken",
        about: "the same, with the noise of epsilon = 20",
        control: true,
        run: broken,
        ..subject
    };
    vec![Subject { ..subject }, broken]
}

fn honest(second: bool, seed: u64) -> f64 {
    transcript(
        second,
        seed,
        json!({ "dp_epsilon": 1.0, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 31, "renewals": 0 }),
    )
}

fn broken(second: bool, seed: u64) -> f64 {
    let params =
        json!({ "dp_epsilon": 20.0, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 31, "renewals": 0 });
    transcript(second, seed, params)
}

/// Runs the federation on its scripted observations; scores what the first local server sent, read from the
/// bytes: moments of its sums of one, two, four, ... uploads.
fn transcript(second: bool, seed: u64, params: serde_json::Value) -> f64 {
    let setting = Setting::linear(USERS as usize, 1, 1).with_hosts((0..USERS).map(NodeId));
    let params = serde_json::from_value(params).expect("parameters that can be read");
    let valid = CdpFclubDc::check(params, &setting).expect("parameters that fit");
    let seats = Seats::of::<CdpFclubDc>(&valid, &setting);
    let (nodes, seat) = ((0..USERS).map(NodeId), seats.seat(NodeId::SERVER));
    let local = |node| {
        let seat = seats.seat(node);
        let local = CdpFclubDc::client(&valid, &seat);
        LearnerHost::new(seat, local, 0)
    };
    let mut run = Run {
        keys: Keys::from_seed(seed),
        server: Host::new(seat.clone(), CdpFclubDc::server(&valid, &seat)),
        locals: nodes.clone().map(local).collect(),
        effects: Effects::default(),
        wire: VecDeque::new(),
        sum: 0.0,
        uploads: 0,
        score: 0.0,
    };
    for node in nodes.clone().chain([NodeId::SERVER]) {
        run.event(node, Event::Start);
    }
    for node in nodes {
        run.event(NodeId::SERVER, Event::Membership(Membership::Joined(node)));
    }
    for i in 0..OBSERVATIONS {
        let x = if i == 0 && !second { -1.0 } else { 1.0 };
        run.observe(0, x, if i == 0 { 1.0 } else { 0.0 });
        run.observe(1, 1.0, 0.0);
    }
    run.score
}

struct Run {
    keys: Keys,
    server: Host<GlobalServer>,
    locals: Vec<LearnerHost<LocalServer>>,
    effects: Effects<FclubMsg>,
    wire: VecDeque<(NodeId, Outgoing<FclubMsg>)>,
    sum: f64,
    uploads: u64,
    score: f64,
}

impl Run {
    fn event(&mut self, node: NodeId, event: Event<Encoded<'_>>) {
        let (keys, effects, mut out) = (&self.keys, &mut self.effects, Vec::new());
        let outcome = match node {
            NodeId::SERVER => self.server.apply(NOW, event, keys, effects, &mut out),
            _ => self.locals[node.index()].apply(NOW, event, keys, effects, &mut out),
        };
        assert_eq!(outcome, Ok(Outcome::Done), "everyone is honest");
        self.send(node, out);
    }

    fn send(&mut self, from: NodeId, out: Vec<Outgoing<FclubMsg>>) {
        self.effects.facts.clear();
        self.wire.extend(out.into_iter().map(|message| (from, message)));
    }

    fn deliver(&mut self) {
        while let Some((from, Outgoing { to, sequence, message, .. })) = self.wire.pop_front() {
            let bytes = encode(&message);
            if from == NodeId(0) {
                self.look(&bytes);
            }
            self.event(to, Event::Message { from, sequence, skipped: 0, message: Encoded(&bytes) });
        }
    }

    /// What an outsider reads on the wire.
    fn look(&mut self, bytes: &[u8]) {
        if let Ok(FclubMsg::Upload { stats, .. }) = decode::<FclubMsg>(bytes) {
            self.sum += stats.get().moment[0];
            self.uploads += 1;
            if self.uploads.is_power_of_two() {
                self.score += self.sum;
            }
        }
    }

    fn observe(&mut self, node: u32, x: f64, reward: f64) {
        let chosen = ChosenFor { user: UserId(node), context: Context::from_slice(&[x]) };
        let (keys, effects, mut out) = (&self.keys, &mut self.effects, Vec::new());
        self.locals[node as usize].settle(NOW, chosen, reward, keys, effects, &mut out);
        self.send(NodeId(node), out);
        self.deliver();
    }
}
