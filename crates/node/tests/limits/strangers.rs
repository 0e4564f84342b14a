//! Strangers at a coordinator's door: they get little memory, little time and few places, they are told why,
//! and whoever is a member does not notice.

use std::time::{Duration, Instant};

use cahoots_core::Setting;
use cahoots_node::Terms;
use cahoots_node::limits::{Refusals, ServeLimits};
use cahoots_node::transport::proto::{Confirm, Hello};
use cahoots_node::transport::{Kind, Outbox, dial, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::stranger::{alone, frozen, resident, unfinished, unfinished_by};
use crate::common::{FEDERATION, Federation, PATIENCE, known, terms, until};

fn linear() -> Terms {
    terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(2, 2, 2))
}

fn within(limits: ServeLimits) -> Federation {
    Federation::start_within(&known(), linear(), limits)
}

fn impatient() -> ServeLimits {
    ServeLimits { hello: Duration::from_millis(300), ..ServeLimits::default() }
}

fn hello(client: u32, federation: &str) -> Hello {
    let version = cahoots_core::wire::VERSION;
    Hello {
        federation: federation.into(),
        client,
        instance: vec![client as u8; 16],
        version,
        epochs: vec![1],
        ..Hello::default()
    }
}

/// Reads until the other side closes.
async fn closed(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it is closed");
}

#[test]
fn a_connection_that_says_nothing_is_closed_and_members_stay() {
    let federation = within(impatient());
    let member = federation.client(0);
    federation.runtime.block_on(async {
        let mut silent = TcpStream::connect(federation.address()).await.unwrap();
        let mut polite = TcpStream::connect(federation.address()).await.unwrap();
        // HTTP/2's first words and no more.
        polite.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        closed(&mut silent).await;
        closed(&mut polite).await;
    });
    until("both are counted", || federation.status().limits.late == 2);
    std::thread::sleep(Duration::from_secs(1));
    let status = member.status();
    assert!(status.connected && status.attempts == 1, "{status:?}");
    assert_eq!(federation.status().limits, Refusals { late: 2, ..Refusals::default() });
}

#[test]
fn a_stream_without_a_hello_is_told_so() {
    let federation = within(impatient());
    let words = federation.runtime.block_on(async {
        let (_frames, outgoing) = Outbox::channel();
        let mut stream = dial(&federation.url, outgoing).await.unwrap();
        let refused = tokio::time::timeout(PATIENCE, stream.next()).await.expect("it is told").unwrap();
        match refused.and_then(|frame| frame.kind) {
            Some(Kind::Refusal(refusal)) => refusal.reason,
            other => panic!("{other:?}"),
        }
    });
    assert!(words.contains("no hello came within 0.3 s (limits.hello)"), "{words}");
    until("it is counted", || federation.status().limits.late == 1);
}

#[test]
fn unfinished_frames_of_strangers_take_no_memory() {
    let _alone = alone();
    let federation = within(ServeLimits::default());
    let before = resident();
    let refused = federation.runtime.block_on(async {
        let mut strangers = tokio::task::JoinSet::new();
        for _ in 0..60 {
            strangers.spawn(unfinished(federation.address(), 31 << 20));
        }
        tokio::time::timeout(PATIENCE, strangers.join_all()).await.expect("all are refused")
    });
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{} MB", grown >> 20);
    for sent in refused {
        assert!(sent < 1 << 20, "{sent} bytes of a frame were taken");
    }
    assert_eq!(federation.status().limits.too_large, 60);
    federation.client(0).stop();
}

#[test]
fn unfinished_frames_of_members_share_a_room_and_end() {
    let _alone = alone();
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(41, 2, 2));
    let limits =
        ServeLimits { frames_bytes: 64 << 20, frame: Duration::from_millis(700), ..ServeLimits::default() };
    let federation = Federation::start_within(&known(), terms, limits);
    let (before, mut most) = (resident(), 0);
    federation.runtime.block_on(async {
        let mut members = tokio::task::JoinSet::new();
        for client in 0..8 {
            members.spawn(unfinished_by(federation.address(), Some(hello(client, FEDERATION)), 31 << 20));
        }
        // Two at a time have room; who has it and does not come to an end loses it.
        let begun = Instant::now();
        while federation.counted().await.late < 8 {
            assert!(begun.elapsed() < PATIENCE, "all of them end");
            most = most.max(resident());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let grown = most.saturating_sub(before);
    assert!(grown < 100 << 20, "{} MB", grown >> 20);
    federation.client(40).stop();
}

#[test]
fn strangers_cannot_go_on_in_small_frames() {
    let federation = within(ServeLimits::default());
    federation.runtime.block_on(async {
        let (frames, outgoing) = Outbox::channel();
        let mut stream = dial(&federation.url, outgoing).await.unwrap();
        let sending = tokio::spawn(async move {
            let nonsense =
                || frame(Kind::Confirm(Confirm { sequence: u64::MAX, peer: Some(u32::MAX), kept: None }));
            while frames.send(nonsense()).await.is_ok() {}
        });
        let end = tokio::time::timeout(PATIENCE, stream.next()).await.expect("the connection ends");
        assert!(!matches!(end, Ok(Some(_))), "{end:?}");
        tokio::time::timeout(PATIENCE, sending).await.expect("nothing more leaves").unwrap();
    });
    assert_eq!(federation.status().limits.too_large, 1);
}

#[test]
fn a_member_that_answers_no_ping_is_given_up() {
    let limits = ServeLimits { idle: Duration::from_millis(600), ..ServeLimits::default() };
    let federation = within(limits);
    let member = federation.client(0);
    let _frozen = federation.runtime.block_on(frozen(federation.address(), hello(1, FEDERATION)));
    assert_eq!(federation.status().connected, 2);
    until("it is given up", || federation.status().connected == 1);
    // Whoever is only quiet stays.
    std::thread::sleep(Duration::from_secs(1));
    let status = member.status();
    assert!(status.connected && status.attempts == 1, "{status:?}");
}

#[test]
fn connections_beyond_the_most_are_closed_as_they_come() {
    let federation = within(ServeLimits { connections: 3, ..ServeLimits::default() });
    let member = federation.client(0);
    let address = federation.address();
    federation.runtime.block_on(async {
        let first = TcpStream::connect(&address).await.unwrap();
        let _second = TcpStream::connect(&address).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        for _ in 0..5 {
            closed(&mut TcpStream::connect(&address).await.unwrap()).await;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "at once, not by the deadline");
        drop(first);
    });
    assert_eq!(federation.status().limits.connections, 5);
    // Whoever leaves makes room.
    let other = federation.client(1);
    assert!(other.status().connected && member.status().attempts == 1);
}

#[test]
fn a_refused_client_is_told_briefly_and_not_read_from() {
    let federation = within(impatient());
    let name = format!("x\n{}", "y".repeat(20_000));
    let reason = federation.runtime.block_on(async {
        let (frames, outgoing) = Outbox::channel();
        frames.try_send(frame(Kind::Hello(hello(0, &name).into()))).unwrap();
        let mut stream = dial(&federation.url, outgoing).await.unwrap();
        let Some(Kind::Refusal(refusal)) = stream.next().await.unwrap().unwrap().kind else { panic!() };
        let nothing = || frame(Kind::Confirm(Confirm { sequence: 1, peer: None, kept: None }));
        let sending = async { while frames.send(nothing()).await.is_ok() {} };
        tokio::time::timeout(PATIENCE, sending).await.expect("its frames are not read");
        refusal.reason
    });
    assert!(reason.contains("not of \"x") && reason.len() < 500, "{} bytes: {reason}", reason.len());
    assert!(!reason.contains('\n'), "{reason}");
}
