//! Every value carries a checksum over its key and itself, so that a flipped
//! bit is noticed before it is learned from.

/// A value with its checksum in front.
pub(super) fn seal(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(value.len() + 4);
    sealed.extend_from_slice(&checksum(key, value).to_le_bytes());
    sealed.extend_from_slice(value);
    sealed
}

/// The value, if it is what was sealed under this key.
pub(super) fn open<'a>(key: &[u8], sealed: &'a [u8]) -> Option<&'a [u8]> {
    let (sum, value) = sealed.split_first_chunk::<4>()?;
    (u32::from_le_bytes(*sum) == checksum(key, value)).then_some(value)
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize()
}
