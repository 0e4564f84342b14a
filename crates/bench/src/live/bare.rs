//! The transport alone: the same frames over the same streams to a service that only confirms.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_node::NodeError;
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::{Frame, Welcome};
use cahoots_node::transport::{self, Inbound, Kind, confirm, frame};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::failed;

/// Frames that may wait, as at a coordinator.
const QUEUE: usize = 1024;

/// Serves streams until the process ends; the first line on stdout says where.
pub fn serve() -> Result<(), NodeError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let (inbound, mut came) = mpsc::channel::<Inbound>(QUEUE);
    // A thread of its own, as a coordinator's machine has.
    std::thread::spawn(move || {
        let mut open = BTreeMap::new();
        while let Some(inbound) = came.blocking_recv() {
            match inbound {
                Inbound::Opened(session, frames) => drop(open.insert(session, frames)),
                Inbound::Closed(session) => drop(open.remove(&session)),
                Inbound::Frame(session, Frame { kind }) => {
                    let answer = match kind {
                        Some(Kind::Hello(_)) => frame(Kind::Welcome(Welcome::default())),
                        Some(Kind::Envelope(envelope)) => confirm(envelope.sequence),
                        _ => continue,
                    };
                    if let Some(frames) = open.get(&session) {
                        let _ = frames.try_send(answer);
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
            inbound,
            ServeLimits::default(),
            Arc::default(),
            std::future::pending(),
        )
        .await;
        served.map_err(NodeError::Network)
    })
}
