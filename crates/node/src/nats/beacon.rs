//! Signs of life over plain NATS: nothing keeps them, and nothing needs to.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, Subscriber};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_stream::StreamExt as _;

use crate::platform::Platform;
use crate::replica::{Beacon, LogKey, Pulse};

/// How often a leader says that it leads.
const EVERY: Duration = Duration::from_millis(300);

/// What is said by a task of its own, so that work does not keep a leader from saying it.
pub(super) struct Pulses {
    saying: Arc<Mutex<Option<Pulse>>>,
    changed: Arc<Notify>,
    heard: Receiver<Pulse>,
    tasks: [tokio::task::AbortHandle; 2],
    /// The tasks are its.
    _runtime: Arc<Runtime>,
}

impl Pulses {
    pub(super) fn start(
        runtime: &Arc<Runtime>,
        client: Client,
        subject: String,
        mut listening: Subscriber,
        key: LogKey,
        platform: Platform,
    ) -> Pulses {
        let saying: Arc<Mutex<Option<Pulse>>> = Arc::default();
        let changed: Arc<Notify> = Arc::default();
        let (ears, heard) = channel();
        let opening = key.clone();
        let listens = runtime.spawn(async move {
            while let Some(message) = listening.next().await {
                if let Some(pulse) = Pulse::open(&message.payload, &opening)
                    && ears.send(pulse).is_err()
                {
                    return;
                }
            }
        });
        let (said, told) = (saying.clone(), changed.clone());
        let speaks = runtime.spawn(async move {
            loop {
                let pulse = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(sealed) = pulse.and_then(|pulse| pulse.seal(&key, &platform).ok()) {
                    let _ = client.publish(subject.clone(), sealed.into()).await;
                }
                let _ = tokio::time::timeout(EVERY, told.notified()).await;
            }
        });
        let tasks = [listens.abort_handle(), speaks.abort_handle()];
        Pulses { saying, changed, heard, tasks, _runtime: runtime.clone() }
    }
}

impl Beacon for Pulses {
    fn say(&mut self, pulse: Option<Pulse>) {
        // A farewell, or who leads now, is said at once.
        let news = pulse.as_ref().is_some_and(|pulse| pulse.resigns);
        let before =
            std::mem::replace(&mut *self.saying.lock().unwrap_or_else(PoisonError::into_inner), pulse);
        if news || before.is_none() {
            self.changed.notify_one();
        }
    }

    fn heard(&mut self) -> Option<Pulse> {
        self.heard.try_recv().ok()
    }
}

impl Drop for Pulses {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }
}
