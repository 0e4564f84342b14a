//! Standing by at the end of a log: whether it is still the one that was read.

use super::engine::Found;
use super::home::{Replicated, error};
use super::record;
use super::saved;
use super::seen::Seen;
use super::writer::another;
use crate::store::{Home, StoreError};

/// Answers in a row that the stream ends before what was read, before they are believed: they may be from the past.
const STRIKES: u32 = 20;

impl Replicated {
    /// Looks where the stream begins and ends, where there was nothing to read. Whoever was away for longer than the log is kept begins
    /// again at a snapshot ([`StoreError::Behind`]).
    pub fn look_around(&mut self) -> Result<(), StoreError> {
        let extent = self.engine.extent().map_err(|e| self.silent(e))?;
        // What is remembered counts as read, and what a snapshot covers.
        let last = self.chain.last().max(self.remembered.map_or(0, |seen| seen.sequence)).max(self.reach);
        self.end = extent.last.max(self.chain.last());
        if extent.first > self.chain.last() + 1 {
            return Err(StoreError::Behind { path: self.name.clone() });
        }
        if extent.last >= last {
            self.strikes = 0;
            return self.same_end();
        }
        self.strikes += 1;
        if self.strikes < STRIKES {
            return Ok(());
        }
        let what = format!("it ends at message {}, and message {last} had been read", extent.last);
        Err(StoreError::WentBack { path: self.name.clone(), what })
    }

    /// Whether the last answer was that the stream ends before what was read: there is nothing to follow until that is settled.
    pub fn is_in_doubt(&self) -> bool {
        self.strikes > 0
    }

    /// Whether the last message is still the one that was read or written: a stream that went back and grew again to the same length has
    /// another one there, and would take what follows the first. Where nobody answers, nothing is said against it.
    pub(super) fn same_end(&mut self) -> Result<(), StoreError> {
        let (last, hash) = (self.last(), self.hash());
        let Ok(Found::Message(message)) = self.engine.get(last) else { return Ok(()) };
        if record::hash(&message) == hash {
            return Ok(());
        }
        Err(error(&self.name, another(last, &message, self.chain.key())))
    }

    /// Whether there is a snapshot of what this coordinator has not read: others wrote it, and if the log has it no more, then the log went
    /// back to where it was before. Where nobody answers, nothing is said.
    pub(super) fn is_behind_snapshots(&mut self) -> bool {
        self.reach = saved::reach(&mut *self.engine).unwrap_or(self.reach);
        self.reach > self.last()
    }

    /// From a start before this one: where the log must come to, unless it went back.
    pub fn remember(&mut self, seen: Seen) {
        if seen.sequence > self.chain.last() {
            self.remembered = Some(seen);
        }
    }

    /// Whether all that was remembered has been read again.
    pub fn is_all_there(&self) -> bool {
        self.remembered.is_none()
    }

    /// What was read must be what is remembered.
    pub(super) fn as_remembered(&mut self) -> Result<(), StoreError> {
        let Some(seen) = self.remembered.filter(|seen| self.chain.last() >= seen.sequence) else {
            return Ok(());
        };
        if self.chain.last() == seen.sequence && self.chain.previous() != seen.hash {
            let what =
                format!("message {} was another one when this coordinator last read it", seen.sequence);
            return Err(StoreError::WentBack { path: self.name.clone(), what });
        }
        self.remembered = None;
        Ok(())
    }

    /// Goes on behind the newest snapshot, although the stream has lost what preceded it: its operator said so. Clients send again what
    /// is lost.
    pub fn accept_rollback(&mut self) -> Result<(), StoreError> {
        let extent = self.engine.extent().map_err(|e| self.silent(e))?;
        if extent.last < self.chain.last() {
            tracing::warn!(
                ends = extent.last,
                goes_on = self.chain.last(),
                "the log had lost its end: it goes on behind the newest snapshot, and clients send again what is lost"
            );
            self.engine.trim(self.chain.last() + 1).map_err(|e| self.silent(e))?;
        }
        if self.chain.last() > 0 {
            let forgotten = saved::forget_after(self.chain.last(), self.chain.key(), &mut *self.engine);
            forgotten.map_err(|e| self.silent(e))?;
        }
        Ok(())
    }

    /// Where this coordinator is: to be compared with what it remembers when it comes back.
    pub fn seen(&self) -> Option<Seen> {
        let place = self.replica()?;
        Some(Seen { epoch: place.epoch, sequence: place.sequence, hash: place.hash })
    }
}
