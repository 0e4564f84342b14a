//! Who a certificate is for, as its URI says: `cahoots://FEDERATION/client/3`, `cahoots://FEDERATION/coordinator`.

use std::fmt;

/// A member of a federation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The federation's name.
    pub federation: String,
    /// What it is there.
    pub role: Role,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its coordinator.
    Coordinator,
    /// A client, by its number.
    Client(u32),
}

const SCHEME: &str = "cahoots://";

impl Name {
    /// A client.
    pub fn client(federation: &str, client: u32) -> Name {
        Name { federation: federation.into(), role: Role::Client(client) }
    }

    /// The coordinator.
    pub fn coordinator(federation: &str) -> Name {
        Name { federation: federation.into(), role: Role::Coordinator }
    }

    /// As a certificate holds it.
    ///
    /// ```
    /// use cahoots_node::identity::Name;
    ///
    /// let name = Name::client("my shop", 3);
    /// assert_eq!(name.uri(), "cahoots://my%20shop/client/3");
    /// assert_eq!(Name::parse(&name.uri()), Some(name));
    /// assert_eq!(Name::parse("cahoots://shop/client/03"), None);
    /// ```
    pub fn uri(&self) -> String {
        let federation = escape(&self.federation);
        match self.role {
            Role::Coordinator => format!("{SCHEME}{federation}/coordinator"),
            Role::Client(client) => format!("{SCHEME}{federation}/client/{client}"),
        }
    }

    /// From a certificate; only what [`Name::uri`] writes is read, so that nobody has two names.
    pub fn parse(uri: &str) -> Option<Name> {
        let (federation, role) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let role = match role.strip_prefix("client/") {
            Some(client) => Role::Client(client.parse().ok()?),
            None => Role::Coordinator,
        };
        let name = Name { federation: unescape(federation)?, role };
        (name.uri() == uri).then_some(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Coordinator => write!(f, "the coordinator of federation {:?}", self.federation),
            Role::Client(client) => write!(f, "client {client} of federation {:?}", self.federation),
        }
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(byte as char);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
