//! Scripted inputs, and the frames that leave: without a network and without a disk.

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::dp_mab::DdpMab;
use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_algorithms::private::PrivateLinucb;
use cahoots_core::drive::{ClientNode, Saved};
use cahoots_core::{LinearStats, Setting, View, message};
use tokio::sync::mpsc;

use super::*;
use crate::books::Books;
use crate::client::starts::Start;
use crate::live::Known;
use crate::terms::Terms;
use crate::transport::proto::{Confirm, Frame};
use crate::transport::{EnvelopeHeader, Kind, WINDOW};

const ME: NodeId = NodeId(0);

fn known() -> Known {
    Known::default().algorithm::<AsyncLinucb>().algorithm::<DdpMab>().algorithm::<PrivateLinucb>()
}

/// Uploads with every reward.
fn linear() -> Terms {
    let params = toml::toml! { upload_ratio = 1.0 };
    Terms::new(&known(), "async-linucb", &params, Setting::linear(2, 2, 2), 5).unwrap()
}

/// Every observation is released on its own, and their sum is sent at public times, the first of which is far away.
fn trusting_nobody() -> Terms {
    let params = toml::toml! { trust = "nobody" dp_delta = 1e-5 dp_epsilon = 1.0 decide = "released" first_release = 900 };
    Terms::new(&known(), "private-linucb", &params, Setting::linear(2, 2, 2), 5).unwrap()
}

/// Client 0 hears 1 and 3, and not 2.
fn ring() -> Terms {
    let params = toml::toml! { topology = "ring" };
    Terms::new(&known(), "ddp-mab", &params, Setting::k_armed(4, 3), 5).unwrap()
}

/// A client, what leaves it, and what it has on disk.
struct Script {
    state: State,
    frames: mpsc::Receiver<Frame>,
    log: Vec<Vec<u8>>,
}

impl Script {
    fn new(terms: Terms) -> Script {
        let member = Member::new(&known(), terms, "test", ME, [0; 32], None, Books::default(), None).unwrap();
        let mut script = Script::around(member, true);
        script.commit();
        script
    }

    fn around(member: Member, new: bool) -> Script {
        let clock = Clock::new(Clock::today(), Duration::from_secs(1), 0);
        let mut state = State::new(Starts::default(), clock, 1000);
        state.starts.begin(Start { epoch: 1, written: 0, numbered: 0 });
        state.join(member, new, None);
        state.durable = state.reached();
        let mut script = Script { state, frames: Outbox::channel().1, log: Vec::new() };
        script.connect(0);
        script
    }

    /// A new connection to a coordinator that has everything up to `received`.
    fn connect(&mut self, received: u64) {
        let (way_out, frames) = Outbox::channel();
        self.frames = frames;
        self.machine().queues().confirmed(NodeId::SERVER, received);
        self.state.outbox = Some(Outbox::new(way_out, received));
        assert!(self.state.pump());
    }

    fn machine(&mut self) -> &mut dyn ClientNode {
        &mut *self.state.member.as_mut().unwrap().machine
    }

    /// What the flusher does, with a log for a disk.
    fn commit(&mut self) {
        let mut work = self.state.gather();
        self.log.extend(std::mem::take(&mut work.batch).into_entries());
        self.state.committed(work);
    }

    /// Decides and learns.
    fn learn(&mut self, reward: f64) {
        self.state.arms.features.fill(2, [[1.0, 0.0], [0.6, 0.8]].iter().map(|row| &row[..]));
        self.state.arms.local.fill(0, [[], []].iter().map(|row: &[f64; 0]| &row[..]));
        let decided = self.state.decide(UserId(0), None).unwrap();
        self.state.reward(decided.id, reward, None).unwrap();
    }

    fn envelope(
        &mut self,
        from: NodeId,
        sequence: u64,
        skipped: u64,
        payload: Vec<u8>,
    ) -> Result<(), String> {
        let parameters = self.state.member.as_ref().unwrap().header.parameters;
        let header = EnvelopeHeader { federation: "test".into(), from, parameters };
        self.state.envelope(header.around(ME, sequence, skipped, payload))
    }

    /// What has left since the last time.
    fn left(&mut self) -> Vec<Kind> {
        std::iter::from_fn(|| self.frames.try_recv().ok()).map(|frame| frame.kind.unwrap()).collect()
    }

    /// The numbers of what has left for the coordinator.
    fn uploads(&mut self) -> Vec<u64> {
        let number = |kind| match kind {
            Kind::Envelope(envelope) if envelope.to == NodeId::SERVER.0 => Some(envelope.sequence),
            _ => None,
        };
        self.left().into_iter().filter_map(number).collect()
    }
}

fn view(version: u64) -> Vec<u8> {
    let mut stats = LinearStats::empty(2);
    (0..version).for_each(|_| stats.observe(&[0.6, 0.8], 1.0));
    message::encode(&LinearMsg::Download { view: View::new(version, stats), merged: 0 })
}

fn confirmation(sequence: u64) -> Kind {
    Kind::Confirm(Confirm { sequence, peer: None, kept: None })
}

#[test]
fn nothing_leaves_before_it_is_on_disk() {
    let mut script = Script::new(linear());
    script.learn(1.0);
    assert!(script.state.pump() && script.left().is_empty(), "it is only in memory");
    let mut durable = script.state.wait();
    assert!(durable.try_recv().is_err(), "and the app has no answer");
    script.commit();
    assert_eq!(script.uploads(), [1]);
    assert_eq!(durable.try_recv(), Ok(Ok(())));
}

#[test]
fn what_was_spent_is_told_as_of_the_last_message() {
    let mut script = Script::new(linear());
    assert_eq!(script.state.alive().spent, None, "nothing has left");
    script.learn(1.0);
    script.learn(1.0);
    let spent = script.state.alive().spent.expect("two uploads");
    assert_eq!((spent.releases, spent.unprotected, spent.epsilon), (2, 2, None));

    let mut script = Script::new(trusting_nobody());
    (0..3).for_each(|_| script.learn(1.0));
    assert_eq!(script.state.member.as_ref().unwrap().books.releases, 3, "the test must be about something");
    assert_eq!(script.state.alive().spent, None, "how many there are is not known before their sum is sent");
}

#[test]
fn the_window_is_never_exceeded() {
    let mut script = Script::new(linear());
    let window = WINDOW as u64;
    for i in 0..3 * window {
        script.learn(1.0);
        if i % 7 == 0 {
            script.commit();
        }
    }
    script.commit();
    assert_eq!(script.uploads(), (1..=window).collect::<Vec<_>>());
    // So many are confirmed, so many follow.
    let mut confirmed = 0;
    for step in [1, 5, window] {
        confirmed += step;
        script.state.confirmed(confirmed, None).unwrap();
        assert!(script.state.pump());
        let due = (window + confirmed - step + 1..=window + confirmed).collect::<Vec<_>>();
        assert_eq!(script.uploads(), due, "after {confirmed} confirmations");
    }
    assert!(script.state.confirmed(3 * window + 1, None).is_err(), "a confirmation of what was never sent");
}

#[test]
fn what_came_is_confirmed_after_the_commit_and_again_when_it_comes_again() {
    let mut script = Script::new(linear());
    script.envelope(NodeId::SERVER, 1, 0, view(1)).unwrap();
    assert!(script.left().is_empty(), "a confirmation before it is on disk");
    script.commit();
    assert_eq!(script.left(), [confirmation(1)]);
    let (state, entries) = (script.machine().state(), script.log.len());
    script.envelope(NodeId::SERVER, 1, 0, view(9)).unwrap();
    script.commit();
    assert_eq!(script.left(), [confirmation(1)], "the first one may have been lost");
    assert!(script.machine().state() == state && script.log.len() == entries, "it is taken once");
    script.commit();
    assert!(script.left().is_empty(), "nothing came");
}

#[test]
fn a_gap_in_the_coordinators_numbers_ends_the_connection_and_what_is_superfluous_is_none() {
    let mut script = Script::new(linear());
    let gap = script.envelope(NodeId::SERVER, 3, 1, view(3)).unwrap_err();
    assert_eq!(gap, "number 3 came where 1 was due");
    script.envelope(NodeId::SERVER, 3, 2, view(3)).unwrap();
    script.commit();
    assert_eq!(script.left(), [confirmation(3)]);
    // After a reconnect the coordinator sends the newest view once more, in whatever clothes.
    script.connect(0);
    script.envelope(NodeId::SERVER, 2, 1, view(2)).unwrap();
    script.envelope(NodeId::SERVER, 5, 4, view(5)).unwrap();
    script.commit();
    assert_eq!(script.left(), [confirmation(5)]);
    assert_eq!(script.machine().ends(NodeId::SERVER).received, 5);
    assert_eq!(script.state.refused, 0);
}

#[test]
fn a_gap_between_clients_waits_and_strangers_are_counted() {
    let mut script = Script::new(ring());
    let (state, entries) = (script.machine().state(), script.log.len());
    script.envelope(NodeId(1), 2, 0, vec![]).unwrap();
    assert_eq!(script.state.refused, 0, "what is missing will be sent again");
    script.envelope(NodeId(2), 1, 0, vec![]).unwrap();
    script.envelope(ME, 1, 0, vec![]).unwrap();
    assert_eq!(script.state.refused, 2, "not a neighbour, and not oneself");
    script.commit();
    assert!(script.left().is_empty(), "none of it is confirmed");
    assert!(script.machine().state() == state && script.log.len() == entries, "nor taken");
    // What a neighbour says in turn is, readable or not: its number is used up.
    script.envelope(NodeId(1), 1, 0, vec![255]).unwrap();
    assert_eq!(script.state.refused, 3);
    script.commit();
    assert_eq!(script.left(), [Kind::Confirm(Confirm { sequence: 1, peer: Some(1), kept: None })]);
}

#[test]
fn confirmations_of_strangers_and_of_what_was_never_sent_are_not_believed() {
    let mut script = Script::new(ring());
    for (refused, (peer, sequence)) in
        (1..).zip([(NodeId(2), 0), (NodeId(1), 1), (NodeId::SERVER, 0), (ME, 0)])
    {
        script.state.confirmed_by(peer, sequence).unwrap();
        assert_eq!(script.state.refused, refused, "{peer} confirms {sequence}");
    }
    script.state.confirmed_by(NodeId(1), 0).unwrap();
    assert_eq!(script.state.refused, 4, "a neighbour may say that it has nothing");
}

#[test]
fn a_client_that_was_killed_sends_again_what_was_not_confirmed() {
    let mut script = Script::new(linear());
    for i in 0..6 {
        script.learn(f64::from(i));
    }
    script.commit();
    let first = script.left();
    assert_eq!(first.len(), 6);
    script.state.confirmed(2, None).unwrap();
    // A snapshot here; what comes later is only in the log.
    let (state, queues) = (script.machine().save(), script.machine().queues().save());
    script.log.clear();
    for i in 6..9 {
        script.learn(f64::from(i));
    }
    script.commit();
    let later = script.left();
    script.learn(1.0);
    let Script { log, .. } = script;

    let saved = Some(Saved { state: &state, queues: &queues });
    let mut member =
        Member::new(&known(), linear(), "test", ME, [0; 32], saved, Books::default(), None).unwrap();
    for entry in &log {
        member.machine.replay(entry, &member.keys).unwrap();
    }
    member.machine.take_step();
    let mut restarted = Script::around(member, false);
    let all: Vec<Kind> = first.into_iter().skip(2).chain(later).collect();
    assert_eq!(
        restarted.left(),
        all,
        "the same envelopes, byte for byte, and not the one that never was on disk"
    );
    // The coordinator turns out to have had more than was confirmed.
    restarted.connect(7);
    assert_eq!(restarted.uploads(), [8, 9]);
    assert_eq!(restarted.machine().queues().len(NodeId::SERVER), 2);
}

#[test]
fn who_waits_is_told_when_the_disk_fails() {
    let mut script = Script::new(linear());
    script.learn(1.0);
    let mut durable = script.state.wait();
    script.state.fail("no space left".into());
    assert_eq!(durable.try_recv(), Ok(Err("no space left".into())));
    assert!(script.state.outbox.is_none(), "nothing more leaves");
    assert!(matches!(script.state.ready(), Err(NodeError::Stopped(why)) if why == "no space left"));
}
