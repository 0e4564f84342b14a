//! A stream by the questions that JetStream answers.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::context::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use async_nats::{Client, StatusCode};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::{PATIENCE, object};
use crate::replica::{Engine, Extent, Found, Silence, Unsure};

/// Messages and bytes that one question brings at most.
const MESSAGES: u64 = 512;
const BYTES: u64 = 8 << 20;

/// A stream and a bucket.
pub(super) struct JetStream {
    pub(super) runtime: Arc<Runtime>,
    pub(super) client: Client,
    pub(super) context: Context,
    pub(super) stream: Stream<()>,
    pub(super) bucket: ObjectStore,
    pub(super) name: String,
    pub(super) subject: String,
}

impl std::fmt::Debug for JetStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JetStream").field("name", &self.name).finish_non_exhaustive()
    }
}

pub(super) fn silence(error: impl std::fmt::Display) -> Silence {
    Silence(error.to_string())
}

impl Engine for JetStream {
    fn append(&mut self, expected: u64, message: &[u8]) -> Result<(), Unsure> {
        // Without a message id: the server looks at it before it looks at the expected sequence, and answers that all is well.
        let publish = PublishMessage::build()
            .payload(message.to_vec().into())
            .expected_stream(&self.name)
            .expected_last_sequence(expected);
        let append = async {
            let answer = self.context.send_publish(self.subject.clone(), publish).await?;
            answer.await
        };
        let answer = self.runtime.block_on(async { timeout(PATIENCE, append).await });
        match answer {
            Ok(Ok(answer)) if answer.sequence == expected + 1 => Ok(()),
            Ok(Ok(answer)) => {
                Err(Unsure(format!("message {} was made instead of {}", answer.sequence, expected + 1)))
            }
            Ok(Err(error)) => Err(Unsure(error.to_string())),
            Err(_) => Err(Unsure("no answer to an append".into())),
        }
    }

    fn get(&mut self, sequence: u64) -> Result<Found, Silence> {
        let found =
            self.runtime.block_on(async { timeout(PATIENCE, self.stream.get_raw_message(sequence)).await });
        match found.map_err(|_| Silence("no answer to a question for a message".into()))? {
            Ok(message) => Ok(Found::Message(message.payload.to_vec())),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(Found::Nothing),
            Err(error) => Err(silence(error)),
        }
    }

    fn extent(&mut self) -> Result<Extent, Silence> {
        let info = self.runtime.block_on(async { timeout(PATIENCE, self.stream.get_info()).await });
        let info =
            info.map_err(|_| Silence("no answer to a question for the stream".into()))?.map_err(silence)?;
        let state = info.state;
        let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
        Ok(Extent { first, last: state.last_sequence })
    }

    fn read(&mut self, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Silence> {
        self.runtime.block_on(async {
            let inbox = self.client.new_inbox();
            let mut answers = self.client.subscribe(inbox.clone()).await.map_err(silence)?;
            let question = json!({ "seq": from, "batch": MESSAGES, "max_bytes": BYTES }).to_string();
            let to = format!("$JS.API.DIRECT.GET.{}", self.name);
            self.client.publish_with_reply(to, inbox, question.into()).await.map_err(silence)?;
            let mut messages: Vec<(u64, Vec<u8>)> = Vec::new();
            loop {
                let answer = timeout(PATIENCE, answers.next()).await;
                let Ok(Some(answer)) = answer else {
                    // What has come is whole, one by one: the rest is asked for the next time.
                    return if messages.is_empty() {
                        Err(Silence("no answer to a read".into()))
                    } else {
                        Ok(messages)
                    };
                };
                match answer.status {
                    None | Some(StatusCode::OK) => {}
                    Some(StatusCode::NO_RESPONDERS) => {
                        return Err(Silence("nobody keeps the stream now".into()));
                    }
                    // The end of what was asked for, or nothing there.
                    Some(_) => return Ok(messages),
                }
                let sequence = answer.headers.as_ref().and_then(|headers| {
                    headers.get("Nats-Sequence").and_then(|text| text.as_str().parse::<u64>().ok())
                });
                let Some(sequence) = sequence else { return Ok(messages) };
                let behind = |(last, _): &(u64, Vec<u8>)| sequence == last + 1;
                // A read may step over what was purged, or lose a message on the way: it ends before the gap.
                if sequence != from && !messages.last().is_some_and(behind) {
                    return Ok(messages);
                }
                messages.push((sequence, answer.payload.to_vec()));
            }
        })
    }

    fn trim(&mut self, first: u64) -> Result<(), Silence> {
        let purge = self.stream.purge().sequence(first);
        let purged = self.runtime.block_on(async { timeout(PATIENCE, purge).await });
        purged.map_err(|_| Silence("no answer to a purge".into()))?.map(drop).map_err(silence)
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Silence> {
        self.runtime.block_on(object::put(&self.bucket, name, bytes))
    }

    fn fetch(&mut self, name: &str) -> Result<Option<Vec<u8>>, Silence> {
        self.runtime.block_on(object::fetch(&self.bucket, name))
    }

    fn names(&mut self) -> Result<Vec<String>, Silence> {
        self.runtime.block_on(object::names(&self.bucket))
    }

    fn remove(&mut self, name: &str) -> Result<(), Silence> {
        let removed = self.runtime.block_on(async { timeout(PATIENCE, self.bucket.delete(name)).await });
        removed.map_err(|_| Silence("no answer to a removal".into()))?.map_err(silence)
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
    }
}
