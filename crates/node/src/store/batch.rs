//! What one commit makes durable.

/// Log entries, named values and perhaps a snapshot: all of it or none.
#[derive(Clone, Debug, Default, PartialEq)]
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

    /// Sets a named value; an empty one is removed.
    pub fn set(&mut self, key: impl Into<String>, value: Vec<u8>) {
        self.values.push((key.into(), value));
    }

    /// The state after all entries so far, this batch's among them: they need not be kept.
    pub fn snapshot(&mut self, state: Vec<u8>) {
        self.snapshot = Some(state);
    }

    /// Is there a snapshot among it?
    pub fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// The state that goes with it.
    pub(crate) fn state(&self) -> Option<&[u8]> {
        self.snapshot.as_deref()
    }

    /// Nothing to make durable.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.values.is_empty() && self.snapshot.is_none()
    }

    /// The entries, for who keeps a log of its own.
    pub fn into_entries(self) -> Vec<Vec<u8>> {
        self.entries
    }

    /// The entries.
    pub fn entries(&self) -> &[Vec<u8>] {
        &self.entries
    }

    /// The named values.
    pub fn values(&self) -> &[(String, Vec<u8>)] {
        &self.values
    }

    /// Bytes of entries and values.
    pub fn bytes(&self) -> usize {
        let values = self.values.iter().map(|(name, value)| name.len() + value.len());
        self.entries.iter().map(Vec::len).chain(values).sum()
    }

    /// Entries and values, as a frame of the log holds them: how many entries, then pieces with their lengths.
    pub(crate) fn encode(&self, mut out: Vec<u8>) -> Vec<u8> {
        out = length(out, self.entries.len());
        for entry in &self.entries {
            out = piece(out, entry);
        }
        for (name, value) in &self.values {
            out = piece(out, name.as_bytes());
            out = piece(out, value);
        }
        out
    }

    /// What [`Self::encode`] has written.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Batch> {
        let (count, mut rest) = postcard::take_from_bytes::<usize>(bytes).ok()?;
        let mut next = || {
            let (piece, left) = postcard::take_from_bytes::<&[u8]>(rest).ok()?;
            rest = left;
            Some(piece.to_vec())
        };
        let mut batch = Batch::default();
        for _ in 0..count {
            batch.entries.push(next()?);
        }
        while let Some(name) = next() {
            batch.values.push((String::from_utf8(name).ok()?, next()?));
        }
        rest.is_empty().then_some(batch)
    }
}

fn length(out: Vec<u8>, length: usize) -> Vec<u8> {
    postcard::to_extend(&length, out).expect("memory takes what it is given")
}

fn piece(out: Vec<u8>, bytes: &[u8]) -> Vec<u8> {
    let mut out = length(out, bytes.len());
    out.extend_from_slice(bytes);
    out
}

impl cahoots_core::drive::Log for Batch {
    fn append(&mut self, entry: Vec<u8>) {
        Batch::append(self, entry);
    }
}
