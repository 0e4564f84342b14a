//! Where a client listens for its app: an address, or a socket that only its owner may open.

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
    let listener = TcpListener::bind(http).await.map_err(|e| {
        NodeError::Config(format!(
            "cannot listen on {http}: {e}; choose another `http` (port 0 takes a free one, \"unix:PATH\" a socket)"
        ))
    })?;
    let bound = listener.local_addr().map_err(|e| NodeError::Network(e.to_string()))?;
    if !bound.ip().to_canonical().is_loopback() && !has_token {
        return Err(NodeError::Config(format!(
            "whoever reaches {bound} could decide and reward in this client's name: listen on 127.0.0.1 or on \"unix:PATH\", or set \
             `token` (`openssl rand -hex 32` makes one), which the app then sends as `authorization: Bearer TOKEN`; it travels in \
             plain text, so let a proxy with TLS stand before it on networks that others can hear"
        )));
    }
    Ok((Listening::Tcp(listener), bound.to_string()))
}
