//! How a browser shows a token: once, in a form, for a cookie that no script can read. A coordinator's page and a client's
//! have the same way in.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderValue, LOCATION, ORIGIN, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use crate::assets;
use crate::identity::{digest, same};

/// Where the form is sent.
pub(crate) const LOGIN: &str = "/login";

/// The longest form.
const FORM: usize = 4096;

/// What goes back to a browser that wants in.
pub(crate) type Answer = Response<Full<Bytes>>;

/// A token, and how it is asked for.
#[derive(Clone)]
pub(crate) struct Login {
    token: String,
    /// Whose file it is in: "the coordinator's".
    whose: &'static str,
    /// What is said travels over TLS.
    secure: bool,
}

impl Login {
    /// With this token; refuses one that can be guessed.
    pub(crate) fn new(token: String, whose: &'static str, secure: bool) -> Result<Login, String> {
        if token.len() < 16 {
            return Err(
                "a `token` of less than 16 characters can be guessed: `openssl rand -hex 32` makes one"
                    .into(),
            );
        }
        Ok(Login { token, whose, secure })
    }

    /// Whether this is the token.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        same(given, self.token.as_bytes())
    }

    /// Whether a program shows it in a header.
    pub(crate) fn is_borne(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        self.is(given.as_bytes())
    }

    /// Whether a browser has shown it before.
    pub(crate) fn was_shown(&self, headers: &HeaderMap) -> bool {
        let (name, wanted) = self.cookie();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && same(value.as_bytes(), wanted.as_bytes()))
    }

    /// Why somebody was not let in.
    pub(crate) fn missing(&self) -> String {
        let whose = self.whose;
        format!("`authorization: Bearer TOKEN` is missing or wrong: it is `token` in {whose} file")
    }

    /// What a browser keeps: it shows that its owner knew the token, and does not say it. Browsers send the cookies of all
    /// ports of a host to each of them, so every token has a name of its own: who looks at several pages stays known to all.
    fn cookie(&self) -> (String, String) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let of = |purpose: &str| digest(format!("cahoots {purpose}\0{}", self.token).as_bytes());
        (format!("cahoots-{}", hex(&of("page's name")[..4])), hex(&of("page")))
    }

    /// [`LOGIN`]: the form, or what somebody has typed into it, which must come within some time.
    pub(crate) async fn answer(&self, request: Request<Incoming>, patience: Duration) -> Answer {
        if request.method() != Method::POST {
            return self.form(StatusCode::OK, "");
        }
        let origin = request.headers().get(ORIGIN).cloned();
        if origin.as_ref().is_some_and(|origin| !is_own(origin, request.headers(), self.secure)) {
            return refused(StatusCode::FORBIDDEN, "pages of other origins may not log in");
        }
        let body = tokio::time::timeout(patience, Limited::new(request.into_body(), FORM).collect()).await;
        let Ok(Ok(body)) = body else {
            return refused(StatusCode::BAD_REQUEST, "a form with a `token` is expected");
        };
        let body = body.to_bytes();
        let fields = body.split(|byte| *byte == b'&');
        let given = fields.filter_map(|field| field.strip_prefix(b"token=")).next().map(unescaped);
        if !given.is_some_and(|given| same(&given, self.token.as_bytes())) {
            return self.form(StatusCode::UNAUTHORIZED, "This is not the token.");
        }
        let mut answer = to_the_page();
        // Somebody may stand before this with TLS.
        let secure = self.secure || origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
        let (name, value) = self.cookie();
        let secure = if secure { "; Secure" } else { "" };
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().insert(SET_COOKIE, cookie);
        }
        answer
    }

    /// Asks for the token.
    pub(crate) fn form(&self, status: StatusCode, words: &str) -> Answer {
        let whose = self.whose;
        page(
            status,
            format!(
                "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
                 content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
                 <title>cahoots</title><link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/page.css\"></head>\
                 <body><main class=\"panel login\"><h1>cahoots</h1><p role=\"alert\">{words}</p><form method=\"post\" action=\"/login\"><p><label>Token \
                 <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus></label> \
                 <button>look</button></p><p>It is <code>token</code> in {whose} file.</p></form></main></body></html>"
            ),
        )
    }
}

/// Whether a page's origin is the address that was asked. Who is asked without TLS may have somebody before it who has it.
pub(crate) fn is_own(origin: &HeaderValue, headers: &HeaderMap, secure: bool) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let Ok(origin) = origin.to_str() else { return false };
    origin == format!("https://{host}") || !secure && origin == format!("http://{host}")
}

/// Where whoever is let in goes, and whoever needs no token.
pub(crate) fn to_the_page() -> Answer {
    let mut answer = page(StatusCode::SEE_OTHER, String::new());
    answer.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    answer
}

fn page(status: StatusCode, html: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(html)));
    *answer.status_mut() = status;
    assets::dress(answer.headers_mut(), assets::HTML);
    answer
}

fn refused(status: StatusCode, words: &str) -> Answer {
    let mut answer = Response::new(Full::new(json!({ "error": words }).to_string().into()));
    *answer.status_mut() = status;
    assets::dress(answer.headers_mut(), "application/json");
    answer
}

/// A field of a form, as it was typed.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        rest = tail;
        let hex = |digit: u8| (digit as char).to_digit(16);
        match (first, tail) {
            (b'+', _) => text.push(b' '),
            (b'%', [a, b, after @ ..]) if hex(*a).is_some() && hex(*b).is_some() => {
                text.push((16 * hex(*a).unwrap_or(0) + hex(*b).unwrap_or(0)) as u8);
                rest = after;
            }
            (byte, _) => text.push(*byte),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn headers(key: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(key.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn a_token_is_shown_in_a_header_or_by_what_it_was_exchanged_for() {
        let login = Login::new(TOKEN.into(), "the test's", false).unwrap();
        let (name, value) = login.cookie();
        assert!(!value.contains(TOKEN) && !name.contains(TOKEN));
        assert!(login.is_borne(&headers("authorization", &format!("Bearer {TOKEN}"))));
        assert!(login.was_shown(&headers("cookie", &format!("a=b; {name}={value}"))));
        for wrong in [TOKEN, "Bearer 0123456789abcdeg", "Bearer ", ""] {
            assert!(!login.is_borne(&headers("authorization", wrong)), "{wrong}");
        }
        for wrong in [format!("{name}={TOKEN}"), format!("{name}="), format!("cahoots={value}"), value] {
            assert!(!login.was_shown(&headers("cookie", &wrong)), "{wrong}");
        }
        assert!(Login::new("short".into(), "the test's", false).is_err());
    }

    /// One host has one jar of cookies for all of its ports.
    #[test]
    fn two_pages_on_one_host_do_not_forget_each_other_s_visitors() {
        let one = Login::new(TOKEN.into(), "the test's", false).unwrap();
        let other = Login::new(format!("{TOKEN}0"), "the test's", false).unwrap();
        assert_ne!(one.cookie().0, other.cookie().0);
        let [a, b] = [one.cookie(), other.cookie()];
        let jar = headers("cookie", &format!("{}={}; {}={}", a.0, a.1, b.0, b.1));
        assert!(one.was_shown(&jar) && other.was_shown(&jar));
    }

    #[test]
    fn a_page_s_own_origin_is_the_address_that_was_asked() {
        let asked = headers("host", "shop.example:7801");
        let own = |origin: &str, secure| is_own(&origin.parse().unwrap(), &asked, secure);
        assert!(own("http://shop.example:7801", false) && own("https://shop.example:7801", false));
        assert!(own("https://shop.example:7801", true) && !own("http://shop.example:7801", true));
        for other in ["http://shop.example", "http://evil.example:7801", "null", "shop.example:7801"] {
            assert!(!own(other, false), "{other}");
        }
    }

    #[test]
    fn forms_are_read_as_they_were_typed() {
        assert_eq!(unescaped(b"a+b%2Bc%zz%4"), b"a b+c%zz%4");
    }
}
