//! A log that other machines keep too, as a coordinator that leads has it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chain::Chain;
use super::engine::{Engine, Silence};
use super::key::LogKey;
use super::record::Content;
use super::saved::{self, Saved};
use super::writer::{Trouble, Writer};
use crate::platform::Platform;
use crate::store::{Batch, Home, Recovered, StoreError};

/// A log may grow to so many times the snapshot before the state is kept again, and to so many bytes in any case.
const LONG: u64 = 8;
const SHORT: u64 = 1 << 20;

/// The log of a coordinator that leads.
#[derive(Debug)]
pub struct Replicated {
    name: PathBuf,
    platform: Platform,
    key: LogKey,
    engine: Box<dyn Engine>,
    writer: Writer,
    values: BTreeMap<String, Vec<u8>>,
    /// What the batch without an answer will have changed.
    unsettled: Option<Batch>,
    commits: u64,
    entries: u64,
    /// Bytes of the log since the snapshot, and of the snapshot.
    logged: u64,
    kept: u64,
    /// The last snapshot; the stream is trimmed behind the one before it.
    snapshot: u64,
}

impl Replicated {
    /// Reads a log to its end and begins an epoch there: from then on, whoever led before cannot write. `name` is what words about the
    /// log call it, `leader` what others are told.
    pub fn lead(
        name: &Path,
        leader: &str,
        key: LogKey,
        mut engine: Box<dyn Engine>,
        platform: Platform,
    ) -> Result<(Replicated, Recovered), StoreError> {
        let silent = |Silence(what)| StoreError::Unanswered { path: name.into(), what };
        let damaged = |what: String| StoreError::Damaged { path: name.into(), what };
        let saved = saved::newest(&key, &mut *engine).map_err(silent)?;
        let (mut values, mut recovered, mut kept, mut commits) =
            (BTreeMap::new(), Recovered::default(), 0, 0);
        let mut chain = match saved {
            None => Chain::new(key.clone()),
            Some((saved, bytes)) => {
                (values, kept, commits) = (saved.values, bytes, saved.commits);
                recovered.snapshot = Some(saved.state);
                Chain::behind(key.clone(), saved.sequence, saved.previous, saved.epoch)
            }
        };
        let snapshot = chain.last();
        let mut logged = 0;
        let writer = loop {
            loop {
                let messages = engine.read(chain.last() + 1).map_err(silent)?;
                if messages.is_empty() {
                    break;
                }
                for (sequence, message) in messages {
                    logged += message.len() as u64;
                    let record =
                        chain.take(sequence, &message).map_err(|broken| damaged(broken.to_string()))?;
                    if let Some(Content::Batch { batch, .. }) = record.map(|record| record.content) {
                        let batch = Batch::decode(&batch)
                            .ok_or_else(|| damaged("a batch that cannot be read".into()))?;
                        set_all(&mut values, batch.values());
                        recovered.log.extend(batch.into_entries());
                        commits += 1;
                    }
                }
            }
            let mut writer = Writer::after(&chain);
            let mut begun = writer.append(&Content::Barrier(leader.into()), &mut *engine, &platform);
            while let Err(Trouble::Unanswered(_)) = begun {
                begun = writer.settle(&mut *engine);
            }
            match begun {
                Ok(()) => break writer,
                // Somebody has written meanwhile: read on, and try again.
                Err(Trouble::Fenced) => engine.pause(),
                Err(trouble) => return Err(error(name, trouble)),
            }
        };
        let entries = recovered.log.len() as u64;
        let home = Replicated {
            name: name.into(),
            platform,
            key,
            engine,
            writer,
            values,
            unsettled: None,
            commits,
            entries,
            logged,
            kept,
            snapshot,
        };
        Ok((home, recovered))
    }

    /// The epoch in which this coordinator leads.
    pub fn epoch(&self) -> u64 {
        self.writer.epoch()
    }

    /// The last message of the stream.
    pub fn last(&self) -> u64 {
        self.writer.last()
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
            sequence: self.writer.last(),
            previous: self.writer.previous(),
            epoch: self.writer.epoch(),
            commits: self.commits,
            state: state.to_vec(),
            values: self.values.clone(),
        };
        self.kept = saved::put(&saved, &self.key, &mut *self.engine, &self.platform)?;
        let before = std::mem::replace(&mut self.snapshot, saved.sequence);
        (self.logged, self.entries) = (0, 0);
        if before > 0 {
            self.engine.trim(before + 1)?;
            saved::forget_before(before, &mut *self.engine)?;
        }
        Ok(())
    }
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

fn error(name: &Path, trouble: Trouble) -> StoreError {
    let path = name.into();
    match trouble {
        Trouble::Unanswered(what) => StoreError::Unanswered { path, what },
        Trouble::Fenced => StoreError::Fenced { path },
        Trouble::WentBack(what) => StoreError::WentBack { path, what },
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
        let content = Content::Batch { batch: batch.encode(Vec::new()), state: None };
        match self.writer.append(&content, &mut *self.engine, &self.platform) {
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
        self.writer.settle(&mut *self.engine).map_err(|trouble| error(&self.name, trouble))?;
        if let Some(batch) = self.unsettled.take() {
            self.committed(&batch);
        }
        Ok(())
    }

    fn wants_snapshot(&self, _every: u64) -> bool {
        self.logged > (LONG * self.kept).max(SHORT)
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
}
