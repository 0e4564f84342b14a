//! What came of members and was not merged. Stored with the commit that holds the message, so that what is called merged is
//! what was merged, whatever happens.

use std::collections::BTreeMap;

use cahoots_core::NodeId;
use serde::{Deserialize, Serialize};

/// The name under which a member's is stored.
pub(super) const PREFIX: &str = "unmerged/";

/// Numbers of a member's link under which nothing was merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Numbers {
    /// Messages that were refused.
    refused: u64,
    /// Numbers of messages that others have replaced before they left.
    skipped: u64,
}

/// The same, of all members of whom there is any.
#[derive(Debug, Default)]
pub(super) struct Unmerged(BTreeMap<NodeId, Numbers>);

impl Unmerged {
    /// As it was stored.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>) -> Unmerged {
        let one = |(key, numbers): (String, Vec<u8>)| {
            let client = NodeId(key.strip_prefix(PREFIX)?.parse().ok()?);
            Some((client, postcard::from_bytes(&numbers).ok()?))
        };
        Unmerged(stored.into_iter().filter_map(one).collect())
    }

    /// What is to be stored of a client, and under which name; empty when all that came of it was merged.
    pub(super) fn save(&self, client: NodeId) -> (String, Vec<u8>) {
        let numbers = self.0.get(&client);
        let numbers =
            numbers.map_or_else(Vec::new, |numbers| postcard::to_stdvec(numbers).expect("it can be written"));
        (format!("{PREFIX}{}", client.0), numbers)
    }

    /// A message came after so many that will not; `true` if there is something new to be stored.
    pub(super) fn count(&mut self, client: NodeId, refused: bool, skipped: u64) -> bool {
        if !refused && skipped == 0 {
            return false;
        }
        let numbers = self.0.entry(client).or_default();
        numbers.refused += u64::from(refused);
        numbers.skipped = numbers.skipped.saturating_add(skipped);
        true
    }

    /// Whoever has this number from now on has sent nothing yet; `true` if that is news.
    pub(super) fn forget(&mut self, client: NodeId) -> bool {
        self.0.remove(&client).is_some()
    }

    /// Of a link that has come so far: messages that were merged, and messages that were not.
    pub(super) fn of(&self, client: NodeId, received: u64) -> (u64, u64) {
        let Numbers { refused, skipped } = self.0.get(&client).copied().unwrap_or_default();
        (received.saturating_sub(refused.saturating_add(skipped)), refused)
    }
}
