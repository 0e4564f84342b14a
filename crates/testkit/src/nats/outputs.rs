//! A member that learns nothing and asks every coordinator at once, again and again, for all that it was ever sent: what several of them
//! say under one number must be one message, whoever of them leads or thinks that it does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cahoots_core::wire::{self, Envelope};
use cahoots_node::transport::proto::{Frame, Hello};
use cahoots_node::transport::{Kind, Outbox, Patience, Stream, call_with, frame};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Sender;

use crate::soak::FEDERATION;

/// How often each coordinator is asked.
const EVERY: Duration = Duration::from_millis(150);
/// How long one waits for an answer before one asks again, and how long one goes on to listen: who was frozen may say something when it
/// is not any more.
const FIRST: Duration = Duration::from_secs(3);
const LAST: Duration = Duration::from_secs(60);

/// What was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Numbers of messages.
    pub numbers: usize,
    /// Those that more than one coordinator has said.
    pub by_several: usize,
}

#[derive(Debug, Default)]
struct Heard {
    /// Of each number, the message and who said it.
    messages: BTreeMap<u64, (Vec<u8>, Vec<String>)>,
    wrong: Option<String>,
}

/// Tasks that ask; they end when it is dropped.
pub struct Outputs {
    heard: Arc<Mutex<Heard>>,
    runtime: Option<Runtime>,
}

impl Outputs {
    /// Joins as this client, and begins to ask.
    pub fn start(client: u32, addresses: Vec<String>) -> Result<Outputs, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|e| e.to_string())?;
        let heard: Arc<Mutex<Heard>> = Arc::default();
        for address in addresses {
            runtime.spawn(ask(client, address, heard.clone()));
        }
        Ok(Outputs { heard, runtime: Some(runtime) })
    }

    /// What was said so far; an error if two messages had one number.
    pub fn said(&self) -> Result<Said, String> {
        let heard = hold(&self.heard);
        match &heard.wrong {
            Some(wrong) => Err(wrong.clone()),
            None => Ok(Said {
                numbers: heard.messages.len(),
                by_several: heard.messages.values().filter(|(_, who)| who.len() > 1).count(),
            }),
        }
    }

    /// What was said before does not bind anyone: the log has lost its end, and its operator has accepted that.
    pub fn forget(&self) {
        hold(&self.heard).messages.clear();
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn hold(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heard {
    fn hear(&mut self, who: &str, envelope: Envelope) {
        let number = envelope.sequence;
        let (message, all) =
            self.messages.entry(number).or_insert_with(|| (envelope.payload.clone(), Vec::new()));
        if *message != envelope.payload {
            self.wrong = Some(format!("message {number} of {who} is not the one of {}", all.join(", ")));
        }
        if !all.iter().any(|known| known == who) {
            all.push(who.into());
        }
    }
}

async fn ask(client: u32, address: String, heard: Arc<Mutex<Heard>>) {
    loop {
        if let Ok(Ok((frames, mut stream))) = tokio::time::timeout(FIRST, greeted(client, &address)).await {
            let (address, heard) = (address.clone(), heard.clone());
            // It ends when the coordinator hears the next hello, or is gone.
            tokio::spawn(tokio::time::timeout(LAST, async move {
                let _open = frames;
                while listen(&mut stream, &address, &heard).await {}
            }));
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Hears what is said next; `false` when nothing more is.
async fn listen(stream: &mut Stream, address: &str, heard: &Mutex<Heard>) -> bool {
    match stream.next().await {
        Ok(Some(said)) => {
            match said.kind {
                Some(Kind::Envelope(envelope)) => hold(heard).hear(address, *envelope),
                Some(Kind::Refusal(refusal)) if refusal.r#final => {
                    hold(heard).wrong =
                        Some(format!("{address} refuses a good member for good: {}", refusal.reason));
                }
                _ => {}
            }
            true
        }
        _ => false,
    }
}

/// Says hello, as one that has received nothing yet; both ways of the stream.
async fn greeted(client: u32, address: &str) -> Result<(Sender<Frame>, Stream), String> {
    let (frames, outgoing) = Outbox::channel();
    let mut instance = vec![0; 16];
    instance[..4].copy_from_slice(&(client + 1).to_le_bytes());
    let hello = Hello {
        federation: FEDERATION.into(),
        client,
        instance,
        version: wire::VERSION,
        epochs: vec![1],
        written: vec![0],
        numbered: vec![0],
        ..Hello::default()
    };
    let _ = frames.try_send(frame(Kind::Hello(hello.into())));
    let stream = call_with(address, None, outgoing, Patience::SHORT).await;
    stream.map(|stream| (frames, stream)).map_err(|failure| failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_messages_under_one_number_are_noticed() {
        let said =
            |sequence, payload: &[u8]| Envelope { sequence, payload: payload.into(), ..Envelope::default() };
        let mut heard = Heard::default();
        heard.hear("a", said(7, b"one"));
        heard.hear("b", said(7, b"one"));
        heard.hear("b", said(8, b"other"));
        assert!(heard.wrong.is_none());
        heard.hear("c", said(7, b"two"));
        assert_eq!(heard.wrong.unwrap(), "message 7 of c is not the one of a, b");
    }
}
