//! The least that speaks to NATS: asks, and publishes by compare-and-set. For tests of the servers and proxies themselves.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::frames::{Frame, Frames};

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// An answer in JSON; null where the server says that nobody is there.
    Answer(Value),
    /// Nothing, for as long as one waited.
    Silence,
}

/// A connection to one server.
pub struct RawClient {
    stream: TcpStream,
    frames: Frames,
    asked: u64,
    /// What the server said when it was called.
    pub info: Value,
}

impl RawClient {
    /// Calls a server.
    pub fn connect(to: SocketAddr) -> Result<RawClient, String> {
        let failed = |e: std::io::Error| format!("{to}: {e}");
        let stream = TcpStream::connect_timeout(&to, Duration::from_secs(5)).map_err(failed)?;
        stream.set_read_timeout(Some(Duration::from_millis(20))).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let mut client = RawClient { stream, frames: Frames::default(), asked: 0, info: Value::Null };
        let hello = client.frame(Instant::now() + Duration::from_secs(5))?.filter(|frame| frame.is("INFO"));
        let hello = hello.ok_or_else(|| format!("{to} does not say INFO"))?;
        client.info = serde_json::from_slice(&hello.bytes[4..]).map_err(|e| e.to_string())?;
        let options = json!({ "verbose": false, "headers": true, "no_responders": true });
        client.say(format!("CONNECT {options}\r\nSUB in.> 1\r\n").as_bytes())?;
        Ok(client)
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, subject: &str, body: &Value, patience: Duration) -> Result<Heard, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.asked += 1;
        self.say(format!("PUB {subject} in.{} {}\r\n{body}\r\n", self.asked, body.len()).as_bytes())?;
        self.answer(patience)
    }

    /// Appends right after `expected`, and waits for the answer.
    pub fn append(
        &mut self,
        subject: &str,
        expected: u64,
        body: &[u8],
        patience: Duration,
    ) -> Result<Heard, String> {
        let headers = format!("NATS/1.0\r\nNats-Expected-Last-Sequence: {expected}\r\n\r\n");
        let (begin, all) = (headers.len(), headers.len() + body.len());
        self.asked += 1;
        let line = format!("HPUB {subject} in.{} {begin} {all}\r\n{headers}", self.asked);
        self.say(&[line.as_bytes(), body, b"\r\n"].concat())?;
        self.answer(patience)
    }

    /// Makes a stream of the subject of the same name, kept by so many servers.
    pub fn create_stream(&mut self, name: &str, replicas: usize) -> Result<(), String> {
        let wanted = json!({ "name": name, "subjects": [name], "num_replicas": replicas, "storage": "file" });
        // A cluster that has just begun may not be able to, yet.
        let mut last = Heard::Silence;
        for _ in 0..10 {
            let subject = format!("$JS.API.STREAM.CREATE.{name}");
            last = self.ask(&subject, &wanted, Duration::from_secs(5))?;
            if matches!(&last, Heard::Answer(answer) if answer["config"]["name"] == name) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Err(format!("stream {name} was not made: {last:?}"))
    }

    fn answer(&mut self, patience: Duration) -> Result<Heard, String> {
        let (deadline, subject) = (Instant::now() + patience, format!("in.{}", self.asked));
        while let Some(frame) = self.frame(deadline)? {
            if frame.words.get(1) != Some(&subject) {
                continue;
            }
            // Only the sentence that nobody is there has headers here.
            return match frame.is("HMSG") {
                true => Ok(Heard::Answer(Value::Null)),
                false => serde_json::from_slice(frame.body()).map(Heard::Answer).map_err(|e| e.to_string()),
            };
        }
        Ok(Heard::Silence)
    }

    fn frame(&mut self, deadline: Instant) -> Result<Option<Frame>, String> {
        let mut piece = [0; 4096];
        loop {
            match self.frames.next() {
                Some(frame) if frame.is("PING") => self.say(b"PONG\r\n")?,
                Some(frame) if frame.is("-ERR") => return Err(frame.words.join(" ")),
                Some(frame) => return Ok(Some(frame)),
                None if Instant::now() > deadline => return Ok(None),
                None => match self.stream.read(&mut piece) {
                    Ok(0) => return Err("the server closed the connection".into()),
                    Ok(length) => self.frames.push(&piece[..length]),
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    Err(error) => return Err(error.to_string()),
                },
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|e| e.to_string())
    }
}
