//! Certificates, keys and lists as files: read together, watched, and nobody else's to read where they are secret.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::certificate::Certificate;

/// Where a node's certificates are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFiles {
    /// Its certificate, and any between it and the authority.
    pub certificate: PathBuf,
    /// The key to it.
    pub key: PathBuf,
    /// Those who may have signed the other's.
    pub authorities: PathBuf,
    /// What they have revoked, list by list.
    pub revoked: PathBuf,
}

/// What the files hold.
pub(super) struct Loaded {
    pub(super) own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    pub(super) certificate: Option<Certificate>,
    pub(super) roots: Arc<RootCertStore>,
    pub(super) revoked: Vec<CertificateRevocationListDer<'static>>,
}

/// Tells whether files have changed: when, how long, and which.
pub(super) type Stamp = [Option<(i64, i64, u64, u64)>; 4];

/// Tells when files that have changed are to be read: once they rest, since a certificate and its key change one after
/// the other.
#[derive(Debug, Default)]
pub(super) struct Watch {
    read: Stamp,
    last: Stamp,
}

impl Watch {
    /// Files as they are about to be read.
    pub(super) fn reading(&mut self, stamp: Stamp) {
        *self = Watch { read: stamp, last: stamp };
    }

    /// Whether files that look like this are to be read now.
    pub(super) fn due(&mut self, stamp: Stamp) -> bool {
        let rests = std::mem::replace(&mut self.last, stamp) == stamp;
        if stamp == self.read || !rests {
            return false;
        }
        self.read = stamp;
        true
    }
}

impl KeyFiles {
    /// As `cahoots keys` lays them out in a member's folder.
    pub fn folder(folder: &Path) -> KeyFiles {
        KeyFiles {
            certificate: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
            authorities: folder.join("authorities.pem"),
            revoked: folder.join("revoked.pem"),
        }
    }

    /// Taken before they are read: what changes later is noticed later.
    pub(super) fn stamp(&self) -> Stamp {
        [&self.certificate, &self.key, &self.authorities, &self.revoked].map(|path| {
            let data = std::fs::metadata(path).ok()?;
            Some((data.mtime(), data.mtime_nsec(), data.len(), data.ino()))
        })
    }

    /// Reads them all. A certificate and a list of what is revoked may be missing, the rest not.
    pub(super) fn load(&self) -> Result<Loaded, String> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(&self.authorities)? {
            roots.add(authority).map_err(|e| format!("{}: {e}", self.authorities.display()))?;
        }
        let revoked = if self.revoked.exists() { lists(&self.revoked)? } else { Vec::new() };
        let own = if self.certificate.exists() {
            tighten(&self.key)?;
            let key = PrivateKeyDer::from_pem_file(&self.key)
                .map_err(|e| format!("{}: no private key: {e}", self.key.display()))?;
            Some((certificates(&self.certificate)?, key))
        } else {
            None
        };
        let certificate = match &own {
            Some((chain, _)) => Some(Certificate::read(&chain[0])?),
            None => None,
        };
        Ok(Loaded { own, certificate, roots: Arc::new(roots), revoked })
    }
}

/// All certificates of a file, at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |e: String| {
        format!(
            "{}: no certificate: {e}; `cahoots keys init` makes an authority, `cahoots keys client` and `server` make members' \
             certificates",
            path.display()
        )
    };
    let read = CertificateDer::pem_file_iter(path).map_err(|e| wrong(e.to_string()))?;
    let all: Vec<_> = read.collect::<Result<_, _>>().map_err(|e| wrong(e.to_string()))?;
    if all.is_empty() { Err(wrong("the file holds none".into())) } else { Ok(all) }
}

/// All lists of what is revoked in a file.
pub(super) fn lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let wrong = |e: String| format!("{}: no list of revoked certificates: {e}", path.display());
    let read = CertificateRevocationListDer::pem_file_iter(path).map_err(|e| wrong(e.to_string()))?;
    let all: Vec<_> = read.collect::<Result<_, _>>().map_err(|e| wrong(e.to_string()))?;
    if all.is_empty() { Err(wrong("the file holds none".into())) } else { Ok(all) }
}

/// A secret's file is its owner's alone; one that is not, is made so.
pub(super) fn tighten(path: &Path) -> Result<(), String> {
    match Private::tighten(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!(
            "{}: others may read it, and that cannot be changed ({error}): `chmod 600` it as its owner",
            path.display()
        )),
    }
}

/// Files and folders that are their owner's alone.
pub struct Private;

impl Private {
    /// Takes from everyone but the owner what it may do with a file or folder, and says so.
    pub fn tighten(path: &Path) -> io::Result<()> {
        let mode = std::fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700))?;
            tracing::warn!(
                path = %path.display(),
                was = format!("{:03o}", mode & 0o777),
                now = format!("{:03o}", mode & 0o700),
                "others could read this file: it is its owner's alone now"
            );
        }
        Ok(())
    }

    /// Makes a folder, and those above it.
    pub fn folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Writes a file in one step: whoever reads it reads the old one or the new one.
    pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        let _ = std::fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_once_when_they_rest() {
        let [old, half, new] = [1, 2, 3].map(|n| [Some((n, 0, 0, 0)), None, None, None]);
        let mut watch = Watch::default();
        watch.reading(old);
        let seen = [old, half, new, new, new, old, old].map(|stamp| watch.due(stamp));
        assert_eq!(seen, [false, false, false, true, false, false, true]);
    }
}
