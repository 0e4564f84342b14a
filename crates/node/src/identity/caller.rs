//! A client's end: whom it believes to be its coordinator, and its own certificate. The files may change while it runs.

use std::fmt;
use std::sync::{Arc, Mutex};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, OtherError, SignatureScheme};

use super::certificate::Certificate;
use super::files::{KeyFiles, Watch};
use super::name::Name;
use super::{PROTOCOL, provider, words};

/// What a client connects with.
pub struct Caller {
    files: KeyFiles,
    federation: String,
    current: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    watch: Watch,
    identity: Option<Identity>,
    trouble: String,
}

/// What holds now.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) tls: Arc<ClientConfig>,
    /// This client's own.
    pub(crate) certificate: Option<Certificate>,
    revokes: bool,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Caller {
    /// A member of `federation` whose files these are. They are read when it connects.
    pub fn new(files: KeyFiles, federation: &str) -> Caller {
        Caller { files, federation: federation.into(), current: Mutex::default() }
    }

    /// Reads the files again if they have changed; `true` if something else holds now. Files that are of no use change
    /// nothing, and are said loudly.
    pub fn refresh(&self) -> bool {
        let stamp = self.files.stamp();
        let mut held = self.current.lock().expect("no panic under the lock");
        if held.identity.is_none() {
            held.watch.reading(stamp);
        } else if !held.watch.due(stamp) {
            return false;
        }
        let revokes = held.identity.as_ref().is_some_and(|identity| identity.revokes);
        let certified = held.identity.as_ref().is_some_and(|identity| identity.certificate.is_some());
        let read = load(&self.files, &self.federation).and_then(|new| {
            if revokes && !new.revokes {
                Err(words::list_is_gone(&self.files.revoked))
            } else if certified && new.certificate.is_none() {
                Err(words::certificate_is_gone(&self.files.certificate))
            } else {
                Ok(new)
            }
        });
        match read {
            Ok(new) => {
                if held.identity.is_some() {
                    tracing::info!(
                        "certificates, authorities or revocations have changed: the new ones hold from now on"
                    );
                }
                held.identity = Some(new);
                true
            }
            Err(reason) => {
                if held.identity.is_some() {
                    tracing::error!(
                        reason,
                        "new certificates, authorities or revocations are of no use: the old ones still hold"
                    );
                }
                held.trouble = reason;
                false
            }
        }
    }

    /// What holds now, or why there is nothing to connect with.
    pub(crate) fn identity(&self) -> Result<Identity, String> {
        self.refresh();
        let held = self.current.lock().expect("no panic under the lock");
        held.identity.clone().ok_or_else(|| held.trouble.clone())
    }
}

fn load(files: &KeyFiles, federation: &str) -> Result<Identity, String> {
    let loaded = files.load()?;
    let wrong = |e: rustls::Error| format!("{}: {e}", files.certificate.display());
    let mut verifier = WebPkiServerVerifier::builder_with_provider(loaded.roots, provider());
    let revokes = !loaded.revoked.is_empty();
    if revokes {
        verifier = verifier.with_crls(loaded.revoked).only_check_end_entity_revocation();
    }
    let verifier = verifier.build().map_err(|e| format!("{}: {e}", files.revoked.display()))?;
    let verifier = CoordinatorOf { federation: federation.into(), verifier };
    let tls = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(wrong)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut tls = match loaded.own {
        Some((chain, key)) => tls.with_client_auth_cert(chain, key).map_err(wrong)?,
        None => tls.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.resumption = Resumption::disabled();
    Ok(Identity { tls: Arc::new(tls), certificate: loaded.certificate, revokes })
}

/// The usual checks (who signed it, when, for which host, revoked or not), and one more: that it is the certificate of
/// this federation's coordinator.
#[derive(Debug)]
struct CoordinatorOf {
    federation: String,
    verifier: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for CoordinatorOf {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified =
            self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        let certificate = Certificate::read(end_entity).map_err(other)?;
        if certificate.name == Some(Name::coordinator(&self.federation)) {
            return Ok(verified);
        }
        Err(other(words::not_our_coordinator(&certificate, &self.federation)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// An error in our own words.
fn other(reason: String) -> rustls::Error {
    let reason: Box<dyn std::error::Error + Send + Sync> = reason.into();
    rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(reason.into())))
}
