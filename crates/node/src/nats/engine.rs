//! A stream by the questions that JetStream answers.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, context::Context};
use async_nats::{Client, StatusCode};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::{PATIENCE, object};
use crate::replica::{Before, Engine, Extent, Found, Silence, Unsure, digest};

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
    /// Below it is every message, each under its own hash: so the servers compare the message that another is to follow.
    pub(super) subject: String,
    /// Questions in a row without an answer.
    pub(super) silences: u32,
}

impl std::fmt::Debug for JetStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JetStream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Names the subject whose last sequence is expected; servers know it from 2.12 on ([`check::recent`](super::check::recent)).
const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// After so many questions in a row without an answer another server is asked: one that is cut off from the others answers pings still.
const ELSEWHERE: u32 = 2;

impl JetStream {
    /// Remembers whether there was an answer.
    fn heard<T, E>(&mut self, answered: Result<T, E>) -> Result<T, E> {
        self.silences = if answered.is_ok() { 0 } else { self.silences + 1 };
        if self.silences >= ELSEWHERE {
            self.silences = 0;
            let _ = self.runtime.block_on(self.client.force_reconnect());
        }
        answered
    }
}

impl JetStream {
    /// The subject of the message with this hash.
    fn subject_of(&self, hash: &[u8; 32]) -> String {
        let short: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}.{short}", self.subject)
    }
}

/// The servers know of no such stream.
fn is_gone(error: &(dyn std::error::Error + 'static)) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<jetstream::Error>());
    cause.is_some_and(|cause| cause.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND)
}

pub(super) fn silence(error: impl std::fmt::Display) -> Silence {
    Silence(error.to_string())
}

impl Engine for JetStream {
    fn append(&mut self, before: Before, message: &[u8]) -> Result<(), Unsure> {
        let Before { sequence: expected, hash } = before;
        // Without a message id: the server looks at it before it looks at the expected sequence, and answers that all is well.
        let mut publish = PublishMessage::build()
            .payload(message.to_vec().into())
            .expected_stream(&self.name)
            .expected_last_sequence(expected);
        if let Some(hash) = hash {
            let subject = self.subject_of(&hash);
            publish =
                publish.expected_last_subject_sequence(expected).header(EXPECTED_SUBJECT, subject.as_str());
        }
        let subject = self.subject_of(&digest(message));
        let append = async {
            let answer = self.context.send_publish(subject, publish).await?;
            answer.await
        };
        let answer = self.runtime.block_on(async { timeout(PATIENCE, append).await });
        let appended = match answer {
            Ok(Ok(answer)) if answer.sequence == expected + 1 => Ok(()),
            Ok(Ok(answer)) => {
                Err(Unsure(format!("message {} was made instead of {}", answer.sequence, expected + 1)))
            }
            Ok(Err(error)) => Err(Unsure(error.to_string())),
            Err(_) => Err(Unsure("no answer to an append".into())),
        };
        self.heard(appended)
    }

    fn get(&mut self, sequence: u64) -> Result<Found, Silence> {
        let found =
            self.runtime.block_on(async { timeout(PATIENCE, self.stream.get_raw_message(sequence)).await });
        let found = match found {
            Err(_) => Err(Silence("no answer to a question for a message".into())),
            Ok(Ok(message)) => Ok(Found::Message(message.payload.to_vec())),
            Ok(Err(error)) => match error.kind() {
                RawMessageErrorKind::NoMessageFound => Ok(Found::Nothing),
                RawMessageErrorKind::JetStream(cause)
                    if cause.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(Found::Nothing)
                }
                _ => Err(silence(error)),
            },
        };
        self.heard(found)
    }

    fn extent(&mut self) -> Result<Extent, Silence> {
        let info = self.runtime.block_on(async { timeout(PATIENCE, self.stream.get_info()).await });
        let extent = match info {
            Err(_) => Err(Silence("no answer to a question for the stream".into())),
            Ok(Ok(jetstream::stream::Info { state, .. })) => {
                let first = if state.messages == 0 { state.last_sequence + 1 } else { state.first_sequence };
                Ok(Extent { first, last: state.last_sequence })
            }
            // Whoever had read something, or written, knows what that means.
            Ok(Err(error)) if is_gone(&error) => Ok(Extent { first: 1, last: 0 }),
            Ok(Err(error)) => Err(silence(error)),
        };
        self.heard(extent)
    }

    fn read(&mut self, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Silence> {
        let read = self.runtime.block_on(async {
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
        });
        self.heard(read)
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
