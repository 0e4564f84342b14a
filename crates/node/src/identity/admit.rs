//! Who is let in, and where plain text is allowed.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::caller::Caller;
use super::gate::Gate;
use super::invitation::Secret;
use crate::error::NodeError;

/// Who may have a client number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Admit {
    /// Whoever has a certificate for it.
    Certificates,
    /// Whoever has a certificate for it, or was invited and keeps the secret that it then made.
    Tokens,
    /// The first who claims it.
    #[default]
    Anyone,
}

/// How a coordinator knows whom it lets in. By default it speaks plain text, on this machine alone, to anyone.
#[derive(Clone, Debug, Default)]
pub struct ServeSecurity {
    /// TLS, with these keys.
    pub gate: Option<Arc<Gate>>,
    /// Who may have a number.
    pub admit: Admit,
    /// Plain text may leave this machine.
    pub plain_text: bool,
}

impl ServeSecurity {
    /// Refuses to speak plain text to other machines, unless that was asked for.
    pub(crate) fn may_listen(&self, at: IpAddr) -> Result<(), NodeError> {
        if self.gate.is_some() {
            return Ok(());
        }
        let host = at.to_string();
        let what = format!("this coordinator would listen on {host}");
        let fix = "`cahoots keys init DIR --federation NAME --host HOST` makes keys, and `[tls] keys = \"DIR/coordinator\"` uses them";
        may_be_plain(&host, self.plain_text, &what, fix).map_err(NodeError::Config)
    }
}

/// How a client shows who it is. By default it speaks plain text, on this machine alone.
#[derive(Clone, Debug, Default)]
pub struct ClientSecurity {
    /// What it connects to "https://..." with.
    pub caller: Option<Arc<Caller>>,
    /// What lets it in the first time.
    pub invitation: Option<Secret>,
    /// Plain text may leave this machine.
    pub plain_text: bool,
}

/// Whether a host is this machine itself.
pub fn loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Refuses plain text to or from another machine, unless it was asked for. `what` is what one was about to do, `fix`
/// how to do it encrypted.
pub fn may_be_plain(host: &str, plain_text: bool, what: &str, fix: &str) -> Result<(), String> {
    if plain_text || loopback(host) {
        return Ok(());
    }
    Err(format!(
        "{what} without encryption: whoever is on the way could read, alter and forge all that is said. {fix}; \
         on a network that nobody else can reach, `plain_text = true` allows it"
    ))
}
