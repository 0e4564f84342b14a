//! What all nodes have around their host: queues, facts, what the federation has agreed on, and the log's entries.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Step;
use crate::contract::context::Effects;
use crate::contract::machine::Algorithm;
use crate::contract::message::Message;
use crate::contract::setting::Setting;
use crate::drive::event::{Outbox, Outgoing, Timed};
use crate::drive::queue::Queues;
use crate::drive::snapshot::SnapshotError;
use crate::error::ParamError;
use crate::ids::{NodeId, Tick};

/// What all nodes have around their host.
pub(super) struct Around<M> {
    pub(super) effects: Effects<M>,
    pub(super) queues: Queues,
    pub(super) step: Step,
}

impl<M> Default for Around<M> {
    fn default() -> Self {
        Around { effects: Effects::default(), queues: Queues::default(), step: Step::default() }
    }
}

/// Queues that remember what a step put into them.
pub(super) struct Posting<'a> {
    queues: &'a mut Queues,
    posted: &'a mut Vec<(NodeId, u64)>,
}

impl<M: Message> Outbox<M> for Posting<'_> {
    fn post(&mut self, message: Outgoing<M>) {
        self.posted.push((message.to, message.sequence));
        self.queues.post(message);
    }
}

impl<M: Message> Around<M> {
    pub(super) fn restore(queues: &[u8]) -> Result<Self, SnapshotError> {
        Ok(Around { queues: Queues::restore(queues)?, ..Around::default() })
    }

    pub(super) fn drive<T>(&mut self, drive: impl FnOnce(&mut Effects<M>, &mut Posting<'_>) -> T) -> T {
        let mut posting = Posting { queues: &mut self.queues, posted: &mut self.step.posted };
        let result = drive(&mut self.effects, &mut posting);
        self.step.facts.append(&mut self.effects.facts);
        result
    }
}

/// What a federation has agreed on, as one node needs it.
pub(super) struct Agreed {
    pub(super) setting: Arc<Setting>,
    pub(super) version: u64,
    /// All parameters, in TOML.
    pub(super) params: String,
}

impl Agreed {
    /// Refuses changes of what must not change while a federation runs.
    pub(super) fn check<A: Algorithm>(&self, params: &str) -> Result<A::Valid, ParamError> {
        let (old, new) = (table(A::NAME, &self.params)?, table(A::NAME, params)?);
        for key in old.keys().chain(new.keys()) {
            if old.get(key) != new.get(key) && !A::CHANGEABLE.contains(&key.as_str()) {
                let problem = match A::CHANGEABLE {
                    [] => format!(
                        "cannot change while a federation of {} runs, nor can its other parameters",
                        A::NAME
                    ),
                    keys => format!("cannot change while a federation runs; these can: {}", keys.join(", ")),
                };
                return Err(ParamError::new(key, problem));
            }
        }
        let typed = new.try_into().map_err(|e: toml::de::Error| ParamError::new(A::NAME, e.message()))?;
        A::check(typed, &self.setting)
    }
}

fn table(name: &str, params: &str) -> Result<toml::Table, ParamError> {
    params.parse().map_err(|e: toml::de::Error| ParamError::new(name, e.message()))
}

pub(super) fn entry(now: Tick, input: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(&Timed { now, input }).expect("inputs can always be written")
}

pub(super) fn read<I: DeserializeOwned>(entry: &[u8]) -> Result<Timed<I>, String> {
    postcard::from_bytes(entry).map_err(|e| e.to_string())
}

pub(super) const CHECKED: &str = "checked before it was logged";
