//! Where a client's coordinator is: one address, or several where any of several coordinators may lead.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tonic::codegen::http::Uri;

use crate::error::NodeError;
use crate::identity::{ClientSecurity, loopback, may_be_plain};

/// Addresses of a federation's coordinators, at least one, none of them twice. As text, with commas between.
///
/// ```
/// use cahoots_node::client::Coordinators;
///
/// let three = Coordinators::from("https://a:7700, https://b:7700,https://A:7700/");
/// assert_eq!(three.all(), ["https://a:7700", "https://b:7700"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinators(Vec<String>);

impl Coordinators {
    /// All of them, in the order in which they are tried.
    pub fn all(&self) -> &[String] {
        &self.0
    }

    /// Addresses as they were given; `None` where there are none.
    fn of<'a>(given: impl IntoIterator<Item = &'a str>) -> Option<Coordinators> {
        let mut all: Vec<String> = Vec::new();
        for url in given.into_iter().flat_map(|text| text.split(',')).map(str::trim) {
            if !url.is_empty() && !all.iter().any(|known| same(known, url)) {
                all.push(url.into());
            }
        }
        (!all.is_empty()).then_some(Coordinators(all))
    }

    /// Whether what is said to them stays between the two, whichever of them it is. Refuses what is no address, and
    /// plain text to other machines, unless that was asked for.
    pub(super) fn discreet(&self, security: &ClientSecurity) -> Result<bool, NodeError> {
        let mut all = true;
        for url in &self.0 {
            all &= discreet(url, security)?;
        }
        Ok(all)
    }
}

impl From<&str> for Coordinators {
    fn from(text: &str) -> Coordinators {
        // An address that is none is refused where it is used, with what it should look like.
        Coordinators::of([text]).unwrap_or_else(|| Coordinators(vec![text.trim().into()]))
    }
}

impl From<String> for Coordinators {
    fn from(text: String) -> Coordinators {
        Coordinators::from(text.as_str())
    }
}

impl From<&String> for Coordinators {
    fn from(text: &String) -> Coordinators {
        Coordinators::from(text.as_str())
    }
}

impl fmt::Display for Coordinators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl Serialize for Coordinators {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [one] = &self.0[..] {
            return serializer.serialize_str(one);
        }
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for url in &self.0 {
            list.serialize_element(url)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Coordinators {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Given)
    }
}

struct Given;

impl<'de> Visitor<'de> for Given {
    type Value = Coordinators;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address like \"https://host:7700\", several with commas between, or an array of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Coordinators, E> {
        Ok(Coordinators::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Coordinators, A::Error> {
        let mut given: Vec<String> = Vec::new();
        while let Some(url) = list.next_element()? {
            given.push(url);
        }
        Coordinators::of(given.iter().map(String::as_str)).ok_or_else(|| {
            A::Error::custom("coordinator names no address: give at least one, like \"https://host:7700\"")
        })
    }
}

/// Do two texts mean one address? The case of scheme and host, a port that is usual and a slash at the end mean nothing.
pub(super) fn same(one: &str, other: &str) -> bool {
    match (parts(one), parts(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn parts(url: &str) -> Option<(String, String, u16, String)> {
    let uri: Uri = url.trim().parse().ok()?;
    let (scheme, host) = (uri.scheme_str()?.to_lowercase(), uri.host()?.to_lowercase());
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme, host, port, uri.path().trim_end_matches('/').into()))
}

/// Whether what is said to this coordinator stays between the two.
fn discreet(coordinator: &str, security: &ClientSecurity) -> Result<bool, NodeError> {
    let wrong = |e: String| {
        NodeError::Config(format!(
            "coordinator must look like \"https://host:7700\" or \"http://127.0.0.1:7700\", not {coordinator:?}{e}"
        ))
    };
    let uri: Uri = coordinator.parse().map_err(|e| wrong(format!(": {e}")))?;
    let host = uri.host().ok_or_else(|| wrong(String::new()))?;
    match uri.scheme_str() {
        Some("https") if security.caller.is_some() => Ok(true),
        Some("https") => Err(NodeError::Config(format!(
            "coordinator = {coordinator:?} needs [tls]: `keys`, the folder that `cahoots keys client DIR NUMBER` makes, or, for a client \
             that joins by invitation, `authorities`, the federation's authorities.pem"
        ))),
        Some("http") => {
            let what = format!("this client would speak to {host}");
            let fix = "Write \"https://...\" as `coordinator`, and give the client [tls] with the keys of `cahoots keys client DIR NUMBER`";
            may_be_plain(host, security.plain_text, &what, fix).map_err(NodeError::Config)?;
            Ok(loopback(host))
        }
        _ => Err(wrong(String::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        coordinator: Coordinators,
    }

    fn read(text: &str) -> Result<Vec<String>, String> {
        let file: File = toml::from_str(text).map_err(|e| e.message().to_string())?;
        let again: File = toml::from_str(&toml::to_string(&file).unwrap()).unwrap();
        assert_eq!(again, file);
        Ok(file.coordinator.0)
    }

    #[test]
    fn one_address_several_with_commas_and_a_list_are_read() {
        assert_eq!(read("coordinator = 'http://a:1'").unwrap(), ["http://a:1"]);
        assert_eq!(read("coordinator = 'http://a:1, http://b:2,'").unwrap(), ["http://a:1", "http://b:2"]);
        let list = "coordinator = ['http://a:1', 'http://b:2', 'HTTP://A:1/']";
        assert_eq!(read(list).unwrap(), ["http://a:1", "http://b:2"], "none of them twice");
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_it_should_look_like() {
        for wrong in ["coordinator = []", "coordinator = ['', ' ']", "coordinator = 7"] {
            let words = read(wrong).unwrap_err();
            assert!(words.contains("like \"https://host:7700\""), "{wrong}: {words}");
        }
        for wrong in ["", "nowhere", "ftp://a:1", "http://127.0.0.1:1,here"] {
            let refused = Coordinators::from(wrong).discreet(&ClientSecurity::default()).unwrap_err();
            assert!(refused.to_string().contains("coordinator must look like"), "{wrong}: {refused}");
        }
    }

    #[test]
    fn every_address_must_be_one_that_may_be_called() {
        let words = |text: &str| Coordinators::from(text).discreet(&ClientSecurity::default());
        assert!(words("http://127.0.0.1:1,http://localhost:2").unwrap());
        assert!(words("http://127.0.0.1:1,http://192.0.2.1:2").is_err(), "plain text to another machine");
        let plain = ClientSecurity { plain_text: true, ..ClientSecurity::default() };
        let mixed = Coordinators::from("http://127.0.0.1:1,http://192.0.2.1:2");
        assert!(!mixed.discreet(&plain).unwrap(), "others may hear what is said to one of them");
    }

    #[test]
    fn how_an_address_is_written_does_not_matter() {
        assert!(same("https://Host:7700", "HTTPS://host:7700/"));
        assert!(same("https://host", "https://host:443"));
        for other in ["http://host:7700", "https://host:7701", "https://hos:7700", "https://host:7700/x", ""]
        {
            assert!(!same("https://host:7700", other), "{other}");
        }
    }
}
