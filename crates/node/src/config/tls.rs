//! What a file says about certificates and other secrets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Sources;
use crate::identity::{KeyFiles, Private};

/// `[tls]`: a folder of keys, or single files in place of those in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// A member's folder, as `cahoots keys` makes it.
    pub keys: Option<PathBuf>,
    /// Its own certificate.
    pub certificate: Option<PathBuf>,
    /// The key to it.
    pub key: Option<PathBuf>,
    /// Who may have signed the other's certificate.
    pub authorities: Option<PathBuf>,
    /// Which certificates are not believed any more.
    pub revoked: Option<PathBuf>,
}

impl TlsTable {
    /// Paths in a file are relative to the file.
    pub(super) fn beside(self, sources: &Sources) -> TlsTable {
        let of = |key: &str, path: Option<PathBuf>| {
            path.map(|path| sources.folder(&format!("tls.{key}")).join(path))
        };
        TlsTable {
            keys: of("keys", self.keys),
            certificate: of("certificate", self.certificate),
            key: of("key", self.key),
            authorities: of("authorities", self.authorities),
            revoked: of("revoked", self.revoked),
        }
    }

    /// Where everything is. What is not named and has no folder is taken to be beside the authorities, where a list of
    /// revoked certificates may be; certificate and key go together.
    pub(super) fn files(&self) -> Result<KeyFiles, String> {
        if self.certificate.is_some() != self.key.is_some() {
            return Err("[tls]: `certificate` and `key` go together".into());
        }
        let folder = match (&self.keys, &self.authorities) {
            (Some(folder), _) => folder.clone(),
            // Not a folder of this member's: nothing else in it is its own.
            (None, Some(authorities)) => authorities.with_extension("none"),
            (None, None) => {
                return Err("[tls] needs `keys`, a folder that `cahoots keys` made, or `authorities`".into());
            }
        };
        let beside = KeyFiles::folder(&folder);
        let pick = |given: &Option<PathBuf>, otherwise: PathBuf| given.clone().unwrap_or(otherwise);
        for (key, path) in
            [("certificate", &self.certificate), ("key", &self.key), ("revoked", &self.revoked)]
        {
            if let Some(path) = path.as_ref().filter(|path| !path.exists()) {
                return Err(format!(
                    "[tls]: {key} = {:?}: there is no such file",
                    path.display().to_string()
                ));
            }
        }
        Ok(KeyFiles {
            certificate: pick(&self.certificate, beside.certificate),
            key: pick(&self.key, beside.key),
            authorities: pick(&self.authorities, beside.authorities),
            revoked: pick(&self.revoked, beside.revoked),
        })
    }
}

/// A secret that a file holds, or names the file of.
pub(super) fn secret_text(
    key: &str,
    text: &Option<String>,
    file: &Option<PathBuf>,
) -> Result<Option<String>, String> {
    match (text, file) {
        (Some(_), Some(_)) => Err(format!("`{key}` and `{key}_file` exclude each other")),
        (Some(text), None) => Ok(Some(text.clone())),
        (None, Some(path)) => {
            let read = Private::tighten(path).and_then(|()| std::fs::read_to_string(path));
            let text = read.map_err(|e| format!("{key}_file: {}: {e}", path.display()))?;
            Ok(Some(text.trim().to_string()))
        }
        (None, None) => Ok(None),
    }
}
