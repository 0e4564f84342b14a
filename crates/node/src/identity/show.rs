//! What files of certificates hold, for people.

use std::path::{Path, PathBuf};

use x509_parser::prelude::{CertificateRevocationList, FromDer};

use super::certificate::{Certificate, date};
use super::files::{certificates, lists};
use super::gate::now;
use crate::error::NodeError;

/// For whom certificates are, for what, and until when: of a file, a member's folder, or a federation's keys.
pub fn show(path: &Path) -> Result<String, NodeError> {
    let files = if path.is_dir() { inside(path)? } else { vec![path.to_path_buf()] };
    if files.is_empty() {
        return Err(NodeError::Config(format!("{}: no certificates are here", path.display())));
    }
    files.iter().map(|file| described(file)).collect::<Result<String, String>>().map_err(NodeError::Config)
}

/// What can be shown in a folder and in those of its members.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, NodeError> {
    let wrong = |e: std::io::Error| NodeError::Config(format!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let own = path.join("certificate.pem");
        let named = |name: &str| path.file_name().is_some_and(|file| file == name);
        if own.exists() {
            found.push(own);
        } else if named("certificate.pem") || named("revoked.pem") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn described(file: &Path) -> Result<String, String> {
    let mut text = format!("{}\n", file.display());
    // Whatever else it is, it is no certificate: what is said then is about those.
    if let Ok(revoked) = lists(file) {
        for list in &revoked {
            let (_, list) =
                CertificateRevocationList::from_der(list).map_err(|e| format!("{}: {e}", file.display()))?;
            let count = list.iter_revoked_certificates().count();
            text.push_str(&format!(
                "  {count} revoked by {}, as of {}\n",
                list.issuer(),
                date(list.last_update().timestamp())
            ));
        }
        return Ok(text);
    }
    for der in certificates(file)? {
        let certificate = Certificate::read(&der).map_err(|e| format!("{}: {e}", file.display()))?;
        let hosts = if certificate.hosts.is_empty() {
            String::new()
        } else {
            format!(" at {}", certificate.hosts.join(", "))
        };
        let days = (certificate.not_after - now()).div_euclid(86_400);
        let left = match days {
            ..0 => "EXPIRED".into(),
            _ if now() < certificate.not_before => "NOT YET VALID".into(),
            days => format!("{days} days left"),
        };
        text.push_str(&format!(
            "  for {}{hosts}\n  {}: {left}\n",
            certificate.holder(),
            certificate.validity()
        ));
        if !certificate.is_authority {
            text.push_str(&format!("  signed by {}\n", certificate.issuer));
        }
    }
    Ok(text)
}
