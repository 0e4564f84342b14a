//! A client's end of the stream.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;

use super::MAX_FRAME;
use super::connect::{Connector, Verdict};
use super::proto::Frame;
use super::proto::federation_client::FederationClient;
use crate::identity::Caller;
use crate::limits::{REASON, cut};

/// Frames from the other side.
pub struct Stream {
    frames: Streaming<Frame>,
    verdict: Verdict,
}

/// Why there is no stream, or none any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The network: to be tried again.
    Broken(String),
    /// One of the two does not believe the other: somebody must do something.
    Refused(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Broken(reason) | Failure::Refused(reason)) = self;
        f.write_str(reason)
    }
}

/// How long a coordinator is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until it has answered, and again until it has said its first word.
    pub answer: Duration,
    /// How often it is asked whether it is still there.
    pub ping: Duration,
    /// How long it may take to say so.
    pub pong: Duration,
}

impl Patience {
    /// Where there is no other coordinator to go to.
    pub const LONG: Patience = Patience {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(10),
        ping: Duration::from_secs(10),
        pong: Duration::from_secs(10),
    };

    /// Where there is: one that is frozen or cut off is left within seconds.
    pub const SHORT: Patience = Patience {
        connect: Duration::from_secs(3),
        answer: Duration::from_secs(3),
        ping: Duration::from_secs(2),
        pong: Duration::from_secs(3),
    };
}

/// Opens the stream to a coordinator in plain text; what is put into `frames` goes out.
pub async fn dial(coordinator: &str, frames: mpsc::Receiver<Frame>) -> Result<Stream, String> {
    call(coordinator, None, frames).await.map_err(|failure| failure.to_string())
}

/// Opens the stream to a coordinator, with TLS if it is at "https://..."; what is put into `frames` goes out.
pub async fn call(
    coordinator: &str,
    caller: Option<Arc<Caller>>,
    frames: mpsc::Receiver<Frame>,
) -> Result<Stream, Failure> {
    call_with(coordinator, caller, frames, Patience::LONG).await
}

/// The same, with this patience.
pub async fn call_with(
    coordinator: &str,
    caller: Option<Arc<Caller>>,
    frames: mpsc::Receiver<Frame>,
    patience: Patience,
) -> Result<Stream, Failure> {
    let endpoint = Endpoint::from_shared(coordinator.to_string())
        .map_err(|e| {
            Failure::Broken(format!("{coordinator:?} is no address like \"https://host:7700\": {e}"))
        })?
        .connect_timeout(patience.connect)
        // A peer that vanished without a word is noticed.
        .http2_keep_alive_interval(patience.ping)
        .keep_alive_timeout(patience.pong)
        .keep_alive_while_idle(true);
    let verdict = Verdict::default();
    let connector = Connector { caller, verdict: verdict.clone() };
    let channel = endpoint.connect_with_connector(connector).await;
    let channel = channel.map_err(|e| failure(&verdict, reason(&e)))?;
    let mut client = FederationClient::new(channel)
        .max_decoding_message_size(MAX_FRAME)
        .max_encoding_message_size(MAX_FRAME);
    let answer = client.link(ReceiverStream::new(frames)).await;
    let answer = answer.map_err(|e| failure(&verdict, words(e.message())))?;
    Ok(Stream { frames: answer.into_inner(), verdict })
}

impl Stream {
    /// The next frame; `None` when the other side has closed.
    pub async fn next(&mut self) -> Result<Option<Frame>, Failure> {
        self.frames.message().await.map_err(|e| failure(&self.verdict, words(e.message())))
    }
}

fn failure(verdict: &Verdict, broken: String) -> Failure {
    match verdict.reason() {
        Some(reason) => Failure::Refused(reason),
        None => Failure::Broken(broken),
    }
}

/// What the other side says.
fn words(said: &str) -> String {
    cut(said, REASON).into_owned()
}

/// The innermost cause: what the user can do something about.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
