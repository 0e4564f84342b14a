//! The whole state of a machine as versioned bytes: what it needs to continue
//! bit for bit.

use serde::Serialize;
use serde::de::DeserializeOwned;

const MAGIC: [u8; 4] = *b"CHSN";
const VERSION: u8 = 6;

/// A snapshot that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Not a snapshot, or cut short.
    #[error("not a snapshot, or a damaged one: {0}")]
    Damaged(String),
    /// Written by another version.
    #[error(
        "snapshot version {0}, this build reads version {VERSION}: go on with the build that wrote it, or, to upgrade, let every \
         client upload what it has with that build, then begin a new federation (a new name and new stores) with this one"
    )]
    Version(u8),
    /// Written on a host with other arithmetic.
    #[error(
        "this snapshot was computed {0} fused multiply-add, this host computes the other way: continuing would not be bit for bit the same"
    )]
    Arithmetic(&'static str),
}

/// Bytes of a whole state.
pub fn save<T: Serialize>(state: &T) -> Vec<u8> {
    let header = [MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], VERSION, profile_byte()];
    postcard::to_extend(state, header.to_vec()).expect("machine states can always be written")
}

/// Bytes of an older version, for whoever knows that what they hold is laid out as it is in this one.
pub fn renewed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(version) = bytes.get_mut(4) {
        *version = VERSION;
    }
    bytes
}

/// The state that was saved.
pub fn restore<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, SnapshotError> {
    let damaged = |why: &str| SnapshotError::Damaged(why.to_string());
    let (header, body) = bytes.split_at_checked(6).ok_or_else(|| damaged("too short"))?;
    if header[..4] != MAGIC {
        return Err(damaged("unknown first bytes"));
    }
    if header[4] != VERSION {
        return Err(SnapshotError::Version(header[4]));
    }
    if header[5] != profile_byte() {
        return Err(SnapshotError::Arithmetic(if header[5] == 0 { "without" } else { "with" }));
    }
    let taken = crate::contract::private::while_restoring(|| postcard::take_from_bytes(body));
    let (state, rest) = taken.map_err(|e| damaged(&e.to_string()))?;
    if rest.is_empty() { Ok(state) } else { Err(damaged("bytes left over")) }
}

fn profile_byte() -> u8 {
    match cahoots_kernel::profile() {
        cahoots_kernel::Profile::Plain => 0,
        cahoots_kernel::Profile::Fma => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_comes_back_and_damage_is_noticed() {
        let bytes = save(&(1u64, vec![0.5f64, f64::MIN_POSITIVE]));
        assert_eq!(restore::<(u64, Vec<f64>)>(&bytes).unwrap(), (1, vec![0.5, f64::MIN_POSITIVE]));
        assert!(matches!(restore::<(u64, Vec<f64>)>(&bytes[..9]), Err(SnapshotError::Damaged(_))));
        let mut newer = bytes.clone();
        newer[4] = 9;
        assert_eq!(restore::<(u64, Vec<f64>)>(&newer), Err(SnapshotError::Version(9)));
        let mut older = bytes;
        older[4] = 1;
        let refusal = restore::<(u64, Vec<f64>)>(&older).unwrap_err().to_string();
        assert!(refusal.contains("version 1") && refusal.contains("to upgrade"), "{refusal}");
    }
}
