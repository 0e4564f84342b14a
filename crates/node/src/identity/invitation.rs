//! Secrets that let a client in: an invitation, once; then the secret that the client made when it joined. A
//! coordinator keeps their digests alone.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// How an invitation begins, so that it is known for what it is where it does not belong.
const PREFIX: &str = "cahoots-invitation-";

/// The SHA-256 of a secret: what may be kept.
pub fn digest(secret: &[u8]) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    digest(one).ct_eq(&digest(other)).into()
}

/// 256 random bits that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

impl Secret {
    /// A new one.
    pub fn random() -> Result<Secret, String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|e| format!("the system gives no random bytes: {e}"))?;
        Ok(Secret(bytes))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What an invited client's file says.
    pub fn invitation(&self) -> String {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{PREFIX}{digits}")
    }

    /// From a client's file.
    pub fn parse(text: &str) -> Result<Secret, String> {
        let wrong = || {
            format!(
                "an invitation is {PREFIX:?} and 64 digits, as `cahoots members FILE invite NUMBER` prints it at the coordinator"
            )
        };
        let digits = text.trim().strip_prefix(PREFIX).ok_or_else(wrong)?;
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Secret(bytes))
    }
}

/// What a coordinator keeps of an invitation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Digest of the secret.
    pub digest: [u8; 32],
    /// Seconds since 1970 until which it holds.
    pub until: u64,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It waits to be used.
    Open,
    /// Someone has joined with it.
    Used,
    /// It was taken back.
    Withdrawn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invitation_is_read_as_it_was_written_and_not_otherwise() {
        let secret = Secret::random().unwrap();
        let text = secret.invitation();
        assert_eq!(Secret::parse(&format!(" {text}\n")), Ok(secret.clone()));
        assert_ne!(Secret::random().unwrap(), secret);
        for wrong in ["", "cahoots-invitation-", &text[1..], &text[..text.len() - 1], &text.replace('-', "_")]
        {
            assert!(Secret::parse(wrong).unwrap_err().contains("members FILE invite"), "{wrong}");
        }
        assert!(!format!("{secret:?}").contains(&text[20..]), "secrets are not logged");
    }

    #[test]
    fn digests_are_sha_256() {
        let hex: String = digest(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(same(b"abc", b"abc") && !same(b"abc", b"abd") && !same(b"abc", b"ab"));
    }
}
