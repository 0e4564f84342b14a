//! Every way to fail, with the fix, for either end.

use std::path::Path;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::certificate::{Certificate, date};
use super::gate::now;

/// What a coordinator says about a client that did not get through.
pub fn of_client(error: &Error, certificate: Option<&Certificate>) -> String {
    let whose =
        certificate.map_or("a client's certificate".into(), |c| format!("the certificate of {}", c.holder()));
    let fix = "`cahoots keys client DIR NUMBER`";
    match error {
        Error::NoCertificatesPresented => format!(
            "a client gave no certificate: make it one with {fix} and name it as `keys` under [tls] in its file, or let \
             clients in by invitation (`admit = \"tokens\"`)"
        ),
        Error::InvalidCertificate(reason) => {
            let (time, limit) = moments(reason);
            match reason {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
                    "{whose} has expired{}: renew it with {fix}; or this machine's clock is wrong: it says {time}",
                    at(limit)
                ),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => format!(
                    "{whose} is not valid yet{}: wait, or make a new one with {fix}; or this machine's clock is wrong: it \
                     says {time}",
                    from(limit)
                ),
                CertificateError::Revoked => format!(
                    "{whose} has been revoked: if that client is to come back, make it a new one with {fix}"
                ),
                CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
                    "{whose} was not signed by an authority that this coordinator believes: make the client a new one with {fix}; \
                     after a rotation, add the old authority to `authorities` for a while"
                ),
                CertificateError::UnknownRevocationStatus => format!(
                    "{whose} was signed by an authority for which `revoked` has no list: `cahoots keys rotate` and `revoke` \
                     write one for each authority"
                ),
                CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                    format!("{whose} is not for a client: make it one with {fix}")
                }
                other => format!("{whose} is of no use ({other}): make a new one with {fix}"),
            }
        }
        Error::AlertReceived(alert) => format!(
            "a client did not believe this coordinator ({}): {}",
            alert_name(*alert),
            match alert {
                AlertDescription::CertificateExpired =>
                    "renew this coordinator's certificate with `cahoots keys server DIR`, or set the client's clock",
                AlertDescription::CertificateRevoked =>
                    "this coordinator's certificate is revoked: make a new one with `cahoots keys server DIR`",
                AlertDescription::UnknownCA | AlertDescription::DecryptError =>
                    "give the client the authorities.pem that `cahoots keys` keeps beside this coordinator's certificate",
                AlertDescription::BadCertificate =>
                    "its `coordinator` is a host that this certificate does not name: `cahoots keys server DIR --host HOST`",
                AlertDescription::CertificateUnknown =>
                    "it is of another federation, or knows this one by another name: correct `coordinator` or `federation` there",
                _ => "its log says why",
            }
        ),
        error if is_plain(error) => PLAIN_TO_TLS.into(),
        other => format!("a connection did not become secure: {other}"),
    }
}

/// A client that speaks plain text to a coordinator that does not.
pub const PLAIN_TO_TLS: &str = "plain text came where this coordinator speaks TLS: write \"https://...\" as `coordinator` \
                                in the client's file, and give it [tls]";

/// A client that speaks TLS to a coordinator that does not.
pub const TLS_TO_PLAIN: &str = "TLS came where this coordinator speaks plain text: give it [tls] with the keys of `cahoots \
                                keys init`, or, on one machine, write \"http://...\" as `coordinator` in the client's file";

/// The same, as the client that spoke plain text says it.
pub const COORDINATOR_SPEAKS_TLS: &str = "the coordinator speaks TLS: write \"https://...\" as `coordinator`, and give this \
                                          client [tls] with the keys of `cahoots keys client`";

/// The same, as the client that spoke TLS says it.
pub const COORDINATOR_SPEAKS_PLAIN: &str = "the coordinator does not speak TLS: give it [tls] with the keys of `cahoots keys \
                                            init`, or, on one machine, write \"http://...\" as `coordinator`";

/// What a client says about a coordinator that it did not get through to.
pub fn of_coordinator(error: &Error, own: Option<&Certificate>) -> String {
    let renew = "`cahoots keys server DIR` at the coordinator";
    match error {
        Error::InvalidCertificate(reason) => {
            let (time, limit) = moments(reason);
            match reason {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
                    "the coordinator's certificate has expired{}: renew it with {renew}; or this machine's clock is wrong: it \
                     says {time}",
                    at(limit)
                ),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => format!(
                    "the coordinator's certificate is not valid yet{}: wait, or make a new one with {renew}; or this \
                     machine's clock is wrong: it says {time}",
                    from(limit)
                ),
                CertificateError::Revoked => {
                    format!("the coordinator's certificate has been revoked: make a new one with {renew}")
                }
                CertificateError::NotValidForNameContext { expected, presented } => format!(
                    "the coordinator's certificate is for {}, not for {}: correct `coordinator`, or make a certificate for that \
                     host too with `cahoots keys server DIR --host {} ...` at the coordinator",
                    listed(presented),
                    expected.to_str(),
                    expected.to_str()
                ),
                CertificateError::UnknownIssuer | CertificateError::BadSignature => "the coordinator's certificate was not \
                    signed by an authority that this client believes: copy the federation's newest authorities.pem (in the folder of \
                    `cahoots keys`) to where `keys` or `authorities` under [tls] says; or `coordinator` is someone else's"
                    .into(),
                CertificateError::UnknownRevocationStatus => "the coordinator's certificate was signed by an authority \
                    for which this client's revoked.pem has no list: copy the federation's newest revoked.pem"
                    .into(),
                CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                    format!("who answers there has no certificate of a coordinator: correct `coordinator`, or {renew}")
                }
                CertificateError::Other(reason) => reason.0.to_string(),
                other => format!("the coordinator's certificate is of no use ({other}): make a new one with {renew}"),
            }
        }
        Error::AlertReceived(alert) => refused_by_coordinator(*alert, own),
        error if is_plain(error) => COORDINATOR_SPEAKS_PLAIN.into(),
        other => format!("the connection to the coordinator did not become secure: {other}"),
    }
}

/// The coordinator has looked at this client's certificate, and says in one word what it thinks of it.
fn refused_by_coordinator(alert: AlertDescription, own: Option<&Certificate>) -> String {
    let make = "`cahoots keys client DIR NUMBER` where the federation's keys are";
    let time = date(now());
    match (alert, own) {
        (AlertDescription::CertificateRequired, _) => format!(
            "the coordinator lets nobody in without a certificate: make one with {make}, and name its folder as `keys` under [tls]"
        ),
        (AlertDescription::CertificateExpired, Some(own)) if now() > own.not_after => format!(
            "this client's certificate has expired on {}: renew it with {make}; or this machine's clock is wrong: it says {time}",
            date(own.not_after)
        ),
        (AlertDescription::CertificateExpired, Some(own)) if now() < own.not_before => format!(
            "this client's certificate is not valid before {}: wait, or make a new one with {make}; or this machine's clock is \
             wrong: it says {time}",
            date(own.not_before)
        ),
        (AlertDescription::CertificateExpired, own) => format!(
            "the coordinator's clock says that this client's certificate{} has expired or is not valid yet, and this machine's \
             clock says {time}: one of the clocks is wrong",
            own.map_or(String::new(), |own| format!(", {},", own.validity()))
        ),
        (AlertDescription::CertificateRevoked, _) => {
            format!(
                "this client's certificate has been revoked: if it is to come back, make it a new one with {make}"
            )
        }
        (AlertDescription::UnknownCA | AlertDescription::DecryptError, _) => format!(
            "this client's certificate was not signed by an authority that the coordinator believes: make it a new one with \
             {make}, or, after a rotation, let the coordinator believe the old authority for a while"
        ),
        (AlertDescription::UnsupportedCertificate, _) => {
            format!("this client's certificate is not for a client: make it one with {make}")
        }
        (alert, _) => {
            format!("the coordinator did not accept this client ({}): its log says why", alert_name(alert))
        }
    }
}

/// A certificate that is good, and of someone else.
pub fn not_our_coordinator(certificate: &Certificate, federation: &str) -> String {
    format!(
        "who answers there has the certificate of {}, not of the coordinator of federation {federation:?}: correct \
         `coordinator` or `federation`, or give this client the authorities.pem of its own federation",
        certificate.holder()
    )
}

/// Whether an error is a judgement on who is who, and not a network's doing. While hands are shaken, what is no TLS
/// at all is one too.
pub(crate) fn is_verdict(error: &Error, shaking: bool) -> bool {
    use AlertDescription as Alert;
    match error {
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => true,
        Error::AlertReceived(alert) => matches!(
            alert,
            Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::CertificateRequired
                | Alert::UnknownCA
                | Alert::AccessDenied
                | Alert::DecryptError
                | Alert::HandshakeFailure
                | Alert::ProtocolVersion
                | Alert::NoApplicationProtocol
        ),
        error => shaking && is_plain(error),
    }
}

/// Revocations must not be undone by a file that is lost.
pub fn list_is_gone(path: &Path) -> String {
    format!("{}: the list of revoked certificates is gone: put it back", path.display())
}

/// Nor does a client go on as nobody in particular.
pub fn certificate_is_gone(path: &Path) -> String {
    format!("{}: this client's certificate is gone: put it back", path.display())
}

/// What was heard was no TLS at all.
fn is_plain(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion)
    )
}

/// The moment of the check and the one that it missed, where they are known.
fn moments(reason: &CertificateError) -> (String, Option<UnixTime>) {
    match reason {
        CertificateError::ExpiredContext { time, not_after } => (moment(time), Some(*not_after)),
        CertificateError::NotValidYetContext { time, not_before } => (moment(time), Some(*not_before)),
        _ => (date(now()), None),
    }
}

fn moment(time: &UnixTime) -> String {
    date(time.as_secs() as i64)
}

fn at(limit: Option<UnixTime>) -> String {
    limit.map_or(String::new(), |limit| format!(" on {}", moment(&limit)))
}

fn from(limit: Option<UnixTime>) -> String {
    limit.map_or(String::new(), |limit| format!(", only from {}", moment(&limit)))
}

/// Hosts that a certificate names, which are given as `DnsName("...")` or `IpAddress(...)`.
fn listed(names: &[String]) -> String {
    let host = |name: &String| {
        let (kind, rest) = name.split_once('(')?;
        matches!(kind, "DnsName" | "IpAddress").then(|| rest.trim_matches([')', '"']).to_string())
    };
    let hosts: Vec<String> = names.iter().filter_map(host).collect();
    if hosts.is_empty() { "no host".into() } else { hosts.join(", ") }
}

fn alert_name(alert: AlertDescription) -> String {
    format!("{alert:?}")
}
