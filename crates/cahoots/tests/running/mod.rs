//! Processes that go with their test, and commands as a user types them.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_cahoots");

/// A process that goes with its test.
pub(crate) struct Running {
    process: Child,
    pub address: String,
}

impl Running {
    pub(crate) fn start(folder: &Path, command: &str, file: &str) -> Running {
        let mut process = Command::new(EXE)
            .args([command, file])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{command} {file} said {line:?}"));
        Running { process, address: said["listening"].as_str().unwrap().into() }
    }

    /// SIGTERM, and its end.
    pub(crate) fn stop(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(30);
        while self.process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (body, mut stream) = (body.to_string(), TcpStream::connect(&self.address).unwrap());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// A decision and its reward.
    pub(crate) fn learn(&self) {
        let arms = json!({ "arms": [[1.0, 0.0], [0.6, 0.8]] });
        let until = Instant::now() + Duration::from_secs(30);
        let decided = loop {
            let (status, decided) = self.post("/decide", &arms);
            if status == 200 {
                break decided;
            }
            assert!(Instant::now() < until, "{decided}");
            std::thread::sleep(Duration::from_millis(10));
        };
        let (status, answer) = self.post("/reward", &json!({ "id": decided["id"], "reward": 1.0 }));
        assert_eq!(status, 200, "{answer}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn cahoots(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(EXE).args(arguments).current_dir(folder).output().unwrap()
}

/// What a command that must work says, as JSON.
pub(crate) fn asked(folder: &Path, arguments: &[&str]) -> Value {
    let output = cahoots(folder, arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{arguments:?} said {text:?}"))
}

pub(crate) fn done(folder: &Path, arguments: &[&str]) {
    let output = cahoots(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What a command that must be refused says, and that it blames the input or the moment.
pub(crate) fn refused(folder: &Path, arguments: &[&str], words: &str) {
    let output = cahoots(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(words), "{arguments:?} said {text:?}");
}
