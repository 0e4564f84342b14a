//! A client without a disk and without a machine: only its end of the stream.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::{Cx, LinearStats, NodeId, Unprotected, message};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use cahoots_node::NodeError;
use cahoots_node::transport::proto::Frame;
use cahoots_node::transport::{EnvelopeHeader, Kind, Stream, WINDOW, confirm, frame};
use cahoots_testkit::crowd::{Greeted, each};

/// Encoded uploads, by their number, from 1.
pub(super) type Uploads = Arc<[Vec<u8>]>;

/// So many uploads of observations along all axes.
pub(super) fn uploads(dim: usize, n: u64) -> Uploads {
    let mut stats = LinearStats::empty(dim);
    for i in 0..dim {
        let x: Vec<f64> = (0..dim).map(|j| if i == j { 1.0 } else { 0.1 }).collect();
        stats.observe(&x, 0.5);
    }
    let upload = |number| {
        let exact = stats.clone();
        let release = |cx: &mut Cx<'_, LinearMsg>| cx.release(&mut Unprotected, exact);
        let (stats, _) = Cx::rehearse(NodeId(0), 0, release);
        message::encode(&LinearMsg::Upload { number, stats })
    };
    (1..=n).map(upload).collect()
}

/// How a client takes what it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reads {
    /// At once.
    AtOnce,
    /// A frame, then a pause.
    Slowly(Duration),
    /// Nothing, until all is over.
    Nothing,
}

/// When a client uploads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// As the window allows.
    AtOnce,
    /// First after so long, then at intervals.
    Every(Duration, Duration),
}

/// What a client is told about the others.
#[derive(Clone)]
pub(super) struct Common {
    /// What all upload.
    pub(super) uploads: Uploads,
    /// Hears of everyone whose uploads are confirmed.
    pub(super) confirmed: mpsc::UnboundedSender<()>,
    /// It is over.
    pub(super) over: watch::Receiver<bool>,
    /// What they were sent besides confirmations.
    pub(super) views: Arc<Views>,
}

/// Views that came, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Views {
    pub(super) number: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// A greeted stream.
pub(super) struct Raw {
    frames: mpsc::Sender<Frame>,
    stream: Stream,
    header: EnvelopeHeader,
    sent: u64,
    confirmed: u64,
}

impl Raw {
    /// Connects and says hello.
    pub(super) async fn connect(url: &str, federation: &str, client: u32) -> Result<Raw, NodeError> {
        let Greeted { frames, stream, header } = Greeted::new(url, federation, client).await?;
        Ok(Raw { frames, stream, header, sent: 0, confirmed: 0 })
    }

    /// Connects clients 0 to `clients`, many at once.
    pub(super) async fn connect_all(
        url: &str,
        federation: &'static str,
        clients: u32,
    ) -> Result<Vec<Raw>, NodeError> {
        let connect = |client| {
            let url = url.to_string();
            async move { Raw::connect(&url, federation, client).await }
        };
        each(clients, connect).await
    }

    async fn send_next(&mut self, uploads: &Uploads) {
        let payload = uploads[self.sent as usize].clone();
        self.sent += 1;
        let envelope = self.header.around(NodeId::SERVER, self.sent, 0, payload);
        let _ = self.frames.send(frame(Kind::Envelope(envelope.into()))).await;
    }

    async fn take(&mut self, frame: Option<Frame>, views: Option<&Views>) -> Result<(), NodeError> {
        match frame.and_then(|frame| frame.kind) {
            Some(Kind::Confirm(confirm)) => self.confirmed = confirm.sequence,
            Some(Kind::Envelope(envelope)) => {
                if let Some(views) = views {
                    views.number.fetch_add(1, Relaxed);
                    views.bytes.fetch_add(envelope.payload.len() as u64, Relaxed);
                }
                let _ = self.frames.send(confirm(envelope.sequence)).await;
            }
            other => return Err(NodeError::Network(format!("unexpected: {other:?}"))),
        }
        Ok(())
    }

    /// Sends all uploads as fast as the window allows; returns when they are confirmed.
    pub(super) async fn upload(mut self, uploads: Uploads) -> Result<(), NodeError> {
        let n = uploads.len() as u64;
        while self.confirmed < n {
            while self.sent < n && self.sent - self.confirmed < WINDOW as u64 {
                self.send_next(&uploads).await;
            }
            let next = self.stream.next().await.map_err(|e| NodeError::Network(e.to_string()))?;
            self.take(next, None).await?;
        }
        Ok(())
    }

    /// The same, and how long each upload took.
    pub(super) async fn upload_timed(mut self, uploads: Uploads) -> Result<Vec<Duration>, NodeError> {
        let n = uploads.len() as u64;
        let (mut begun, mut times) = (std::collections::VecDeque::new(), Vec::with_capacity(uploads.len()));
        while self.confirmed < n {
            while self.sent < n && self.sent - self.confirmed < WINDOW as u64 {
                begun.push_back(Instant::now());
                self.send_next(&uploads).await;
            }
            let next = self.stream.next().await.map_err(|e| NodeError::Network(e.to_string()))?;
            self.take(next, None).await?;
            while (times.len() as u64) < self.confirmed {
                times.extend(begun.pop_front().map(|begun| begun.elapsed()));
            }
        }
        Ok(times)
    }

    /// Sends all uploads, tells when they are confirmed, and stays until all is over. Who reads slowly catches up
    /// then: nothing of what it sent is lost.
    pub(super) async fn take_part(
        mut self,
        pace: Pace,
        reads: Reads,
        mut common: Common,
    ) -> Result<(), NodeError> {
        let n = common.uploads.len() as u64;
        let (mut due, period) = match pace {
            Pace::AtOnce => (Instant::now(), Duration::ZERO),
            Pace::Every(first, period) => (Instant::now() + first, period),
        };
        let (mut over, mut told) = (false, false);
        while !over || self.confirmed < n {
            let may_send = self.sent < n && self.sent - self.confirmed < WINDOW as u64;
            tokio::select! {
                _ = common.over.changed(), if !over => over = true,
                () = tokio::time::sleep_until(due), if may_send => {
                    self.send_next(&common.uploads).await;
                    due += period;
                }
                next = self.stream.next(), if over || reads != Reads::Nothing => {
                    self.take(next.map_err(|e| NodeError::Network(e.to_string()))?, (!over).then_some(&*common.views)).await?;
                    if let (Reads::Slowly(pause), false) = (reads, over) {
                        tokio::time::sleep(pause).await;
                    }
                }
            }
            if self.confirmed == n && !told {
                told = true;
                let _ = common.confirmed.send(());
            }
        }
        Ok(())
    }
}
