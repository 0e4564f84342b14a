//! What the page says that a state means, held against members that are in it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::common::{Federation, Raw, known, terms, until};
use cahoots_core::wire::payload::Shape;
use cahoots_core::{NodeId, Setting, wire};
use cahoots_node::coordinator::MemberStatus;
use cahoots_node::limits::ServeLimits;
use prost::Message as _;

/// What the page is made from, and what it is made into.
const STATES: &str = include_str!("../../web/src/states.json");
const PAGE: &str = include_str!("../../web/dist/page.js");
const HELP: &str = include_str!("../../web/dist/coordinator.html");

#[derive(Deserialize)]
struct Meaning {
    shape: String,
    /// Whether who is in this state is connected; either may be where nothing is said.
    connected: Option<bool>,
    /// Whether it was let in when it last wanted that.
    let_in: Option<bool>,
    means: String,
    remedy: String,
}

fn states() -> BTreeMap<String, Meaning> {
    serde_json::from_str(STATES).unwrap()
}

fn federation(late: Duration) -> Federation {
    let terms = terms(&known(), "async-linucb", "", Setting::linear(3, 2, 2));
    Federation::start_within(&known(), terms, ServeLimits { late, implausible: 1, ..ServeLimits::default() })
}

fn member(federation: &Federation, client: u32) -> MemberStatus {
    federation.members().into_iter().find(|member| member.client == client).expect("it has joined")
}

fn until_in(federation: &Federation, client: u32, state: &str) -> MemberStatus {
    until(state, || member(federation, client).state == state);
    member(federation, client)
}

/// What the words say of someone in a state is so.
fn holds(seen: &MemberStatus, was_let_in: Option<bool>) {
    let states = states();
    let said = &states[seen.state];
    assert!(said.connected.is_none_or(|connected| connected == seen.connected), "{seen:?}");
    assert!(said.let_in.is_none() || said.let_in == was_let_in, "{seen:?}");
    // The words say what the marks beside them say.
    let words = said.means.to_lowercase();
    assert_eq!(words.contains("not connected"), said.connected == Some(false), "{}: {words}", seen.state);
    assert_eq!(words.contains("it is connected"), said.connected == Some(true), "{}: {words}", seen.state);
    assert_eq!(words.contains("not let in"), said.let_in == Some(false), "{}: {words}", seen.state);
    // What to do is done there and by who it is done by: nothing of this fits whoever is connected.
    assert_eq!(said.remedy.is_empty(), seen.state == "here", "{}", seen.state);
}

fn lie(raw: &Raw) -> cahoots_node::transport::Kind {
    let stats = wire::LinearStats {
        dim: 2,
        count: 1,
        gram: vec![1e308, 0.0, 0.0],
        moment: vec![0.5, 0.0],
        contexts: vec![],
    };
    let upload = wire::LinearUpload { number: 1, stats: Some(stats), ..Default::default() };
    let payload = wire::Payload { shape: Some(Shape::LinearUpload(upload)) };
    raw.own(NodeId::SERVER, 1, payload.encode_to_vec())
}

#[test]
fn every_state_is_what_the_page_says_it_is() {
    let federation = federation(Duration::from_secs(3600));
    let join = |client: u32| federation.runtime.block_on(Raw::connect(&federation.url, client));
    let first = join(0);
    let here = until_in(&federation, 0, "here");
    holds(&here, Some(true));
    assert!(here.last_contact.is_some(), "who has said hello was heard: {here:?}");
    drop(first);
    let away = until_in(&federation, 0, "away");
    holds(&away, Some(true));
    assert!(away.reason.is_empty(), "{away:?}");

    // Its own store, of another version of this program.
    let other = cahoots_node::transport::proto::Hello { version: wire::VERSION + 1, ..Raw::hello(0) };
    let said = federation.runtime.block_on(Raw::greet(&federation.url, other)).err().expect("refused");
    let refused = until_in(&federation, 0, "refused");
    holds(&refused, Some(false));
    assert_eq!(refused.reason, said, "the reason says why");
    let attention = federation.status().attention;
    assert!(attention.iter().any(|one| one.kind == "refused" && one.words.contains("not let in")));
    assert_eq!(refused.refused, 0, "nothing that it sent was refused");

    let liar = join(1);
    federation.runtime.block_on(liar.send(lie(&liar)));
    let quarantined = until_in(&federation, 1, "quarantined");
    holds(&quarantined, None);
    assert!(quarantined.implausible > 0);

    let third = join(2);
    until_in(&federation, 2, "here");
    federation.remove(2).unwrap();
    let removed = until_in(&federation, 2, "removed");
    let again = federation.runtime.block_on(Raw::greet(&federation.url, Raw::hello(2)));
    holds(&removed, Some(again.is_ok()));
    drop((third, liar));
    federation.stop();
}

#[test]
fn late_is_who_has_been_away_for_longer_than_the_limit() {
    let federation = federation(Duration::ZERO);
    let raw = federation.runtime.block_on(Raw::connect(&federation.url, 0));
    let here = until_in(&federation, 0, "here");
    assert!(here.connected, "however long it is silent, who is connected is not late");
    drop(raw);
    let late = until_in(&federation, 0, "late");
    holds(&late, Some(true));
    let meaning = &states()["late"];
    assert!(meaning.means.contains("`late`") && meaning.means.contains("[limits]"), "{}", meaning.means);
    assert_eq!(ServeLimits::default().late, Duration::from_secs(300), "{}", meaning.means);
    let attention = federation.status().attention;
    assert!(attention.iter().any(|one| one.kind == "late" && one.words.contains("away")), "{attention:?}");
    federation.stop();
}

/// The page that is built in says these words, and its help explains every state and none besides.
#[test]
fn the_page_and_its_help_have_these_words_and_no_others() {
    for (state, meaning) in states() {
        assert!(PAGE.contains(&meaning.means), "{state}: run crates/node/web/build");
        assert!(
            HELP.contains(&format!(r#"<dt data-state="{state}">{} {state}</dt><dd></dd>"#, meaning.shape))
        );
    }
    assert_eq!(HELP.matches("data-state=").count(), states().len());
}
