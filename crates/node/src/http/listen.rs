//! Where a client listens for its app: an address, or a socket that only its owner may open.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};

use crate::control::private_socket;
use crate::error::NodeError;

/// An open ear.
pub enum Listening {
    /// At an address.
    Tcp(TcpListener),
    /// At a path.
    Unix(UnixListener),
}

/// Listens at "127.0.0.1:7801" or "unix:PATH", relative to `beside`; gives where that is. Anyone may reach an address that is
/// not this machine's alone, so that takes a token.
pub async fn listen(http: &str, beside: &Path, has_token: bool) -> Result<(Listening, String), NodeError> {
    let (listening, bound) = listen_anywhere(http, beside).await?;
    if let Listening::Tcp(listener) = &listening {
        let bound = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?;
        may_be_reached(bound, has_token)?;
    }
    Ok((listening, bound))
}

fn may_be_reached(at: SocketAddr, has_token: bool) -> Result<(), NodeError> {
    if at.ip().to_canonical().is_loopback() || has_token {
        return Ok(());
    }
    Err(NodeError::Config(format!(
        "whoever reaches {at} could decide and reward in this client's name: listen on 127.0.0.1 or on \"unix:PATH\", or \
         set `token` (`openssl rand -hex 32` makes one), which the app then sends as `authorization: Bearer TOKEN`; it \
         travels in plain text, so let a proxy with TLS stand before it on networks that others can hear"
    )))
}

/// Whether a client may listen at "127.0.0.1:7801" or "unix:PATH", before it does.
pub(crate) fn may_listen(http: &str, has_token: bool) -> Result<(), NodeError> {
    addresses(http, "http")?.into_iter().try_for_each(|at| may_be_reached(at, has_token))
}

/// The addresses that are meant by what a file says; none where it means a socket.
pub(crate) fn addresses(text: &str, key: &str) -> Result<Vec<SocketAddr>, NodeError> {
    if text.starts_with("unix:") {
        return Ok(Vec::new());
    }
    let found = text.to_socket_addrs().map_err(|e| NodeError::listening(&e, cannot(text, key, &e)))?;
    Ok(found.collect())
}

/// Why one cannot listen there, and what to do.
pub(crate) fn cannot(text: &str, key: &str, error: &std::io::Error) -> String {
    let socket = if key == "http" { ", \"unix:PATH\" a socket" } else { "" };
    format!("cannot listen on {text}: {error}; choose another `{key}` (port 0 takes a free one{socket})")
}

/// The host of an address whose port is to be any that is free.
pub(crate) fn at_any_port(http: &str) -> Option<&str> {
    http.strip_suffix(":0").filter(|_| !http.starts_with("unix:"))
}

/// Listens at this address. Where any port will do, at the one that was taken the last time, if that is free: whoever has
/// the page open finds it again.
pub(crate) async fn listen_again(
    http: &str,
    beside: &Path,
    last: Option<u16>,
) -> Result<(Listening, String), NodeError> {
    if let (Some(host), Some(port)) = (at_any_port(http), last)
        && let Ok(found) = listen_anywhere(&format!("{host}:{port}"), beside).await
    {
        return Ok(found);
    }
    listen_anywhere(http, beside).await
}

/// The same, for whoever has looked at who may come.
pub(crate) async fn listen_anywhere(http: &str, beside: &Path) -> Result<(Listening, String), NodeError> {
    if let Some(path) = http.strip_prefix("unix:") {
        let path: PathBuf = beside.join(path);
        let wrong =
            |e| NodeError::Config(format!("cannot listen on {}: {e}; choose another `http`", path.display()));
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(wrong("somebody listens there".to_string()));
        }
        if std::fs::symlink_metadata(&path).is_ok_and(|found| !found.file_type().is_socket()) {
            return Err(wrong("something that is no socket is there".to_string()));
        }
        let listener = private_socket(&path).map_err(|e| wrong(e.to_string()))?;
        return Ok((Listening::Unix(listener), format!("unix:{}", path.display())));
    }
    let listener =
        TcpListener::bind(http).await.map_err(|e| NodeError::listening(&e, cannot(http, "http", &e)))?;
    let bound = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?;
    Ok((Listening::Tcp(listener), bound.to_string()))
}
