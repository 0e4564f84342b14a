//! Scripted queues and confirmations, and what the stream is handed.

use cahoots_core::drive::{Outbox as _, Outgoing};
use cahoots_core::message::{Kind as Cost, Message, control, control_len};
use cahoots_core::{Arrived, Misbehaviour, wire};

use super::*;
use crate::transport::proto::Confirm;
use crate::transport::{confirm, confirm_peer};

const PEER: NodeId = NodeId(3);

/// A view (which replaces another) or a signal (which does not).
#[derive(Clone, Debug)]
enum Say {
    View,
    Signal,
}

impl Message for Say {
    fn kind(&self) -> Cost {
        Cost::Control
    }
    fn scalars(&self) -> u64 {
        0
    }
    fn to_wire(&self) -> wire::Payload {
        control(1, 0, 0)
    }
    fn from_wire(_: wire::Payload, _: Arrived) -> Result<Self, Misbehaviour> {
        Ok(Say::Signal)
    }
    fn wire_len(&self) -> usize {
        control_len(1, 0, 0)
    }
    fn slot(&self) -> Option<u32> {
        matches!(self, Say::View).then_some(0)
    }
}

/// Queues, a way out, and the stream behind it.
struct Script {
    queues: Queues,
    outbox: Outbox,
    stream: mpsc::Receiver<Frame>,
    sent: u64,
}

impl Script {
    fn new() -> Script {
        let (frames, stream) = Outbox::channel();
        Script { queues: Queues::default(), outbox: Outbox::new(frames, 0), stream, sent: 0 }
    }

    fn post(&mut self, n: u64, message: Say) {
        for _ in 0..n {
            self.sent += 1;
            self.queues.post(Outgoing {
                to: PEER,
                sequence: self.sent,
                order: self.sent,
                message: message.clone(),
            });
        }
    }

    fn header() -> EnvelopeHeader {
        EnvelopeHeader { federation: "test".into(), from: NodeId::SERVER, parameters: 1 }
    }

    /// Sends what may leave; gives the numbers of what did, and how many each skips.
    fn pump(&mut self, up_to: u64) -> Vec<(u64, u64)> {
        assert!(self.outbox.pump(&self.queues, up_to, PEER, &Self::header()));
        self.handed()
    }

    fn pump_peer(&mut self, up_to: u64) -> Vec<(u64, u64)> {
        self.outbox.pump_peer(&self.queues, up_to, PEER, &Self::header());
        self.handed()
    }

    fn handed(&mut self) -> Vec<(u64, u64)> {
        let numbers = |frame: Frame| match frame.kind {
            Some(Kind::Envelope(envelope)) => (envelope.sequence, envelope.skipped),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| self.stream.try_recv().ok()).map(numbers).collect()
    }

    fn confirm(&mut self, sequence: u64) {
        self.queues.confirmed(PEER, sequence);
        self.outbox.confirmed(sequence);
    }
}

fn signals(numbers: std::ops::RangeInclusive<u64>) -> Vec<(u64, u64)> {
    numbers.map(|number| (number, 0)).collect()
}

#[test]
fn no_more_than_a_window_is_on_its_way_and_nothing_that_is_not_on_disk() {
    let window = WINDOW as u64;
    let mut script = Script::new();
    script.post(3 * window, Say::Signal);
    assert_eq!(script.pump(10), signals(1..=10));
    assert_eq!(script.pump(u64::MAX), signals(11..=window));
    assert_eq!(script.pump(u64::MAX), []);
    script.confirm(1);
    assert_eq!(script.pump(u64::MAX), signals(window + 1..=window + 1));
    script.confirm(window + 1);
    assert_eq!(script.pump(u64::MAX), signals(window + 2..=2 * window + 1));
}

#[test]
fn a_slow_reader_is_sent_the_newest_view_alone() {
    let window = WINDOW as u64;
    let mut script = Script::new();
    script.post(window, Say::Signal);
    assert_eq!(script.pump(u64::MAX).len(), WINDOW);
    // It reads nothing; the views that it would have been sent replace each other.
    script.post(1000, Say::View);
    assert_eq!(script.pump(u64::MAX), []);
    script.confirm(window);
    assert_eq!(script.pump(u64::MAX), [(window + 1000, 999)]);
    // A view that is on its way is replaced too: if it is lost, nobody needs it.
    script.post(1, Say::View);
    assert_eq!(script.queues.len(PEER), 1);
    assert_eq!(script.pump(u64::MAX), []);
    script.confirm(window + 1000);
    assert_eq!(script.pump(u64::MAX), [(window + 1001, 1000)]);
}

#[test]
fn a_stream_holds_few_views_however_many_there_are() {
    let mut script = Script::new();
    let mut handed = Vec::new();
    for _ in 0..1000 {
        script.post(1, Say::View);
        handed.extend(script.pump(u64::MAX));
    }
    assert_eq!(handed, [(1, 0)], "one is on its way, the others replace each other");
    // A signal keeps its place behind the view that waits.
    script.post(1, Say::Signal);
    assert_eq!(script.pump(u64::MAX), []);
    script.confirm(1);
    assert_eq!(script.pump(u64::MAX), [(1000, 999), (1001, 0)]);
    script.post(1, Say::View);
    assert_eq!(script.pump(u64::MAX), []);
    script.confirm(1001);
    assert_eq!(script.pump(u64::MAX), [(1002, 0)]);
}

#[test]
fn after_a_reconnect_what_is_left_follows_what_was_received() {
    let mut script = Script::new();
    script.post(2, Say::Signal);
    script.post(3, Say::View);
    script.post(1, Say::Signal);
    script.post(2, Say::View);
    assert_eq!(script.pump(u64::MAX), [(1, 0), (2, 0), (5, 2), (6, 0)]);
    for (received, due) in [(0, 0), (1, 1), (2, 2), (5, 3), (7, 4), (8, 5)] {
        let (frames, stream) = Outbox::channel();
        (script.outbox, script.stream) = (Outbox::new(frames, received), stream);
        let all = [(1, 0), (2, 0), (5, 2), (6, 0), (8, 1)];
        let mut handed = script.pump(u64::MAX);
        // The second view follows when the first is confirmed.
        script.outbox.confirmed(6);
        handed.extend(script.pump(u64::MAX));
        assert_eq!(handed, all[due..], "to who has received up to {received}");
    }
}

#[test]
fn messages_between_clients_are_sent_once_until_it_is_time_to_send_them_again() {
    let mut script = Script::new();
    script.post(3, Say::Signal);
    assert_eq!(script.pump_peer(2), signals(1..=2));
    assert_eq!(script.pump_peer(3), signals(3..=3));
    assert_eq!(script.pump_peer(3), []);
    script.queues.confirmed(PEER, 1);
    script.outbox.rewind(PEER);
    assert_eq!(script.pump_peer(3), signals(2..=3));
}

#[test]
fn messages_between_clients_leave_room_for_the_coordinators() {
    let mut script = Script::new();
    for i in 0..2 * PEER_ROOM as u64 {
        script.outbox.pass_on(confirm_peer(i, PEER));
    }
    script.post(2 * PEER_ROOM as u64, Say::Signal);
    script.outbox.pump_peer(&script.queues, u64::MAX, PEER, &Script::header());
    // A whole window and its confirmations still fit.
    assert!(script.outbox.pump(&script.queues, u64::MAX, PEER, &Script::header()));
    for i in 0..WINDOW as u64 {
        assert!(script.outbox.send(confirm(i)), "confirmation {i}");
    }
    let passed_on = std::iter::from_fn(|| script.stream.try_recv().ok())
        .filter(|frame| matches!(frame.kind, Some(Kind::Confirm(Confirm { peer: Some(_), .. }))))
        .count();
    assert_eq!(passed_on, PEER_ROOM, "what did not fit was left out: it will be sent again");
}

#[test]
fn a_stream_that_is_closed_takes_nothing() {
    let mut script = Script::new();
    script.post(1, Say::Signal);
    script.stream.close();
    assert!(!script.outbox.send(confirm(1)));
    assert!(!script.outbox.pump(&script.queues, 1, PEER, &Script::header()));
}
