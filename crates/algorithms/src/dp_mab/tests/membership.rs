//! Who is late, who leaves, who comes back.

use std::collections::{BTreeMap, VecDeque};

use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, Cx, Keys, Learner, Machine, Membership, NodeId, Seating, Setting, Tick,
    UserId, snapshot,
};
use serde_json::{Value, json};

use super::super::message::MabMsg;
use super::super::{CdpClient, CdpMab, DdpClient, DdpMab, HdpMab, Server, Synchroniser};
use super::setting;
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues};
use crate::testing::{released, step};

const CLIENTS: u32 = 3;

fn of_three() -> Setting {
    setting(CLIENTS as usize, 2, 100_000)
}

fn cdp(params: Value) -> Server {
    let valid = CdpMab::check(serde_json::from_value(params).unwrap(), &of_three()).unwrap();
    let mut server = CdpMab::server(&valid, &Seating::PerUser.seat(&of_three(), NodeId::SERVER));
    step(&mut server, 0, |s, cx| s.on_start(cx));
    server
}

fn means(epoch: u64, values: [f64; 2]) -> MabMsg {
    let values = ArmValues::new(epoch, [0, 1].map(ArmIndex).to_vec(), values.to_vec());
    MabMsg::Arms(ArmMsg::Upload { number: epoch, values: released(values) })
}

fn say<M: Machine<Msg = MabMsg>>(
    machine: &mut M,
    now: Tick,
    from: u32,
    message: MabMsg,
) -> Vec<(NodeId, MabMsg)> {
    step(machine, now, |m, cx| m.on_message(NodeId(from), message, cx).unwrap())
}

fn change<M: Machine<Msg = MabMsg>>(machine: &mut M, now: Tick, change: Membership) -> Vec<(NodeId, MabMsg)> {
    step(machine, now, |m, cx| m.on_membership(change, cx))
}

fn to(sent: &[(NodeId, MabMsg)]) -> Vec<u32> {
    sent.iter().map(|(to, _)| to.0).collect()
}

#[test]
fn after_the_deadline_a_quorum_decides_and_late_means_are_dropped() {
    let mut server = cdp(json!({ "privacy": "none", "deadline": 5, "quorum": 0.6 }));
    assert_eq!(server.waiting_for(), [0, 1, 2].map(NodeId));
    assert!(step(&mut server, 90, |s, cx| s.on_wake(cx)).is_empty(), "time runs from the first answer on");
    say(&mut server, 100, 1, means(1, [0.5, 0.5]));
    assert!(step(&mut server, 105, |s, cx| s.on_wake(cx)).is_empty(), "1 of 3 is no quorum");
    assert_eq!(to(&say(&mut server, 106, 2, means(1, [0.5, 0.5]))), [0, 1, 2], "the late one is told too");
    let before = snapshot::save(&server);
    assert!(say(&mut server, 107, 0, means(1, [0.5, 0.5])).is_empty());
    assert_eq!(snapshot::save(&server), before);
    assert_eq!((server.epoch(), server.waiting_for().len()), (2, 3));
}

#[test]
fn who_has_answered_and_left_counts_and_is_not_written_to() {
    let mut server = cdp(json!({ "privacy": "none" }));
    let before = snapshot::save(&server);
    assert!(change(&mut server, 1, Membership::Left(NodeId(7))).is_empty());
    assert_eq!(snapshot::save(&server), before, "nobody knows 7");
    say(&mut server, 1, 1, means(1, [0.9, 0.1]));
    assert!(change(&mut server, 1, Membership::Left(NodeId(1))).is_empty());
    say(&mut server, 1, 0, means(1, [0.5, 0.5]));
    assert_eq!(to(&change(&mut server, 1, Membership::Left(NodeId(2)))), [0], "nobody else is waited for");
}

#[test]
fn where_some_are_asked_those_who_stay_are_asked_again() {
    let mut server = cdp(json!({ "privacy": "none", "participation": 0.6 }));
    let asked = server.waiting_for();
    assert_eq!(asked.len(), 2);
    let mut sent = Vec::new();
    asked.iter().for_each(|client| sent.extend(change(&mut server, 1, Membership::Left(*client))));
    let other = (0..CLIENTS).map(NodeId).find(|client| !asked.contains(client)).unwrap();
    assert_eq!(to(&sent), [other.0], "it answers only when it is asked");
    assert_eq!(server.waiting_for(), [other]);
}

#[test]
fn a_sink_that_has_left_stays_away() {
    let keys = json!({ "privacy": "none", "components": [1, 2] });
    let valid = HdpMab::check(serde_json::from_value(keys).unwrap(), &of_three()).unwrap();
    let mut server = HdpMab::server(&valid, &Seating::PerUser.seat(&of_three(), NodeId::SERVER));
    step(&mut server, 0, |s, cx| s.on_start(cx));
    let sinks = server.waiting_for();
    assert_eq!(sinks.len(), 2);
    say(&mut server, 1, sinks[1].0, means(1, [0.5, 0.5]));
    assert_eq!(to(&change(&mut server, 2, Membership::Left(sinks[0]))), [sinks[1].0]);
    assert!(change(&mut server, 3, Membership::Joined(sinks[0])).is_empty());
    assert_eq!(server.waiting_for(), [sinks[1]]);
}

const MEANS: [f64; 2] = [0.6, 0.5];

/// One pull with its reward.
fn pull<C: Learner<Msg = MabMsg>>(client: &mut C, now: Tick) -> Vec<(NodeId, MabMsg)>
where
    C::Pending: Clone,
{
    let mut rng = Keys::from_seed(0).choice(NodeId(0), 1);
    let choice = client.choose(UserId(0), ArmSet::plain(2).unwrap(), &mut rng);
    let (arm, pending) = (choice.arm(), choice.pending);
    step(client, now, |c, cx| c.commit(&pending, cx));
    step(client, now, |c, cx| c.observe(pending, MEANS[arm.index()], cx))
}

/// Everyone pulls once a tick, and messages arrive at once; `away` holds who neither pulls nor hears.
struct Federation<S, C> {
    server: S,
    clients: BTreeMap<NodeId, C>,
    wire: VecDeque<(NodeId, NodeId, MabMsg)>,
    held: Vec<(NodeId, NodeId, MabMsg)>,
    away: Vec<NodeId>,
    wakes: BTreeMap<NodeId, Tick>,
    now: Tick,
}

impl<S: Machine<Msg = MabMsg>, C: Learner<Msg = MabMsg>> Federation<S, C>
where
    C::Pending: Clone,
{
    fn new<A: Algorithm<Msg = MabMsg, Server = S, Client = C>>(params: &Value) -> Self {
        let setting = of_three();
        let valid = A::check(serde_json::from_value(params.clone()).unwrap(), &setting).unwrap();
        let seat = |node| Seating::PerUser.seat(&setting, node);
        let clients = (0..CLIENTS).map(NodeId).map(|id| (id, A::client(&valid, &seat(id)))).collect();
        let server = A::server(&valid, &seat(NodeId::SERVER));
        let (wire, held) = (VecDeque::new(), Vec::new());
        let mut federation =
            Federation { server, clients, wire, held, away: Vec::new(), wakes: BTreeMap::new(), now: 1 };
        federation.at_server(|s, cx| s.on_start(cx));
        federation
    }

    fn at_server(&mut self, input: impl FnOnce(&mut S, &mut Cx<'_, MabMsg>)) {
        let ((), effects) = Cx::rehearse(NodeId::SERVER, self.now, |cx| input(&mut self.server, cx));
        self.wakes.extend(effects.wake.map(|tick| (NodeId::SERVER, tick)));
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (NodeId::SERVER, to, message)));
        self.deliver();
    }

    fn at_client(&mut self, id: NodeId, input: impl FnOnce(&mut C, &mut Cx<'_, MabMsg>)) {
        let client = self.clients.get_mut(&id).unwrap();
        let ((), effects) = Cx::rehearse(id, self.now, |cx| input(client, cx));
        self.wakes.extend(effects.wake.map(|tick| (id, tick)));
        self.wire.extend(effects.outbox.into_iter().map(|(to, message)| (id, to, message)));
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.wire.pop_front() {
            if self.away.contains(&to) {
                self.held.push((from, to, message));
            } else if to == NodeId::SERVER {
                let ((), effects) = Cx::rehearse(to, self.now, |cx| {
                    self.server.on_message(from, message, cx).unwrap();
                });
                self.wakes.extend(effects.wake.map(|tick| (to, tick)));
                self.wire.extend(effects.outbox.into_iter().map(|(other, message)| (to, other, message)));
            } else {
                self.at_client(to, |c, cx| c.on_message(from, message, cx).unwrap());
            }
        }
    }

    fn tick(&mut self) {
        for id in (0..CLIENTS).map(NodeId).filter(|id| !self.away.contains(id)).collect::<Vec<_>>() {
            let now = self.now;
            let sent = pull(self.clients.get_mut(&id).unwrap(), now);
            self.wire.extend(sent.into_iter().map(|(to, message)| (id, to, message)));
            self.deliver();
        }
        let due: Vec<NodeId> =
            self.wakes.iter().filter(|(_, tick)| **tick <= self.now).map(|(id, _)| *id).collect();
        for id in due {
            self.wakes.remove(&id);
            if id == NodeId::SERVER {
                self.at_server(|s, cx| s.on_wake(cx));
            } else if !self.away.contains(&id) {
                self.at_client(id, |c, cx| c.on_wake(cx));
                self.deliver();
            }
        }
        self.now += 1;
    }

    fn run(&mut self, what: &str, until: impl Fn(&Self) -> bool) {
        for _ in 0..2_000_000 {
            if until(self) {
                return;
            }
            self.tick();
        }
        panic!("{what}: waiting for {:?}", self.server.waiting_for());
    }

    fn back(&mut self) {
        self.away.clear();
        self.wire.extend(self.held.drain(..));
        self.deliver();
    }
}

fn settled(client: &CdpClient) -> bool {
    client.active().len() == 1
}

#[test]
fn a_client_that_never_started_does_not_stall_the_others_and_catches_up_when_it_comes() {
    for participation in [1.0, 0.6] {
        let keys = json!({ "privacy": "none", "deadline": 10, "participation": participation });
        let mut federation = Federation::<Server, CdpClient>::new::<CdpMab>(&keys);
        federation.away = vec![NodeId(2)];
        federation.run("without it", |f| settled(&f.clients[&NodeId(0)]) && settled(&f.clients[&NodeId(1)]));
        federation.back();
        federation.run("with it", |f| f.clients.values().all(settled));
    }
}

#[test]
fn a_client_that_left_and_comes_back_with_a_fresh_machine_explores_and_then_reports_with_the_others() {
    for participation in [1.0, 0.6] {
        let keys = json!({ "privacy": "none", "participation": participation });
        let mut federation = Federation::<Server, CdpClient>::new::<CdpMab>(&keys);
        federation.run("the first rounds", |f| f.server.epoch() >= 2);
        federation.at_server(|s, cx| s.on_membership(Membership::Left(NodeId(2)), cx));
        federation.away = vec![NodeId(2)];
        federation.run("without it", |f| f.server.epoch() >= 3);
        assert!(federation.held.is_empty(), "nothing is sent to who left");
        federation.wakes.remove(&NodeId(2));
        let fresh = Federation::<Server, CdpClient>::new::<CdpMab>(&keys).clients.remove(&NodeId(2)).unwrap();
        federation.clients.insert(NodeId(2), fresh);
        federation.away.clear();
        federation.at_server(|s, cx| s.on_membership(Membership::Joined(NodeId(2)), cx));
        federation.run("with it", |f| f.clients.values().all(settled));
    }
}

#[test]
fn on_a_graph_the_others_go_on_without_who_left_whenever_that_was() {
    let keys = json!({ "privacy": "none", "topology": "complete" });
    let others = [NodeId(0), NodeId(1)];
    for when in 0..4 {
        let mut federation = Federation::<Synchroniser, DdpClient>::new::<DdpMab>(&keys);
        let before = snapshot::save(&federation.server);
        federation.at_server(|s, cx| s.on_membership(Membership::Left(NodeId(7)), cx));
        assert_eq!(snapshot::save(&federation.server), before, "nobody knows 7");
        match when {
            // Before anything, after a while of silence, in the middle of an exchange, between two rounds.
            0 => {}
            1 => (0..100_000).for_each(|_| {
                federation.away = vec![NodeId(2)];
                if federation.server.waiting_for() != [NodeId(2)] {
                    federation.tick();
                }
            }),
            2 => federation.run("an exchange", |f| !f.clients[&NodeId(0)].waiting_for().is_empty()),
            _ => (0..30).for_each(|_| federation.tick()),
        }
        federation.away = vec![NodeId(2)];
        federation.at_server(|s, cx| s.on_membership(Membership::Left(NodeId(2)), cx));
        federation.run("without it", |f| others.iter().all(|id| f.clients[id].active().len() == 1));
        let learned: Vec<_> = others.iter().map(|id| federation.clients[id].active().to_vec()).collect();
        assert_eq!(learned[0], learned[1], "all decide alike");
        assert!(federation.server.waiting_for().iter().all(|id| *id != NodeId(2)));
    }
}

#[test]
fn a_decision_that_comes_early_is_kept_for_later() {
    let mut federation = Federation::<Server, CdpClient>::new::<CdpMab>(&json!({ "privacy": "none" }));
    let next = ActiveArms { phase: 2, arms: [0, 1].map(ArmIndex).to_vec() };
    let message = MabMsg::Arms(ArmMsg::DownloadActive(next.into()));
    federation.at_client(NodeId(1), |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap());
    for _ in 0..5000 {
        let sent = pull(federation.clients.get_mut(&NodeId(1)).unwrap(), 1);
        if let [(_, MabMsg::Arms(ArmMsg::Upload { number, .. }))] = &sent[..] {
            assert_eq!(*number, 2, "means of the first round would come too late");
            return;
        }
    }
    panic!("it never reports");
}
