//! Who is late, who leaves, who comes back.

use std::collections::VecDeque;

use cahoots_core::{Membership, NodeId, Tick, snapshot};
use serde_json::json;

use super::server::{say_at, set, to, upload};
use super::*;

fn membership(server: &mut Server, now: Tick, change: Membership) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_membership(change, cx))
}

fn wake(server: &mut Server, now: Tick) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_wake(cx))
}

fn of_three(params: Value) -> (Setting, Server) {
    let setting = setting(3, 2, 1000);
    let server = server(&valid(params, &setting), &setting);
    (setting, server)
}

#[test]
fn after_the_deadline_a_quorum_goes_on_and_the_late_one_is_told_where() {
    let (_, mut server) = of_three(json!({ "deadline": 5, "quorum": 0.6 }));
    assert_eq!(server.waiting_for(), [0, 1, 2].map(NodeId));
    assert!(wake(&mut server, 90).is_empty(), "time runs from the first answer on");
    say_at(&mut server, 100, 0, upload(1, 1, &[0, 1], &[0.0, 1.0]));
    assert!(wake(&mut server, 105).is_empty(), "1 of 3 is no quorum");
    let sent = say_at(&mut server, 106, 2, upload(1, 1, &[0, 1], &[1.0, 1.0]));
    assert_eq!(to(&sent), [0, 2], "means go to those who took part");
    let ArmMsg::Download(means) = &sent[0].1 else { panic!("{sent:?}") };
    assert_eq!(means.values, [0.5, 1.0]);
    assert_eq!(server.waiting_for(), [0, 2].map(NodeId));
    let before = snapshot::save(&server);
    assert!(say_at(&mut server, 107, 1, upload(1, 1, &[0, 1], &[9.0, 9.0])).is_empty());
    assert_eq!(snapshot::save(&server), before, "a late answer changes nothing");
    say_at(&mut server, 108, 0, set(2, 2, &[0, 1]));
    let sent = say_at(&mut server, 108, 2, set(2, 2, &[1]));
    assert_eq!(to(&sent), [0, 1, 2], "the next phase is for all");
    assert_eq!(server.waiting_for(), [0, 1, 2].map(NodeId));
}

#[test]
fn sets_are_not_waited_for_for_ever_either() {
    let (_, mut server) = of_three(json!({ "deadline": 5 }));
    (0..3).for_each(|client| drop(say_at(&mut server, 9, client, upload(1, 1, &[0, 1], &[0.0, 1.0]))));
    say_at(&mut server, 10, 0, set(2, 2, &[1]));
    assert!(wake(&mut server, 14).is_empty());
    assert_eq!(to(&wake(&mut server, 15)), [0, 1, 2]);
    assert_eq!((server.phase(), server.active()), (2, &arms(&[1])[..]));
    let before = snapshot::save(&server);
    say_at(&mut server, 16, 1, set(2, 2, &[0, 1]));
    assert_eq!(snapshot::save(&server), before, "too late");
}

#[test]
fn who_left_is_not_written_to_and_who_comes_back_is_told_the_phase() {
    let (_, mut server) = of_three(json!({}));
    let before = snapshot::save(&server);
    assert!(membership(&mut server, 1, Membership::Left(NodeId(7))).is_empty());
    assert!(membership(&mut server, 1, Membership::Joined(NodeId(7))).is_empty());
    assert_eq!(snapshot::save(&server), before, "nobody knows 7");
    // It answers, then leaves: its means count, and it is not written to.
    say_at(&mut server, 1, 1, upload(1, 1, &[0, 1], &[1.0, 1.0]));
    say_at(&mut server, 1, 0, upload(1, 1, &[0, 1], &[0.0, 1.0]));
    membership(&mut server, 1, Membership::Left(NodeId(1)));
    let sent = say_at(&mut server, 1, 2, upload(1, 1, &[0, 1], &[0.5, 1.0]));
    assert_eq!(to(&sent), [0, 2]);
    say_at(&mut server, 2, 0, set(2, 2, &[0, 1]));
    assert_eq!(to(&say_at(&mut server, 2, 2, set(2, 2, &[0, 1]))), [0, 2]);
    let sent = membership(&mut server, 3, Membership::Joined(NodeId(1)));
    let [(NodeId(1), ArmMsg::DownloadActive(next))] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(**next, ActiveArms { phase: 2, arms: arms(&[0, 1]) });
    assert!(server.waiting_for().contains(&NodeId(1)), "it takes part from here on");
    assert!(
        say_at(&mut server, 4, 1, upload(1, 1, &[0, 1], &[0.0, 0.0])).is_empty(),
        "what it explored alone"
    );
    (0..2).for_each(|client| drop(say_at(&mut server, 5, client, upload(3, 2, &[0, 1], &[0.0, 1.0]))));
    assert_eq!(to(&say_at(&mut server, 5, 2, upload(3, 2, &[0, 1], &[0.0, 1.0]))), [0, 1, 2]);
}

#[test]
fn who_comes_back_when_exploration_is_over_is_told_the_next_phase_and_can_take_it() {
    let (setting, mut server) = of_three(json!({}));
    (0..3).for_each(|client| drop(say_at(&mut server, 1, client, upload(1, 1, &[0, 1], &[0.0, 1.0]))));
    (0..3).for_each(|client| drop(say_at(&mut server, 2, client, set(2, 2, &[0, 1]))));
    membership(&mut server, 3, Membership::Left(NodeId(1)));
    say_at(&mut server, 4, 0, upload(3, 2, &[0, 1], &[0.0, 1.0]));
    assert_eq!(to(&say_at(&mut server, 4, 2, upload(3, 2, &[0, 1], &[0.0, 1.0]))), [0, 2]);
    let sent = membership(&mut server, 5, Membership::Joined(NodeId(1)));
    assert!(sent.is_empty(), "in the phase that is about to end it has no part: {sent:?}");
    say_at(&mut server, 6, 0, set(4, 3, &[0, 1]));
    let sent = say_at(&mut server, 6, 2, set(4, 3, &[0, 1]));
    assert_eq!(to(&sent), [0, 1, 2]);
    let mut fresh = client(&valid(json!({}), &setting), &setting, 1);
    tell(&mut fresh, sent[1].1.clone());
    assert_eq!(fresh.phase(), 3);
    assert!(server.waiting_for().contains(&NodeId(1)), "it takes part from here on");
}

#[test]
fn those_who_were_late_go_on_when_all_who_were_not_have_left() {
    let (_, mut server) = of_three(json!({ "deadline": 5 }));
    say_at(&mut server, 9, 0, upload(1, 1, &[0, 1], &[0.0, 1.0]));
    assert_eq!(to(&wake(&mut server, 14)), [0]);
    let sent = membership(&mut server, 15, Membership::Left(NodeId(0)));
    assert_eq!(to(&sent), [1, 2]);
    assert_eq!((server.phase(), server.active().len()), (2, 2), "nothing was given up");
}

/// A whole federation; `away` holds who neither pulls nor hears.
struct Federation {
    setting: Setting,
    valid: Valid,
    server: Server,
    clients: Vec<Client>,
    wire: Vec<VecDeque<ArmMsg>>,
    away: Vec<u32>,
    now: Tick,
    wake: Option<Tick>,
}

const MEANS: [[f64; 3]; 3] = [[0.7, 0.5, 0.3], [0.6, 0.5, 0.3], [0.7, 0.4, 0.3]];

impl Federation {
    fn new(valid: Valid, setting: Setting) -> Self {
        let clients = (0..3).map(|id| client(&valid, &setting, id)).collect();
        let (server, wire) = (server(&valid, &setting), vec![VecDeque::new(); 3]);
        Federation { setting, valid, server, clients, wire, away: Vec::new(), now: 1, wake: None }
    }

    fn at_server(&mut self, input: impl FnOnce(&mut Server, &mut cahoots_core::Cx<'_, ArmMsg>)) {
        let ((), effects) =
            cahoots_core::Cx::rehearse(NodeId::SERVER, self.now, |cx| input(&mut self.server, cx));
        self.wake = effects.wake.or(self.wake);
        effects.outbox.into_iter().for_each(|(to, message)| self.wire[to.index()].push_back(message));
    }

    fn hear(&mut self, id: u32, sent: Vec<(NodeId, ArmMsg)>) {
        for (_, message) in sent {
            self.at_server(|s, cx| s.on_message(NodeId(id), message, cx).unwrap());
        }
    }

    /// One pull of everyone who is there, and all that follows.
    fn tick(&mut self) {
        for id in (0..3).filter(|id| !self.away.contains(id)).collect::<Vec<u32>>() {
            while let Some(message) = self.wire[id as usize].pop_front() {
                let sent = tell(&mut self.clients[id as usize], message);
                self.hear(id, sent);
            }
            let (_, sent) = pull(&mut self.clients[id as usize], &MEANS[id as usize]);
            self.hear(id, sent);
        }
        self.now += 1;
        if self.wake.is_some_and(|tick| tick <= self.now) {
            self.wake = None;
            self.at_server(|s, cx| s.on_wake(cx));
        }
    }

    fn run(&mut self, ticks: u32, until: impl Fn(&Self) -> bool) {
        for _ in 0..ticks {
            if until(self) {
                return;
            }
            self.tick();
        }
        panic!("phase {}, waiting for {:?}", self.server.phase(), self.server.waiting_for());
    }

    fn settled(&self) -> bool {
        self.clients.iter().all(|client| client.fixed().is_some())
    }
}

fn variants() -> Vec<(Valid, Setting, String)> {
    let setting = || setting(3, 3, 1_000_000);
    let mut all = Vec::new();
    for fidelity in ["paper", "authors"] {
        for alpha in [0.0, 0.5, 1.0] {
            let keys =
                json!({ "deadline": 20, "quorum": 0.5, "fidelity": fidelity, "personalization": alpha });
            let what = |name: &str| format!("{name}, {fidelity}, {alpha}");
            all.push((valid(keys.clone(), &setting()), setting(), what("pf-ucb")));
            all.push((valid_enhanced(keys, &setting()), setting(), what("pf-ucb-enhanced")));
        }
    }
    all
}

#[test]
fn a_client_that_never_started_does_not_stall_the_others_and_joins_in_when_it_comes() {
    for (valid, setting, what) in variants() {
        let mut federation = Federation::new(valid, setting);
        federation.away = vec![2];
        federation.run(200_000, |f| f.server.phase() >= 3);
        federation.away.clear();
        federation.run(2_000_000, Federation::settled);
        assert!(federation.clients.iter().all(|client| client.phase() >= 3), "{what}");
    }
}

#[test]
fn a_client_that_left_and_comes_back_with_a_fresh_machine_is_one_of_them_again() {
    for patient in [true, false] {
        let setting = setting(3, 3, 1_000_000);
        let keys = if patient { json!({ "deadline": 20 }) } else { json!({}) };
        for valid in [valid(keys.clone(), &setting), valid_enhanced(keys.clone(), &setting)] {
            let mut federation = Federation::new(valid, setting.clone());
            federation.run(200_000, |f| f.server.phase() >= 2);
            federation.at_server(|s, cx| s.on_membership(Membership::Left(NodeId(2)), cx));
            federation.wire[2].clear();
            federation.away = vec![2];
            federation.run(200_000, |f| f.server.phase() >= 3);
            federation.clients[2] = client(&federation.valid, &federation.setting, 2);
            // It has learned alone before it was back.
            for _ in 0..30 {
                let (_, sent) = pull(&mut federation.clients[2], &MEANS[2]);
                assert!(sent.is_empty());
            }
            federation.at_server(|s, cx| s.on_membership(Membership::Joined(NodeId(2)), cx));
            federation.away.clear();
            federation.run(2_000_000, Federation::settled);
        }
    }
}
