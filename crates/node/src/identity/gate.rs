//! A coordinator's end: its certificate, whom it believes, and whom no longer. The files may change while it runs.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ServerConfig, WebPkiClientVerifier};

use super::admit::Admit;
use super::certificate::{Certificate, date};
use super::files::{KeyFiles, Watch};
use super::name::Name;
use super::{PROTOCOL, provider, words};

/// Seconds before its end at which a certificate is due to be renewed.
const SOON: i64 = 14 * 86_400;

/// Who is at the other end of a connection: what its certificate says, which it has proven to be its own.
#[derive(Clone, Debug, Default)]
pub struct Peer(Option<Arc<Presented>>);

#[derive(Debug)]
struct Presented {
    chain: Vec<CertificateDer<'static>>,
    certificate: Certificate,
    /// What the gate's files held when it was believed.
    generation: u64,
}

impl Peer {
    /// Who presented these certificates; nobody in particular without any.
    pub(crate) fn of(chain: Option<&[CertificateDer<'static>]>, generation: u64) -> Result<Peer, String> {
        let Some(chain) = chain.filter(|chain| !chain.is_empty()) else { return Ok(Peer(None)) };
        let certificate = Certificate::read(&chain[0])?;
        Ok(Peer(Some(Arc::new(Presented { chain: chain.to_vec(), certificate, generation }))))
    }

    /// What its certificate says, if it has one.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.0.as_ref().map(|presented| &presented.certificate)
    }
}

/// Where connections become secure.
pub struct Gate {
    files: KeyFiles,
    federation: String,
    admit: Admit,
    current: RwLock<Arc<Current>>,
    /// Counts what the files have held.
    generation: AtomicU64,
    watch: Mutex<Watch>,
}

struct Current {
    tls: Arc<ServerConfig>,
    /// The same for browsers, who have no certificate of ours.
    page: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
    revokes: bool,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("files", &self.files).field("admit", &self.admit).finish_non_exhaustive()
    }
}

impl Gate {
    /// Reads the files; whatever is wrong with them is said.
    pub fn open(files: KeyFiles, federation: &str, admit: Admit) -> Result<Gate, String> {
        let mut watch = Watch::default();
        watch.reading(files.stamp());
        let current = load(&files, federation, admit)?;
        Ok(Gate {
            files,
            federation: federation.into(),
            admit,
            current: RwLock::new(Arc::new(current)),
            generation: AtomicU64::new(0),
            watch: Mutex::new(watch),
        })
    }

    /// Reads the files again if they have changed. Files that are of no use change nothing, and are said loudly.
    pub fn refresh(&self) {
        if !self.watch.lock().expect("no panic under the lock").due(self.files.stamp()) {
            return;
        }
        let revokes = self.current().revokes;
        let read = load(&self.files, &self.federation, self.admit).and_then(|new| {
            if revokes && !new.revokes { Err(words::list_is_gone(&self.files.revoked)) } else { Ok(new) }
        });
        match read {
            Ok(new) => {
                *self.current.write().expect("no panic under the lock") = Arc::new(new);
                self.generation.fetch_add(1, Ordering::AcqRel);
                tracing::info!(
                    "certificates, authorities or revocations have changed: the new ones hold from now on"
                );
            }
            Err(reason) => {
                tracing::error!(
                    reason,
                    "new certificates, authorities or revocations are of no use: the old ones still hold"
                );
            }
        }
    }

    /// How often the files have changed.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What a connection that comes now is met with, and the generation of that.
    pub(crate) fn tls(&self) -> (Arc<ServerConfig>, u64) {
        // In this order: who is believed by newer files than it says is looked at once more.
        let generation = self.generation();
        (self.current().tls.clone(), generation)
    }

    /// What a browser is met with: the same certificate, and none is asked of it.
    pub(crate) fn page_tls(&self) -> Arc<ServerConfig> {
        self.current().page.clone()
    }

    /// Whether someone who was believed when it shook hands is still believed, if anything has changed since.
    pub fn still_good(&self, peer: &Peer) -> Result<(), String> {
        match &peer.0 {
            Some(presented) if presented.generation != self.generation() => self.look_again(peer),
            _ => Ok(()),
        }
    }

    /// Whether someone who was let in would still be, and why not.
    pub fn look_again(&self, peer: &Peer) -> Result<(), String> {
        let Some(presented) = &peer.0 else { return Ok(()) };
        let (first, rest) = presented.chain.split_first().expect("read from the first");
        let verified = self.current().verifier.verify_client_cert(first, rest, UnixTime::now());
        verified.map(drop).map_err(|error| words::of_client(&error, Some(&presented.certificate)))
    }

    fn current(&self) -> Arc<Current> {
        self.current.read().expect("no panic under the lock").clone()
    }
}

fn load(files: &KeyFiles, federation: &str, admit: Admit) -> Result<Current, String> {
    let loaded = files.load()?;
    let wrong = |e: rustls::Error| format!("{}: {e}", files.certificate.display());
    let (Some((chain, key)), Some(own)) = (loaded.own, loaded.certificate) else {
        return Err(format!(
            "{}: a coordinator needs a certificate: `cahoots keys init DIR --federation {federation} --host HOST` makes one, and \
             `[tls] keys = \"DIR/coordinator\"` uses it",
            files.certificate.display()
        ));
    };
    if own.name != Some(Name::coordinator(federation)) {
        return Err(format!(
            "{}: this certificate is for {}, not for the coordinator of federation {federation:?}: give that one's keys",
            files.certificate.display(),
            own.holder()
        ));
    }
    let now = now();
    if now > own.not_after || now < own.not_before {
        return Err(format!(
            "{}: this certificate is {}, and this machine's clock says {}: set the clock, or renew it with `cahoots keys server DIR`",
            files.certificate.display(),
            own.validity(),
            date(now)
        ));
    }
    if own.not_after - now < SOON {
        tracing::warn!(
            until = date(own.not_after),
            "this coordinator's certificate expires soon: renew it with `cahoots keys server DIR`"
        );
    }
    let mut verifier = WebPkiClientVerifier::builder_with_provider(loaded.roots, provider());
    let revokes = !loaded.revoked.is_empty();
    if revokes {
        verifier = verifier.with_crls(loaded.revoked).only_check_end_entity_revocation();
    }
    if admit != Admit::Certificates {
        verifier = verifier.allow_unauthenticated();
    }
    let verifier = verifier.build().map_err(|e| format!("{}: {e}", files.revoked.display()))?;
    let mut page = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_no_client_auth()
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(wrong)?;
    page.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut tls = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(chain, key)
        .map_err(wrong)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A session that is taken up again would not be asked for its certificate: nobody does that.
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    tls.send_tls13_tickets = 0;
    Ok(Current { tls: Arc::new(tls), page: Arc::new(page), verifier, revokes })
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs() as i64
}
