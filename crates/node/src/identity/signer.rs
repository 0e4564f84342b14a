//! Who signs: members' certificates, and lists of those that are not believed any more.

use rcgen::{
    CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SanType, SerialNumber,
};
use time::{Duration, OffsetDateTime};

use super::name::{Name, Role};
use crate::error::NodeError;

/// How long an authority is believed.
pub(super) const AUTHORITY_DAYS: i64 = 3650;
/// Clocks differ: a certificate holds from a little before it was made.
pub(super) const BEFORE: Duration = Duration::HOUR;

/// Who signs: an authority's certificate and its key.
pub struct Signer {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub certificate: String,
    /// Its key: the federation's greatest secret.
    pub key: String,
}

/// A certificate, its key and its number.
pub struct Signed {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    serial: [u8; 16],
}

impl Signer {
    /// A new authority for a federation.
    pub fn new(federation: &str, from: OffsetDateTime, until: OffsetDateTime) -> Result<Signer, NodeError> {
        let key = KeyPair::generate().map_err(made)?;
        let mut params = CertificateParams::default();
        // No two authorities have one name, not even of federations that do.
        let mark: String = random::<4>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, format!("Cahoots authority {mark} of {federation}"));
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.serial_number = Some(SerialNumber::from_slice(&serial()?));
        (params.not_before, params.not_after) = (from, until);
        let certificate = params.self_signed(&key).map_err(made)?.pem();
        Signer::read(certificate, key.serialize_pem())
    }

    /// One that was made before.
    pub fn read(certificate: String, key: String) -> Result<Signer, NodeError> {
        let pair = KeyPair::from_pem(&key).map_err(made)?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, pair).map_err(made)?;
        Ok(Signer { issuer, certificate, key })
    }

    /// A member's certificate, with a key of its own.
    pub fn sign(
        &self,
        name: &Name,
        hosts: &[String],
        from: OffsetDateTime,
        until: OffsetDateTime,
    ) -> Result<Signed, NodeError> {
        let key = KeyPair::generate().map_err(made)?;
        let mut params = CertificateParams::new(hosts.to_vec()).map_err(|e| {
            NodeError::Config(format!("{hosts:?}: no host names or addresses for a certificate: {e}"))
        })?;
        let uri = name.uri().try_into().map_err(made)?;
        params.subject_alt_names.push(SanType::URI(uri));
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name.to_string());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match name.role {
            Role::Coordinator => ExtendedKeyUsagePurpose::ServerAuth,
            Role::Client(_) => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        let serial = serial()?;
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        (params.not_before, params.not_after) = (from, until);
        let certificate = params.signed_by(&key, &self.issuer).map_err(made)?.pem();
        Ok(Signed { certificate, key: key.serialize_pem(), serial })
    }

    /// The list of what it has revoked: serial numbers, and when.
    pub fn revoke(&self, revoked: &[(Vec<u8>, OffsetDateTime)]) -> Result<String, NodeError> {
        let now = OffsetDateTime::now_utc();
        let list = CertificateRevocationListParams {
            this_update: now,
            next_update: now + Duration::days(AUTHORITY_DAYS),
            crl_number: SerialNumber::from_slice(&(now.unix_timestamp_nanos() as u64).to_be_bytes()),
            issuing_distribution_point: None,
            revoked_certs: revoked
                .iter()
                .map(|(serial, when)| RevokedCertParams {
                    serial_number: SerialNumber::from_slice(serial),
                    revocation_time: *when,
                    reason_code: None,
                    invalidity_date: None,
                })
                .collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).map_err(made)?.pem().map_err(made)
    }
}

impl Signed {
    /// Names it in a list of revoked ones.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }
}

fn made(error: rcgen::Error) -> NodeError {
    NodeError::Config(format!("no certificate can be made: {error}"))
}

fn random<const N: usize>() -> Result<[u8; N], NodeError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| NodeError::Stopped(format!("the system gives no random bytes: {e}")))?;
    Ok(bytes)
}

/// A positive number of 127 bits, which nobody can guess.
fn serial() -> Result<[u8; 16], NodeError> {
    let mut serial = random::<16>()?;
    serial[0] = serial[0] & 0x7f | 0x40;
    Ok(serial)
}
