//! The status, as it changes: one question to the coordinator for all who watch.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::{Bytes, Frame};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;

use super::answers::{Answer, Refused, with};
use super::fresh::GOOD;
use super::view::View;
use crate::coordinator::CoordinatorStatus;

/// Streams at once.
const WATCHERS: usize = 128;
/// How many times nothing new is not said.
const QUIET: u32 = 5;

/// Who watches.
pub(super) struct Feed {
    places: Arc<Semaphore>,
    newest: watch::Sender<Bytes>,
    watchers: Arc<AtomicUsize>,
    /// Someone has come.
    came: Arc<Notify>,
    /// The one who asks, from the first watcher on; it rests while nobody watches.
    asker: OnceLock<AbortHandle>,
}

impl Default for Feed {
    fn default() -> Feed {
        Feed {
            places: Arc::new(Semaphore::new(WATCHERS)),
            newest: watch::Sender::new(Bytes::new()),
            watchers: Arc::default(),
            came: Arc::default(),
            asker: OnceLock::new(),
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.asker.get().inspect(|asker| asker.abort());
    }
}

/// A watcher, until it goes.
struct Place(Arc<AtomicUsize>, #[expect(dead_code, reason = "given back when dropped")] OwnedSemaphorePermit);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn event(status: &CoordinatorStatus) -> Bytes {
    let text = serde_json::to_string(status).expect("a status can be written");
    Bytes::from(format!("event: status\ndata: {text}\n\n"))
}

impl Feed {
    /// How many watch.
    pub(super) fn watchers(&self) -> usize {
        self.watchers.load(Ordering::Acquire)
    }

    /// One more watcher: how it is now, and then whenever that changes.
    pub(super) async fn watch(&self, view: &Arc<View>) -> Result<Answer, Refused> {
        let full = |_| {
            Refused(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("{WATCHERS} pages watch already: close some, or ask /status"),
            )
        };
        let place = self.places.clone().try_acquire_owned().map_err(full)?;
        let first = event(&*view.status().await?);
        self.watchers.fetch_add(1, Ordering::AcqRel);
        let place = Place(self.watchers.clone(), place);
        let mut news = self.newest.subscribe();
        self.asker.get_or_init(|| {
            let (newest, watchers, came) = (self.newest.clone(), self.watchers.clone(), self.came.clone());
            tokio::spawn(asking(Arc::downgrade(view), newest, watchers, came)).abort_handle()
        });
        self.came.notify_one();
        let (send, events) = mpsc::channel::<Bytes>(2);
        tokio::spawn(async move {
            let _place = place;
            if send.send(first).await.is_err() {
                return;
            }
            loop {
                tokio::select! {
                    changed = news.changed() => if changed.is_err() { return },
                    () = send.closed() => return,
                }
                let event = news.borrow_and_update().clone();
                if send.send(event).await.is_err() {
                    return;
                }
            }
        });
        let frames = ReceiverStream::new(events).map(|bytes| Ok(Frame::data(bytes)));
        Ok(with(StreamBody::new(frames).boxed(), "text/event-stream"))
    }
}

/// Asks while anybody watches, and rests while nobody does.
async fn asking(
    view: Weak<View>,
    newest: watch::Sender<Bytes>,
    watchers: Arc<AtomicUsize>,
    came: Arc<Notify>,
) {
    let (mut before, mut quiet) = (String::new(), 0);
    loop {
        while watchers.load(Ordering::Acquire) == 0 {
            came.notified().await;
        }
        tokio::time::sleep(GOOD).await;
        // Whoever watches does not keep it.
        let Some(view) = view.upgrade() else { return };
        let Ok(status) = view.status().await else { return };
        drop(view);
        let mut status = Arc::unwrap_or_clone(status);
        let now = std::mem::take(&mut status.now);
        let text = serde_json::to_string(&status).expect("a status can be written");
        quiet += 1;
        if text != before || quiet >= QUIET {
            (before, quiet) = (text, 0);
            status.now = now;
            newest.send_replace(event(&status));
        }
    }
}
