//! What happened, in words: the last of it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cahoots_core::NodeId;
use serde::Serialize;

/// So much is remembered.
const LENGTH: usize = 10_000;

/// How many times the same can happen to one client in so many seconds until it is only counted.
const OFTEN: u64 = 8;
const SPELL: f64 = 3600.0;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happening {
    /// This process began.
    Started,
    /// A client is a member from now on.
    Joined,
    /// A client is here.
    Connected,
    /// A client is away.
    Disconnected,
    /// A client was not let in.
    TurnedAway,
    /// A message of a client's was not merged.
    Refused,
    /// Nothing of a client's is merged any more.
    Quarantined,
    /// A client is believed again.
    Restored,
    /// A client was told to leave.
    Removed,
    /// A client's number is free again.
    Released,
    /// A client sends nothing any more.
    Withdrew,
    /// Parameters have changed.
    Params,
    /// Rounds were held.
    Round,
    /// Clusters are others now.
    Clusters,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Counts what happened.
    pub number: u64,
    /// When, in seconds since 1970.
    pub time: f64,
    /// What.
    pub kind: Happening,
    /// To whom; to nobody in particular without.
    pub client: Option<u32>,
    /// In words.
    pub words: String,
}

#[derive(Debug, Default)]
pub(super) struct Journal {
    entries: VecDeque<Arc<Entry>>,
    number: u64,
    /// How often the same has happened to one client lately.
    spells: BTreeMap<(NodeId, Happening), Spell>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    since: f64,
    times: u64,
}

impl Happening {
    /// What clients can make happen as often as they like.
    fn is_of_clients(self) -> bool {
        use Happening::{Connected, Disconnected, Refused, TurnedAway, Withdrew};
        matches!(self, Connected | Disconnected | Refused | TurnedAway | Withdrew)
    }
}

impl Journal {
    pub(super) fn add(&mut self, time: f64, kind: Happening, client: Option<NodeId>, mut words: String) {
        // Who does the same again and again pushes nothing out.
        if let Some(client) = client.filter(|_| kind.is_of_clients()) {
            let spell = self.spells.entry((client, kind)).or_default();
            if spell.times == 0 || time - spell.since >= SPELL {
                if spell.times > OFTEN {
                    words += &format!(" (and {} times more before)", spell.times - OFTEN);
                }
                *spell = Spell { since: time, times: 0 };
            }
            spell.times += 1;
            if spell.times > OFTEN {
                return;
            }
        }
        self.number += 1;
        let client = client.map(|client| client.0);
        let entry = Arc::new(Entry { number: self.number, time, kind, client, words });
        // What goes on by itself fills no more than a line.
        if let Some(last) = self.entries.back_mut()
            && last.kind == kind
            && matches!(kind, Happening::Round | Happening::Clusters)
        {
            *last = entry;
            return;
        }
        if self.entries.len() == LENGTH {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// The clock was set back.
    pub(super) fn shift(&mut self, by: f64) {
        self.entries.iter_mut().for_each(|entry| Arc::make_mut(entry).time += by);
        self.spells.values_mut().for_each(|spell| spell.since += by);
    }

    /// The newest first.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.entries.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_newest_comes_first() {
        let mut journal = Journal::default();
        for number in 0..=LENGTH as u32 {
            journal.add(number.into(), Happening::Joined, Some(NodeId(number % 3)), String::new());
        }
        let all = journal.all();
        assert_eq!((all.len(), all[0].time), (LENGTH, LENGTH as f64));
        assert!(all.windows(2).all(|pair| pair[0].number > pair[1].number));
    }

    #[test]
    fn rounds_do_not_push_out_what_matters() {
        let mut journal = Journal::default();
        journal.add(0.0, Happening::Quarantined, Some(NodeId(1)), String::new());
        (0..2 * LENGTH).for_each(|n| journal.add(1.0, Happening::Round, None, format!("{n} rounds")));
        assert_eq!(journal.all().len(), 2);
        assert_eq!(journal.all()[0].words, format!("{} rounds", 2 * LENGTH - 1));
    }

    /// Nor do a connection that comes and goes, and whoever is refused for ever other reasons.
    #[test]
    fn one_client_does_not_push_out_what_happened_to_others() {
        let mut journal = Journal::default();
        journal.add(0.0, Happening::Quarantined, Some(NodeId(1)), String::new());
        for n in 0..LENGTH {
            let time = n as f64 / 10.0;
            journal.add(time, Happening::Connected, Some(NodeId(2)), "is here".into());
            journal.add(time, Happening::Disconnected, Some(NodeId(2)), "is away".into());
            journal.add(time, Happening::Refused, Some(NodeId(2)), format!("reason {n}"));
        }
        let all = journal.all();
        assert_eq!(all.len() as u64, 1 + 3 * OFTEN);
        assert_eq!(all.last().map(|entry| entry.kind), Some(Happening::Quarantined));
        journal.add(SPELL, Happening::Refused, Some(NodeId(2)), "again".into());
        let left_out = LENGTH as u64 - OFTEN;
        assert_eq!(journal.all()[0].words, format!("again (and {left_out} times more before)"));
        journal.add(SPELL, Happening::Connected, Some(NodeId(3)), "is here".into());
        assert_eq!(journal.all()[0].client, Some(3));
    }
}
