//! What a coordinator remembers of a log that others keep: enough to notice that it went back.

use std::path::{Path, PathBuf};

use crate::platform::{Opening, Platform};

/// The last message that a coordinator has read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The epoch it was of.
    pub epoch: u64,
    /// Its sequence.
    pub sequence: u64,
    /// Its hash.
    pub hash: [u8; 32],
}

/// The file beside a store's path.
fn file(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".seen");
    name.into()
}

impl Seen {
    /// What was remembered; nothing where there is no file, or none that can be read.
    pub fn recall(store: &Path, platform: &Platform) -> Option<Seen> {
        let text = String::from_utf8(platform.read(&file(store)).ok()?).ok()?;
        let mut words = text.split_whitespace();
        let (epoch, sequence) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let hex = words.next()?;
        let mut hash = [0; 32];
        for (i, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok()?;
        }
        Some(Seen { epoch, sequence, hash })
    }

    /// Remembers: whole, or as before.
    pub fn keep(&self, store: &Path, platform: &Platform) -> std::io::Result<()> {
        let path = file(store);
        let draft = path.with_extension("seen-new");
        let hash: String = self.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let written = platform.open(&draft, Opening::Anew)?;
        written.write_all_at(format!("{} {} {hash}\n", self.epoch, self.sequence).as_bytes(), 0)?;
        written.sync_data()?;
        platform.rename(&draft, &path)
    }

    /// Forgets.
    pub fn forget(store: &Path, platform: &Platform) {
        let _ = platform.remove(&file(store));
    }
}
