//! A whole federation: two local servers and a global one, and all that travels between them.

use std::collections::VecDeque;

use cahoots_algorithms::fclub::{CdpFclubDc, FclubMsg, GlobalServer, LocalServer};
use cahoots_core::message::{decode, encode};
use cahoots_core::{
    Algorithm, Context, Cx, Effects, Keys, Learner as _, Machine as _, Membership, NodeId, Positions,
    Seating, Setting, UserId,
};
use serde_json::json;

use super::Subject;

const USERS: u32 = 2;
/// Observations of the audited user; its first one differs.
const OBSERVATIONS: usize = 24;

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
        json!({ "dp_epsilon": 1.0, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 31 }),
    )
}

fn broken(second: bool, seed: u64) -> f64 {
    let params = json!({ "dp_epsilon": 20.0, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 31 });
    transcript(second, seed, params)
}

/// Runs the federation on its scripted observations; scores what the first local server sent, read from the
/// bytes: moments of its sums of one, two, four, ... uploads.
fn transcript(second: bool, seed: u64, params: serde_json::Value) -> f64 {
    let setting = Setting::linear(USERS as usize, 1, 1).with_hosts((0..USERS).map(NodeId));
    let params = serde_json::from_value(params).expect("parameters that can be read");
    let valid = CdpFclubDc::check(params, &setting).expect("parameters that fit");
    let seat = |node| Seating::PerHost.seat(&setting, node);
    let mut run = Run {
        keys: Keys::from_seed(seed),
        server: CdpFclubDc::server(&valid, &seat(NodeId::SERVER)),
        locals: (0..USERS).map(|node| CdpFclubDc::client(&valid, &seat(NodeId(node)))).collect(),
        positions: vec![Positions::default(); USERS as usize + 1],
        wire: VecDeque::new(),
        sum: 0.0,
        uploads: 0,
        score: 0.0,
    };
    for node in 0..USERS {
        run.server(|server, cx| server.on_membership(Membership::Joined(NodeId(node)), cx));
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
    server: GlobalServer,
    locals: Vec<LocalServer>,
    positions: Vec<Positions>,
    wire: VecDeque<(NodeId, NodeId, FclubMsg)>,
    sum: f64,
    uploads: u64,
    score: f64,
}

impl Run {
    fn server(&mut self, input: impl FnOnce(&mut GlobalServer, &mut Cx<'_, FclubMsg>)) {
        let mut effects = Effects::default();
        let place = USERS as usize;
        let mut cx = Cx::new(NodeId::SERVER, 1, &self.keys, &mut self.positions[place], &mut effects);
        input(&mut self.server, &mut cx);
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
    }

    fn local(&mut self, node: u32, input: impl FnOnce(&mut LocalServer, &mut Cx<'_, FclubMsg>)) {
        let mut effects = Effects::default();
        let index = node as usize;
        let mut cx = Cx::new(NodeId(node), 1, &self.keys, &mut self.positions[index], &mut effects);
        input(&mut self.locals[index], &mut cx);
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId(node), to, message)));
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.wire.pop_front() {
            if from == NodeId(0) {
                self.look(&message);
            }
            if to == NodeId::SERVER {
                self.server(|server, cx| server.on_message(from, message, cx).expect("an honest message"));
            } else {
                self.local(to.0, |local, cx| local.on_message(from, message, cx).expect("an honest message"));
            }
        }
    }

    /// What an outsider reads on the wire.
    fn look(&mut self, message: &FclubMsg) {
        if let Ok(FclubMsg::Upload { stats, .. }) = decode::<FclubMsg>(&encode(message)) {
            self.sum += stats.get().moment[0];
            self.uploads += 1;
            if self.uploads.is_power_of_two() {
                self.score += self.sum;
            }
        }
    }

    fn observe(&mut self, node: u32, x: f64, reward: f64) {
        let chosen = cahoots_algorithms::kit::clusters::ChosenFor {
            user: UserId(node),
            context: Context::from_slice(&[x]),
        };
        self.local(node, |local, cx| local.observe(chosen, reward, cx));
        self.deliver();
    }
}
