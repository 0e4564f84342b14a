//! Writing a stream: every append is settled before the next one, and before anybody is told of it.

use std::collections::VecDeque;

use super::chain::Chain;
use super::engine::{Before, Engine, Found, Silence};
use super::key::LogKey;
use super::record::{self, Content, Hash};
use super::saved;
use crate::platform::Platform;

/// Answers in a row that the stream ends before what was acknowledged, before they are believed: one may be from the past.
const STRIKES: u32 = 20;

/// Why an append is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not known whether it is.
    Unanswered(String),
    /// Another coordinator writes here.
    Fenced,
    /// The stream has lost what it had acknowledged.
    WentBack(String),
    /// The stream is not what was written.
    Broken(String),
    /// It cannot be written.
    Failed(String),
}

/// Who writes at the end of a stream, in one epoch.
#[derive(Debug)]
pub struct Writer {
    key: LogKey,
    epoch: u64,
    last: u64,
    previous: Hash,
    /// Messages that are to follow the last one, in their order: never others at their place.
    pending: VecDeque<Vec<u8>>,
    strikes: u32,
}

impl Writer {
    /// Writes on where a reader has come to, in the next epoch.
    pub fn after(chain: &Chain) -> Writer {
        Writer {
            key: chain.key().clone(),
            epoch: chain.epoch() + 1,
            last: chain.last(),
            previous: chain.previous(),
            pending: VecDeque::new(),
            strikes: 0,
        }
    }

    /// The last message that is known to be there.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The epoch in which it writes.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn previous(&self) -> Hash {
        self.previous
    }

    /// Whether it is known what became of everything.
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty()
    }

    /// Appends a record. After [`Trouble::Unanswered`], [`Writer::settle`] tells.
    pub fn append(
        &mut self,
        content: &Content,
        engine: &mut dyn Engine,
        platform: &Platform,
    ) -> Result<(), Trouble> {
        debug_assert!(self.pending.is_empty(), "what came before is settled first");
        let made = record::messages(content, self.epoch, self.previous, &self.key, platform);
        self.pending = made.map_err(|e| Trouble::Failed(e.to_string()))?.0.into();
        while let Some(message) = self.pending.front() {
            let hash = (self.last > 0).then_some(self.previous);
            let appended = engine.append(Before { sequence: self.last, hash }, message);
            appended.map_err(|unsure| Trouble::Unanswered(unsure.0))?;
            self.advance();
        }
        Ok(())
    }

    /// Finds out what became of the messages without an answer; what was not stored is sent again, the same.
    pub fn settle(&mut self, engine: &mut dyn Engine) -> Result<(), Trouble> {
        let settled = self.look(engine);
        // Whoever has no answer asks again; not at once, where that is known at once.
        if matches!(settled, Err(Trouble::Unanswered(_))) {
            engine.pause();
        }
        settled
    }

    fn look(&mut self, engine: &mut dyn Engine) -> Result<(), Trouble> {
        while let Some(message) = self.pending.front() {
            let unanswered = |Silence(what)| Trouble::Unanswered(what);
            let found = engine.get(self.last + 1).map_err(unanswered)?;
            if let Found::Message(found) = found {
                if found != *message {
                    return Err(Trouble::Fenced);
                }
                self.advance();
                continue;
            }
            let extent = engine.extent().map_err(unanswered)?;
            if extent.first > self.last + 1 {
                return Err(Trouble::Fenced);
            }
            if extent.last < self.last {
                self.strikes += 1;
                if self.strikes >= STRIKES {
                    return Err(Trouble::WentBack(format!(
                        "it ends at message {}, and message {} was acknowledged",
                        extent.last, self.last
                    )));
                }
            }
            // A stream that went back may have grown to this length again.
            if let Ok(Found::Message(end)) = engine.get(self.last)
                && record::hash(&end) != self.previous
            {
                return Err(another(self.last, &end, &self.key));
            }
            // Others led meanwhile and kept what they had written, whatever the log says of it now.
            if saved::reach(engine).map_err(unanswered)? > self.last {
                return Err(Trouble::Fenced);
            }
            let hash = (extent.first <= self.last).then_some(self.previous);
            match engine.append(Before { sequence: self.last, hash }, message) {
                Ok(()) => self.advance(),
                Err(unsure) => return Err(Trouble::Unanswered(unsure.0)),
            }
        }
        Ok(())
    }

    fn advance(&mut self) {
        if let Some(message) = self.pending.pop_front() {
            (self.last, self.previous, self.strikes) = (self.last + 1, record::hash(&message), 0);
        }
    }
}

/// What is the matter where a message is not the one that was read or written there.
pub(super) fn another(sequence: u64, found: &[u8], key: &LogKey) -> Trouble {
    match record::open(found, key) {
        Ok(_) => Trouble::WentBack(format!(
            "message {sequence} was another one when this coordinator read or wrote it"
        )),
        Err(what) => Trouble::Broken(format!("message {sequence}: {what}")),
    }
}
