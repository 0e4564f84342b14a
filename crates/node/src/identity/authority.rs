//! The federation's own authority: a folder that makes, renews, revokes and rotates its members' certificates.
//!
//! ```text
//! DIR/federation.toml      its name, and the hosts of its coordinator
//! DIR/authority-1/         certificate, key, and what it has issued; authority-2 after a rotation
//! DIR/authorities.pem      who is believed: for clients who join by invitation
//! DIR/revoked.pem          who is not believed any more
//! DIR/coordinator/         what a coordinator is given: certificate, key, authorities and revoked
//! DIR/client-3/            the same for a client
//! ```

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use time::{Duration, OffsetDateTime};

use super::files::{KeyFiles, Private};
use super::name::{Name, Role};
use super::signer::{AUTHORITY_DAYS, BEFORE, Signer};
use crate::error::NodeError;

/// A folder of keys.
#[derive(Clone, Debug)]
pub struct Keys {
    folder: PathBuf,
    about: About,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct About {
    federation: String,
    hosts: Vec<String>,
}

/// Something that was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Issued {
    serial: String,
    name: String,
    /// Seconds since 1970 of its revocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<i64>,
}

#[derive(Default, Serialize, Deserialize)]
struct Ledger {
    #[serde(default)]
    issued: Vec<Issued>,
}

impl Keys {
    /// A new folder: an authority, and a certificate for a coordinator that is found under `hosts`.
    pub fn init(folder: &Path, federation: &str, hosts: &[String], days: u32) -> Result<Keys, NodeError> {
        if folder.join("federation.toml").exists() {
            return Err(NodeError::Config(format!(
                "{} holds the keys of a federation already: `cahoots keys server` renews its coordinator's, `rotate` makes a \
                 new authority",
                folder.display()
            )));
        }
        if hosts.is_empty() {
            return Err(NodeError::Config(
                "a coordinator's certificate names the hosts that clients find it under: give --host".into(),
            ));
        }
        Private::folder(folder).map_err(|e| disk(folder, e))?;
        let about = About { federation: federation.into(), hosts: hosts.to_vec() };
        let keys = Keys { folder: folder.into(), about };
        keys.new_authority(1)?;
        keys.server(&[], days)?;
        let about = toml::to_string(&keys.about).expect("names can be written");
        write(&folder.join("federation.toml"), &about)?;
        Ok(keys)
    }

    /// A folder that was made before.
    pub fn open(folder: &Path) -> Result<Keys, NodeError> {
        let path = folder.join("federation.toml");
        let text = std::fs::read_to_string(&path).map_err(|e| {
            NodeError::Config(format!(
                "{}: {e}; `cahoots keys init DIR --federation NAME --host HOST` makes such a folder",
                path.display()
            ))
        })?;
        let about =
            toml::from_str(&text).map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))?;
        Ok(Keys { folder: folder.into(), about })
    }

    /// The federation's name.
    pub fn federation(&self) -> &str {
        &self.about.federation
    }

    /// A new certificate for the coordinator; under other hosts where any are given. Gives its folder.
    pub fn server(&self, hosts: &[String], days: u32) -> Result<PathBuf, NodeError> {
        let mut keys = self.clone();
        if !hosts.is_empty() {
            keys.about.hosts = hosts.to_vec();
            let about = toml::to_string(&keys.about).expect("names can be written");
            write(&self.folder.join("federation.toml"), &about)?;
        }
        let name = Name::coordinator(&self.about.federation);
        keys.issue("coordinator", &name, &keys.about.hosts, days)
    }

    /// A new certificate for a client. Gives its folder.
    pub fn client(&self, client: u32, days: u32) -> Result<PathBuf, NodeError> {
        let name = Name::client(&self.about.federation, client);
        self.issue(&format!("client-{client}"), &name, &[], days)
    }

    /// No certificate that a member was ever given is believed any more; gives how many that are. What it is given next is.
    pub fn revoke(&self, role: Role) -> Result<usize, NodeError> {
        let name = Name { federation: self.about.federation.clone(), role };
        let (whose, name) = (name.to_string(), name.uri());
        let (mut revoked, now) = (0, OffsetDateTime::now_utc().unix_timestamp());
        for folder in self.authorities()? {
            let mut ledger = ledger(&folder)?;
            for issued in ledger.issued.iter_mut().filter(|issued| issued.name == name) {
                if issued.revoked.is_none() {
                    issued.revoked = Some(now);
                    revoked += 1;
                }
            }
            save(&folder, &ledger)?;
        }
        if revoked == 0 {
            return Err(NodeError::Config(format!(
                "{whose} has no certificate of {} that could be revoked",
                self.folder.display()
            )));
        }
        self.publish()?;
        Ok(revoked)
    }

    /// A new authority beside those that are believed: it signs from now on.
    pub fn rotate(&self) -> Result<(), NodeError> {
        let newest = self.authorities()?.len();
        let last = self.authorities()?.last().and_then(|folder| number(folder)).unwrap_or(newest);
        self.new_authority(last + 1)
    }

    /// The end of a rotation: only the newest authority is believed. Gives how many are not any more.
    pub fn finish(&self) -> Result<usize, NodeError> {
        let mut authorities = self.authorities()?;
        authorities.pop();
        for old in &authorities {
            let mut name = old.as_os_str().to_owned();
            name.push(".retired");
            std::fs::rename(old, PathBuf::from(name)).map_err(|e| disk(old, e))?;
        }
        self.publish()?;
        Ok(authorities.len())
    }

    fn new_authority(&self, number: usize) -> Result<(), NodeError> {
        let now = OffsetDateTime::now_utc();
        let signer = Signer::new(&self.about.federation, now - BEFORE, now + Duration::days(AUTHORITY_DAYS))?;
        let folder = self.folder.join(format!("authority-{number}"));
        Private::folder(&folder).map_err(|e| disk(&folder, e))?;
        save(&folder, &Ledger::default())?;
        write(&folder.join("key.pem"), &signer.key)?;
        write(&folder.join("certificate.pem"), &signer.certificate)?;
        self.publish()
    }

    fn issue(&self, folder: &str, name: &Name, hosts: &[String], days: u32) -> Result<PathBuf, NodeError> {
        let authorities = self.authorities()?;
        let authority = authorities.last().ok_or_else(|| {
            NodeError::Config(format!(
                "{} holds no authority: see `cahoots keys init`",
                self.folder.display()
            ))
        })?;
        let now = OffsetDateTime::now_utc();
        let signed = signer(authority)?.sign(name, hosts, now - BEFORE, now + Duration::days(days.into()))?;
        // What is not in the ledger could not be revoked: it is written first.
        let mut ledger = ledger(authority)?;
        ledger.issued.push(Issued { serial: hex(signed.serial()), name: name.uri(), revoked: None });
        save(authority, &ledger)?;
        let folder = self.folder.join(folder);
        Private::folder(&folder).map_err(|e| disk(&folder, e))?;
        let files = KeyFiles::folder(&folder);
        write(&files.key, &signed.key)?;
        write(&files.certificate, &signed.certificate)?;
        self.publish()?;
        Ok(folder)
    }

    /// Who is believed and who is not, to everyone who has a folder here.
    fn publish(&self) -> Result<(), NodeError> {
        let (mut believed, mut revoked) = (String::new(), String::new());
        // The newest first.
        for folder in self.authorities()?.iter().rev() {
            let signer = signer(folder)?;
            let list: Vec<_> = ledger(folder)?
                .issued
                .iter()
                .filter_map(|issued| {
                    let when = OffsetDateTime::from_unix_timestamp(issued.revoked?).ok()?;
                    Some((unhex(&issued.serial)?, when))
                })
                .collect();
            believed.push_str(&signer.certificate);
            revoked.push_str(&signer.revoke(&list)?);
        }
        let entries = std::fs::read_dir(&self.folder).map_err(|e| disk(&self.folder, e))?;
        let members = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            path.is_dir() && (name == "coordinator" || name.starts_with("client-"))
        });
        for folder in members.chain([self.folder.clone()]) {
            let files = KeyFiles::folder(&folder);
            write(&files.revoked, &revoked)?;
            write(&files.authorities, &believed)?;
        }
        Ok(())
    }

    /// Authorities that are believed, the newest last.
    fn authorities(&self) -> Result<Vec<PathBuf>, NodeError> {
        let entries = std::fs::read_dir(&self.folder).map_err(|e| disk(&self.folder, e))?;
        let mut all: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .filter(|path| number(path).is_some() && path.join("certificate.pem").exists())
            .collect();
        all.sort_by_key(|path| number(path));
        Ok(all)
    }
}

fn number(folder: &Path) -> Option<usize> {
    folder.file_name()?.to_str()?.strip_prefix("authority-")?.parse().ok()
}

fn signer(folder: &Path) -> Result<Signer, NodeError> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|e| disk(&path, e))
    };
    Signer::read(read("certificate.pem")?, read("key.pem")?)
}

fn ledger(folder: &Path) -> Result<Ledger, NodeError> {
    let path = folder.join("issued.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| disk(&path, e))?;
    toml::from_str(&text).map_err(|e| NodeError::Config(format!("{}: {e}", path.display())))
}

fn save(folder: &Path, ledger: &Ledger) -> Result<(), NodeError> {
    write(&folder.join("issued.toml"), &toml::to_string(ledger).expect("a ledger can be written"))
}

fn write(path: &Path, text: &str) -> Result<(), NodeError> {
    Private::write(path, text.as_bytes()).map_err(|e| disk(path, e))
}

fn disk(path: &Path, error: io::Error) -> NodeError {
    NodeError::Config(format!("{}: {error}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}
