//! Those who watch a coordinator: what they cost its machine, what strangers and the past can make it show, and what a restart
//! leaves of it.

use std::time::{Duration, Instant};

use cahoots_core::wire::payload::Shape;
use cahoots_core::{NodeId, Setting, wire};
use cahoots_node::client::{Arms, Client};
use cahoots_node::coordinator::{Happening, Health};
use cahoots_node::face::{Access, Face};
use cahoots_node::identity::{Admit, ServeSecurity};
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::{Alive, Hello, Refusal, Spent};
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::common::document::exchange;
use crate::common::{Federation, Raw, known, terms, until};

/// Whoever uploads, does so at once; after three lies it is not believed any more.
fn eager() -> Federation {
    eager_within(ServeLimits { implausible: 3, ..ServeLimits::default() })
}

fn eager_within(limits: ServeLimits) -> Federation {
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2));
    Federation::start_within(&known(), terms, limits)
}

fn learn(client: &Client) {
    let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.0, 1.0]])).unwrap();
    client.reward(decision.id, 1.0).unwrap();
}

/// Where a coordinator shows itself.
fn shown(federation: &Federation) -> (String, JoinHandle<()>) {
    let listener = federation.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let face = Face::new(federation.coordinator().clone(), Access::default());
    face.is_ready();
    (address, federation.runtime.spawn(face.serve(listener, None)))
}

/// Nobody shows it any more, and nobody keeps it.
fn hide(federation: &Federation, serving: JoinHandle<()>) {
    serving.abort();
    let _ = federation.runtime.block_on(serving);
    until("nobody looks any more", || std::sync::Arc::strong_count(federation.coordinator()) == 2);
}

/// A watcher who has heard how it stands, and stays until it is dropped.
async fn watcher(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = Vec::new();
    while !text.windows(13).any(|window| window == b"event: status") {
        assert!(stream.read_buf(&mut text).await.unwrap() > 0);
    }
    stream
}

fn metric(federation: &Federation, address: &str, name: &str) -> u64 {
    let text = exchange(
        &federation.runtime,
        address,
        "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    let line = text.body.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("{name}: {}", text.body)).parse().unwrap()
}

/// Who reloads a page, or comes and goes in a loop, leaves nothing behind that goes on asking.
#[test]
fn who_comes_and_goes_leaves_no_asker_behind() {
    let federation = eager();
    let (address, serving) = shown(&federation);
    for _ in 0..12 {
        drop(federation.runtime.block_on(watcher(&address)));
        until("it is gone", || metric(&federation, &address, "cahoots_watchers") == 0);
    }
    let last = federation.runtime.block_on(watcher(&address));
    let (begun, before) = (Instant::now(), federation.coordinator().asked());
    std::thread::sleep(Duration::from_millis(3500));
    let asked = federation.coordinator().asked() - before;
    assert!(asked > 0, "someone watches");
    // However long this took: one question in a second.
    let seconds = begun.elapsed().as_secs() + 1;
    assert!(asked <= seconds, "{asked} questions in {seconds} seconds");
    drop(last);
    hide(&federation, serving);
    federation.stop();
}

/// However many look, and at however much, the machine's thread is asked once in a second for each kind of thing there is.
#[test]
fn twenty_who_poll_everything_cost_the_machine_no_more_than_one() {
    let federation = eager();
    let client = federation.client(0);
    learn(&client);
    let (address, serving) = shown(&federation);
    let (begun, before) = (Instant::now(), federation.coordinator().asked());
    let watchers: Vec<_> = (0..20)
        .map(|_| {
            let address = address.clone();
            federation.runtime.spawn(async move {
                for round in 0..30 {
                    for path in [
                        "/".to_owned(),
                        "/status".into(),
                        "/health".into(),
                        format!("/members?since={round}"),
                        "/model".into(),
                        format!("/history?window={}", 60 + round),
                        format!("/journal?limit={}", 1 + round),
                        "/metrics".into(),
                    ] {
                        let mut stream = TcpStream::connect(&address).await.unwrap();
                        let ask =
                            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
                        stream.write_all(ask.as_bytes()).await.unwrap();
                        let mut text = String::new();
                        stream.read_to_string(&mut text).await.unwrap();
                        assert!(text.starts_with("HTTP/1.1 200"), "{path}: {text}");
                    }
                }
            })
        })
        .collect();
    for watcher in watchers {
        federation.runtime.block_on(watcher).unwrap();
    }
    let asked = federation.coordinator().asked() - before;
    // Status, members, what was learned, curves, what happened.
    let most = 5 * (begun.elapsed().as_secs() + 1);
    assert!((1..=most).contains(&asked), "{asked} questions, {most} at most");
    hide(&federation, serving);
    client.stop();
    federation.stop();
}

fn upload(number: u64, gram: f64) -> Vec<u8> {
    let stats = wire::LinearStats {
        dim: 2,
        count: 1,
        gram: vec![gram, 0.0, 0.0],
        moment: vec![0.5, 0.0],
        contexts: vec![],
    };
    let upload = wire::LinearUpload { number, stats: Some(stats), ..Default::default() };
    wire::Payload { shape: Some(Shape::LinearUpload(upload)) }.encode_to_vec()
}

/// Sends uploads, of which those are refused that no honest data give.
fn send(
    federation: &Federation,
    member: &Raw,
    client: u32,
    numbers: std::ops::RangeInclusive<u64>,
    gram: f64,
) {
    for number in numbers {
        federation.runtime.block_on(member.send(member.own(NodeId::SERVER, number, upload(number, gram))));
        until("it came", || {
            let member = federation.members().into_iter().find(|member| member.client == client).unwrap();
            member.received + member.not_merged == number
        });
    }
}

#[test]
fn merged_is_what_was_merged_and_the_rest_is_counted_apart() {
    let federation = eager();
    let member = federation.runtime.block_on(Raw::connect(&federation.url, 1));
    send(&federation, &member, 1, 1..=2, 1.0);
    send(&federation, &member, 1, 3..=4, 1e308);
    send(&federation, &member, 1, 5..=5, 1.0);
    // The third lie, and what comes after it is not looked at.
    send(&federation, &member, 1, 6..=6, 1e308);
    send(&federation, &member, 1, 7..=7, 1.0);
    let check = |federation: &Federation| {
        let (status, members) = (federation.status(), federation.members());
        assert_eq!((status.received, status.not_merged, status.observations), (3, 4, Some(3)));
        assert_eq!((members[0].received, members[0].not_merged), (3, 4));
        let (address, serving) = shown(federation);
        assert_eq!(metric(federation, &address, "cahoots_messages_merged_total"), 3);
        assert_eq!(metric(federation, &address, "cahoots_messages_not_merged_total"), 4);
        hide(federation, serving);
    };
    check(&federation);
    drop(member);
    let (known, terms, address) = (federation.known.clone(), federation.terms.clone(), federation.address());
    let federation = Federation::resume(&known, terms, federation.stop(), &address);
    check(&federation);
    // Who starts anew under a number has sent nothing yet.
    federation.release(1).unwrap();
    let anew = Hello { instance: vec![99; 16], epochs: vec![99], ..Raw::hello(1) };
    let member = federation.runtime.block_on(Raw::greet(&federation.url, anew)).unwrap();
    let members = federation.members();
    assert_eq!((members[0].received, members[0].not_merged), (0, 0));
    assert_eq!((federation.status().received, federation.status().not_merged), (3, 4));
    drop(member);
    federation.stop();
}

/// Whatever attention asks for, once it was done nothing is asked for any more.
#[test]
fn what_was_mended_needs_no_attention() {
    let federation = eager();
    let calm = |what: &str| {
        until(what, || {
            let status = federation.status();
            status.attention.is_empty() && status.health == Health::Ok
        });
    };
    let member = federation.runtime.block_on(Raw::connect(&federation.url, 0));
    send(&federation, &member, 0, 1..=3, 1e308);
    let status = federation.status();
    assert_eq!(status.attention[0].kind, "quarantined", "{status:?}");
    assert!(federation.restore(0).unwrap());
    calm("its quarantine was lifted");

    // Two lies are too few for a quarantine.
    send(&federation, &member, 0, 4..=5, 1e308);
    assert_eq!(federation.status().attention[0].kind, "refused");
    drop(member);
    until("it is gone", || federation.status().connected == 0);
    let anew = Hello { rejoins: true, epochs: vec![77], ..Raw::hello(0) };
    let member = federation.runtime.block_on(Raw::greet(&federation.url, anew)).unwrap();
    calm("it has started anew");

    send(&federation, &member, 0, 1..=1, 1e308);
    assert_eq!(federation.status().attention[0].kind, "refused");
    drop(member);
    until("it is gone", || federation.status().connected == 0);
    federation.release(0).unwrap();
    let other = Hello { instance: vec![99; 16], epochs: vec![99], ..Raw::hello(0) };
    let member = federation.runtime.block_on(Raw::greet(&federation.url, other)).unwrap();
    calm("its number is another's");
    drop(member);
    federation.stop();
}

/// Whoever has not shown who it is cannot make a member look bad, and cannot push out of memory what happened.
#[test]
fn strangers_are_counted_and_say_nothing_of_the_member_they_claim_to_be() {
    let security = ServeSecurity { admit: Admit::Tokens, ..ServeSecurity::default() };
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2));
    let federation = Federation::start_secure(&known(), terms, ServeLimits::default(), security);
    let invitation = federation.invite(0, Duration::from_secs(3600)).unwrap();
    let bytes = cahoots_node::identity::Secret::parse(&invitation).unwrap().bytes().to_vec();
    let hello = Hello { invitation: bytes, secret: vec![7; 32], ..Raw::hello(0) };
    drop(federation.runtime.block_on(Raw::greet(&federation.url, hello)).unwrap());
    until("it is away", || federation.members()[0].state == "away");
    let before = federation.members();
    let entries = |federation: &Federation| {
        federation.runtime.block_on(federation.coordinator().journal(None, 10_000)).unwrap()
    };
    let happened = entries(&federation).len();
    for round in 0..20 {
        let wrong_secret = Hello { secret: vec![100 + round; 32], ..Raw::hello(0) };
        let wrong_federation = Hello { federation: format!("other {round}"), ..Raw::hello(0) };
        let not_invited = Raw::hello(1 + u32::from(round) % 2);
        for hello in [wrong_secret, wrong_federation, not_invited] {
            federation.runtime.block_on(Raw::greet(&federation.url, hello)).err().expect("refused");
        }
    }
    let status = federation.status();
    assert_eq!((status.turned_away, status.limits.identities), (60, 60));
    assert_eq!(federation.members(), before, "nothing is known of it that was not known before");
    let strangers = entries(&federation);
    assert_eq!(strangers.len(), happened + 1, "{strangers:?}");
    assert_eq!((strangers[0].kind, strangers[0].client), (Happening::TurnedAway, None));
    let [attention] = &status.attention[..] else { panic!("{:?}", status.attention) };
    assert_eq!((attention.kind, attention.client), ("limits", None));
    assert!(attention.words.starts_with("60 hellos"), "{attention:?}");
    let told = format!("{} {}", attention.words, attention.remedy);
    assert!(!told.contains("release"), "nobody is to free a number because a stranger says so: {told}");
    federation.stop();
}

/// The same where everybody is let in: a number is known by the store that has it.
#[test]
fn a_member_that_is_refused_is_shown_and_an_impostor_is_not() {
    let federation = eager();
    drop(federation.runtime.block_on(Raw::connect(&federation.url, 0)));
    until("it is away", || federation.members()[0].state == "away");
    let impostor = Hello { instance: vec![66; 16], epochs: vec![66], ..Raw::hello(0) };
    federation.runtime.block_on(Raw::greet(&federation.url, impostor)).err().expect("refused");
    assert_eq!(federation.members()[0].state, "away");
    // Its own store, of an older version of this program, alternates between two of them.
    for version in 0..100 {
        let old = Hello { version, ..Raw::hello(0) };
        if version != wire::VERSION {
            federation.runtime.block_on(Raw::greet(&federation.url, old)).err().expect("refused");
        }
    }
    let member = &federation.members()[0];
    assert_eq!(member.state, "refused");
    assert!(member.reason.contains("version"), "{member:?}");
    let journal = federation.runtime.block_on(federation.coordinator().journal(Some(0), 10_000)).unwrap();
    let refusals = journal.iter().filter(|entry| entry.kind == Happening::TurnedAway).count();
    assert!((1..20).contains(&refusals), "{refusals} entries for what one client says");
    federation.stop();
}

#[test]
fn what_a_member_has_spent_and_that_it_withdrew_outlives_a_restart() {
    // Whoever is away is late at once.
    let federation = eager_within(ServeLimits { late: Duration::from_millis(1), ..ServeLimits::default() });
    let spent = |epsilon| Spent {
        epsilon: Some(epsilon),
        delta: 1e-5,
        unit: "one reward".into(),
        releases: 3,
        unprotected: 0,
        ceiling: Some(1.0),
    };
    let tell = |member: &Raw, epsilon| {
        let alive = Alive { position: 1, spent: Some(spent(epsilon)), telemetry: None };
        federation.runtime.block_on(member.send(Kind::Alive(alive)));
    };
    let withdrawn = federation.runtime.block_on(Raw::connect(&federation.url, 0));
    let silent = federation.runtime.block_on(Raw::connect(&federation.url, 1));
    tell(&withdrawn, 0.9);
    tell(&silent, 0.5);
    until("both were heard", || federation.members().iter().all(|member| member.spent.is_some()));
    let reason = "a further release would cost more than the ceiling";
    let last = Refusal { reason: reason.into(), r#final: true, old_copy: false, leader: String::new() };
    federation.runtime.block_on(withdrawn.send(Kind::Refusal(last)));
    until("it has withdrawn", || federation.status().connected == 1);
    let before = federation.members();
    drop((withdrawn, silent));
    let (known, terms, address) = (federation.known.clone(), federation.terms.clone(), federation.address());
    let folder = federation.stop();
    let federation = Federation::resume(&known, terms, folder, &address);
    let after = federation.members();
    assert_eq!(after[0].spent, before[0].spent);
    assert_eq!(after[1].spent, before[1].spent);
    assert_eq!(after[0].spent.as_ref().unwrap().withdrawn.as_deref(), Some(reason));
    let status = federation.status();
    assert_eq!(status.most_spent.map(|most| (most.client, most.epsilon)), Some((0, 0.9)));
    let about: Vec<&str> =
        status.attention.iter().filter(|one| one.client == Some(0)).map(|one| one.kind).collect();
    assert_eq!(about, ["privacy"], "it is not late, and will not be back: {:?}", status.attention);
    // Whoever has its number after it has spent nothing.
    federation.release(0).unwrap();
    let (known, terms, address) = (federation.known.clone(), federation.terms.clone(), federation.address());
    let federation = Federation::resume(&known, terms, federation.stop(), &address);
    let anew = Hello { instance: vec![99; 16], epochs: vec![99], ..Raw::hello(0) };
    let other = federation.runtime.block_on(Raw::greet(&federation.url, anew)).unwrap();
    assert_eq!(federation.members()[0].spent, None);
    drop(other);
    federation.stop();
}

/// How often a client's store was written tells how much it does between two releases: how long that number is must not show.
#[test]
fn how_busy_a_client_is_cannot_be_read_off_its_bytes() {
    let federation = eager();
    let member = federation.runtime.block_on(Raw::connect(&federation.url, 0));
    let mut grown = Vec::new();
    for position in [1, 1 << 60] {
        let before = federation.status().bytes_received;
        federation.runtime.block_on(member.send(Kind::Alive(Alive { position, ..Alive::default() })));
        until("it was heard", || federation.status().bytes_received > before);
        grown.push(federation.status().bytes_received - before);
    }
    assert_eq!(grown[0], grown[1]);
    assert_eq!(federation.members()[0].bytes_received, 0, "nothing was released");
    send(&federation, &member, 0, 1..=1, 1.0);
    assert!(federation.members()[0].bytes_received > 40);
    drop(member);
    federation.stop();
}
