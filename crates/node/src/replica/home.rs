//! A log that other machines keep too, as a coordinator has it: it reads on, or it leads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::chain::{Broken, Chain};
use super::engine::{Engine, Extent, Found, Silence};
use super::key::LogKey;
use super::record::{self, Content, Hash, Record};
use super::saved::{self, Newest, Saved};
use super::seen::Seen;
use super::writer::{Trouble, Writer};
use crate::platform::Platform;
use crate::store::{Batch, Home, Recovered, StoreError};

/// A log may grow to so many times the snapshot before the state is kept again, and to so many bytes in any case.
const LONG: u64 = 8;
const SHORT: u64 = 1 << 20;

/// After so long without a commit, shorter than any lease, others may have written on a stream that went back.
const QUIET: Duration = Duration::from_millis(500);

/// The log of a coordinator, wherever it is kept.
#[derive(Debug)]
pub struct Replicated {
    pub(super) name: PathBuf,
    platform: Platform,
    key: LogKey,
    pub(super) engine: Box<dyn Engine>,
    pub(super) chain: Chain,
    /// Who writes it, once this coordinator leads; an epoch that was begun and has no answer yet.
    writer: Option<Writer>,
    beginning: Option<Writer>,
    values: BTreeMap<String, Vec<u8>>,
    /// What the batch without an answer will have changed.
    unsettled: Option<Batch>,
    /// When something was last to be committed.
    wrote: Duration,
    commits: u64,
    entries: u64,
    /// Bytes of the log since the snapshot, and of the snapshot.
    logged: u64,
    kept: u64,
    /// The last snapshot; the stream is trimmed behind the one before it.
    snapshot: u64,
    /// When it was made, in seconds since 1970.
    snapshot_time: f64,
    /// The last message that whoever keeps the stream told of.
    pub(super) end: u64,
    /// Answers in a row that the stream ends before what was read.
    pub(super) strikes: u32,
    /// How far snapshots go.
    pub(super) reach: u64,
    /// What this coordinator remembers to have seen.
    pub(super) remembered: Option<Seen>,
}

/// What a coordinator that stands by has read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The sequence of the record's last message.
    pub sequence: u64,
    /// Its epoch.
    pub epoch: u64,
    /// Who leads from here on, where an epoch begins.
    pub leader: Option<String>,
    /// Entries of the log, and values that were set with them.
    pub batch: Batch,
}

impl Replicated {
    /// The newest snapshot; what follows it is still to be read. `name` is what words about the log call it.
    pub fn open(
        name: &Path,
        key: LogKey,
        engine: Box<dyn Engine>,
        platform: Platform,
    ) -> Result<(Replicated, Option<Vec<u8>>), StoreError> {
        // One that does not fit is found when the log is read on from it, and said aloud.
        Replicated::open_at(name, key, engine, platform, |_, _| Ok(true))
    }

    /// The same, passing over snapshots of what the log has lost: it has other messages where they were made.
    pub fn open_what_fits(
        name: &Path,
        key: LogKey,
        engine: Box<dyn Engine>,
        platform: Platform,
    ) -> Result<(Replicated, Option<Vec<u8>>), StoreError> {
        let fits = |saved: &Saved, engine: &mut dyn Engine| saved.fits(&key, engine);
        Replicated::open_at(name, key.clone(), engine, platform, fits)
    }

    fn open_at(
        name: &Path,
        key: LogKey,
        mut engine: Box<dyn Engine>,
        platform: Platform,
        fits: impl Fn(&Saved, &mut dyn Engine) -> Result<bool, Silence>,
    ) -> Result<(Replicated, Option<Vec<u8>>), StoreError> {
        let silent = |Silence(what)| StoreError::Unanswered { path: name.into(), what };
        let saved = match saved::newest(&key, &mut *engine, fits).map_err(silent)? {
            Newest::None => None,
            // Nothing was trimmed unless a snapshot was whole: the log may be there from its first message.
            Newest::Sealed { what, absent } => {
                let path = name.into();
                if !opens_any(&key, &mut *engine).map_err(silent)? {
                    return Err(StoreError::OtherKey { path, what });
                }
                let first = engine.extent().map_err(silent)?.first;
                if first > 1 {
                    let what =
                        format!("no snapshot is whole, and what precedes message {first} is in none else");
                    // One that is there may not be found for a while.
                    return Err(match absent {
                        true => {
                            StoreError::Unanswered { path, what: format!("{what}; one is not found yet") }
                        }
                        false => StoreError::Broken { path, what },
                    });
                }
                None
            }
            Newest::Saved(saved, bytes) => Some((saved, bytes)),
        };
        let (mut values, mut kept, mut commits, mut time, mut state) = (BTreeMap::new(), 0, 0, 0.0, None);
        let chain = match saved {
            None => Chain::new(key.clone()),
            Some((saved, bytes)) => {
                (values, kept, commits, time) = (saved.values, bytes, saved.commits, saved.time);
                state = Some(saved.state);
                Chain::behind(key.clone(), saved.sequence, saved.previous, saved.epoch)
            }
        };
        let home = Replicated {
            name: name.into(),
            platform,
            key,
            engine,
            snapshot: chain.last(),
            end: chain.last(),
            chain,
            writer: None,
            beginning: None,
            values,
            unsettled: None,
            wrote: Duration::ZERO,
            commits,
            entries: 0,
            logged: 0,
            kept,
            snapshot_time: time,
            strikes: 0,
            reach: 0,
            remembered: None,
        };
        Ok((home, state))
    }

    /// Reads a log to its end and begins an epoch there: from then on, whoever led before cannot write. `leader` is what others are
    /// told.
    pub fn lead(
        name: &Path,
        leader: &str,
        key: LogKey,
        engine: Box<dyn Engine>,
        platform: Platform,
    ) -> Result<(Replicated, Recovered), StoreError> {
        let (mut home, snapshot) = Replicated::open(name, key, engine, platform)?;
        let mut recovered = Recovered { snapshot, ..Recovered::default() };
        loop {
            loop {
                let read = home.follow()?;
                if read.is_empty() {
                    break;
                }
                recovered.log.extend(read.into_iter().flat_map(|read| read.batch.into_entries()));
            }
            let begun = loop {
                match home.begin(leader) {
                    Err(StoreError::Unanswered { .. }) => {}
                    begun => break begun?,
                }
            };
            if begun {
                return Ok((home, recovered));
            }
            home.engine.pause();
        }
    }

    /// What has been written since, as much of it as comes at once; nothing at the end.
    pub fn follow(&mut self) -> Result<Vec<Read>, StoreError> {
        let messages = self.engine.read(self.chain.last() + 1).map_err(|e| self.silent(e))?;
        let mut all = Vec::new();
        for (sequence, message) in messages {
            self.logged += message.len() as u64;
            self.end = self.end.max(sequence);
            let taken = match self.chain.take(sequence, &message) {
                Err(broken) => self.once_more(sequence, broken)?,
                Ok(taken) => taken,
            };
            self.as_remembered()?;
            let Some(Record { sequence, epoch, content }) = taken else { continue };
            let read = match content {
                Content::Barrier(leader) => {
                    Read { sequence, epoch, leader: Some(leader), batch: Batch::default() }
                }
                Content::Batch(batch) => {
                    let batch = Batch::decode(&batch).ok_or_else(|| StoreError::Broken {
                        path: self.name.clone(),
                        what: format!("message {sequence}: a batch that cannot be read"),
                    })?;
                    set_all(&mut self.values, batch.values());
                    self.commits += 1;
                    self.entries += batch.entries().len() as u64;
                    Read { sequence, epoch, leader: None, batch }
                }
            };
            all.push(read);
        }
        Ok(all)
    }

    /// A message that does not fit may be one replica's: whoever leads the stream is asked for it.
    fn once_more(&mut self, sequence: u64, broken: Broken) -> Result<Option<Record>, StoreError> {
        let path = self.name.clone();
        if sequence != self.chain.last() + 1 {
            return Err(StoreError::Broken { path, what: broken.to_string() });
        }
        let Found::Message(message) = self.engine.get(sequence).map_err(|e| self.silent(e))? else {
            // Not there, or not yet: whoever answered may be behind.
            return Err(self.silent(Silence(format!("{broken}; whoever leads the log does not have it"))));
        };
        match self.chain.take(sequence, &message) {
            Ok(record) => {
                tracing::error!(
                    %broken,
                    "a replica of the log answers with what was never written: whoever leads the log has the right record; rebuild that replica"
                );
                Ok(record)
            }
            // Of a log of which nothing can be opened, the key is the likelier fault.
            Err(broken) if broken.what == record::SEALED && !self.opens_any()? => {
                Err(StoreError::OtherKey { path, what: broken.to_string() })
            }
            Err(broken) => Err(StoreError::Broken { path, what: broken.to_string() }),
        }
    }

    /// Whether the key opens the first message of the log, or the last.
    fn opens_any(&mut self) -> Result<bool, StoreError> {
        if self.chain.last() > 0 {
            return Ok(true);
        }
        opens_any(&self.key, &mut *self.engine).map_err(|e| self.silent(e))
    }

    /// Begins an epoch behind what was read: `false` where somebody has written meanwhile. After [`StoreError::Unanswered`] it is
    /// called again, and tells.
    pub fn begin(&mut self, leader: &str) -> Result<bool, StoreError> {
        if self.beginning.is_none() {
            self.same_end()?;
            if self.is_behind_snapshots() {
                return Ok(false);
            }
        }
        let begun = match &mut self.beginning {
            Some(writer) => writer.settle(&mut *self.engine),
            None => {
                let writer = self.beginning.insert(Writer::after(&self.chain));
                writer.append(&Content::Barrier(leader.into()), &mut *self.engine, &self.platform)
            }
        };
        match begun {
            Ok(()) => {
                self.writer = self.beginning.take();
                Ok(true)
            }
            Err(Trouble::Fenced) => {
                self.beginning = None;
                Ok(false)
            }
            Err(trouble) => Err(error(&self.name, trouble)),
        }
    }

    /// Whether an epoch was begun of which it is not known whether it counts.
    pub fn is_beginning(&self) -> bool {
        self.beginning.is_some()
    }

    /// The last epoch that was begun.
    pub fn epoch(&self) -> u64 {
        self.writer.as_ref().map_or(self.chain.epoch(), Writer::epoch)
    }

    /// The last message that was read or written.
    pub fn last(&self) -> u64 {
        self.writer.as_ref().map_or(self.chain.last(), Writer::last)
    }

    /// Its hash.
    pub(super) fn hash(&self) -> Hash {
        self.writer.as_ref().map_or(self.chain.previous(), Writer::previous)
    }

    pub(super) fn silent(&self, Silence(what): Silence) -> StoreError {
        StoreError::Unanswered { path: self.name.clone(), what }
    }

    /// What has been acknowledged takes effect.
    fn committed(&mut self, batch: &Batch) {
        set_all(&mut self.values, batch.values());
        self.commits += 1;
        self.entries += batch.entries().len() as u64;
        self.logged += batch.bytes() as u64;
        if let Some(state) = batch.state() {
            // The log stands without it: who cannot keep one now is asked again with the next commit.
            if let Err(Silence(what)) = self.keep(state) {
                tracing::warn!(what, "no snapshot was kept: the log grows until one is");
            }
        }
    }

    /// Keeps a snapshot, and only then trims the stream: behind the snapshot before, so that there are two ways to read on.
    fn keep(&mut self, state: &[u8]) -> Result<(), Silence> {
        let saved = Saved {
            sequence: self.last(),
            previous: self.hash(),
            epoch: self.epoch(),
            commits: self.commits,
            time: self.platform.wall().as_secs_f64(),
            state: state.to_vec(),
            values: self.values.clone(),
        };
        self.kept = saved::put(&saved, &self.key, &mut *self.engine, &self.platform)?;
        let before = std::mem::replace(&mut self.snapshot, saved.sequence);
        (self.logged, self.entries, self.snapshot_time) = (0, 0, saved.time);
        if before > 0 {
            self.engine.trim(before + 1)?;
            saved::forget_before(before, &mut *self.engine)?;
        }
        Ok(())
    }
}

/// Whether a key opens the first message of a stream, or the last.
fn opens_any(key: &LogKey, engine: &mut dyn Engine) -> Result<bool, Silence> {
    let Extent { first, last } = engine.extent()?;
    for sequence in [first, last] {
        if let Found::Message(message) = engine.get(sequence)?
            && record::open(&message, key).is_ok()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn set_all(values: &mut BTreeMap<String, Vec<u8>>, set: &[(String, Vec<u8>)]) {
    for (name, value) in set {
        if value.is_empty() {
            values.remove(name);
        } else {
            values.insert(name.clone(), value.clone());
        }
    }
}

pub(super) fn error(name: &Path, trouble: Trouble) -> StoreError {
    let path = name.into();
    match trouble {
        Trouble::Unanswered(what) => StoreError::Unanswered { path, what },
        Trouble::Fenced => StoreError::Fenced { path },
        Trouble::WentBack(what) => StoreError::WentBack { path, what },
        Trouble::Broken(what) => StoreError::Broken { path, what },
        Trouble::Failed(what) => StoreError::Write { path, what },
    }
}

impl Home for Replicated {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.values.get(key).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let from = self.values.range(prefix.to_string()..);
        let named = from.take_while(|(name, _)| name.starts_with(prefix));
        Ok(named.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let now = self.platform.elapsed();
        if now.saturating_sub(std::mem::replace(&mut self.wrote, now)) > QUIET {
            self.same_end()?;
            // Another led meanwhile, whatever the log says of it now.
            if self.is_behind_snapshots() {
                return Err(StoreError::Fenced { path: self.name.clone() });
            }
        }
        let Some(writer) = &mut self.writer else {
            return Err(StoreError::Fenced { path: self.name.clone() });
        };
        if !writer.is_settled() {
            // A commit that failed is not forgotten: nothing else may take its place.
            let settled = writer.settle(&mut *self.engine).map_err(|trouble| error(&self.name, trouble));
            let what = "what was committed before has failed".into();
            return settled.and(Err(StoreError::Write { path: self.name.clone(), what }));
        }
        let content = Content::Batch(batch.encode(Vec::new()));
        match writer.append(&content, &mut *self.engine, &self.platform) {
            Ok(()) => {
                self.committed(batch);
                Ok(())
            }
            Err(trouble) => {
                self.unsettled = matches!(trouble, Trouble::Unanswered(_)).then(|| batch.clone());
                Err(error(&self.name, trouble))
            }
        }
    }

    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(writer) = &mut self.writer else {
            return Err(StoreError::Fenced { path: self.name.clone() });
        };
        writer.settle(&mut *self.engine).map_err(|trouble| error(&self.name, trouble))?;
        if let Some(batch) = self.unsettled.take() {
            self.committed(&batch);
        }
        Ok(())
    }

    fn wants_snapshot(&self, _every: u64) -> bool {
        self.logged > self.platform.long_log().unwrap_or((LONG * self.kept).max(SHORT))
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn size(&self) -> u64 {
        self.kept + self.logged
    }

    fn commits(&self) -> u64 {
        self.commits
    }

    fn path(&self) -> &Path {
        &self.name
    }

    fn platform(&self) -> &Platform {
        &self.platform
    }

    fn backup(&self, to: &Path) -> Result<(), StoreError> {
        let what = "a log with replicas is copied by its own tools (`nats stream backup`)".into();
        Err(StoreError::Write { path: to.into(), what })
    }

    fn replica(&self) -> Option<crate::store::Place> {
        let snapshot = (self.kept > 0).then_some((self.snapshot, self.snapshot_time, self.kept));
        let (epoch, sequence) = (self.epoch(), self.last());
        Some(crate::store::Place {
            epoch,
            sequence,
            end: self.end.max(sequence),
            hash: self.hash(),
            snapshot,
        })
    }
}
