//! A node asked over its HTTP, as far as that answers: what a page can show, a command can.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;

use crate::error::NodeError;
use crate::limits::{REASON, cut};

/// The longest answer.
const LONGEST: u64 = 256 << 20;

/// How long one step may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a node at "http://HOST:PORT" answers to GET `path`. Blocks.
pub fn get(url: &str, path: &str, token: Option<&str>) -> Result<Value, NodeError> {
    let wrong = |what: &str| NodeError::Config(format!("{url}: {what}"));
    let host = url.strip_prefix("http://").ok_or_else(|| {
        wrong(
            "only http:// is spoken here: ask on the node's own machine, or through a tunnel (ssh -L 7780:127.0.0.1:7780 HOST)",
        )
    })?;
    let host = host.split('/').next().unwrap_or_default();
    if token.is_some_and(|token| token.contains(char::is_control)) {
        return Err(NodeError::Config("the token is more than one line".into()));
    }
    let address = host.to_socket_addrs().ok().and_then(|mut found| found.next());
    let address = address.ok_or_else(|| wrong("give a host and a port, as http://127.0.0.1:7780"))?;
    let failed = |e: std::io::Error| NodeError::Network(format!("{url}: {e}"));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    // Version 1.0: the answer ends with the connection, and comes in one piece.
    let question = format!("GET {path} HTTP/1.0\r\nhost: {host}\r\naccept: application/json\r\n{token}\r\n");
    stream.write_all(question.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).map_err(failed)?;
    read(url, &answer)
}

fn read(url: &str, answer: &[u8]) -> Result<Value, NodeError> {
    let unknown = || NodeError::Network(format!("{url}: an answer that is none of a node's"));
    let split = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").ok_or_else(unknown)?;
    let head = String::from_utf8_lossy(&answer[..split]);
    let status: u16 = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(unknown)?;
    let body: Option<Value> = serde_json::from_slice(&answer[split + 4..]).ok();
    match (status, body) {
        (200, Some(body)) => Ok(body),
        (401, _) => Err(NodeError::Request(format!(
            "{url} wants its token: give the file that holds it with --token-file, or CAHOOTS_TOKEN"
        ))),
        (status, Some(body)) if status >= 400 => {
            let said = body.get("error").and_then(Value::as_str).unwrap_or("no reason");
            Err(NodeError::Request(format!("{url} said {status}: {}", cut(said, REASON))))
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_others_are_not_believed() {
        let read = |text: &str| read("http://h:1", text.as_bytes()).map_err(|e| e.to_string());
        assert_eq!(read("HTTP/1.0 200 OK\r\na: b\r\n\r\n{\"a\":1}").unwrap()["a"], 1);
        assert!(read("HTTP/1.0 401 No\r\n\r\n").unwrap_err().contains("--token-file"));
        assert!(
            read("HTTP/1.0 503 No\r\n\r\n{\"error\":\"not\\nyet\"}")
                .unwrap_err()
                .ends_with("said 503: not\\nyet")
        );
        for other in ["", "SSH-2.0\r\n", "HTTP/1.0 200 OK\r\n\r\n<html>", "HTTP/1.0 x\r\n\r\n{}"] {
            assert!(read(other).unwrap_err().contains("none of a node's"), "{other}");
        }
        assert!(get("https://127.0.0.1:1", "/", None).unwrap_err().to_string().contains("only http://"));
        assert!(get("http://nowhere", "/", None).unwrap_err().to_string().contains("a host and a port"));
        assert!(get("http://127.0.0.1:1", "/", Some("a\r\nb")).unwrap_err().to_string().contains("one line"));
    }
}
