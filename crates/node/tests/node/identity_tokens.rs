//! Numbers that are granted by invitation: once, to one, for a while, and then to who keeps the secret.

use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::Terms;
use cahoots_node::client::Client;
use cahoots_node::identity::{Admit, ClientSecurity, Secret, ServeSecurity, digest};
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::Hello;
use cahoots_node::transport::{Kind, Outbox, call, frame};

use crate::common::keys::Ring;
use crate::common::{FEDERATION, Federation, known, open_as, store_of, terms, until};

const DAY: Duration = Duration::from_secs(86_400);

fn linear() -> Terms {
    terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2))
}

fn started(ring: &Ring) -> Federation {
    Federation::start_secure(&known(), linear(), ServeLimits::default(), ring.serve(Admit::Tokens))
}

/// A client that decides in any case, and joins if it may.
fn opened(federation: &Federation, client: u32, security: ClientSecurity) -> Client {
    open_as(&federation.known, federation.folder.path(), &federation.url, client, security, Some(linear()))
}

/// What the coordinator says to a hello with this invitation and secret; `None` is a welcome.
fn said(
    federation: &Federation,
    ring: &Ring,
    client: u32,
    invitation: Option<&str>,
    secret: u8,
) -> Option<String> {
    said_by(federation, ring, client, invitation, vec![secret; 32], vec![secret; 16])
}

fn said_by(
    federation: &Federation,
    ring: &Ring,
    client: u32,
    invitation: Option<&str>,
    secret: Vec<u8>,
    instance: Vec<u8>,
) -> Option<String> {
    let caller = ring.invited(None).caller;
    federation.runtime.block_on(async {
        let (frames, outgoing) = Outbox::channel();
        let hello = Hello {
            federation: FEDERATION.into(),
            client,
            instance,
            version: cahoots_core::wire::VERSION,
            epochs: vec![77],
            invitation: invitation
                .map(|text| Secret::parse(text).unwrap().bytes().to_vec())
                .unwrap_or_default(),
            secret,
            ..Hello::default()
        };
        frames.try_send(frame(Kind::Hello(hello.into()))).unwrap();
        let mut stream = call(&federation.url, caller, outgoing).await.unwrap();
        match stream.next().await.unwrap().and_then(|frame| frame.kind) {
            Some(Kind::Refusal(refusal)) => Some(refusal.reason),
            Some(Kind::Welcome(_)) => None,
            other => panic!("{other:?}"),
        }
    })
}

fn assert_said(said: Option<String>, words: &str) {
    let said = said.expect("refused");
    assert!(said.contains(words) && said.contains("cahoots members FILE"), "{said:?} lacks {words:?}");
}

#[test]
fn who_is_invited_joins_once_and_keeps_its_number_by_its_secret() {
    let ring = Ring::new();
    let federation = started(&ring);
    let invitation = federation.invite(0, DAY).unwrap();
    let client = opened(&federation, 0, ring.invited(Some(&invitation)));
    until("it is let in", || client.status().connected);
    client.stop();
    let client = opened(&federation, 0, ring.invited(None));
    until("its secret lets it in, without the invitation and after a restart", || client.status().connected);
    client.stop();

    assert_said(said(&federation, &ring, 0, Some(&invitation), 9), "belongs to someone else");
    let again = federation.invite(0, DAY).unwrap_err();
    assert!(again.contains("members FILE release 0"), "{again}");
    // Both ends know why: a client whose store is lost decides alone and says so.
    let lost = tempfile::tempdir().unwrap();
    let stranger = open_as(
        &federation.known,
        lost.path(),
        &federation.url,
        0,
        ring.invited(Some(&invitation)),
        Some(linear()),
    );
    until("it is told", || stranger.problems().iter().any(|words| words.contains("belongs to someone else")));
    federation.release(0).unwrap();
    until("a used invitation is of no use", || {
        stranger.problems().iter().any(|words| words.contains("was used before"))
    });
    stranger.stop();
    let fresh = federation.invite(0, DAY).unwrap();
    let stranger = open_as(
        &federation.known,
        lost.path(),
        &federation.url,
        0,
        ring.invited(Some(&fresh)),
        Some(linear()),
    );
    until("a new one lets it in", || stranger.status().connected);

    // Nothing that could be used is in the coordinator's files, and all of it outlives a restart.
    stranger.stop();
    let folder = federation.stop();
    let secret = Secret::parse(&fresh).unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = entries
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("coordinator"))
        .collect();
    let held = |what: &[u8]| {
        kept.iter().any(|path| std::fs::read(path).unwrap().windows(what.len()).any(|window| window == what))
    };
    assert!(held(&digest(secret.bytes())), "its digest, by which it is known");
    assert!(!held(secret.bytes()) && !held(fresh.as_bytes()), "and not the invitation");
    let federation = Federation::resume_secure(&known(), linear(), folder, ring.serve(Admit::Tokens));
    assert_said(said(&federation, &ring, 0, Some(&fresh), 9), "belongs to someone else");
    assert!(store_of(lost.path(), 0).exists());
}

#[test]
fn every_invitation_that_does_not_hold_is_refused_in_its_own_words() {
    let ring = Ring::new();
    let federation = started(&ring);
    assert_said(said(&federation, &ring, 0, None, 1), "without an invitation");
    let unknown = Secret::random().unwrap().invitation();
    assert_said(said(&federation, &ring, 0, Some(&unknown), 1), "knows of no such invitation");
    let expired = federation.invite(0, Duration::ZERO).unwrap();
    assert_said(said(&federation, &ring, 0, Some(&expired), 1), "has expired");
    let withdrawn = federation.invite(0, DAY).unwrap();
    assert_eq!(federation.uninvite(0), Ok(2));
    assert_said(said(&federation, &ring, 0, Some(&withdrawn), 1), "was taken back");
    assert!(federation.uninvite(0).unwrap_err().contains("no open invitation"));
    let other = federation.invite(1, DAY).unwrap();
    assert_said(said(&federation, &ring, 0, Some(&other), 1), "is not for client 0");
    assert!(federation.invite(3, DAY).unwrap_err().contains("clients 0 to 2"));
    assert_said(
        said_by(&federation, &ring, 1, Some(&other), vec![1; 31], vec![1; 16]),
        "without an invitation",
    );
    assert_eq!(said(&federation, &ring, 1, Some(&other), 1), None);
    // The store that the number is bound to, and not the secret: not enough. The other way round: not either.
    assert_said(said_by(&federation, &ring, 1, None, vec![2; 32], vec![1; 16]), "belongs to someone else");
    assert_said(said_by(&federation, &ring, 1, None, Vec::new(), vec![1; 16]), "belongs to someone else");
    assert!(said_by(&federation, &ring, 1, None, vec![1; 32], vec![2; 16]).is_some());
    assert_eq!(said(&federation, &ring, 1, Some(&other), 1), None, "its owner may say it again");
    assert_eq!(federation.status().members, 1);
}

#[test]
fn of_two_who_race_for_a_number_one_wins_and_the_other_is_told() {
    let ring = Ring::new();
    let federation = started(&ring);
    let invitation = federation.invite(2, DAY).unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let racers = folders.each_ref().map(|folder| {
        let security = ring.invited(Some(&invitation));
        open_as(&federation.known, folder.path(), &federation.url, 2, security, Some(linear()))
    });
    until("both know", || {
        racers.iter().all(|racer| racer.status().connected || !racer.problems().is_empty())
    });
    let winners = racers.iter().filter(|racer| racer.status().connected).count();
    assert_eq!(winners, 1, "{:?}", racers.each_ref().map(|racer| racer.status()));
    assert_eq!(federation.status().members, 1);
}

#[test]
fn a_certificate_lets_in_too_but_only_as_itself() {
    let ring = Ring::new();
    let federation = started(&ring);
    let client = opened(&federation, 1, ring.client(1));
    until("it is let in", || client.status().connected);
    let other = opened(&federation, 2, ring.client(0));
    until("it is told", || other.problems().iter().any(|words| words.contains("certificate of client 0")));
}

/// On one machine, where nobody else can hear it, an invitation may travel in plain text.
#[test]
fn invitations_work_on_one_machine_without_certificates() {
    let security = ServeSecurity { admit: Admit::Tokens, ..ServeSecurity::default() };
    let federation = Federation::start_secure(&known(), linear(), ServeLimits::default(), security);
    let grabber = opened(&federation, 0, ClientSecurity::default());
    until("it is told", || grabber.problems().iter().any(|words| words.contains("without an invitation")));
    let invitation = Secret::parse(&federation.invite(1, DAY).unwrap()).unwrap();
    let invited =
        opened(&federation, 1, ClientSecurity { invitation: Some(invitation), ..ClientSecurity::default() });
    until("it is let in", || invited.status().connected);
    assert_eq!(federation.status().members, 1);
    let anyone = Federation::start(&known(), linear());
    assert!(anyone.invite(1, DAY).unwrap_err().contains("admit = \"tokens\""));
}
