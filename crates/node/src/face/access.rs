//! Whom a coordinator shows itself to: who speaks to this machine by its own name, or who has the token.

use hyper::StatusCode;
use hyper::header::{HeaderMap, ORIGIN};

use super::answers::Refused;
use crate::http::speaks_to_this_machine;
use crate::login::{Login, is_own};

/// Who may look.
#[derive(Clone, Default)]
pub struct Access {
    login: Option<Login>,
    /// A socket of this machine, which no page can reach.
    socket: bool,
    /// What is said travels over TLS.
    secure: bool,
}

impl Access {
    /// Those who have the token, if there is one; over a socket, over TLS.
    pub fn new(token: Option<String>, socket: bool, secure: bool) -> Result<Access, String> {
        let login = token.map(|token| Login::new(token, "the coordinator's", secure)).transpose()?;
        Ok(Access { login, socket, secure })
    }

    /// How a browser shows the token, where there is one.
    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Refuses who does not have the token, or, where there is none, who does not speak to this machine by its own name.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<(), Refused> {
        // A page of another origin has no business here, token or not.
        if let Some(origin) = headers.get(ORIGIN)
            && !is_own(origin, headers, self.secure)
        {
            let words = "pages of other origins may not read this".into();
            return Err(Refused(StatusCode::FORBIDDEN, words));
        }
        match &self.login {
            Some(login) if login.was_shown(headers) || login.is_borne(headers) => Ok(()),
            Some(login) => Err(Refused(StatusCode::UNAUTHORIZED, login.missing())),
            None if self.socket || speaks_to_this_machine(headers) => Ok(()),
            None => {
                let words = "the `host` of the request is not this machine (127.0.0.1, localhost or [::1]): ask under that name, or \
                             set `token` in the coordinator's file";
                Err(Refused(StatusCode::FORBIDDEN, words.into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap<_>>()
    }

    #[test]
    fn without_a_token_one_speaks_to_this_machine_by_its_name() {
        let access = Access::default();
        assert!(access.admit(&headers(&[("host", "127.0.0.1:7780")])).is_ok());
        for host in ["rebound.example", "10.0.0.7:7780", ""] {
            assert!(access.admit(&headers(&[("host", host)])).is_err(), "{host}");
        }
        let other = headers(&[("host", "localhost:1"), ("origin", "https://evil.example")]);
        assert!(access.admit(&other).is_err());
        assert!(access.admit(&headers(&[("host", "localhost:1"), ("origin", "http://localhost:1")])).is_ok());
    }

    #[test]
    fn with_a_token_the_name_of_the_machine_opens_nothing() {
        let access = Access::new(Some("0123456789abcdef".into()), false, true).unwrap();
        assert!(access.admit(&headers(&[("authorization", "Bearer 0123456789abcdef")])).is_ok());
        for (key, value) in [("host", "127.0.0.1"), ("authorization", "Bearer 0123456789abcdeg")] {
            assert!(access.admit(&headers(&[(key, value)])).is_err(), "{key}: {value}");
        }
        assert!(Access::new(Some("short".into()), false, true).is_err());
    }
}
