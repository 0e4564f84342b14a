//! Who answers like a coordinator, and does what a test wants.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use cahoots_node::Terms;
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::{Confirm, Frame, Refusal, Welcome};
use cahoots_node::transport::{Inbound, Kind, frame, serve};
use tokio::net::TcpListener;

/// What it does with who comes.
#[derive(Clone)]
pub(super) enum Act {
    /// Says nothing.
    Silent,
    /// Does not let it in.
    Refuse { last: bool, leader: String },
    /// Lets it in as one that has so much of what it sent, and confirms what comes.
    Welcome { received: u64, kept: Option<u64> },
}

impl Act {
    pub(super) fn welcome(received: u64) -> Act {
        Act::Welcome { received, kept: None }
    }
}

#[derive(Default)]
struct Seen {
    act: Option<Act>,
    hellos: usize,
    /// Numbers of messages.
    got: Vec<u64>,
    bytes: usize,
    /// The way out to who is there.
    out: Vec<tokio::sync::mpsc::Sender<Frame>>,
    /// The thread that answers sleeps for so long, like a process that is stopped.
    sleep: Option<Duration>,
}

pub(super) struct Fake {
    pub(super) url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Fake {
    pub(super) fn start(terms: &Terms, act: Act) -> Fake {
        let seen = Arc::new(Mutex::new(Seen { act: Some(act), ..Seen::default() }));
        let (ready, address) = mpsc::channel();
        let (terms, shared) = (terms.clone(), seen.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                let (inbound, frames) = tokio::sync::mpsc::channel::<Inbound>(64);
                tokio::spawn(answer(terms, shared, frames));
                let limits = ServeLimits::default();
                serve(listener, None, inbound, limits, Arc::default(), std::future::pending()).await.unwrap();
            });
        });
        Fake { url: format!("http://{}", address.recv().unwrap()), seen }
    }

    pub(super) fn act(&self, act: Act) {
        self.seen.lock().unwrap().act = Some(act);
    }

    pub(super) fn hellos(&self) -> usize {
        self.seen.lock().unwrap().hellos
    }

    pub(super) fn got(&self) -> Vec<u64> {
        self.seen.lock().unwrap().got.clone()
    }

    pub(super) fn take_got(&self) -> Vec<u64> {
        std::mem::take(&mut self.seen.lock().unwrap().got)
    }

    /// Bytes of all messages.
    pub(super) fn bytes(&self) -> usize {
        self.seen.lock().unwrap().bytes
    }

    /// Ends all connections.
    pub(super) fn cut(&self) {
        let mut seen = self.seen.lock().unwrap();
        seen.got.clear();
        seen.out.clear();
    }

    pub(super) fn freeze(&self, time: Duration) {
        self.seen.lock().unwrap().sleep = Some(time);
    }
}

async fn answer(terms: Terms, seen: Arc<Mutex<Seen>>, mut inbound: tokio::sync::mpsc::Receiver<Inbound>) {
    loop {
        let came = tokio::time::timeout(Duration::from_millis(20), inbound.recv()).await;
        let sleep = seen.lock().unwrap().sleep.take();
        if let Some(sleep) = sleep {
            // Nothing else happens on this thread meanwhile.
            std::thread::sleep(sleep);
        }
        let Ok(came) = came else { continue };
        let mut seen = seen.lock().unwrap();
        match came {
            None => return,
            Some(Inbound::Opened(_, _, out)) => seen.out.push(out),
            Some(Inbound::Frame(_, Frame { kind: Some(kind) })) => {
                let reply = reply(&terms, &mut seen, kind);
                let last = matches!(reply, Some(Kind::Refusal(_)));
                if let (Some(reply), Some(out)) = (reply, seen.out.last()) {
                    let _ = out.try_send(frame(reply));
                }
                if last {
                    seen.out.pop();
                }
            }
            Some(_) => {}
        }
    }
}

fn reply(terms: &Terms, seen: &mut Seen, kind: Kind) -> Option<Kind> {
    let act = seen.act.clone()?;
    match kind {
        Kind::Hello(_) => {
            seen.hellos += 1;
            match act {
                Act::Silent => None,
                Act::Refuse { last, leader } => Some(Kind::Refusal(Refusal {
                    reason: "not here".into(),
                    r#final: last,
                    old_copy: false,
                    leader,
                })),
                Act::Welcome { received, .. } => Some(Kind::Welcome(Box::new(Welcome {
                    received,
                    terms: terms.to_toml(),
                    parameters: terms.hash(),
                    sent: 0,
                    change: None,
                    replicated: true,
                }))),
            }
        }
        Kind::Envelope(envelope) => {
            seen.got.push(envelope.sequence);
            seen.bytes += envelope.payload.len();
            let Act::Welcome { kept, .. } = act else { return None };
            Some(Kind::Confirm(Confirm { sequence: envelope.sequence, peer: None, kept }))
        }
        _ => None,
    }
}
