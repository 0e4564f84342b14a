//! A client's end of the stream.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::Endpoint;

use super::MAX_FRAME;
use super::proto::Frame;
use super::proto::federation_client::FederationClient;
use crate::limits::{REASON, cut};

/// Frames from the other side.
pub struct Stream(Streaming<Frame>);

/// Opens the stream to a coordinator; what is put into `frames` goes out.
pub async fn dial(coordinator: &str, frames: mpsc::Receiver<Frame>) -> Result<Stream, String> {
    let endpoint = Endpoint::from_shared(coordinator.to_string())
        .map_err(|e| format!("{coordinator:?} is no address like \"http://127.0.0.1:7700\": {e}"))?
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        // A peer that vanished without a word is noticed.
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    let channel = endpoint.connect().await.map_err(|e| reason(&e))?;
    let mut client = FederationClient::new(channel)
        .max_decoding_message_size(MAX_FRAME)
        .max_encoding_message_size(MAX_FRAME);
    let answer = client.link(ReceiverStream::new(frames)).await.map_err(|e| words(e.message()))?;
    Ok(Stream(answer.into_inner()))
}

impl Stream {
    /// The next frame; `None` when the other side has closed.
    pub async fn next(&mut self) -> Result<Option<Frame>, String> {
        self.0.message().await.map_err(|e| words(e.message()))
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
