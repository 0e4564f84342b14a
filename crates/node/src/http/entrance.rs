//! Who may ask a client anything over HTTP. A browser on this machine runs pages of strangers, so that coming from this
//! machine says little: what pages can send without asking first is not taken, and what they ask for is answered for listed
//! origins alone.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN,
    TRANSFER_ENCODING, VARY,
};
use hyper::{Method, StatusCode};

use super::request::{Answer, Refused, answer};
use crate::identity::loopback;
use crate::limits::{NAME, cut};
use crate::login::Login;

/// What apps of Personalizer send their token as.
const SUBSCRIPTION_KEY: &str = "ocp-apim-subscription-key";

/// Whom to let in: by default who speaks to this machine under its own name, and no pages.
#[derive(Clone, Default)]
pub struct Entrance {
    login: Option<Login>,
    origins: Vec<String>,
    /// A socket of this machine, which no page can reach.
    socket: bool,
}

impl Entrance {
    /// Those who have the token, if there is one; pages of these origins; over a socket or not.
    pub fn new(token: Option<String>, origins: Vec<String>, socket: bool) -> Result<Entrance, String> {
        // What a client says travels in plain text; whoever has TLS stands before it.
        let login = token.map(|token| Login::new(token, "the client's", false)).transpose()?;
        if let Some(origin) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(format!(
                "origins: {origin:?} is no origin like \"https://shop.example\" or \"http://localhost:3000\""
            ));
        }
        Ok(Entrance { login, origins, socket })
    }

    /// How a browser shows the token, where there is one.
    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// The origin of the page that asks, where it is a page; refuses those that are not listed.
    pub(super) fn origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refused> {
        let mut given = headers.get_all(ORIGIN).iter();
        let Some(origin) = given.next() else { return Ok(None) };
        let text = origin.to_str().unwrap_or_default();
        if given.next().is_none() && self.origins.iter().any(|listed| listed == text) {
            return Ok(Some(origin.clone()));
        }
        Err(Refused(
            StatusCode::FORBIDDEN,
            format!(
                "a page of origin {:?} may not ask this client: list it in `origins = [...]` in the client's file if it may",
                cut(text, NAME)
            ),
        ))
    }

    /// Refuses who does not have the token, or, where there is none, who does not speak to this machine by its own name; and
    /// what pages send without asking first.
    pub(super) fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refused> {
        // What a browser was given for the token is good for looking, and decides nothing: it goes along with whatever any
        // page of this host, on whatever port, has the browser send.
        let looks = *method == Method::GET || *method == Method::HEAD;
        match &self.login {
            Some(login)
                if login.is_borne(headers) || is_key(login, headers) || looks && login.was_shown(headers) => {
            }
            Some(login) => return Err(Refused(StatusCode::UNAUTHORIZED, login.missing())),
            // A page whose name was made to mean this machine still says its name.
            None if !self.socket && !speaks_to_this_machine(headers) => {
                let words = "the `host` of the request is not this machine (127.0.0.1, localhost or [::1]): ask under that name, or \
                             set `token` in the client's file";
                return Err(Refused(StatusCode::FORBIDDEN, words.into()));
            }
            None => {}
        }
        if *method == Method::POST && has_body(headers) && !is_json(headers) {
            let words = "bodies are JSON, and must say so: send `content-type: application/json`";
            return Err(Refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, words.into()));
        }
        Ok(())
    }
}

fn is_origin(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['/', '*', ' ']))
}

/// Whether a request names this machine by one of its own names.
pub(crate) fn speaks_to_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // What follows the last colon is a port, unless it is within brackets.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    loopback(name)
}

/// Whether an app of Personalizer's shows the token.
fn is_key(login: &Login, headers: &HeaderMap) -> bool {
    headers.get(SUBSCRIPTION_KEY).is_some_and(|key| login.is(key.as_bytes()))
}

/// Without a body there is nothing that a page could send unasked but its origin, which is looked at first.
fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    headers.contains_key(TRANSFER_ENCODING)
        || headers.contains_key(CONTENT_TYPE)
        || length.is_some_and(|length| length != "0")
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// A browser asks whether a listed page may ask: it may.
pub(super) fn preflight(origin: &HeaderValue) -> Answer {
    let mut yes = answer(StatusCode::NO_CONTENT, Default::default());
    let headers = yes.headers_mut();
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("content-type, authorization, ocp-apim-subscription-key"),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    headers.insert("access-control-allow-private-network", HeaderValue::from_static("true"));
    share(headers, origin);
    yes
}

/// A listed page may read this answer.
pub(super) fn share(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(VARY, HeaderValue::from_static("origin"));
}
