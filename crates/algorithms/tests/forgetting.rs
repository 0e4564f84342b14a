//! One client is taken out again: what is left is what there would be if its messages had never been merged, and
//! everyone is sent it. All numbers here are eighths, so that sums are exact in any order.

use cahoots_algorithms::fclub::{self, FclubMsg};
use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_algorithms::{async_linucb, async_linucb_am, dp_mab, hetofed, pf_ucb, sync_linucb};
use cahoots_core::drive::{Event, Host, Outcome, Typed};
use cahoots_core::{
    Algorithm, Cx, Effects, Keys, LinearStats, Machine, Membership, NodeId, Private, Ruling, Seats, Setting,
    Unprotected,
};
use serde_json::{Value, json};

const LIAR: NodeId = NodeId(1);

/// A server, and what it has sent.
struct Served<A: Algorithm> {
    host: Host<A::Server>,
    now: u64,
    sent: Vec<(NodeId, A::Msg)>,
}

impl<A: Algorithm> Served<A> {
    fn new(params: Value, setting: Setting) -> Self {
        let params: A::Params = serde_json::from_value(params).unwrap();
        let valid = A::check(params, &setting).unwrap();
        let seat = Seats::of::<A>(&valid, &setting).seat(NodeId::SERVER);
        let host = Host::new(seat.clone(), A::server(&valid, &seat));
        let mut served = Served { host, now: 0, sent: Vec::new() };
        served.event(Event::Start);
        served
    }

    fn event(&mut self, event: Event<Typed<A::Msg>>) {
        let (mut effects, mut out) = (Effects::default(), Vec::new());
        let keys = Keys::from_seed(1);
        let outcome = self.host.apply(self.now, event, &keys, &mut effects, &mut out).unwrap();
        assert_eq!(outcome, Outcome::Done);
        self.sent.extend(out.into_iter().map(|sent| (sent.to, sent.message)));
    }

    fn join(&mut self, client: u32) {
        self.event(Event::Membership(Membership::Joined(NodeId(client))));
    }

    fn say(&mut self, from: u32, message: A::Msg) {
        let from = NodeId(from);
        let sequence = self.host.ends(from).received + 1;
        self.event(Event::Message { from, sequence, skipped: 0, message: Typed(message) });
    }

    fn tick(&mut self) {
        self.now += 1;
        self.event(Event::Wake);
    }

    /// As whoever runs it does: it leaves, and is then forgotten. What that sends is all that is kept.
    fn forget(&mut self) {
        assert_eq!(self.host.machine().forgets(), Ok(()));
        self.event(Event::Membership(Membership::Left(LIAR)));
        self.sent.clear();
        self.event(Event::Ruling(Ruling::Forgotten(LIAR)));
        // A replay or a restart in between changes nothing.
        self.host = Host::restore(self.host.seat().clone(), &self.host.save()).unwrap();
    }
}

fn released(stats: LinearStats) -> Private<LinearStats> {
    Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, stats)).0
}

/// Two observations, different for every client and upload.
fn stats(client: u32, number: u64) -> LinearStats {
    let mut stats = LinearStats::empty(2);
    let (a, b) = (f64::from(client) + 1.0, number as f64);
    stats.observe(&[a / 8.0, 0.5], b / 8.0);
    stats.observe(&[0.25, -b / 8.0], a / 8.0);
    stats
}

fn upload(client: u32, number: u64) -> LinearMsg {
    LinearMsg::Upload { number, stats: released(stats(client, number)) }
}

fn sum(parts: &[(u32, u64)]) -> LinearStats {
    let mut sum = LinearStats::empty(2);
    parts.iter().for_each(|(client, number)| sum.merge(&stats(*client, *number)));
    sum
}

/// The last view that was sent to a client, and the last of its uploads in it.
fn last_view(sent: &[(NodeId, LinearMsg)], client: u32) -> (LinearStats, u64) {
    let view = sent.iter().rev().find_map(|(to, message)| match message {
        LinearMsg::Download { view, merged } if *to == NodeId(client) => {
            Some((view.stats().clone(), *merged))
        }
        _ => None,
    });
    view.unwrap_or_else(|| panic!("client {client} was sent no view"))
}

fn kept() -> Setting {
    Setting::linear(3, 2, 2).kept_apart()
}

fn async_server<A: Algorithm<Msg = LinearMsg>>(setting: Setting) {
    let mut served = Served::<A>::new(json!({ "ratio": 1.0 }), setting);
    (0..3).for_each(|client| served.join(client));
    for number in 1..=3 {
        (0..3).for_each(|client| served.say(client, upload(client, number)));
    }
    served.forget();
    let left: Vec<(u32, u64)> = (1..=3).flat_map(|number| [(0, number), (2, number)]).collect();
    for client in [0, 2] {
        assert_eq!(last_view(&served.sent, client), (sum(&left), 3), "at once");
    }
    assert!(served.sent.iter().all(|(to, _)| *to != LIAR));
    // They go on together, and whoever comes under the number is one like any other.
    served.say(0, upload(0, 4));
    assert_eq!(last_view(&served.sent, 2), (sum(&[&left[..], &[(0, 4)]].concat()), 3));
    served.join(1);
    served.say(1, upload(1, 1));
    assert_eq!(last_view(&served.sent, 2).0, sum(&[&left[..], &[(0, 4), (1, 1)]].concat()));
}

#[test]
fn async_linucb_forgets() {
    async_server::<async_linucb::AsyncLinucb>(kept());
    async_server::<async_linucb_am::AsyncLinucbAm>(kept().with_local_dims([1, 1, 1]));
}

/// Whoever is quarantined meanwhile is not written to, and has the sum of the others once it is back.
#[test]
fn async_linucb_renews_who_is_quarantined_when_it_is_restored() {
    let mut served = Served::<async_linucb::AsyncLinucb>::new(json!({ "ratio": 1.0 }), kept());
    (0..3).for_each(|client| served.join(client));
    (0..3).for_each(|client| served.say(client, upload(client, 1)));
    served.event(Event::Ruling(Ruling::Quarantined(NodeId(2))));
    served.forget();
    assert!(served.sent.iter().all(|(to, _)| *to == NodeId(0)), "{:?}", served.sent);
    served.event(Event::Ruling(Ruling::Restored(NodeId(2))));
    served.say(0, upload(0, 2));
    assert_eq!(last_view(&served.sent, 2), (sum(&[(0, 1), (2, 1), (0, 2)]), 1));
}

#[test]
fn sync_linucb_forgets() {
    let mut served = Served::<sync_linucb::SyncLinucb>::new(json!({}), kept());
    (0..3).for_each(|client| served.join(client));
    for number in 1..=2 {
        served.say(0, LinearMsg::signal(Signal::Request, 0));
        (0..3).for_each(|client| served.say(client, upload(client, number)));
    }
    // In the middle of a round: what the liar has answered goes too, what others have stays in the round.
    served.say(0, LinearMsg::signal(Signal::Request, 0));
    [0, 1].into_iter().for_each(|client| served.say(client, upload(client, 3)));
    served.forget();
    let left = [(0, 1), (2, 1), (0, 2), (2, 2)];
    assert_eq!(last_view(&served.sent, 2), (sum(&left), 2));
    assert!(served.sent.iter().all(|(to, _)| *to == NodeId(2)), "0 has answered: it has it with the round");
    served.say(2, upload(2, 3));
    let whole = [&left[..], &[(0, 3), (2, 3)]].concat();
    for client in [0, 2] {
        assert_eq!(last_view(&served.sent, client), (sum(&whole), 3));
    }
}

#[test]
fn hetofed_forgets() {
    let mut served = Served::<hetofed::HetofedDr>::new(json!({ "reward_noise": 1.0 }), kept());
    (0..3).for_each(|client| served.join(client));
    let round = |served: &mut Served<hetofed::HetofedDr>, clients: &[u32], number| {
        let version = number - 1;
        served.say(clients[0], LinearMsg::signal(Signal::Request, version));
        served.tick();
        clients.iter().for_each(|client| served.say(*client, upload(*client, number)));
    };
    round(&mut served, &[0, 1, 2], 1);
    assert_eq!(last_view(&served.sent, 0), (sum(&[(0, 1), (1, 1), (2, 1)]), 1), "all are alike");
    served.forget();
    assert_eq!(served.host.machine().own(LIAR), None);
    for client in [0, 2] {
        assert_eq!(last_view(&served.sent, client), (sum(&[(0, 1), (2, 1)]), 1));
    }
    round(&mut served, &[0, 2], 5);
    assert_eq!(last_view(&served.sent, 2), (sum(&[(0, 1), (2, 1), (0, 5), (2, 5)]), 5));
    let buffers = Served::<hetofed::Hetofed>::new(json!({ "sharing": "buffers" }), kept());
    assert!(buffers.host.machine().forgets().unwrap_err().contains("buffers"));
}

fn view_of(sent: &[(NodeId, FclubMsg)], client: u32) -> LinearStats {
    let view = sent.iter().rev().find_map(|(to, message)| match message {
        FclubMsg::Download { view, .. } if *to == NodeId(client) => Some(view.stats().clone()),
        _ => None,
    });
    view.unwrap_or_else(|| panic!("client {client} was sent no view"))
}

fn local(client: u32, phase: u64, number: u64) -> FclubMsg {
    FclubMsg::Upload { phase, cluster: 0, number, stats: released(stats(client, number)) }
}

#[test]
fn fclub_forgets_before_and_after_a_phase() {
    let mut served = Served::<fclub::Fclub>::new(json!({ "merge": 1e6 }), kept());
    (0..3).for_each(|client| served.join(client));
    for number in 1..=2 {
        (0..3).for_each(|client| served.say(client, local(client, 0, number)));
    }
    let mut early = Served::<fclub::Fclub>::new(json!({ "merge": 1e6 }), kept());
    (0..3).for_each(|client| early.join(client));
    (0..3).for_each(|client| early.say(client, local(client, 0, 1)));
    early.forget();
    assert_eq!(view_of(&early.sent, 0), sum(&[(0, 1), (2, 1)]));
    early.say(2, local(2, 0, 2));
    assert_eq!(view_of(&early.sent, 0), sum(&[(0, 1), (2, 1), (2, 2)]));

    // A phase in which all are merged again, from their reports.
    served.now = 2;
    served.event(Event::Wake);
    for client in 0..3 {
        served.say(client, FclubMsg::Structure { phase: 1, clusters: 1 });
        let stats = released(sum(&[(client, 1), (client, 2)]));
        served.say(client, FclubMsg::Report { phase: 1, cluster: 0, stats });
    }
    served.say(0, local(0, 1, 3));
    served.forget();
    let left = [(0, 1), (0, 2), (2, 1), (2, 2), (0, 3)];
    for client in [0, 2] {
        assert_eq!(view_of(&served.sent, client), sum(&left));
    }
    served.say(2, local(2, 1, 3));
    assert_eq!(view_of(&served.sent, 0), sum(&[&left[..], &[(2, 3)]].concat()));
}

/// Where it is not kept, or cannot be undone, that is said beforehand.
#[test]
fn what_cannot_be_forgotten_is_said() {
    fn why<A: Algorithm>(setting: Setting) -> String {
        Served::<A>::new(json!({}), setting).host.machine().forgets().unwrap_err()
    }
    let linear = Setting::linear(3, 2, 2);
    assert!(why::<async_linucb::AsyncLinucb>(linear.clone()).contains("`keep_apart = false`"));
    assert!(why::<sync_linucb::SyncLinucb>(linear.clone()).contains("`keep_apart = false`"));
    let arms = || Setting::k_armed(3, 3).kept_apart();
    for why in [
        why::<pf_ucb::PfUcb>(arms()),
        why::<dp_mab::CdpMab>(arms()),
        why::<dp_mab::DdpMab>(arms()),
        why::<dp_mab::HdpMab>(arms()),
    ] {
        assert!(why.contains("arms were given up"), "{why}");
    }
    assert!(why::<cahoots_algorithms::linucb_alone::LinucbAlone>(linear).contains("does not keep apart"));
}
