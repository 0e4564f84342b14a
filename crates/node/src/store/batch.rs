//! What one commit makes durable.

/// Log entries, named values and perhaps a snapshot: all of it or none.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) entries: Vec<Vec<u8>>,
    pub(super) values: Vec<(String, Vec<u8>)>,
    pub(super) snapshot: Option<Vec<u8>>,
}

impl Batch {
    /// Adds an entry to the log.
    pub fn append(&mut self, entry: Vec<u8>) {
        self.entries.push(entry);
    }

    /// Sets a named value.
    pub fn set(&mut self, key: impl Into<String>, value: Vec<u8>) {
        self.values.push((key.into(), value));
    }

    /// The state after all entries so far, this batch's among them: they need not be kept.
    pub fn snapshot(&mut self, state: Vec<u8>) {
        self.snapshot = Some(state);
    }

    /// Nothing to make durable.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.values.is_empty() && self.snapshot.is_none()
    }

    /// The entries, for who keeps a log of its own.
    pub fn into_entries(self) -> Vec<Vec<u8>> {
        self.entries
    }

    /// Bytes of the entries.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(Vec::len).sum()
    }
}

impl cahoots_core::drive::Log for Batch {
    fn append(&mut self, entry: Vec<u8>) {
        Batch::append(self, entry);
    }
}
