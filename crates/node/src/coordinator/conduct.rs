//! How members have behaved: how often one has sent what no honest data give, and who is quarantined for it. Stored
//! with the commit that holds the message, so that a restart knows what was counted.

use std::collections::BTreeMap;

use cahoots_core::NodeId;
use serde::{Deserialize, Serialize};

use crate::limits::{REASON, cut};

/// The name under which a member's conduct is stored.
pub(super) const PREFIX: &str = "conduct/";

/// What is held against a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Messages with what no honest data give, since it joined or was restored.
    pub(super) implausible: u64,
    /// Why the last of them was refused.
    pub(super) reason: String,
    /// Whether it is believed.
    pub(super) standing: Standing,
}

/// Whether a member is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    /// It is.
    #[default]
    Believed,
    /// Nothing of what it sends is merged.
    Quarantined,
    /// It may come back, and has to start anew.
    Pardoned,
}

/// The conduct of all members.
#[derive(Debug, Default)]
pub(super) struct Conduct {
    records: BTreeMap<NodeId, Record>,
    /// After so many implausible messages a member is quarantined; 0: never.
    limit: u64,
}

impl Conduct {
    /// As it was stored.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>, limit: u64) -> Conduct {
        let record = |(key, record): (String, Vec<u8>)| {
            let client = NodeId(key.strip_prefix(PREFIX)?.parse().ok()?);
            Some((client, postcard::from_bytes(&record).ok()?))
        };
        Conduct { records: stored.into_iter().filter_map(record).collect(), limit }
    }

    /// What is to be stored of a client, and under which name; empty when nothing is held against it.
    pub(super) fn save(&self, client: NodeId) -> (String, Vec<u8>) {
        let record = self.records.get(&client);
        let record =
            record.map_or_else(Vec::new, |record| postcard::to_stdvec(record).expect("it can be written"));
        (format!("{PREFIX}{}", client.0), record)
    }

    /// What is held against a member.
    pub(super) fn of(&self, client: NodeId) -> Record {
        self.records.get(&client).cloned().unwrap_or_default()
    }

    /// All who are quarantined.
    pub(super) fn quarantined(&self) -> impl Iterator<Item = NodeId> {
        let quarantined = |(_, record): &(&NodeId, &Record)| record.standing == Standing::Quarantined;
        self.records.iter().filter(quarantined).map(|(client, _)| *client)
    }

    /// Nothing of what a client sends is merged, or passed on.
    pub(super) fn is_quarantined(&self, client: NodeId) -> bool {
        self.records.get(&client).is_some_and(|record| record.standing == Standing::Quarantined)
    }

    /// Implausible messages of all who are members.
    pub(super) fn implausible(&self) -> u64 {
        self.records.values().map(|record| record.implausible).sum()
    }

    /// A member sent what no honest data give; `true` when that was once too often.
    pub(super) fn count(&mut self, client: NodeId, reason: &str) -> bool {
        let record = self.records.entry(client).or_default();
        record.implausible += 1;
        record.reason = cut(reason, REASON).into_owned();
        let enough = self.limit > 0 && record.implausible >= self.limit;
        if enough && record.standing == Standing::Believed {
            record.standing = Standing::Quarantined;
            return true;
        }
        false
    }

    /// A member is believed again; where its machine cannot go on, once it has started anew.
    pub(super) fn pardon(&mut self, client: NodeId, resumes: bool) {
        if resumes {
            self.forgive(client);
        } else if let Some(record) = self.records.get_mut(&client) {
            *record = Record { standing: Standing::Pardoned, ..Record::default() };
        }
    }

    /// Nothing is held against whoever has this number.
    pub(super) fn forgive(&mut self, client: NodeId) {
        self.records.remove(&client);
    }

    /// What a quarantined member is told about each of its messages.
    pub(super) fn words(&self, client: NodeId) -> Option<String> {
        let Record { implausible, reason, standing } = self.records.get(&client)?;
        (*standing == Standing::Quarantined).then(|| {
            format!(
                "{client} is quarantined: {implausible} of its messages held what no honest data give, the last one \
                 {reason:?}. Nothing that it sends is merged, and it is sent nothing; it keeps what it learned. Once the cause \
                 is mended, `cahoots members FILE restore {}` at the coordinator lifts this",
                client.0
            )
        })
    }

    /// Why a client cannot be let in as it is.
    pub(super) fn refuses(&self, client: NodeId, rejoins: bool) -> Option<String> {
        match self.records.get(&client)?.standing {
            Standing::Quarantined if rejoins => Some(format!(
                "{client} is quarantined and cannot start anew before that is lifted: `cahoots members FILE restore {}` at the \
                 coordinator",
                client.0
            )),
            Standing::Pardoned if !rejoins => Some(format!(
                "the quarantine of {client} was lifted, and this algorithm's rounds have gone on without it: `cahoots rejoin` \
                 the client, which then starts anew under its number"
            )),
            _ => None,
        }
    }
}
