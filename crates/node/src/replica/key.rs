//! The key of a log: what seals its records for whoever keeps them.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::error::NodeError;
use crate::platform::Platform;

/// Bytes of a nonce: long enough to be drawn at random.
const NONCE: usize = 24;

/// 32 random bytes that all coordinators of a federation have, by their operator's hand, and nobody else.
#[derive(Clone)]
pub struct LogKey([u8; 32]);

impl std::fmt::Debug for LogKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogKey(..)")
    }
}

impl LogKey {
    /// This key.
    pub fn new(bytes: [u8; 32]) -> LogKey {
        LogKey(bytes)
    }

    /// A key of 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<LogKey> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(LogKey(bytes))
    }

    /// A new one, in a file that only its owner can read, and that was not there.
    pub fn make(path: &Path) -> Result<(), NodeError> {
        let wrong = |e: std::io::Error| NodeError::Config(format!("{}: {e}", path.display()));
        let mut bytes = [0; 32];
        Platform::System.fill(&mut bytes).map_err(wrong)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => NodeError::Config(format!(
                "{} is there already, and was left as it is: all coordinators of a federation have the same key, so copy it to them; a new one opens \
                 nothing that was written under it",
                path.display()
            )),
            _ => wrong(e),
        })?;
        writeln!(file, "{text}").and_then(|()| file.sync_all()).map_err(wrong)
    }

    /// Nonce and ciphertext; `beside` is not hidden, and cannot be changed either.
    pub(super) fn seal(&self, platform: &Platform, beside: &[u8], plain: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        platform.fill(&mut nonce)?;
        let payload = Payload { msg: plain, aad: beside };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| std::io::Error::other("too long to be sealed"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// What was sealed under this key beside the same bytes.
    pub(super) fn open(&self, beside: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE)?;
        let nonce: [u8; NONCE] = nonce.try_into().ok()?;
        self.cipher().decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: beside }).ok()
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}
