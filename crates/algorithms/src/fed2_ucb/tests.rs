use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, Cx, Fact, Keys, Kind, Learner, Machine, Membership, Message, NodeId,
    Seating, Setting, Tick, Traffic, UserId, snapshot,
};
use serde_json::{Value, json};

use super::rules::Rules;
use super::{ADMIT, Client, Fed2Ucb, Server, Valid};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, Pull};
use crate::testing::{released, step};

fn setting(clients: usize, arms: usize) -> Setting {
    Setting::k_armed(clients, arms).with_horizon(1_000_000).with_reward_noise(0.5)
}

fn valid(params: Value, setting: &Setting) -> Valid {
    Fed2Ucb::check(serde_json::from_value(params).unwrap(), setting).unwrap()
}

fn client(params: Value, clients: usize, arms: usize) -> Client {
    let setting = setting(clients, arms);
    Fed2Ucb::client(&valid(params, &setting), &Seating::PerUser.seat(&setting, NodeId(0)))
}

fn server(params: Value, clients: usize, arms: usize) -> Server {
    let setting = setting(clients, arms);
    Fed2Ucb::server(&valid(params, &setting), &Seating::PerUser.seat(&setting, NodeId::SERVER))
}

/// Clients alike and bounds so small that nothing but the means decides.
fn sure(more: Value) -> Value {
    let mut params = json!({ "client_spread": 0.0, "reward_noise": 1e-6, "schedule": 2 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn decide(client: &mut Client, arms: usize) -> Pull {
    let mut rng = Keys::from_seed(0).choice(NodeId(0), 1);
    let pending = client.choose(UserId(0), ArmSet::plain(arms).unwrap(), &mut rng).pending;
    step(client, 1, |c, cx| c.commit(&pending, cx));
    pending
}

fn pull(client: &mut Client, means: &[f64]) -> (u32, Vec<(NodeId, ArmMsg)>) {
    let pending = decide(client, means.len());
    (pending.arm.0, step(client, 1, |c, cx| c.observe(pending, means[pending.arm.index()], cx)))
}

/// Pulls until something is sent.
fn explore(client: &mut Client, means: &[f64]) -> (Vec<u32>, ArmMsg) {
    let mut pulled = Vec::new();
    loop {
        let (arm, mut sent) = pull(client, means);
        pulled.push(arm);
        if let Some((NodeId::SERVER, message)) = sent.pop() {
            return (pulled, message);
        }
        assert!(pulled.len() < 10_000, "nothing is ever sent");
    }
}

fn arms(arms: &[u32]) -> Vec<ArmIndex> {
    arms.iter().map(|arm| ArmIndex(*arm)).collect()
}

fn left(phase: u64, of: &[u32]) -> ArmMsg {
    ArmMsg::DownloadActive(ActiveArms { phase, arms: arms(of) }.into())
}

fn admit(phase: u64) -> ArmMsg {
    ArmMsg::Signal { signal: ADMIT, phase }
}

fn means(phase: u64, of: &[u32], values: &[f64]) -> ArmMsg {
    ArmMsg::Upload { number: phase, values: released(ArmValues::new(phase, arms(of), values.to_vec())) }
}

fn tell(client: &mut Client, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap())
}

fn say(server: &mut Server, now: Tick, from: u32, message: ArmMsg) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_message(NodeId(from), message, cx).unwrap())
}

fn change(server: &mut Server, now: Tick, change: Membership) -> Vec<(NodeId, ArmMsg)> {
    step(server, now, |s, cx| s.on_membership(change, cx))
}

fn all_come(server: &mut Server, clients: u32) -> Vec<(NodeId, ArmMsg)> {
    (0..clients).flat_map(|client| change(server, 1, Membership::Joined(NodeId(client)))).collect()
}

/// Everyone who takes part says the same.
fn everyone_says(server: &mut Server, now: Tick, values: &[f64]) -> Vec<(NodeId, ArmMsg)> {
    let of: Vec<u32> = server.active().iter().map(|arm| arm.0).collect();
    let (phase, clients) = (server.phase(), server.admitted().collect::<Vec<_>>());
    clients.into_iter().flat_map(|client| say(server, now, client.0, means(phase, &of, values))).collect()
}

fn admitted(sent: &[(NodeId, ArmMsg)]) -> Vec<(u32, u64)> {
    let admission = |(to, message): &(NodeId, ArmMsg)| match message {
        ArmMsg::Signal { signal: ADMIT, phase } => Some((to.0, *phase)),
        _ => None,
    };
    sent.iter().filter_map(admission).collect()
}

/// eta_p = (1 / M(p)^2) sum_q g(q) / (f(q) + ... + f(p)), B_p of both uncertainties: worked out elsewhere.
#[test]
fn the_double_bound_is_the_papers() {
    // sigma = 0.5, sigma_c = 0.02, T = 10^6, g(p) = 2^p, f(p) = 100.
    let paper = valid(json!({ "client_spread": 0.02 }), &setting(4000, 10)).rules;
    // sigma = 0.3, sigma_c = 0.2, T = 1000, g = 3, 1, 1, f = 5, 7, 7, other constants.
    let params = json!({ "client_spread": 0.2, "reward_noise": 0.3, "admit": { "table": [3, 1] },
        "schedule": { "table": [5, 7] }, "confidence_constant": 2.0, "client_constant": 0.5 });
    let other = valid(params, &setting(9, 3).with_horizon(1000)).rules;
    for (rules, expected) in [
        (paper, [0.450_652_865_520_762_95, 0.243_991_954_387_374_56, 0.154_863_711_917_610_6]),
        (other, [0.502_508_157_360_219_6, 0.360_573_930_002_482_5, 0.302_279_871_366_059_16]),
    ] {
        for (p, expected) in (1..).zip(expected) {
            let pulls = |admitted: u64| (admitted..=p).map(|q| rules.pulls(q)).sum::<u64>();
            let clients = (1..=p).flat_map(|q| std::iter::repeat_n(pulls(q), rules.newcomers(q) as usize));
            let bound = rules.bound(clients);
            assert!((bound - expected).abs() < 1e-12, "phase {p}: {bound}");
        }
    }
}

/// Fed1-UCB: sqrt(c sigma^2 log T / (M F(p))), and nothing for a sample of clients.
#[test]
fn the_exact_model_has_the_bound_for_rewards_alone() {
    let params = json!({ "model": "exact", "schedule": "10 log T" });
    let rules = valid(params, &setting(5, 10)).rules;
    assert_eq!((rules.newcomers(1), rules.pulls(1)), (5, 139));
    assert!((rules.bound([139; 5].into_iter()) - 0.172_677_875_497_279_12).abs() < 1e-12);
}

#[test]
fn an_arm_goes_when_its_upper_bound_is_below_the_largest_lower_bound() {
    let kept = |means: &[f64]| Rules::keep(&arms(&[1, 4, 7]), means, 0.25);
    assert_eq!(kept(&[1.0, 0.5, 0.499]), arms(&[1, 4]));
    assert_eq!(kept(&[0.0, 9.0, 8.6]), arms(&[4, 7]));
    assert_eq!(kept(&[-3.0, -3.0, -3.0]), arms(&[1, 4, 7]));
}

/// "Gradually admitting new clients": g(p) at phase p, those who are in stay in, until all are in.
#[test]
fn each_phase_admits_its_newcomers_until_all_are_in() {
    for (admit, expected) in [
        (json!("2^p"), vec![2, 6, 14, 20, 20]),
        (json!(3), vec![3, 6, 9, 12, 15]),
        (json!({ "table": [5, 1] }), vec![5, 6, 7, 8, 9]),
        (json!("1.5^p"), vec![2, 5, 9, 15, 20]),
    ] {
        let mut server = server(sure(json!({ "admit": admit })), 20, 2);
        let mut told = admitted(&all_come(&mut server, 20));
        let mut counts = Vec::new();
        for phase in 1..=5 {
            counts.push(told.len());
            assert_eq!(server.admitted().count(), told.len());
            assert!(told.iter().all(|(_, at)| *at <= phase));
            let sent = everyone_says(&mut server, phase, &[0.5, 0.5]);
            let downloads = sent.iter().filter(|(_, message)| message.kind() == Kind::Download).count();
            assert_eq!(downloads, 20, "everyone who is here is told which arms are left");
            told.extend(admitted(&sent));
        }
        assert_eq!(counts, expected);
        let mut who: Vec<u32> = told.iter().map(|(client, _)| *client).collect();
        who.sort_unstable();
        who.dedup();
        assert_eq!(who.len(), told.len(), "nobody is admitted twice");
    }
}

/// A sample: whoever is here is as likely to be admitted as any other.
#[test]
fn newcomers_are_drawn_from_those_who_are_here() {
    let mut times = [0u32; 6];
    for seed in 0..600 {
        let mut server = server(sure(json!({ "admit": { "table": [1, 2] } })), 6, 2);
        all_come(&mut server, 6);
        let (keys, mut positions) = (Keys::from_seed(seed), Default::default());
        let mut effects = cahoots_core::Effects::default();
        let mut cx = Cx::new(NodeId::SERVER, 2, &keys, &mut positions, &mut effects);
        server.on_message(NodeId(0), means(1, &[0, 1], &[0.5, 0.5]), &mut cx).unwrap();
        admitted(&effects.outbox).iter().for_each(|(client, _)| times[*client as usize] += 1);
    }
    // Two of five each time: 240, with a deviation of 12.
    assert_eq!((times[0], times.iter().sum::<u32>()), (0, 1200));
    assert!(times[1..].iter().all(|times| times.abs_diff(240) < 48), "{times:?}");
}

#[test]
fn the_exact_model_has_all_clients_from_the_first_phase_on() {
    let mut server = server(json!({ "model": "exact", "schedule": 1, "reward_noise": 1e-6 }), 3, 2);
    all_come(&mut server, 2);
    everyone_says(&mut server, 1, &[0.0, 1.0]);
    assert_eq!(server.phase(), 1, "one has not come");
    assert_eq!(admitted(&change(&mut server, 2, Membership::Joined(NodeId(2)))), [(2, 1)]);
    say(&mut server, 3, 2, means(1, &[0, 1], &[0.0, -3.0]));
    assert_eq!(server.active(), arms(&[0]), "averages 0 and -1/3");
    assert_eq!(server.settled(), Some(3));
}

#[test]
fn an_admitted_client_pulls_every_arm_in_the_running_f_of_p_times_and_sends_its_means() {
    let params = json!({ "client_spread": 0.1, "schedule": { "table": [2, 3] } });
    let mut client = client(params, 9, 3);
    assert!(tell(&mut client, admit(1)).is_empty());
    let (pulled, sent) = explore(&mut client, &[0.5, 0.25, 1.0]);
    assert_eq!(pulled, [0, 1, 2, 0, 1, 2]);
    let ArmMsg::Upload { number: 1, values } = &sent else { panic!("{sent:?}") };
    assert_eq!(*values.get(), ArmValues::new(1, arms(&[0, 1, 2]), vec![0.5, 0.25, 1.0]));
    // It waits with its best arm, and what that pays is no statistic.
    assert!(client.waits());
    assert_eq!(pull(&mut client, &[9.0, 9.0, 9.0]).0, 2);
    tell(&mut client, left(2, &[0, 2]));
    let (pulled, sent) = explore(&mut client, &[1.0, 0.0, 0.0]);
    assert_eq!(pulled, [0, 2, 0, 2, 0, 2]);
    let ArmMsg::Upload { number: 2, values } = &sent else { panic!("{sent:?}") };
    assert_eq!(values.get().values, [0.8, 0.4], "of all its pulls: 2 and 3");
    tell(&mut client, left(3, &[2]));
    assert_eq!((client.plan(), client.waits()), (Some(&[(ArmIndex(2), u64::MAX)][..]), false));
}

#[test]
fn whoever_takes_no_part_plays_the_arms_in_the_running_in_turn_and_learns_nothing() {
    let mut client = client(json!({ "client_spread": 0.1, "schedule": 1 }), 9, 3);
    let turn = |client: &mut Client| {
        assert!(client.waits());
        let (arm, sent) = pull(client, &[7.0; 3]);
        assert!(sent.is_empty());
        arm
    };
    assert_eq!([0; 4].map(|_| turn(&mut client)), [0, 1, 2, 0]);
    let unpaid = decide(&mut client, 3);
    tell(&mut client, left(2, &[0, 2]));
    assert_eq!([0; 3].map(|_| turn(&mut client)), [0, 2, 0]);
    tell(&mut client, admit(2));
    // What was pulled before counts for nothing, even if it is paid now.
    assert!(step(&mut client, 1, |c, cx| c.observe(unpaid, 9.0, cx)).is_empty());
    let (pulled, sent) = explore(&mut client, &[0.5, 0.0, 0.25]);
    let ArmMsg::Upload { number: 2, values } = &sent else { panic!("{sent:?}") };
    assert_eq!((pulled, &values.get().values), (vec![0, 2], &vec![0.5, 0.25]));
}

#[test]
fn one_that_was_never_admitted_plays_the_arm_that_was_found() {
    let mut client = client(json!({ "client_spread": 0.1 }), 9, 3);
    tell(&mut client, left(2, &[0, 2]));
    tell(&mut client, left(3, &[2]));
    assert_eq!(client.plan(), Some(&[(ArmIndex(2), u64::MAX)][..]));
    assert!(client.waits(), "its regret is shown apart, to the end");
}

#[test]
fn an_abandoned_pull_is_made_again() {
    let mut client = client(json!({ "client_spread": 0.1, "schedule": 1 }), 2, 3);
    tell(&mut client, admit(1));
    let lost = decide(&mut client, 3);
    pull(&mut client, &[1.0; 3]);
    assert!(pull(&mut client, &[1.0; 3]).1.is_empty(), "one reward is missing");
    assert!(client.waits() && !decide(&mut client, 3).exploring);
    assert!(step(&mut client, 1, |c, cx| c.abandon(lost, cx)).is_empty());
    assert_eq!((client.plan(), client.waits()), (Some(&[(ArmIndex(0), 1)][..]), false));
    assert_eq!(explore(&mut client, &[1.0; 3]).0, [0]);
}

#[test]
fn a_late_client_adds_the_new_phase_to_what_it_owes() {
    let params = json!({ "client_spread": 0.1, "schedule": { "table": [2, 3] }, "deadline": 5 });
    let mut client = client(params, 2, 3);
    tell(&mut client, admit(1));
    let lost = decide(&mut client, 3);
    pull(&mut client, &[0.0, 1.0, 2.0]);
    tell(&mut client, left(2, &[1, 2]));
    assert_eq!(client.plan(), Some(&[(ArmIndex(1), 4), (ArmIndex(2), 5)][..]));
    // Its arm is not in the running any more.
    step(&mut client, 1, |c, cx| c.abandon(lost, cx));
    let (pulled, sent) = explore(&mut client, &[0.0, 1.0, 2.0]);
    assert_eq!(pulled.len(), 9);
    let ArmMsg::Upload { number: 2, values } = &sent else { panic!("{sent:?}") };
    assert_eq!(*values.get(), ArmValues::new(2, arms(&[1, 2]), vec![1.0, 2.0]));
}

#[test]
fn what_the_server_would_not_say_is_refused() {
    let mut client = client(json!({ "client_spread": 0.1, "schedule": 1 }), 2, 3);
    let refuse = |client: &mut Client, from: NodeId, message: ArmMsg| {
        let before = snapshot::save(client);
        step(client, 1, |c, cx| assert!(c.on_message(from, message, cx).is_err()));
        assert!(snapshot::save(client) == before);
    };
    refuse(&mut client, NodeId(1), admit(1));
    refuse(&mut client, NodeId::SERVER, admit(2));
    refuse(&mut client, NodeId::SERVER, ArmMsg::Signal { signal: 9, phase: 1 });
    refuse(&mut client, NodeId::SERVER, left(1, &[0, 1]));
    tell(&mut client, admit(1));
    refuse(&mut client, NodeId::SERVER, admit(1));
    refuse(&mut client, NodeId::SERVER, left(2, &[0, 1]));
    explore(&mut client, &[0.0; 3]);
    refuse(&mut client, NodeId::SERVER, left(2, &[]));
    refuse(&mut client, NodeId::SERVER, left(2, &[0, 3]));
    refuse(&mut client, NodeId::SERVER, left(3, &[0, 1]));
    refuse(&mut client, NodeId::SERVER, means(1, &[0, 1, 2], &[0.0; 3]));
    tell(&mut client, left(2, &[0]));
    refuse(&mut client, NodeId::SERVER, left(3, &[0]));
    refuse(&mut client, NodeId::SERVER, admit(2));
}

#[test]
fn what_a_client_would_not_say_is_refused() {
    let mut server = server(sure(json!({ "admit": 1 })), 3, 2);
    all_come(&mut server, 3);
    let refuse = |server: &mut Server, from: u32, message: ArmMsg| {
        let before = snapshot::save(server);
        step(server, 1, |s, cx| assert!(s.on_message(NodeId(from), message, cx).is_err()));
        assert!(snapshot::save(server) == before);
    };
    refuse(&mut server, 1, means(1, &[0, 1], &[0.0, 0.0]));
    refuse(&mut server, 0, means(2, &[0, 1], &[0.0, 0.0]));
    refuse(&mut server, 0, means(1, &[0], &[0.0]));
    refuse(&mut server, 0, means(1, &[0, 1], &[f64::NAN, 0.0]));
    refuse(&mut server, 0, admit(1));
    say(&mut server, 1, 0, means(1, &[0, 1], &[0.0, 0.0]));
    assert_eq!(server.phase(), 2);
}

fn facts(server: &mut Server, now: Tick, from: u32, message: ArmMsg) -> Vec<Fact> {
    Cx::rehearse(NodeId::SERVER, now, |cx| server.on_message(NodeId(from), message, cx).unwrap()).1.facts
}

/// "C each time a client communicates", as a part of the regret: M(p) of them at each phase.
#[test]
fn each_upload_costs_c_and_is_part_of_the_regret() {
    let params = sure(json!({ "admit": 2, "communication_loss": 2.5 }));
    let losses = |facts: &[Fact]| {
        let loss = |fact: &Fact| if let Fact::CommunicationLoss(loss) = fact { *loss } else { 0.0 };
        facts.iter().map(loss).sum::<f64>()
    };
    let mut server = server(params.clone(), 2, 2);
    all_come(&mut server, 2);
    assert_eq!(losses(&facts(&mut server, 1, 0, means(1, &[0, 1], &[0.0, 1.0]))), 2.5);
    let last = facts(&mut server, 1, 1, means(1, &[0, 1], &[0.0, 1.0]));
    assert_eq!(losses(&last), 2.5);
    assert!(last.contains(&Fact::Rounds(1)) && last.contains(&Fact::Level("global_best".into(), 1.0)));
    let traffic = Traffic { uploads: 2, downloads: 9, ..Traffic::default() };
    assert_eq!(Fed2Ucb::cost(&valid(params, &setting(2, 2)), &traffic), 5.0);
}

#[test]
fn the_server_averages_in_node_order_and_says_how_sure_it_is() {
    let mut server = server(json!({ "client_spread": 1e-4, "reward_noise": 0.003, "admit": 2 }), 2, 3);
    all_come(&mut server, 2);
    say(&mut server, 1, 1, means(1, &[0, 1, 2], &[0.0, 1.0, 0.4]));
    say(&mut server, 2, 0, means(1, &[0, 1, 2], &[1.0, 0.0, 0.4]));
    assert_eq!(server.active(), arms(&[0, 1]));
    assert_eq!(server.observations(), Some(600));
    let known = server.learnt(1).0.remove(0);
    let mean = known.arms[2].mean.unwrap();
    let bound = valid(json!({ "client_spread": 1e-4, "reward_noise": 0.003 }), &setting(2, 3))
        .rules
        .bound([100; 2].into_iter());
    assert_eq!((mean.value, mean.pulls, mean.radius), (0.4, Some(200), Some(bound)));
}

#[test]
fn a_phase_goes_on_at_its_deadline_with_a_bound_for_those_who_answered() {
    let params = json!({ "client_spread": 0.1, "admit": { "table": [3, 1] }, "schedule": 4,
        "deadline": 5, "quorum": 0.5 });
    let mut server = server(params.clone(), 4, 2);
    let rules = valid(params, &setting(4, 2)).rules;
    let radius = |server: &Server| server.learnt(1).0[0].arms[0].mean.unwrap().radius.unwrap();
    all_come(&mut server, 4);
    say(&mut server, 10, 0, means(1, &[0, 1], &[0.5, 0.5]));
    say(&mut server, 11, 2, means(1, &[0, 1], &[0.5, 0.5]));
    assert!(step(&mut server, 14, |s, cx| s.on_wake(cx)).is_empty());
    assert_eq!(step(&mut server, 15, |s, cx| s.on_wake(cx)).len(), 5, "four are told, one is admitted");
    assert_eq!(radius(&server), rules.bound([4, 4].into_iter()));
    assert!(say(&mut server, 16, 1, means(1, &[0, 1], &[0.5, 0.5])).is_empty(), "too late");
    (0..4).for_each(|client| drop(say(&mut server, 17, client, means(2, &[0, 1], &[0.5, 0.5]))));
    // The late one has made all its pulls, the new one those of one phase.
    assert_eq!(radius(&server), rules.bound([8, 8, 8, 4].into_iter()));
}

#[test]
fn whoever_leaves_is_replaced_and_one_that_comes_back_waits_to_be_admitted() {
    let mut server = server(sure(json!({ "admit": { "table": [2, 1] }, "reward_noise": 0.5 })), 3, 2);
    all_come(&mut server, 3);
    say(&mut server, 1, 0, means(1, &[0, 1], &[0.5, 0.5]));
    assert_eq!(server.waiting_for(), [NodeId(1)]);
    assert_eq!(admitted(&change(&mut server, 2, Membership::Left(NodeId(1)))), [(2, 1)]);
    assert_eq!(server.waiting_for(), [NodeId(2)]);
    say(&mut server, 3, 2, means(1, &[0, 1], &[0.5, 0.5]));
    assert_eq!((server.phase(), server.admitted().count()), (2, 2), "nobody else is here");
    // One of the three that there are, and one of them is wanted.
    let sent = change(&mut server, 4, Membership::Joined(NodeId(1)));
    assert!(matches!(sent[..], [(NodeId(1), ArmMsg::DownloadActive(_)), (NodeId(1), ArmMsg::Signal { .. })]));
    let mut fresh = client(sure(json!({})), 3, 2);
    sent.into_iter().for_each(|(_, message)| drop(tell(&mut fresh, message)));
    let (pulled, sent) = explore(&mut fresh, &[0.5; 2]);
    assert!(matches!(sent, ArmMsg::Upload { number: 2, .. }));
    assert_eq!(pulled.len(), 4, "of this phase alone");
}

#[test]
fn if_all_leave_whoever_comes_goes_on() {
    let mut server = server(sure(json!({ "admit": 1 })), 2, 2);
    change(&mut server, 1, Membership::Joined(NodeId(0)));
    say(&mut server, 2, 0, means(1, &[0, 1], &[0.5, 0.5]));
    change(&mut server, 3, Membership::Left(NodeId(0)));
    let sent = change(&mut server, 4, Membership::Joined(NodeId(1)));
    assert_eq!(admitted(&sent), [(1, 2)]);
    say(&mut server, 5, 1, means(2, &[0, 1], &[0.0, 1.0]));
    assert_eq!((server.active(), server.settled()), (&arms(&[1])[..], Some(5)));
    let sent = change(&mut server, 6, Membership::Joined(NodeId(0)));
    assert!(matches!(sent[..], [(NodeId(0), ArmMsg::DownloadActive(_))]), "it is told what was found");
}

#[test]
fn parameters_that_cannot_be_meant_are_refused_and_the_key_is_named() {
    let problem = |params: Value| match serde_json::from_value(params) {
        Ok(params) => Fed2Ucb::check(params, &setting(2, 2)).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    let with = |key: &str, value: Value| problem(json!({ "client_spread": 0.1, key: value }));
    assert!(problem(json!({})).starts_with("client_spread: must say how far"));
    assert!(problem(json!({ "client_spread": -1.0 })).starts_with("client_spread: "));
    assert!(with("model", json!("exact")).starts_with("client_spread: is for model"));
    assert!(with("admit", json!(0)).starts_with("admit: every length"));
    assert!(with("admit", json!("some")).starts_with("admit: "));
    assert!(with("schedule", json!({ "table": [] })).starts_with("schedule: "));
    assert!(with("communication_loss", json!(-1.0)).starts_with("communication_loss: "));
    assert!(with("confidence_constant", json!(0.0)).starts_with("confidence_constant: "));
    assert!(with("client_constant", json!(0.0)).starts_with("client_constant: "));
    assert!(with("reward_noise", json!(-1.0)).starts_with("reward_noise: "));
    assert!(with("quorum", json!(0.5)).starts_with("quorum: "));
}
