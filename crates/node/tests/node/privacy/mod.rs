//! What clients let go of their users' data: on record whatever happens, below their own ceiling whatever a coordinator
//! says, and with noise that nobody draws twice.

mod aggregation;
mod ceiling;
mod copies;
mod polling;
mod telemetry;

use std::path::Path;
use std::sync::{Arc, Mutex};

use cahoots_core::Unit;
use cahoots_node::client::{Arms, Client, ClientConfig};
use cahoots_node::limits::ServeLimits;
use cahoots_node::privacy::Ceiling;
use cahoots_node::transport::proto::{Change, Frame, Welcome};
use cahoots_node::transport::{self, Inbound, Kind, frame};
use cahoots_node::{Known, Terms};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::common::{FEDERATION, TICK, runtime, store_of};

/// What the app of this test's clients allows.
const CEILING: Ceiling = Ceiling { max_epsilon: 1.0, max_delta: 1e-5, unit: Unit::Event };

/// A client in this folder.
fn config(known: &Arc<Known>, folder: &Path, url: Option<&str>, ceiling: Option<Ceiling>) -> ClientConfig {
    let builder = Client::builder(known.clone(), FEDERATION, 0).store(store_of(folder, 0)).tick(TICK);
    ClientConfig {
        coordinator: url.map(Into::into),
        longest_pause: TICK,
        sync: cahoots_node::store::Sync::Memory,
        privacy: ceiling,
        ..builder.config()
    }
}

/// A decision and its reward.
fn learn(client: &Client, reward: f64) {
    let decision = client.decide(None, Arms::Plain(2)).unwrap();
    client.reward(decision.id, reward).unwrap();
}

fn epsilon(client: &Client) -> f64 {
    client.privacy().spent.first().map_or(0.0, |spent| spent.epsilon)
}

/// A coordinator that says what it is told to say.
struct Liar {
    url: String,
    said: Arc<Mutex<Saying>>,
    /// All that came, hellos included.
    heard: Arc<Mutex<Vec<Kind>>>,
    runtime: Runtime,
}

/// What it says to whoever comes.
struct Saying {
    terms: Terms,
    /// What it says that the hash of these is, if that is not true.
    hash: Option<u64>,
    change: Option<Change>,
    way_out: Option<mpsc::Sender<Frame>>,
}

impl Liar {
    fn new(terms: Terms) -> Liar {
        let runtime = runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (inbound, mut came) = mpsc::channel::<Inbound>(64);
        let limits = ServeLimits::default();
        runtime.spawn(transport::serve(
            listener,
            None,
            inbound,
            limits,
            Arc::default(),
            std::future::pending(),
        ));
        let said = Arc::new(Mutex::new(Saying { terms, hash: None, change: None, way_out: None }));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (saying, hearing) = (said.clone(), heard.clone());
        runtime.spawn(async move {
            let mut sent = 0;
            while let Some(inbound) = came.recv().await {
                match inbound {
                    Inbound::Opened(_, _, frames) => saying.lock().unwrap().way_out = Some(frames),
                    Inbound::Frame(_, Frame { kind: Some(kind) }) => {
                        if let Kind::Hello(hello) = &kind {
                            let saying = saying.lock().unwrap();
                            sent = sent.max(hello.received);
                            let welcome = Welcome {
                                received: 0,
                                terms: saying.terms.to_toml(),
                                parameters: saying.hash.unwrap_or_else(|| saying.terms.hash()),
                                sent,
                                change: saying.change.clone(),
                                replicated: false,
                            };
                            let frames = saying.way_out.as_ref().expect("opened before");
                            frames.try_send(frame(Kind::Welcome(welcome.into()))).unwrap();
                        }
                        hearing.lock().unwrap().push(kind);
                    }
                    _ => {}
                }
            }
        });
        Liar { url, said, heard, runtime }
    }

    fn say(&self, kind: Kind) {
        let saying = self.said.lock().unwrap();
        saying.way_out.as_ref().expect("someone is there").try_send(frame(kind)).unwrap();
    }

    /// From now on it says these terms; whoever is there has to come again.
    fn turn(&self, terms: Terms, hash: Option<u64>) {
        let mut saying = self.said.lock().unwrap();
        (saying.terms, saying.hash, saying.way_out) = (terms, hash, None);
    }

    fn heard(&self, which: impl Fn(&Kind) -> bool) -> usize {
        self.heard.lock().unwrap().iter().filter(|kind| which(kind)).count()
    }

    /// Uploads, each once.
    fn uploads(&self) -> usize {
        let heard = self.heard.lock().unwrap();
        let numbers = heard.iter().filter_map(|kind| match kind {
            Kind::Envelope(envelope) => Some(envelope.sequence),
            _ => None,
        });
        numbers.collect::<std::collections::BTreeSet<_>>().len()
    }

    fn hellos(&self) -> usize {
        self.heard(|kind| matches!(kind, Kind::Hello(_)))
    }

    fn stop(self) {
        self.runtime.shutdown_background();
    }
}
