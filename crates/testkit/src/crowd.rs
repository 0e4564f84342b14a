//! Many clients in one process: each of them no more than its end of a stream, without a disk and without a machine.

use std::future::Future;
use std::io::Read as _;
use std::time::Duration;

use cahoots_core::{NodeId, wire};
use cahoots_node::NodeError;
use cahoots_node::transport::proto::{Frame, Hello};
use cahoots_node::transport::{EnvelopeHeader, Kind, Outbox, Stream, dial, frame};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Streams that are opened at once.
const CONNECTING: usize = 64;

/// How long a welcome may take, however many are opened.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stream whose hello was welcome.
pub struct Greeted {
    /// What it sends.
    pub frames: mpsc::Sender<Frame>,
    /// What it is sent.
    pub stream: Stream,
    /// What its envelopes say.
    pub header: EnvelopeHeader,
}

impl Greeted {
    /// Connects and says hello.
    pub async fn new(url: &str, federation: &str, client: u32) -> Result<Greeted, NodeError> {
        let (frames, outgoing) = Outbox::channel();
        let mut instance = vec![0; 16];
        instance[..4].copy_from_slice(&client.to_le_bytes());
        let hello = Hello {
            federation: federation.into(),
            client,
            instance,
            version: wire::VERSION,
            epochs: vec![1],
            written: vec![0],
            numbered: vec![0],
            ..Hello::default()
        };
        let _ = frames.try_send(frame(Kind::Hello(hello.into())));
        let welcomed = async {
            let mut stream = dial(url, outgoing).await.map_err(NodeError::Network)?;
            let first = stream.next().await.map_err(|e| NodeError::Network(e.to_string()))?;
            Ok::<_, NodeError>((stream, first.and_then(|frame| frame.kind)))
        };
        let late = |_| NodeError::Network(format!("no welcome for client {client} within {PATIENCE:?}"));
        match tokio::time::timeout(PATIENCE, welcomed).await.map_err(late)?? {
            (stream, Some(Kind::Welcome(welcome))) => {
                let (federation, from) = (federation.into(), NodeId(client));
                let header = EnvelopeHeader { federation, from, parameters: welcome.parameters };
                Ok(Greeted { frames, stream, header })
            }
            (_, other) => Err(NodeError::Network(format!("no welcome for client {client}: {other:?}"))),
        }
    }
}

/// Does something for each of clients 0 to `clients`, many at once; gives what came of it, in no order.
pub async fn each<T, F>(clients: u32, one: impl Fn(u32) -> F) -> Result<Vec<T>, NodeError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, NodeError>> + Send + 'static,
{
    let ended =
        |ended: Result<_, tokio::task::JoinError>| ended.map_err(|e| NodeError::Stopped(e.to_string()));
    let mut begun = JoinSet::new();
    let mut done = Vec::with_capacity(clients as usize);
    for client in 0..clients {
        if begun.len() == CONNECTING
            && let Some(one) = begun.join_next().await
        {
            done.push(ended(one)??);
        }
        begun.spawn(one(client));
    }
    while let Some(one) = begun.join_next().await {
        done.push(ended(one)??);
    }
    Ok(done)
}

/// Makes members of so many clients, of whom the first `here` stay connected until standard input ends; says on a line
/// when all have joined.
pub fn crowd(url: &str, federation: &str, clients: u32, here: u32) -> Result<(), NodeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|e| NodeError::Stopped(e.to_string()))?;
    let joined = runtime.block_on(each(clients, |client| {
        let (url, federation) = (url.to_string(), federation.to_string());
        async move {
            let greeted = Greeted::new(&url, &federation, client).await?;
            Ok((client < here).then_some(greeted))
        }
    }))?;
    println!("{}", serde_json::json!({ "joined": joined.len(), "here": joined.iter().flatten().count() }));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    runtime.shutdown_background();
    Ok(())
}
