//! What a certificate says: for whom, for what, from when to when, by whom.

use time::OffsetDateTime;
use time::macros::format_description;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::name::Name;

/// A certificate, read and not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The one member that it is for.
    pub name: Option<Name>,
    /// Host names and addresses that it is for.
    pub hosts: Vec<String>,
    /// The subject in its own words.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// Names it among all that its authority has signed.
    pub serial: Vec<u8>,
    /// Seconds since 1970 from which it is valid.
    pub not_before: i64,
    /// The last second in which it is.
    pub not_after: i64,
    /// May it sign others?
    pub is_authority: bool,
}

impl Certificate {
    /// Reads one.
    pub fn read(der: &[u8]) -> Result<Certificate, String> {
        let (_, read) = X509Certificate::from_der(der).map_err(|e| format!("no certificate: {e}"))?;
        let names = read.subject_alternative_name().ok().flatten();
        let (mut members, mut hosts) = (Vec::new(), Vec::new());
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::URI(uri) => members.push(Name::parse(uri)),
                GeneralName::DNSName(host) => hosts.push((*host).to_string()),
                GeneralName::IPAddress(bytes) => hosts.extend(address(bytes)),
                _ => {}
            }
        }
        // Two names would be none: nobody speaks as whom it likes.
        let name = match members.as_slice() {
            [Some(name)] => Some(name.clone()),
            _ => None,
        };
        Ok(Certificate {
            name,
            hosts,
            subject: read.subject().to_string(),
            issuer: read.issuer().to_string(),
            serial: read.raw_serial().to_vec(),
            not_before: read.validity().not_before.timestamp(),
            not_after: read.validity().not_after.timestamp(),
            is_authority: read.is_ca(),
        })
    }

    /// For whom, in a few words.
    pub fn holder(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None if self.is_authority => format!("an authority, {}", self.subject),
            None => format!("no member of any federation, {}", self.subject),
        }
    }

    /// From when to when.
    pub fn validity(&self) -> String {
        format!("valid from {} until {}", date(self.not_before), date(self.not_after))
    }
}

/// A moment as people read it; to the minute, so that what is said again and again stays the same for a while.
///
/// ```
/// assert_eq!(cahoots_node::identity::date(60), "1970-01-01 00:01 UTC");
/// ```
pub fn date(seconds: i64) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute] UTC");
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok();
    moment.and_then(|moment| moment.format(format).ok()).unwrap_or_else(|| format!("second {seconds}"))
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(|b| std::net::IpAddr::from(b).to_string());
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(|b| std::net::IpAddr::from(b).to_string())).ok()
}
