//! What a node's machine has reported, added up: what it has released and what that cost, rounds, clusters,
//! values by name. Written with every snapshot; what came after follows from the log.

use std::collections::BTreeMap;

use cahoots_core::{Fact, NodeId};
use cahoots_privacy::Accountant;
use serde::{Deserialize, Serialize};

/// A node's books.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// What has been released, and what it cost.
    pub accountant: Accountant,
    /// Statistics that were released.
    pub releases: u64,
    /// Synchronous rounds held.
    pub rounds: u64,
    /// Clusters as they now stand, where there are any.
    pub clusters: Option<u64>,
    /// Uploads that the server would not merge.
    pub refusals: RefusedUploads,
    /// What else the machine reports, under its own names.
    pub values: BTreeMap<String, f64>,
}

/// Uploads that the server would not merge: what was in them is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RefusedUploads {
    /// How many.
    pub uploads: u64,
    /// Observations in them.
    pub observations: u64,
    /// Why the last one was refused.
    pub reason: String,
}

impl Books {
    /// Enters what a machine reported.
    pub fn enter(&mut self, machine: NodeId, facts: impl IntoIterator<Item = Fact>) {
        for fact in facts {
            match fact {
                Fact::Release(release) => {
                    self.releases += 1;
                    self.accountant.record(machine, &release);
                }
                Fact::Rounds(rounds) => self.rounds += rounds,
                Fact::Clusters(clusters) => self.clusters = Some(clusters),
                Fact::CommunicationLoss(loss) => {
                    *self.values.entry("communication_loss".into()).or_default() += loss;
                }
                Fact::Refused { observations, reason } => {
                    self.refusals.uploads += 1;
                    self.refusals.observations += observations;
                    self.refusals.reason = reason;
                }
                Fact::Level(name, value) => {
                    self.values.insert(name.into_owned(), value);
                }
                Fact::Count(name, value) => *self.values.entry(name.into_owned()).or_default() += value,
            }
        }
    }

    /// To be kept in a store.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("books can always be written")
    }

    /// As they were kept; new ones where there are none.
    pub fn restore(bytes: Option<Vec<u8>>) -> Result<Books, String> {
        bytes.map_or_else(
            || Ok(Books::default()),
            |bytes| postcard::from_bytes(&bytes).map_err(|e| e.to_string()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Mechanism, Unprotected};

    #[test]
    fn facts_add_up_or_replace_each_other_and_survive() {
        let release = Fact::Release(Mechanism::<f64>::fact(&Unprotected));
        let mut books = Books::default();
        books.enter(
            NodeId(1),
            [
                release.clone(),
                release,
                Fact::Rounds(2),
                Fact::Rounds(1),
                Fact::Clusters(5),
                Fact::Clusters(4),
                Fact::Level("shift".into(), 2.0),
                Fact::Level("shift".into(), 1.0),
                Fact::Count("clipped".into(), 1.0),
                Fact::Count("clipped".into(), 1.0),
            ],
        );
        assert_eq!((books.releases, books.accountant.unprotected(), books.rounds), (2, 2, 3));
        assert_eq!(books.clusters, Some(4));
        assert_eq!((books.values["shift"], books.values["clipped"]), (1.0, 2.0));
        assert_eq!(Books::restore(Some(books.save())).unwrap(), books);
        assert_eq!(Books::restore(None).unwrap(), Books::default());
        assert!(Books::restore(Some(vec![255; 3])).is_err());
    }
}
