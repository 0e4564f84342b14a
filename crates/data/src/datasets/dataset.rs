//! What is in a dataset, whichever it is: users who took items, in the order of the file, and words about the items.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_sim::files::hexadecimal;
use sha2::{Digest as _, Sha256};

use super::error::DataError;
use super::kind::Kind;

/// Someone took something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the user, from 0.
    pub user: u32,
    /// Number of the item, from 0.
    pub item: u32,
    /// When, in the set's own unit; 0 where times are not known.
    pub time: i64,
}

/// A set of events over items with words.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Which.
    pub kind: Kind,
    /// The users' own ids, ascending.
    pub users: Vec<u32>,
    /// The items' own ids, ascending.
    pub items: Vec<u32>,
    /// In the order of the file.
    pub events: Vec<Event>,
    /// Whether times are known.
    pub timed: bool,
    /// The words of the items.
    pub documents: Documents,
    /// How many there are of what.
    pub counts: Vec<(&'static str, u64)>,
    /// Hash of all of the above, whatever the files were packed in.
    pub content: String,
}

/// How often each word was said of each item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// All words, in order.
    pub words: Vec<String>,
    /// Where each item's words begin; one more than there are items.
    pub starts: Vec<usize>,
    /// (word, times), item by item, each in the order of words.
    pub entries: Vec<(u32, u32)>,
}

impl Documents {
    /// The words of an item, and how often each.
    pub fn of(&self, item: usize) -> &[(u32, u32)] {
        &self.entries[self.starts[item]..self.starts[item + 1]]
    }
}

/// The words of a tag: lower case, parted by white space, `_`, `-` and apostrophes.
pub fn words(tag: &str) -> impl Iterator<Item = String> + '_ {
    let parts = tag.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | '\'' | '\u{2019}'));
    parts.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A set in the making.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    events: Vec<Event>,
    users: BTreeSet<u32>,
    items: BTreeSet<u32>,
    tags: BTreeMap<u64, String>,
    /// (item, tag), as often as it was said.
    assignments: Vec<(u32, u64)>,
}

impl Gathering {
    /// An event, by the set's own ids.
    pub(super) fn event(&mut self, user: u32, item: u32, time: i64) {
        self.users.insert(user);
        self.items.insert(item);
        self.events.push(Event { user, item, time });
    }

    /// An item that nobody may have taken.
    pub(super) fn item(&mut self, item: u32) {
        self.items.insert(item);
    }

    /// Whether there is such an item.
    pub(super) fn has_item(&self, item: u32) -> bool {
        self.items.contains(&item)
    }

    /// What a tag says; `false` where it has said something before.
    pub(super) fn tag(&mut self, tag: u64, text: &str) -> bool {
        self.tags.insert(tag, text.to_string()).is_none()
    }

    /// Whether there is such a tag.
    pub(super) fn has_tag(&self, tag: u64) -> bool {
        self.tags.contains_key(&tag)
    }

    /// A tag was given to an item.
    pub(super) fn assign(&mut self, item: u32, tag: u64) {
        self.assignments.push((item, tag));
    }

    pub(super) fn count_users(&self) -> u64 {
        self.users.len() as u64
    }

    pub(super) fn count_items(&self) -> u64 {
        self.items.len() as u64
    }

    pub(super) fn count_events(&self) -> u64 {
        self.events.len() as u64
    }

    pub(super) fn count_tags(&self) -> u64 {
        self.tags.len() as u64
    }

    /// The whole.
    pub(super) fn finish(
        self,
        kind: Kind,
        timed: bool,
        counts: Vec<(&'static str, u64)>,
    ) -> Result<Dataset, DataError> {
        if self.events.is_empty() {
            return Err(DataError::plain("there are no events: only headers"));
        }
        let users: Vec<u32> = self.users.into_iter().collect();
        let items: Vec<u32> = self.items.into_iter().collect();
        let number = |ids: &[u32], id: u32| ids.binary_search(&id).ok().map(|number| number as u32);
        let mut events = self.events;
        for event in &mut events {
            event.user = number(&users, event.user).unwrap_or_default();
            event.item = number(&items, event.item).unwrap_or_default();
        }
        let documents = documents(&items, &self.tags, self.assignments);
        let mut set =
            Dataset { kind, users, items, events, timed, documents, counts, content: String::new() };
        set.content = set.hash();
        Ok(set)
    }
}

/// The words of every item: a tag that was given n times says each of its words n times.
fn documents(items: &[u32], tags: &BTreeMap<u64, String>, mut given: Vec<(u32, u64)>) -> Documents {
    given.sort_unstable();
    let used: BTreeSet<u64> = given.iter().map(|(_, tag)| *tag).collect();
    let split: BTreeMap<u64, Vec<String>> = used
        .iter()
        .map(|tag| (*tag, tags.get(tag).map_or(Vec::new(), |text| words(text).collect())))
        .collect();
    let all: BTreeSet<&str> = split.values().flatten().map(String::as_str).collect();
    let numbers: BTreeMap<&str, u32> = all.iter().zip(0..).map(|(word, number)| (*word, number)).collect();
    let split: BTreeMap<u64, Vec<u32>> = split
        .iter()
        .map(|(tag, words)| (*tag, words.iter().map(|word| numbers[word.as_str()]).collect()))
        .collect();
    let (mut starts, mut entries) = (vec![0], Vec::new());
    let mut rest = given.as_slice();
    for item in items {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        while let Some(((of, tag), more)) = rest.split_first()
            && of <= item
        {
            if of == item {
                for word in &split[tag] {
                    *counts.entry(*word).or_default() += 1;
                }
            }
            rest = more;
        }
        entries.extend(counts);
        starts.push(entries.len());
    }
    Documents { words: all.into_iter().map(String::from).collect(), starts, entries }
}

impl Dataset {
    /// Hash of what is in it.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut number = |value: u64| hash.update(value.to_le_bytes());
        number(1); // version of what is hashed
        number(u64::from(self.timed));
        for ids in [&self.users, &self.items] {
            number(ids.len() as u64);
            ids.iter().for_each(|id| number(u64::from(*id)));
        }
        number(self.events.len() as u64);
        for event in &self.events {
            number(u64::from(event.user) << 32 | u64::from(event.item));
            number(event.time as u64);
        }
        let Documents { words, starts, entries } = &self.documents;
        number(words.len() as u64);
        starts.iter().for_each(|start| number(*start as u64));
        for (word, times) in entries {
            number(u64::from(*word) << 32 | u64::from(*times));
        }
        for word in words {
            hash.update((word.len() as u64).to_le_bytes());
            hash.update(word.as_bytes());
        }
        hexadecimal(&hash.finalize())
    }

    /// Bytes of memory that it takes, about.
    pub fn bytes(&self) -> f64 {
        let ids = 4 * (self.users.len() + self.items.len());
        let text: usize = self.documents.words.iter().map(|word| word.len() + 24).sum();
        (ids + 16 * self.events.len() + 8 * self.documents.entries.len() + text) as f64
    }

    /// A count by its name.
    pub fn count(&self, what: &str) -> Option<u64> {
        self.counts.iter().find(|(name, _)| *name == what).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_split_into_lower_case_words() {
        let split = |tag| words(tag).collect::<Vec<_>>();
        assert_eq!(split("Hard Rock - metal"), ["hard", "rock", "metal"]);
        assert_eq!(split("80's"), ["80", "s"]);
        assert_eq!(split("clicks’n'cuts"), ["clicks", "n", "cuts"]);
        assert_eq!(split("collection_development\tÉTÉ"), ["collection", "development", "été"]);
        assert_eq!(split(" _-' "), Vec::<String>::new());
    }
}
