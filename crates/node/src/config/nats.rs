//! `log = "nats://..."` and `[nats]`: a log that several machines keep, for several coordinators.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Sources;
use super::serve::ServeFile;
use crate::coordinator::{Coordinator, CoordinatorConfig, Replicas};
use crate::error::NodeError;
use crate::replica::LogKey;

/// `[nats]`: how a coordinator is one of several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NatsTable {
    /// A file with the key that seals the log, the same at every coordinator: `cahoots keys log FILE` makes one.
    pub key: Option<PathBuf>,
    /// This coordinator's name among them; the file name of `store` otherwise.
    pub name: Option<String>,
    /// Where clients find it, as "http://host:7700"; what it listens on otherwise.
    pub advertise: Option<String>,
    /// Seconds without a sign of the leader after which another tries to lead.
    pub lease: Option<f64>,
    /// One replica of the stream is enough.
    #[serde(default)]
    pub single: bool,
    /// Nobody looks whether the servers write to disk before they answer.
    #[serde(default)]
    pub assume_synced: bool,
    /// Go on although the log has lost what was acknowledged; clients send it again.
    #[serde(default)]
    pub accept_rollback: bool,
    /// Where the servers tell about themselves, as "http://host:8222".
    #[serde(default)]
    pub monitor: Vec<String>,
    /// A file with what lets this coordinator in at the servers.
    pub credentials: Option<PathBuf>,
    /// Certificates of who may have signed theirs.
    pub ca: Option<PathBuf>,
}

/// Seconds without a sign of the leader.
const LEASE: f64 = 2.0;

impl NatsTable {
    /// Refuses what can be seen to be wrong before anybody is asked.
    fn asked(&self, servers: &[String]) -> Result<(), String> {
        if let Some(wrong) = self.monitor.iter().find(|url| !url.starts_with("http://")) {
            return Err(format!(
                "monitor in [nats] is a list of addresses like \"http://host:8222\", and {wrong:?} does not begin with http://"
            ));
        }
        if self.monitor.is_empty() && !self.assume_synced {
            let hosts: Vec<String> =
                servers.iter().map(|server| format!("\"http://{}:8222\"", host(server))).collect();
            return Err(format!(
                "nobody can say whether the NATS servers write to disk before they answer: give `monitor = [{}]` in [nats], where they tell \
                 (`http: 8222` in their files), or start with `--assume-synced` if their files have `sync_interval: always`",
                hosts.join(", ")
            ));
        }
        for (key, path) in [("credentials", &self.credentials), ("ca", &self.ca)] {
            if let Some(path) = path
                && let Err(error) = std::fs::File::open(path)
            {
                return Err(format!("{key} in [nats]: {}: {error}", path.display()));
            }
        }
        Ok(())
    }

    /// Paths in a file are relative to the file.
    pub(super) fn beside(self, sources: &Sources) -> NatsTable {
        let of = |key: &str, path: Option<PathBuf>| {
            path.map(|path| sources.folder(&format!("nats.{key}")).join(path))
        };
        NatsTable {
            key: of("key", self.key),
            credentials: of("credentials", self.credentials),
            ca: of("ca", self.ca),
            ..self
        }
    }
}

/// What streams, subjects and buckets of a federation are called: names there hold few characters.
pub(crate) fn token(federation: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = federation.chars().map(plain).take(64).collect();
    if name == federation {
        return name;
    }
    let digest: [u8; 32] = Sha256::digest(federation.as_bytes()).into();
    format!("{name}_{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3])
}

/// The stream that keeps a federation's log, and the one that is the bucket of its snapshots.
pub(crate) fn streams(federation: &str) -> (String, String) {
    let token = token(federation);
    (format!("cahoots-{token}-log"), format!("OBJ_cahoots-{token}"))
}

/// The servers that `log` names.
fn servers(log: &str) -> Result<Vec<String>, String> {
    let (scheme, rest) = log
        .split_once("://")
        .filter(|(scheme, _)| ["nats", "tls"].contains(scheme))
        .ok_or(r#"`log` names the NATS servers that keep it, as "nats://a:4222,b:4222,c:4222" (or tls://); leave it out for a log on this machine's disk"#)?;
    let servers: Vec<String> = rest
        .split(',')
        .map(|server| server.trim().trim_start_matches("nats://").trim_start_matches("tls://"))
        .filter(|server| !server.is_empty())
        .map(|server| format!("{scheme}://{server}"))
        .collect();
    match servers.iter().find(|server| server.contains('@')) {
        Some(_) => {
            Err("`log` is shown on pages and in logs: no passwords in it; give `credentials` in [nats]"
                .into())
        }
        None if servers.is_empty() => Err(format!("`log` = {log:?} names no server")),
        None => Ok(servers),
    }
}

/// The host of a server, without scheme and port.
fn host(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.rsplit_once(':').map_or(rest, |(host, _)| host)
}

/// Whether this is no one address that others could be told.
fn everywhere(listen: &str) -> bool {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>()
        .is_ok_and(|ip| ip.is_unspecified())
}

/// A key as its file holds it.
fn read_key(path: &Path) -> Result<LogKey, String> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        format!(
            "key in [nats]: {}: {e}; `cahoots keys log FILE` makes one, which every coordinator needs",
            path.display()
        )
    })?;
    LogKey::from_hex(text.trim()).ok_or_else(|| {
        format!(
            "key in [nats]: {} holds no key of 64 hexadecimal digits; `cahoots keys log FILE` makes one",
            path.display()
        )
    })
}

impl ServeFile {
    /// Starts what the file means; `bound` is where it listens.
    pub(crate) fn start(
        &self,
        config: CoordinatorConfig,
        path: &Path,
        bound: &str,
    ) -> Result<Coordinator, NodeError> {
        match self.replicas(path, bound)? {
            Some(replicas) => Coordinator::replicated(config, replicas),
            None => Coordinator::start(config),
        }
    }

    /// What it needs to be one of several coordinators, if it is to be.
    pub(crate) fn replicas(&self, path: &Path, bound: &str) -> Result<Option<Replicas>, NodeError> {
        let wrong = |e: String| NodeError::Config(format!("{}: {e}", path.display()));
        let Some(log) = &self.log else {
            return match self.nats {
                Some(_) => Err(wrong(
                    "[nats] (or --single, --assume-synced, --accept-rollback) says how a log is kept by NATS servers, and there is no `log` that \
                     names them: `log = \"nats://a:4222,b:4222,c:4222\"` does, outside of [nats]"
                        .into(),
                )),
                None => Ok(None),
            };
        };
        let table = self.nats.clone().unwrap_or_default();
        let servers = servers(log).map_err(wrong)?;
        let key = table.key.as_ref().ok_or_else(|| {
            wrong("`log` needs `key` in [nats]: a file that `cahoots keys log FILE` makes, the same at every coordinator".into())
        })?;
        let key = read_key(key).map_err(wrong)?;
        let lease = table.lease.unwrap_or(LEASE);
        if !(0.5..=600.0).contains(&lease) {
            return Err(wrong(format!("lease in [nats] is between 0.5 and 600 seconds, not {lease}")));
        }
        table.asked(&servers).map_err(wrong)?;
        let name = table.name.clone().unwrap_or_else(|| {
            self.store
                .file_stem()
                .map_or_else(|| "coordinator".into(), |name| name.to_string_lossy().into_owned())
        });
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let address = match &table.advertise {
            Some(advertised) => advertised.clone(),
            None if everywhere(bound) => {
                return Err(wrong(format!(
                    "clients are told where the leader is, and {bound} is every address of this machine: give `advertise = \"{scheme}://HOST:PORT\"` in \
                     [nats], as it stands in `coordinator` of the clients' files"
                )));
            }
            None => format!("{scheme}://{bound}"),
        };
        let keeper = self.keeper(&table, servers, &key).map_err(wrong)?;
        Ok(Some(Replicas {
            name,
            page: self.page_of(&address),
            address,
            key,
            lease: Duration::from_secs_f64(lease),
            accept_rollback: table.accept_rollback,
            servers: log.clone(),
            keeper,
        }))
    }

    /// Where other machines find the page of a coordinator that they find at `address`; nothing where they do not.
    fn page_of(&self, address: &str) -> Option<String> {
        let (shown, port) = self.http.rsplit_once(':')?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
        let scheme = if self.page_is_secure() { "https" } else { "http" };
        let (own, local) = (host(address), crate::identity::loopback);
        match everywhere(&self.http) {
            true => Some(format!("{scheme}://{own}:{port}")),
            false => (!local(shown) || local(own)).then(|| format!("{scheme}://{}", self.http)),
        }
    }

    #[cfg(feature = "nats")]
    fn keeper(
        &self,
        table: &NatsTable,
        servers: Vec<String>,
        key: &LogKey,
    ) -> Result<Box<dyn crate::replica::Keeper>, String> {
        let config = crate::nats::NatsConfig {
            servers,
            federation: self.federation.clone(),
            single: table.single,
            assume_synced: table.assume_synced,
            accept_rollback: table.accept_rollback,
            monitor: table.monitor.clone(),
            credentials: table.credentials.clone(),
            ca: table.ca.clone(),
        };
        Ok(Box::new(crate::nats::Servers::new(config, key.clone())))
    }

    #[cfg(not(feature = "nats"))]
    fn keeper(
        &self,
        _table: &NatsTable,
        _servers: Vec<String>,
        _key: &LogKey,
    ) -> Result<Box<dyn crate::replica::Keeper>, String> {
        Err("this build cannot keep its log in NATS: build it with the feature `nats`, which is on unless it was turned off".into())
    }
}

#[cfg(test)]
mod tests {
    use super::{NatsTable, ServeFile, everywhere, servers, token};

    #[test]
    fn federations_whose_names_look_alike_have_streams_of_their_own() {
        assert_eq!(token("shops-1"), "shops-1");
        assert_ne!(token("a b"), token("a_b"));
        assert_ne!(token("a.b"), token("a*b"));
        assert!(token("ä > *.").chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
        assert!(token(&"x".repeat(500)).len() < 80);
    }

    #[test]
    fn who_says_whether_servers_sync_is_asked_for_before_they_are() {
        let servers = ["nats://a:4222".to_string(), "nats://[::1]:4222".into()];
        let refused = |table: NatsTable| table.asked(&servers).unwrap_err();
        let words = refused(NatsTable::default());
        assert!(
            words.contains(r#"["http://a:8222", "http://[::1]:8222"]"#) && words.contains("--assume-synced"),
            "{words}"
        );
        let monitor = |url: &str| NatsTable { monitor: vec![url.into()], ..NatsTable::default() };
        assert!(refused(monitor("a:8222")).contains("http://"));
        assert_eq!(monitor("http://a:8222").asked(&servers), Ok(()));
        let assumed = NatsTable { assume_synced: true, ..NatsTable::default() };
        assert_eq!(assumed.asked(&servers), Ok(()));
        let nobodys = NatsTable { credentials: Some("/nowhere/nobody.creds".into()), ..assumed };
        assert!(refused(nobodys).contains("/nowhere/nobody.creds"));
    }

    #[test]
    fn a_page_is_told_where_others_can_look_at_it() {
        let text = "federation = 'f'\nstore = 's'\n[algorithm]\nkind = 'k'";
        let page = |http: &str, address: &str| {
            let mut file: ServeFile = toml::from_str(text).unwrap();
            file.http = http.into();
            file.page_of(address)
        };
        let (here, there) = ("http://127.0.0.1:7700", "http://a.example:7700");
        for nowhere in ["none", "unix:/run/page", "127.0.0.1:0"] {
            assert_eq!((page(nowhere, here), page(nowhere, there)), (None, None), "{nowhere}");
        }
        assert_eq!(page("127.0.0.1:7780", here).as_deref(), Some("http://127.0.0.1:7780"));
        assert_eq!(page("127.0.0.1:7780", there), None, "another machine's loopback");
        assert_eq!(page("0.0.0.0:7780", there).as_deref(), Some("http://a.example:7780"));
        assert_eq!(page("b.example:7780", there).as_deref(), Some("http://b.example:7780"));
    }

    #[test]
    fn what_is_no_address_is_not_told() {
        for all in ["0.0.0.0:7700", "[::]:7700"] {
            assert!(everywhere(all));
        }
        for one in ["127.0.0.1:7700", "[::1]:7700", "host:7700"] {
            assert!(!everywhere(one));
        }
    }

    #[test]
    fn servers_are_named_once_and_without_passwords() {
        assert_eq!(servers("nats://a:1,b:2").unwrap(), ["nats://a:1", "nats://b:2"]);
        assert_eq!(servers("tls://a:1, tls://b:2").unwrap(), ["tls://a:1", "tls://b:2"]);
        assert!(servers("a:1").unwrap_err().contains("nats://"));
        assert!(servers("nats://").unwrap_err().contains("no server"));
        assert!(servers("nats://me:secret@a:1").unwrap_err().contains("credentials"));
    }
}
