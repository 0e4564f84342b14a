//! The transport alone: the same frames over the same streams to a service that only confirms; and, where it is told to,
//! sends as many views as a coordinator did, without computing any.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cahoots_core::NodeId;
use cahoots_node::NodeError;
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::{Frame, Welcome};
use cahoots_node::transport::{self, EnvelopeHeader, Inbound, Kind, confirm, frame};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::failed;

/// Frames that may wait, as at a coordinator.
const QUEUE: usize = 1024;

/// What is sent besides confirmations.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Echo {
    /// Views per upload.
    pub(super) views: f64,
    /// Bytes of a view.
    pub(super) bytes: usize,
}

/// Serves streams until the process ends; the first line on stdout says where. The file says what to send.
pub fn serve(file: &Path) -> Result<(), NodeError> {
    let echo: Echo = serde_json::from_slice(&std::fs::read(file).map_err(failed)?).map_err(failed)?;
    let header = EnvelopeHeader { federation: String::new(), from: NodeId::SERVER, parameters: 0 };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let (inbound, mut came) = mpsc::channel::<Inbound>(QUEUE);
    // A thread of its own, as a coordinator's machine has.
    std::thread::spawn(move || {
        let mut open = BTreeMap::new();
        let (mut due, mut sequence) = (0.0, 0);
        while let Some(inbound) = came.blocking_recv() {
            match inbound {
                Inbound::Opened(session, _, frames) => drop(open.insert(session, frames)),
                Inbound::Closed(session) => drop(open.remove(&session)),
                Inbound::Frame(session, Frame { kind }) => {
                    let Some(frames) = open.get(&session) else { continue };
                    let answer = match kind {
                        Some(Kind::Hello(_)) => frame(Kind::Welcome(Welcome::default().into())),
                        Some(Kind::Envelope(envelope)) => {
                            due += echo.views;
                            confirm(envelope.sequence)
                        }
                        _ => continue,
                    };
                    let _ = frames.try_send(answer);
                    while due >= 1.0 {
                        (due, sequence) = (due - 1.0, sequence + 1);
                        let view = header.around(NodeId(0), sequence, 0, vec![0; echo.bytes]);
                        let _ = frames.try_send(frame(Kind::Envelope(view.into())));
                    }
                }
            }
        }
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        println!("{}", json!({ "listening": listener.local_addr().map_err(failed)?.to_string() }));
        let served = transport::serve(
            listener,
            None,
            inbound,
            ServeLimits::default(),
            Arc::default(),
            std::future::pending(),
        )
        .await;
        served.map_err(NodeError::Network)
    })
}
