//! Named values since the checkpoint. Those that were removed are remembered only as long as the checkpoint has them.

use std::collections::BTreeMap;

use super::checkpoint::Checkpoint;

/// Values by name; empty where the checkpoint's is removed.
#[derive(Debug, Default)]
pub(super) struct Values(BTreeMap<String, Vec<u8>>);

impl Values {
    /// Sets all of these, in their order; the empty ones are removed.
    pub(super) fn set_all(
        &mut self,
        values: impl IntoIterator<Item = (String, Vec<u8>)>,
        checkpoint: &Checkpoint,
    ) {
        for (name, value) in values {
            if value.is_empty() && !checkpoint.has(&name) {
                self.0.remove(&name);
            } else {
                self.0.insert(name, value);
            }
        }
    }

    /// What was set, or removed, since the checkpoint.
    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// The same for all names that begin like this.
    pub(super) fn beginning_with<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> + 'a {
        let named = self.0.range(prefix.to_string()..).take_while(move |(name, _)| name.starts_with(prefix));
        named.map(|(name, value)| (name.as_str(), value.as_slice()))
    }
}
