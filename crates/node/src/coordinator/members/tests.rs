//! Who is let in, who is not, and in which words.

use super::*;

fn hello() -> Hello {
    Hello {
        federation: "test".into(),
        client: 1,
        instance: vec![1; 16],
        version: wire::VERSION,
        parameters: 7,
        received: 2,
        sent: 3,
        epochs: vec![40],
        written: vec![10],
        numbered: vec![3],
        rejoins: false,
        invitation: Vec::new(),
        secret: Vec::new(),
    }
}

/// A hello after these starts: their numbers, how often the store had been written, messages numbered.
fn began(starts: &[(u64, u64, u64)]) -> Hello {
    Hello {
        epochs: starts.iter().map(|start| start.0).collect(),
        written: starts.iter().map(|start| start.1).collect(),
        numbered: starts.iter().map(|start| start.2).collect(),
        ..hello()
    }
}

/// Three clients under terms 7; this one was sent 2 messages, and 3 of its came.
fn refusal(members: &Members, hello: &Hello) -> Option<String> {
    members.refuse(hello, "test", 3, 7, Ends { sent: 2, received: 3 }).map(|refused| refused.reason)
}

fn channel() -> mpsc::Sender<Frame> {
    Outbox::channel().0
}

#[test]
fn who_fits_is_let_in() {
    let mut members = Members::default();
    assert_eq!(refusal(&members, &hello()), None);
    assert_eq!(refusal(&members, &Hello { parameters: 0, ..hello() }), None, "before it knows any terms");
    assert!(members.bind(&hello()));
    assert_eq!(refusal(&members, &hello()), None, "the same store may come back");
    let later = began(&[(40, 10, 3), (3, 12, 3), (8, 15, 3)]);
    assert_eq!(refusal(&members, &later), None, "after other starts");
    assert!(!members.bind(&hello()), "and is no new member");
    let lost = Hello { received: 1, sent: 5, ..hello() };
    assert_eq!(refusal(&members, &lost), None, "what was lost on the way is sent again");
}

#[test]
fn who_does_not_fit_is_told_why_and_what_to_do() {
    let mut members = Members::default();
    members.bind(&Hello { instance: vec![9; 16], ..hello() });
    let stranger = Hello { client: 2, ..hello() };
    let cases = [
        (Hello { version: 99, ..stranger.clone() }, "version 99: upgrade the older one"),
        (Hello { federation: "other".into(), ..stranger.clone() }, "not of \"other\": correct `federation`"),
        (Hello { client: 3, ..stranger.clone() }, "there is no client 3: this federation has clients 0 to 2"),
        (Hello { client: u32::MAX, ..stranger.clone() }, "this federation has clients 0 to 2"),
        (Hello { parameters: 8, ..stranger.clone() }, "remove its [terms]"),
        (Hello { instance: vec![1; 15], ..stranger.clone() }, "without the 16 bytes"),
        (hello(), "client 1 is already taken by another store"),
        (Hello { epochs: vec![], ..stranger }, "without its start"),
    ];
    for (hello, words) in cases {
        let said = refusal(&members, &hello).unwrap_or_default();
        assert!(said.contains(words), "{said:?} lacks {words:?}");
    }
}

#[test]
fn a_client_has_one_connection_the_newest() {
    let mut members = Members::default();
    for session in [1, 2] {
        members.open(session, Peer::default(), channel());
        let (peer, frames) = members.stranger(session).unwrap();
        assert!(members.stranger(session).is_none(), "a second hello on one connection");
        members.connect(NodeId(0), session, peer, frames, 0);
    }
    assert_eq!((members.client(1), members.client(2)), (None, Some(NodeId(0))));
    // The end of the old one is not the end of the new one.
    members.close(1);
    assert_eq!(members.connected[&NodeId(0)].session, 2);
    members.close(2);
    assert!(members.connected.is_empty() && members.client(2).is_none());
}

#[test]
fn bindings_are_what_was_stored() {
    let mut members = Members::default();
    members.bind(&hello());
    let (key, owner) = members.save(NodeId(1));
    let stored = vec![(key.clone(), owner.clone()), ("member/x".to_string(), owner)];
    let mut restored = Members::restore(stored, Vec::new());
    assert_eq!(restored.len(), 1);
    assert!(restored.knows_start(&hello()) && !restored.bind(&hello()));
    restored.release(NodeId(1));
    assert_eq!(restored.save(NodeId(1)), (key, Vec::new()));
    assert!(Members::restore(vec![restored.save(NodeId(1))], Vec::new()).bind(&hello()), "a free number");
}

/// Members of a store that was written before there were secrets are members still.
#[test]
fn bindings_without_a_secret_are_read() {
    let before = postcard::to_stdvec(&(vec![1u8; 16], 40u64, false)).unwrap();
    let mut members = Members::restore(vec![("member/1".into(), before)], Vec::new());
    assert!(
        members.knows_start(&hello()) && members.knows_secret(&hello()) && !members.has_secret(NodeId(1))
    );
    let now = Hello { secret: vec![5; 32], ..hello() };
    assert!(!members.knows_secret(&now));
    assert!(!members.bind(&now), "no new member");
    let (key, owner) = members.save(NodeId(1));
    let members = Members::restore(vec![(key, owner)], Vec::new());
    assert!(members.knows_secret(&now) && !members.knows_secret(&hello()));
}

/// A store that was put back from an old copy, or used twice.
#[test]
fn a_store_that_went_back_in_time_is_refused() {
    let mut members = Members::default();
    members.bind(&hello());
    let old = "older than what the coordinator has already heard";
    let cases = [
        (Hello { sent: 2, ..hello() }, Some(old)),
        (began(&[(40, 10, 3), (41, 9, 3)]), Some(old)),
        // A copy that has been busy on its own: as many messages, and not the same.
        (Hello { sent: 50, ..began(&[(40, 10, 3), (41, 10, 2)]) }, Some(old)),
        // Started again, it begins where it is; its first start tells.
        (Hello { sent: 50, ..began(&[(40, 10, 3), (41, 9, 2), (42, 30, 50)]) }, Some(old)),
        (began(&[(39, 5, 1), (41, 10, 3)]), Some(old)),
        (began(&[(39, 5, 1), (40, 10, 3), (41, 10, 3)]), None),
        (Hello { epochs: vec![40, 41], ..hello() }, Some(old)),
        // The coordinator is the older one: it will be sent what it lacks.
        (Hello { received: 3, ..hello() }, None),
        (Hello { rejoins: true, ..began(&[(39, 5, 1), (41, 10, 3)]) }, None),
    ];
    for (hello, words) in cases {
        let said = refusal(&members, &hello);
        assert_eq!(said.is_some(), words.is_some(), "{hello:?}");
        assert!(said.unwrap_or_default().contains(words.unwrap_or_default()));
    }
    members.alive(NodeId(1), 12);
    let copy = began(&[(40, 10, 3), (41, 11, 3)]);
    assert!(refusal(&members, &copy).is_some(), "it was heard of since");
    let (key, owner) = members.save(NodeId(1));
    let members = Members::restore(vec![(key, owner)], Vec::new());
    assert!(refusal(&members, &copy).is_some(), "a coordinator that was started again still knows");
}

#[test]
fn two_processes_on_copies_of_one_store_are_told_apart() {
    let mut members = Members::default();
    members.bind(&hello());
    members.connect(NodeId(1), 7, Peer::default(), channel(), 0);
    let copy = began(&[(40, 10, 3), (41, 10, 3)]);
    let refused = members.refuse(&copy, "test", 3, 7, Ends { sent: 2, received: 3 }).unwrap();
    assert!(refused.reason.contains("is connected already") && !refused.last);
    assert_eq!(refusal(&members, &hello()), None, "the same process may have lost its connection");
    members.close(7);
    assert_eq!(refusal(&members, &copy), None, "a restart after a kill");
}

#[test]
fn who_was_removed_stays_out_until_its_number_is_released() {
    let mut members = Members::default();
    members.bind(&hello());
    members.remove(NodeId(1));
    assert_eq!((members.len(), members.is_member(NodeId(1))), (0, false));
    assert!(refusal(&members, &hello()).unwrap().contains("was removed"));
    members.release(NodeId(1));
    assert_eq!(refusal(&members, &Hello { instance: vec![9; 16], ..hello() }), None);
}

#[test]
fn a_store_that_left_starts_anew_or_stays_out() {
    let mut members = Members::default();
    members.bind(&hello());
    members.release(NodeId(1));
    let restored = Members::restore(Vec::new(), vec![members.save_departed(NodeId(1))]);
    for members in [&members, &restored] {
        let words = refusal(members, &hello()).expect("what it sent would be merged again");
        assert!(words.contains("left this federation") && words.contains("`cahoots rejoin`"), "{words}");
        let anew = Hello { rejoins: true, epochs: vec![50], ..hello() };
        assert_eq!(refusal(members, &anew), None);
        let unaware = refusal(members, &Hello { parameters: 0, ..hello() });
        assert!(unaware.is_some(), "it may be a copy of who knew the terms, and would draw the same noise");
        assert_eq!(refusal(members, &Hello { instance: vec![2; 16], ..hello() }), None, "another store");
    }
    // Killed after it was let in anew, it is the same store, and not anew once more.
    members.bind(&Hello { rejoins: true, epochs: vec![50], ..hello() });
    assert!(!members.starts_anew(&Hello { rejoins: true, epochs: vec![50, 51], ..hello() }));
    assert!(members.starts_anew(&Hello { rejoins: true, epochs: vec![60], ..hello() }));
}
