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
    }
}

/// Three clients under terms 7; this one was sent 2 messages, and 3 of its came.
fn refusal(members: &Members, hello: &Hello) -> Option<String> {
    members.refuse(hello, "test", 3, 7, Ends { sent: 2, received: 3 })
}

fn channel() -> mpsc::Sender<Frame> {
    Outbox::channel().0
}

#[test]
fn who_fits_is_let_in() {
    let mut members = Members::default();
    assert_eq!(refusal(&members, &hello()), None);
    assert_eq!(refusal(&members, &Hello { parameters: 0, ..hello() }), None, "before it knows any terms");
    assert!(members.bind(NodeId(1), &[1; 16]));
    assert_eq!(refusal(&members, &hello()), None, "the same store may come back");
    assert!(!members.bind(NodeId(1), &[1; 16]), "and is no new member");
    let lost = Hello { received: 1, sent: 5, ..hello() };
    assert_eq!(refusal(&members, &lost), None, "what was lost on the way is sent again");
}

#[test]
fn who_does_not_fit_is_told_why_and_what_to_do() {
    let mut members = Members::default();
    members.bind(NodeId(1), &[9; 16]);
    let stranger = Hello { client: 2, ..hello() };
    let cases = [
        (Hello { version: 99, ..stranger.clone() }, "version 99: upgrade the older one"),
        (Hello { federation: "other".into(), ..stranger.clone() }, "not of \"other\": correct `federation`"),
        (Hello { client: 3, ..stranger.clone() }, "there is no client 3: this federation has clients 0 to 2"),
        (Hello { client: u32::MAX, ..stranger.clone() }, "this federation has clients 0 to 2"),
        (Hello { parameters: 8, ..stranger.clone() }, "remove its [terms]"),
        (Hello { instance: vec![1; 15], ..stranger.clone() }, "without the 16 bytes"),
        (hello(), "client 1 is already taken by another store"),
        (Hello { sent: 2, ..stranger.clone() }, "restore the client's newest store"),
        (Hello { received: 3, ..stranger }, "restore the coordinator's newest store"),
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
        members.open(session, channel());
        let frames = members.stranger(session).unwrap();
        assert!(members.stranger(session).is_none(), "a second hello on one connection");
        members.connect(NodeId(0), session, frames, 0);
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
    let stored = vec![("member/4".to_string(), vec![4; 16]), ("member/x".to_string(), vec![5; 16])];
    let mut members = Members::restore(stored);
    assert_eq!(members.len(), 1);
    assert!(!members.bind(NodeId(4), &[4; 16]));
}
