//! A client that knows several coordinators, some of which are dead, frozen, standing by or lying; and one whose log went
//! back in time.

mod fake;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cahoots_core::Setting;
use cahoots_node::client::{Arms, Client};
use cahoots_node::{NodeError, Terms};

use self::fake::{Act, Fake};
use crate::common::{Federation, known, open, terms, until};

/// Wide enough that ten messages are more than a client remembers as usual.
const DIM: usize = 220;

/// Uploads with every reward.
fn uploads(dim: usize) -> Terms {
    terms(&known(), "async-linucb", "upload_ratio = 1.0", Setting::linear(2, dim, 2))
}

fn learn(client: &Client, dim: usize) -> Result<(), NodeError> {
    let arms: Vec<Vec<f64>> =
        (0..2).map(|arm| (0..dim).map(|i| f64::from(u8::from(i == arm))).collect()).collect();
    let decision = client.decide(None, Arms::Features(&arms))?;
    client.reward(decision.id, 1.0).map(drop)
}

/// An address where nobody is.
fn dead() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn who_is_dead_is_passed_over() {
    let federation = Federation::start(&known(), uploads(2));
    let all = format!("{},{}", dead(), federation.url);
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    assert_eq!(client.status().coordinators, all.split(',').collect::<Vec<_>>());
    until("connected", || client.status().connected);
    assert_eq!(client.status().coordinator.as_deref(), Some(&*federation.url));
    learn(&client, 2).unwrap();
    until("it is confirmed", || client.status().unconfirmed == 0);
    drop(federation.stop());
    until("it is gone", || client.status().coordinator.is_none());
    until("trouble with both", || {
        let trouble = client.status().trouble.unwrap_or_default();
        all.split(',').all(|url| trouble.contains(url))
    });
}

#[test]
fn who_never_answers_is_left() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let federation = Federation::start(&known(), uploads(2));
    let all = format!("http://{},{}", silent.local_addr().unwrap(), federation.url);
    let begun = Instant::now();
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    until("connected", || client.status().connected);
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
}

#[test]
fn who_freezes_with_a_connection_open_is_left() {
    let terms = uploads(2);
    let frozen = Fake::start(&terms, Act::welcome(0));
    let federation = Federation::start(&known(), terms);
    let all = format!("{},{}", frozen.url, federation.url);
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    until("connected", || client.status().coordinator.as_ref() == Some(&frozen.url));
    frozen.freeze(Duration::from_secs(30));
    let begun = Instant::now();
    until("elsewhere", || client.status().coordinator.as_ref() == Some(&federation.url));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    learn(&client, 2).unwrap();
    until("it is confirmed", || client.status().unconfirmed == 0);
}

#[test]
fn who_stands_by_names_who_leads() {
    let terms = uploads(2);
    let federation = Federation::start(&known(), terms.clone());
    let named = format!("{}/", federation.url.to_uppercase());
    let standby = Fake::start(&terms, Act::Refuse { last: false, leader: named });
    let other = Fake::start(&terms, Act::Silent);
    let all = [&*standby.url, &*other.url, &*federation.url].join(",");
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    until("connected", || client.status().coordinator.as_ref() == Some(&federation.url));
    assert_eq!((standby.hellos(), other.hellos()), (1, 0), "straight to who leads");
}

#[test]
fn a_liar_leads_nobody_elsewhere() {
    let terms = uploads(2);
    let trap = Fake::start(&terms, Act::welcome(0));
    let liar = Fake::start(&terms, Act::Refuse { last: false, leader: trap.url.clone() });
    let federation = Federation::start(&known(), terms.clone());
    let all = format!("{},{}", liar.url, federation.url);
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    until("connected", || client.status().coordinator.as_ref() == Some(&federation.url));
    let alone = open(&federation.known, federation.folder.path(), &liar.url, 1);
    until("it is said", || alone.status().trouble.is_some_and(|trouble| trouble.contains(&trap.url)));
    until("it comes again", || liar.hellos() > 5);
    assert_eq!(trap.hellos(), 0);
}

#[test]
fn a_final_refusal_is_final_whichever_said_it() {
    let terms = uploads(2);
    let strict = Fake::start(&terms, Act::Refuse { last: true, leader: String::new() });
    let federation = Federation::start(&known(), terms);
    let all = format!("{},{}", strict.url, federation.url);
    let client = open(&federation.known, federation.folder.path(), &all, 0);
    until("it has ended", || client.failure().is_some());
    assert_eq!(federation.status().members, 0);
}

/// Ten messages are confirmed, then three of them are there: the rest comes again.
fn goes_back(restart: impl FnOnce(Client, &Fake, &std::path::Path) -> Client) {
    let terms = uploads(DIM);
    let fake = Fake::start(&terms, Act::welcome(0));
    let folder = tempfile::tempdir().unwrap();
    let client = open(&known(), folder.path(), &fake.url, 0);
    until("connected", || client.status().connected);
    for _ in 0..10 {
        learn(&client, DIM).unwrap();
    }
    until("all is confirmed", || client.status().unconfirmed == 0);
    assert_eq!(fake.take_got(), (1..=10).collect::<Vec<_>>());
    assert!(fake.bytes() > 3 << 19, "{} bytes are too few to be forgotten", fake.bytes());
    let client = restart(client, &fake, folder.path());
    fake.act(Act::welcome(3));
    fake.cut();
    until("it came again", || fake.got().len() >= 7);
    assert_eq!(fake.take_got(), (4..=10).collect::<Vec<_>>());
    until("all is confirmed", || client.status().unconfirmed == 0);
    assert_eq!(client.status().lost, 0);
    // What is in a snapshot need not come again, but nothing breaks where it is asked for.
    fake.act(Act::Welcome { received: 10, kept: Some(u64::MAX) });
    fake.cut();
    learn(&client, DIM).unwrap();
    until("the next one", || fake.got() == [11]);
    until("all is confirmed", || client.status().unconfirmed == 0);
    fake.act(Act::welcome(0));
    fake.cut();
    until("what is gone is known to be", || client.status().lost > 0);
    assert!(client.status().lost < 11, "the newest is remembered as usual");
}

#[test]
fn a_log_that_goes_back_is_sent_again_what_it_lacks() {
    goes_back(|client, _, _| client);
}

#[test]
fn the_same_after_the_client_was_stopped_and_started() {
    goes_back(|client, fake, folder| {
        fake.act(Act::Silent);
        client.stop();
        open(&known(), folder, &fake.url, 0)
    });
}

#[test]
fn the_same_after_the_client_was_killed() {
    goes_back(|client, fake, folder| {
        fake.act(Act::Silent);
        // What a kill would leave, before the last snapshot is written.
        let left = folder.join("left");
        std::fs::create_dir(&left).unwrap();
        for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), left.join(file.file_name())).unwrap();
            }
        }
        client.stop();
        open(&known(), &left, &fake.url, 0)
    });
}
