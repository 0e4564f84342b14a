use super::*;
use crate::contract::message::{self, Kind, control, control_len};
use crate::contract::private::Arrived;
use crate::error::Misbehaviour;
use crate::wire;

const PEER: NodeId = NodeId(3);

/// A view (which replaces another) or a signal (which does not).
#[derive(Clone, Debug)]
struct Say(u32);

impl Message for Say {
    fn kind(&self) -> Kind {
        Kind::Control
    }
    fn scalars(&self) -> u64 {
        0
    }
    fn to_wire(&self) -> wire::Payload {
        control(self.0, 0, 0)
    }
    fn from_wire(_: wire::Payload, _: Arrived) -> Result<Self, Misbehaviour> {
        Ok(Say(0))
    }
    fn wire_len(&self) -> usize {
        control_len(self.0, 0, 0)
    }
    fn slot(&self) -> Option<u32> {
        (self.0 >= 100).then_some(0)
    }
}

fn queues(said: &[u32]) -> Queues {
    let mut queues = Queues::default();
    for (place, say) in said.iter().enumerate() {
        let place = place as u64;
        queues.post(Outgoing { to: PEER, sequence: place + 1, order: place, message: Say(*say) });
    }
    queues
}

fn numbers(queues: &Queues, received: u64) -> Vec<(u64, u64)> {
    queues.after(PEER, received).map(|message| (message.sequence, message.skipped)).collect()
}

#[test]
fn what_is_not_confirmed_is_sent_again() {
    let mut queues = queues(&[1, 2, 3]);
    queues.confirmed(PEER, 1);
    assert_eq!((queues.len(PEER), numbers(&queues, 2)), (2, vec![(3, 0)]));
    queues.confirmed(PEER, 3);
    assert!(queues.is_empty());
}

#[test]
fn a_peer_whose_store_is_an_old_copy_is_sent_again_what_it_lacks() {
    let mut remembering = queues(&[1, 2, 3, 4]);
    remembering.remember(1000);
    remembering.confirmed(PEER, 3);
    assert_eq!(remembering.reclaim(PEER, 1, 4), 0);
    assert_eq!(numbers(&remembering, 1), [(2, 0), (3, 0), (4, 0)]);

    remembering.confirmed(PEER, 4);
    assert_eq!(remembering.reclaim(PEER, 0, 4), 0, "and once more, if it is lost again");
    assert_eq!(numbers(&remembering, 0), [(1, 0), (2, 0), (3, 0), (4, 0)]);

    // Memory is bounded: what is gone is said to be, and does not hold up what follows.
    let mut forgetful = queues(&[1, 2, 3, 4]);
    let size = forgetful.first(PEER).unwrap().payload().len();
    forgetful.remember(size);
    forgetful.confirmed(PEER, 3);
    assert_eq!(forgetful.reclaim(PEER, 0, 4), 2);
    assert_eq!(numbers(&forgetful, 0), [(3, 2), (4, 0)]);

    let mut oblivious = queues(&[1, 2]);
    oblivious.confirmed(PEER, 2);
    assert_eq!(oblivious.reclaim(PEER, 0, 2), 2);
    oblivious.post(Outgoing { to: PEER, sequence: 3, order: 2, message: Say(1) });
    assert_eq!(numbers(&oblivious, 0), [(3, 2)]);
}

#[test]
fn what_is_encoded_when_it_leaves_is_saved_and_sent_as_the_same_bytes() {
    let queues = queues(&[1, 100, 101]);
    let sent: Vec<_> = queues.after(PEER, 0).map(Waiting::payload).collect();
    assert_eq!(sent, [message::encode(&Say(1)), message::encode(&Say(101))]);
    let restored = Queues::restore(&queues.save()).unwrap();
    assert_eq!(restored, queues);
    assert_eq!(restored.after(PEER, 0).map(Waiting::payload).collect::<Vec<_>>(), sent);
    assert_eq!(restored.save(), queues.save());
}

#[test]
fn numbers_go_on_where_the_peer_is() {
    let again = |queues: &Queues| queues.after(PEER, 1).cloned().collect();
    let mut some = queues(&[1, 2, 3]);
    some.begin_again(PEER, 9, again(&queues(&[1, 2, 3])));
    assert_eq!(numbers(&some, 0), [(8, 0), (9, 0)]);
    // Whoever had forgotten what waits, or has more, comes to the same.
    for other in [&[][..], &[1, 2, 3, 4], &[7, 100]] {
        let mut queues = queues(other);
        queues.begin_again(PEER, 9, again(&some));
        queues.begin_again(PEER, 9, some.after(PEER, 0).cloned().collect());
        assert_eq!(queues, some);
    }
    some.begin_again(PEER, 9, Vec::new());
    assert!(some.is_empty());
}

#[test]
fn a_newer_view_replaces_the_one_before_it_and_nothing_else() {
    assert_eq!(numbers(&queues(&[100, 100, 100]), 0), [(3, 2)]);
    assert_eq!(numbers(&queues(&[100, 1, 100, 100]), 0), [(1, 0), (2, 0), (4, 1)]);
    assert_eq!(numbers(&queues(&[1, 100, 2]), 0), [(1, 0), (2, 0), (3, 0)]);
}

/// Bytes of the payload of one message of these.
fn size() -> usize {
    queues(&[1]).first(PEER).unwrap().payload().len()
}

/// Everything is sent and confirmed, and this peer's word is that it may lose all of it again.
fn held(said: &[u32], usual: usize, most: usize) -> Queues {
    let mut queues = queues(said);
    queues.remember(usual);
    queues.hold(PEER, most);
    queues.confirmed(PEER, said.len() as u64);
    queues
}

/// How many of these a peer that went back to nothing is sent again, and how many are gone.
fn again(queues: &Queues, sent: u64) -> (usize, u64) {
    let mut queues = queues.clone();
    let gone = queues.reclaim(PEER, 0, sent);
    (queues.len(PEER), gone)
}

#[test]
fn what_is_held_stays_until_it_is_kept_elsewhere() {
    let mut queues = held(&[1; 10], size(), 1 << 20);
    assert_eq!(again(&queues, 10), (10, 0), "far more than is usual");
    queues.kept(PEER, 4);
    assert_eq!(again(&queues, 10), (6, 4));
    queues.kept(PEER, 2);
    assert_eq!(again(&queues, 10), (6, 4), "an older word changes nothing");
    // What is usual stays, whoever else has it.
    queues.kept(PEER, 10);
    assert_eq!(again(&queues, 10), (1, 9));
}

#[test]
fn what_is_kept_without_being_confirmed_still_waits() {
    let mut queues = queues(&[1, 2, 3, 4]);
    queues.hold(PEER, 1 << 20);
    queues.confirmed(PEER, 2);
    queues.kept(PEER, u64::MAX);
    assert_eq!(numbers(&queues, 0), [(3, 0), (4, 0)]);
    queues.kept(NodeId(9), 7);
    assert_eq!(queues.reclaim(PEER, 2, 4), 0);
}

#[test]
fn who_does_not_hold_forgets_as_usual_whatever_is_said_to_be_kept() {
    let mut queues = queues(&[1, 2, 3, 4]);
    queues.remember(2 * size());
    queues.confirmed(PEER, 4);
    queues.kept(PEER, 4);
    assert_eq!(again(&queues, 4), (2, 2));
}

#[test]
fn what_is_held_is_bounded_with_what_it_takes_in_memory() {
    let one = size() + size_of::<Waiting>();
    let queues = held(&[1; 10], 0, 4 * one);
    assert_eq!(again(&queues, 10), (4, 6));
}

#[test]
fn who_holds_no_longer_forgets_down_to_the_usual() {
    let mut queues = held(&[1; 10], 3 * size(), 1 << 20);
    queues.let_go(PEER);
    assert_eq!(again(&queues, 10), (3, 7));
    queues.let_go(PEER);
}

#[test]
fn who_holds_anew_waits_to_be_told_anew() {
    let mut queues = held(&[1; 4], 0, 1 << 20);
    queues.kept(PEER, 2);
    queues.hold(PEER, 1 << 20);
    queues.post(Outgoing { to: PEER, sequence: 5, order: 4, message: Say(1) });
    queues.confirmed(PEER, 5);
    assert_eq!(again(&queues, 5), (3, 2));
}

#[test]
fn what_was_held_is_there_after_a_restart_before_anything_is_said() {
    let held = held(&[1; 10], size(), 1 << 20);
    let mut restored = Queues::restore(&held.save()).unwrap();
    restored.remember(size());
    assert_eq!(restored.save(), held.save(), "nothing is forgotten by starting");
    assert_eq!(again(&restored, 10), (10, 0));
    restored.hold(PEER, 1 << 20);
    restored.confirmed(PEER, 10);
    assert_eq!(again(&restored, 10), (10, 0));
    restored.kept(PEER, 3);
    assert_eq!(again(&restored, 10), (7, 3), "and it is known how much it is");
}

#[test]
fn a_long_history_costs_no_more_by_the_message_than_a_short_one() {
    let mut queues = Queues::default();
    queues.hold(PEER, 1 << 30);
    for number in 1..=200_000 {
        queues.post(Outgoing { to: PEER, sequence: number, order: number, message: Say(1) });
        queues.confirmed(PEER, number);
    }
    // To look at all of it for each would take minutes.
    assert_eq!(again(&queues, 200_000), (200_000, 0));
}
