//! What whoever watches a coordinator is shown: who was heard when, what happened, how it went over time. It is kept in
//! memory, since the start of this process; no decision depends on it.

mod history;
mod journal;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::NodeId;
use serde::{Deserialize, Serialize};

pub use history::Columns;
use history::{History, Sample};
use journal::Journal;
pub use journal::{Entry, Happening};
pub(super) use seen::Seen;

use super::strangers::Strangers;

/// Seconds after which a refusal that was not repeated needs no attention any more.
pub(super) const REPEATED: f64 = 3600.0;

/// A wall clock that goes back by more than so many seconds was set back.
const SET_BACK: f64 = 1.0;

/// What has gone over the wire in the life of this federation: frames, without what TLS and TCP add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Traffic {
    /// Messages that were merged.
    pub(super) received: u64,
    /// Messages sent by the machine.
    pub(super) sent: u64,
    /// All that was refused of members, confirmations too.
    pub(super) refused: u64,
    /// Bytes of all frames of members, signs of life as if they were the longest.
    pub(super) bytes_received: u64,
    /// Bytes of all frames to members.
    pub(super) bytes_sent: u64,
    /// Messages that came and were not merged.
    pub(super) not_merged: u64,
}

impl Traffic {
    /// The name under which a store keeps it.
    pub(super) const KEY: &'static str = "traffic";

    /// As it was stored; before what was not merged was counted apart, without that.
    pub(super) fn restore(stored: &[u8]) -> Traffic {
        let before = || {
            let (received, sent, refused, bytes_received, bytes_sent) = postcard::from_bytes(stored).ok()?;
            Some(Traffic { received, sent, refused, bytes_received, bytes_sent, not_merged: 0 })
        };
        postcard::from_bytes(stored).ok().or_else(before).unwrap_or_default()
    }
}

/// What is shown.
pub(super) struct Watch {
    /// When this process began, in seconds since 1970; so are all times here.
    pub(super) started: f64,
    /// Now, as of the last command.
    pub(super) now: f64,
    /// Rises with every change of any member.
    pub(super) revision: u64,
    pub(super) seen: BTreeMap<NodeId, Seen>,
    pub(super) traffic: Traffic,
    /// As it was last stored.
    pub(super) stored: Traffic,
    /// As it was when this process began.
    before: Traffic,
    /// Which groups each client is in, as was last looked at.
    pub(super) groups: BTreeMap<NodeId, Vec<usize>>,
    /// Groups may be others by now.
    pub(super) regrouped: bool,
    /// Who was waited for when that was last looked at.
    pub(super) waited_for: BTreeSet<NodeId>,
    pub(super) strangers: Strangers,
    journal: Journal,
    history: History,
}

impl Watch {
    pub(super) fn new(now: f64, traffic: Traffic) -> Watch {
        let mut watch = Watch {
            started: now,
            now,
            revision: 1,
            seen: BTreeMap::new(),
            traffic,
            stored: traffic,
            before: traffic,
            groups: BTreeMap::new(),
            regrouped: true,
            waited_for: BTreeSet::new(),
            strangers: Strangers::default(),
            journal: Journal::default(),
            history: History::default(),
        };
        watch.note(Happening::Started, None, "the coordinator was started");
        watch
    }

    /// Time goes on. A clock that is set back takes what is remembered along: it was as long ago as it was.
    pub(super) fn at(&mut self, now: f64) {
        let back = now - self.now;
        if back < -SET_BACK {
            self.started += back;
            self.seen.values_mut().for_each(|seen| seen.shift(back));
            self.strangers.shift(back);
            self.journal.shift(back);
            self.history.shift(back);
        }
        self.now = now;
    }

    /// Something happened.
    pub(super) fn note(&mut self, kind: Happening, client: Option<NodeId>, words: impl Into<String>) {
        self.journal.add(self.now, kind, client, words.into());
        if let Some(client) = client {
            self.change(client);
        }
    }

    /// What is shown of a member is another.
    pub(super) fn change(&mut self, client: NodeId) -> &mut Seen {
        self.revision += 1;
        let (revision, started) = (self.revision, self.started);
        let seen = self.seen.entry(client).or_insert_with(|| Seen::new(started));
        seen.revision = revision;
        seen
    }

    /// A member was heard: so many bytes of messages, and so many of all that it said.
    pub(super) fn heard(&mut self, client: NodeId, (messages, bytes): (u64, u64)) {
        self.traffic.bytes_received += bytes;
        let (now, started) = (self.now, self.started);
        let seen = self.seen.entry(client).or_insert_with(|| Seen::new(started));
        seen.bytes_received += messages;
        seen.last_contact = Some(now);
        if now - seen.shown_contact >= Seen::CONTACT {
            seen.shown_contact = now;
            self.change(client);
        }
    }

    /// A member was sent something.
    pub(super) fn told(&mut self, client: NodeId, bytes: u64) {
        self.traffic.bytes_sent += bytes;
        self.change(client).bytes_sent += bytes;
    }

    /// Nothing that was is held against whoever has this number.
    pub(super) fn forgive(&mut self, client: NodeId) {
        let seen = self.change(client);
        (seen.refused, seen.refused_at, seen.turned_away) = (0, f64::NEG_INFINITY, None);
        seen.reason.clear();
    }

    /// Whether a message of a member's was refused, not too long ago.
    pub(super) fn refused_lately(&self, client: NodeId) -> bool {
        self.seen.get(&client).is_some_and(|seen| self.now - seen.refused_at < REPEATED)
    }

    /// A message of a member's was refused.
    pub(super) fn refuse(&mut self, client: NodeId, reason: &str) {
        self.traffic.refused += 1;
        let now = self.now;
        let seen = self.change(client);
        seen.refused += 1;
        seen.refused_at = now;
        let new = seen.reason != reason;
        reason.clone_into(&mut seen.reason);
        // Who says the same again and again fills no journal.
        if new {
            self.note(Happening::Refused, Some(client), reason);
        }
    }

    /// Messages that were refused since this process began.
    pub(super) fn refused_since_start(&self) -> u64 {
        self.traffic.refused - self.before.refused
    }

    /// A moment of the curves.
    pub(super) fn sample(&mut self, connected: usize, observations: Option<u64>) {
        let sample = Sample { time: self.now, traffic: self.traffic, connected, observations };
        self.history.push(sample);
    }

    /// How it went.
    pub(super) fn curves(&self) -> Curves {
        Curves { now: self.now, history: self.history.clone() }
    }

    /// What happened, newest first.
    pub(super) fn journal(&self) -> Vec<Arc<Entry>> {
        self.journal.all()
    }
}

/// How it went, to be looked at elsewhere than on the machine's thread.
pub(crate) struct Curves {
    now: f64,
    history: History,
}

impl Curves {
    /// In the last so many seconds; in all the time there is without.
    pub(crate) fn columns(&self, window: Option<f64>) -> Columns {
        self.history.columns(self.now, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(1);

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let day = 86_400.0;
        let mut watch = Watch::new(day, Traffic::default());
        watch.change(ONE).since = day;
        for second in 1..=600 {
            watch.at(day + f64::from(second));
            watch.sample(1, None);
        }
        watch.refuse(ONE, "a reason");
        // Nine hours.
        for second in 0..600 {
            watch.at(day + 600.0 - 32_400.0 + f64::from(second));
            watch.sample(1, None);
        }
        let columns = watch.curves().columns(None);
        assert!(columns.time.len() > 595, "{}", columns.time.len());
        assert!(columns.time.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", columns.time);
        assert!(columns.time.last().is_some_and(|last| *last == watch.now));
        assert_eq!(watch.now - watch.seen[&ONE].since, 1199.0, "it is away for as long as it is");
        assert!(watch.refused_lately(ONE));
        let journal = watch.journal();
        assert!(journal.iter().all(|entry| entry.time <= watch.now), "{journal:?}");
    }

    #[test]
    fn refusals_that_are_not_repeated_are_forgotten_and_forgiven_ones_at_once() {
        let mut watch = Watch::new(0.0, Traffic::default());
        watch.refuse(ONE, "a reason");
        watch.at(REPEATED - 1.0);
        assert!(watch.refused_lately(ONE));
        watch.at(REPEATED);
        assert!(!watch.refused_lately(ONE));
        watch.refuse(ONE, "a reason");
        assert!(watch.refused_lately(ONE));
        watch.forgive(ONE);
        assert!(!watch.refused_lately(ONE));
        assert_eq!(watch.seen[&ONE].reason, "");
    }

    #[test]
    fn counts_of_stores_that_did_not_count_apart_are_kept() {
        let old = postcard::to_stdvec(&(3_u64, 5_u64, 1_u64, 400_u64, 900_u64)).unwrap();
        let traffic = Traffic::restore(&old);
        assert_eq!((traffic.received, traffic.bytes_sent, traffic.not_merged), (3, 900, 0));
        let new = Traffic { not_merged: 2, ..traffic };
        assert_eq!(Traffic::restore(&postcard::to_stdvec(&new).unwrap()), new);
    }
}
