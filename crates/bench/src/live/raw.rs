//! A client without a disk and without a machine: only its end of the stream.

use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::{Cx, LinearStats, NodeId, Unprotected, message, wire};
use tokio::sync::mpsc;

use cahoots_node::NodeError;
use cahoots_node::transport::proto::{Frame, Hello};
use cahoots_node::transport::{EnvelopeHeader, Kind, Outbox, Stream, WINDOW, confirm, dial, frame};

/// A greeted stream.
pub(super) struct Raw {
    frames: mpsc::Sender<Frame>,
    stream: Stream,
    header: EnvelopeHeader,
}

impl Raw {
    /// Connects and says hello.
    pub(super) async fn connect(url: &str, federation: &str, client: u32) -> Result<Raw, NodeError> {
        let (frames, outgoing) = Outbox::channel();
        let mut instance = vec![0; 16];
        instance[..4].copy_from_slice(&client.to_le_bytes());
        let hello = Hello {
            federation: federation.into(),
            client,
            instance,
            version: wire::VERSION,
            parameters: 0,
            received: 0,
            sent: 0,
            epochs: vec![1],
            began_at: 0,
            began_after: 0,
            rejoins: false,
        };
        let _ = frames.try_send(frame(Kind::Hello(hello)));
        let mut stream = dial(url, outgoing).await.map_err(NodeError::Network)?;
        match stream.next().await.map_err(NodeError::Network)?.and_then(|frame| frame.kind) {
            Some(Kind::Welcome(welcome)) => {
                let (federation, from) = (federation.into(), NodeId(client));
                let header = EnvelopeHeader { federation, from, parameters: welcome.parameters };
                Ok(Raw { frames, stream, header })
            }
            other => Err(NodeError::Network(format!("no welcome: {other:?}"))),
        }
    }

    /// Sends `n` uploads as fast as the window allows; returns when all are confirmed.
    pub(super) async fn upload(mut self, n: u64, stats: LinearStats) -> Result<(), NodeError> {
        let (mut sent, mut confirmed) = (0, 0);
        while confirmed < n {
            while sent < n && sent - confirmed < WINDOW as u64 {
                sent += 1;
                let exact = stats.clone();
                let release = |cx: &mut Cx<'_, LinearMsg>| cx.release(&mut Unprotected, exact);
                let (stats, _) = Cx::rehearse(self.header.from, 0, release);
                let message = LinearMsg::Upload { number: sent, stats };
                let envelope = self.header.around(NodeId::SERVER, sent, 0, message::encode(&message));
                let _ = self.frames.send(frame(Kind::Envelope(envelope))).await;
            }
            match self.stream.next().await.map_err(NodeError::Network)?.and_then(|frame| frame.kind) {
                Some(Kind::Confirm(confirm)) => confirmed = confirm.sequence,
                Some(Kind::Envelope(envelope)) => {
                    let _ = self.frames.send(confirm(envelope.sequence)).await;
                }
                other => return Err(NodeError::Network(format!("unexpected: {other:?}"))),
            }
        }
        Ok(())
    }
}
