//! Snapshots: objects beside the stream, under names of their own, read again before anything relies on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::engine::{Engine, Found, Silence};
use super::key::LogKey;
use super::record::{self, Hash};
use crate::platform::Platform;

const PREFIX: &str = "snapshot-";

/// All that a coordinator is after a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    /// The message, and its hash: what follows is linked to it.
    pub(super) sequence: u64,
    pub(super) previous: Hash,
    pub(super) epoch: u64,
    /// How often the log had been written.
    pub(super) commits: u64,
    /// When it was made, in seconds since 1970.
    pub(super) time: f64,
    #[serde(with = "serde_bytes")]
    pub(super) state: Vec<u8>,
    pub(super) values: BTreeMap<String, Vec<u8>>,
}

impl Saved {
    /// Whether the log may be the one that it was made of: it has no other message there.
    pub(super) fn fits(&self, key: &LogKey, engine: &mut dyn Engine) -> Result<bool, Silence> {
        if let Found::Message(message) = engine.get(self.sequence)? {
            return Ok(record::hash(&message) == self.previous);
        }
        Ok(match engine.get(self.sequence + 1)? {
            Found::Message(next) => record::follows(&next, &self.previous, key),
            Found::Nothing => true,
        })
    }
}

/// Where the names of snapshots say that they are.
pub fn sequence_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

/// Keeps a snapshot and reads it again; gives its bytes.
pub(super) fn put(
    saved: &Saved,
    key: &LogKey,
    engine: &mut dyn Engine,
    platform: &Platform,
) -> Result<u64, Silence> {
    let failed = |e: &dyn std::fmt::Display| Silence(e.to_string());
    let plain = postcard::to_stdvec(saved).map_err(|e| failed(&e))?;
    let sealed = key.seal(platform, PREFIX.as_bytes(), &plain).map_err(|e| failed(&e))?;
    let name = format!("{PREFIX}{:020}-{}", saved.sequence, hex(&record::hash(&sealed)[..8]));
    engine.put(&name, &sealed)?;
    // A get right after a put may say that there is nothing.
    for _ in 0..10 {
        match engine.fetch(&name)? {
            Some(read) if read == sealed => return Ok(sealed.len() as u64),
            _ => engine.pause(),
        }
    }
    Err(Silence(format!("{name} was kept and cannot be read again")))
}

/// What there is of snapshots.
pub(super) enum Newest {
    /// Nothing.
    None,
    /// Some, and the key opens none of them: whoever went on without would read a log that begins behind them. Others may be `absent`,
    /// for now or for good.
    Sealed { what: String, absent: bool },
    /// The newest that is whole, and its bytes.
    Saved(Box<Saved>, u64),
}

/// The names of all snapshots, the newest first.
fn names(engine: &mut dyn Engine) -> Result<Vec<String>, Silence> {
    let mut names: Vec<String> = engine.names()?;
    names.retain(|name| sequence_of(name).is_some());
    names.sort_unstable();
    names.reverse();
    Ok(names)
}

/// The last message that any snapshot covers, whole or not; 0 without one.
pub(super) fn reach(engine: &mut dyn Engine) -> Result<u64, Silence> {
    Ok(names(engine)?.first().and_then(|name| sequence_of(name)).unwrap_or(0))
}

/// What is under the name of a snapshot.
enum Snapshot {
    /// One, and its bytes.
    Whole(Box<Saved>, u64),
    /// Something that the key does not open.
    Damaged,
    /// Nothing, or nothing yet.
    Absent,
}

impl Snapshot {
    fn read(name: &str, key: &LogKey, engine: &mut dyn Engine) -> Result<Snapshot, Silence> {
        let Some(sealed) = engine.fetch(name)? else { return Ok(Snapshot::Absent) };
        let plain = key.open(PREFIX.as_bytes(), &sealed);
        let saved = plain.and_then(|plain| postcard::from_bytes(&plain).ok());
        Ok(saved.map_or(Snapshot::Damaged, |saved| Snapshot::Whole(Box::new(saved), sealed.len() as u64)))
    }
}

/// The newest snapshot that is whole and `fits`.
pub(super) fn newest(
    key: &LogKey,
    engine: &mut dyn Engine,
    fits: impl Fn(&Saved, &mut dyn Engine) -> Result<bool, Silence>,
) -> Result<Newest, Silence> {
    let (mut unopened, mut absent) = (None, false);
    for name in &names(engine)? {
        match Snapshot::read(name, key, engine)? {
            Snapshot::Absent => absent = true,
            Snapshot::Whole(saved, bytes) if fits(&saved, engine)? => {
                return Ok(Newest::Saved(saved, bytes));
            }
            Snapshot::Whole(..) => {
                tracing::warn!(name, "a snapshot of what the log has lost: it has another message there")
            }
            Snapshot::Damaged => {
                tracing::error!(name, "a snapshot that is damaged, or sealed under another key");
                unopened = Some(format!("it opens none of the snapshots, among them {name}"));
            }
        }
    }
    Ok(unopened.map_or(Newest::None, |what| Newest::Sealed { what, absent }))
}

/// How often something that is listed and not there is asked for.
const PATIENCE: u32 = 10;

/// Snapshots that go further than this message, and cannot be read or do not fit, are not needed any more.
pub(super) fn forget_after(sequence: u64, key: &LogKey, engine: &mut dyn Engine) -> Result<(), Silence> {
    for name in names(engine)? {
        if sequence_of(&name).is_none_or(|at| at <= sequence) {
            continue;
        }
        let mut snapshot = Snapshot::read(&name, key, engine)?;
        for _ in 0..PATIENCE {
            if matches!(snapshot, Snapshot::Absent) {
                engine.pause();
                snapshot = Snapshot::read(&name, key, engine)?;
            }
        }
        match snapshot {
            Snapshot::Whole(saved, _) if saved.fits(key, engine)? => {}
            // One whose parts are lost is listed for ever.
            _ => engine.remove(&name)?,
        }
    }
    Ok(())
}

/// Snapshots before this one are not needed any more.
pub(super) fn forget_before(sequence: u64, engine: &mut dyn Engine) -> Result<(), Silence> {
    for name in names(engine)? {
        if sequence_of(&name).is_some_and(|at| at < sequence) {
            engine.remove(&name)?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
