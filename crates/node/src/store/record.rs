//! Everything carries a checksum over what it is and what it says, so that a flipped bit, or a piece in the wrong
//! place, is noticed before it is learned from.

/// The checksum of these bytes under this key.
pub(super) fn checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize()
}

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
