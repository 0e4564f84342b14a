//! A coordinator as those see it who run it: a page, JSON, metrics. All of it can be read, and nothing changed.

mod access;
mod answers;
mod events;
mod fresh;
mod metrics;
mod model;
mod query;
mod view;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

pub use self::access::Access;
use self::answers::{Answer, Refused, data, document, page, text};
use self::events::Feed;
use self::query::Query;
use self::view::View;
use crate::assets;
use crate::coordinator::{Coordinator, Entry, MemberStatus};
use crate::error::NodeError;
use crate::identity::Gate;
use crate::limits::{Accepts, Counters, Door};
use crate::login::{self, LOGIN};

/// Connections of watchers at once.
const CONNECTIONS: usize = 256;
/// How long the head of a request, or a handshake, may take.
const HEAD: Duration = Duration::from_secs(10);
/// Models that are shown.
const MODELS: usize = 20;
/// What happened that is listed unless more is asked for, and at most.
const ENTRIES: (usize, usize) = (200, 10_000);

/// All that can be asked for, to be said to who asks for something else.
const THERE_IS: &str = "there is GET /, /health, /ready, /status, /members, /model, /history, /journal, /events, /metrics and /openapi.json";

const OPENAPI: &str = include_str!("../../api/coordinator.json");

/// What `GET /model` shows.
pub async fn shown_model(coordinator: &Coordinator) -> Result<serde_json::Value, NodeError> {
    Ok(json!(model::shown(coordinator.model(MODELS).await?)))
}

/// What watchers see of a coordinator.
pub struct Face {
    view: Arc<View>,
    access: Access,
    feed: Feed,
    ready: AtomicBool,
    counters: Arc<Counters>,
}

impl Face {
    /// For those who have access.
    pub fn new(coordinator: Arc<Coordinator>, access: Access) -> Arc<Face> {
        let feed = Feed::default();
        let counters = coordinator.counters().clone();
        let view = Arc::new(View::of(coordinator));
        Arc::new(Face { view, access, feed, ready: AtomicBool::new(false), counters })
    }

    /// Streams of clients are served from now on.
    pub fn is_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Answers until it is dropped; over TLS where there is a gate.
    pub async fn serve<L>(self: Arc<Face>, listener: L, gate: Option<Arc<Gate>>)
    where
        L: Accepts<Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static>,
    {
        let mut door = Door::new(listener, CONNECTIONS, self.counters.clone());
        loop {
            let (stream, place) = door.next().await;
            let (face, gate) = (self.clone(), gate.clone());
            tokio::spawn(async move {
                match gate {
                    None => face.converse(stream).await,
                    Some(gate) => {
                        let shaking = TlsAcceptor::from(gate.page_tls()).accept(stream);
                        match tokio::time::timeout(HEAD, shaking).await {
                            Ok(Ok(stream)) => face.converse(stream).await,
                            Ok(Err(_)) => Counters::count(&face.counters.identities),
                            Err(_) => Counters::count(&face.counters.late),
                        }
                    }
                }
                drop(place);
            });
        }
    }

    async fn converse(self: Arc<Face>, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let counters = self.counters.clone();
        // A browser keeps connections for later: whoever has asked something and asks no more is not late.
        let asked = Arc::new(AtomicBool::new(false));
        let asks = asked.clone();
        let service = service_fn(move |request| {
            let face = self.clone();
            asks.store(true, Ordering::Release);
            async move { Ok::<_, Infallible>(face.answer(request).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(64 << 10);
        if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await
            && error.is_timeout()
            && !asked.load(Ordering::Acquire)
        {
            Counters::count(&counters.late);
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        // Whoever checks that it lives, or gathers numbers by a machine's name, still has to be let in.
        let path = request.uri().path().to_string();
        let login = self.access.login();
        if path == LOGIN {
            let answer = match login {
                Some(login) => login.answer(request, HEAD).await,
                None => login::to_the_page(),
            };
            return answer.map(BodyExt::boxed);
        }
        if let Err(refused) = self.access.admit(request.headers()) {
            return match (path.as_str(), refused.0, login) {
                ("/", StatusCode::UNAUTHORIZED, Some(login)) => login.form(refused.0, "").map(BodyExt::boxed),
                // Whoever is asked for the token is asked in a form that can be read.
                ("/page.css", StatusCode::UNAUTHORIZED, _) => {
                    self.routed(&path, None).await.unwrap_or_else(Answer::from)
                }
                _ => refused.into(),
            };
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Refused(
                StatusCode::METHOD_NOT_ALLOWED,
                format!("nothing can be changed here; {THERE_IS}"),
            )
            .into();
        }
        self.routed(&path, request.uri().query()).await.unwrap_or_else(Answer::from)
    }

    async fn routed(&self, path: &str, query: Option<&str>) -> Result<Answer, Refused> {
        let query = |known: &'static [&'static str]| Query::read(query, known);
        match path {
            "/" => Ok(page(assets::coordinator_page(&json!(*self.view.status().await?)))),
            "/health" => self.view.status().await.map(|_| data(&json!({ "status": "ok" }))),
            "/ready" if self.ready.load(Ordering::Acquire) => {
                self.view.status().await.map(|_| data(&json!({ "ready": true })))
            }
            "/ready" => Err(Refused(StatusCode::SERVICE_UNAVAILABLE, "it is starting: try again".into())),
            "/status" => Ok(data(&*self.view.status().await?)),
            "/members" => {
                let since = query(&["since"])?.number("since")?.unwrap_or(0);
                let members = self.view.members().await?;
                let changed: Vec<&MemberStatus> = members.since(since).collect();
                Ok(data(&json!({ "revision": members.revision, "members": changed })))
            }
            "/model" => Ok(data(&*self.view.model().await?)),
            "/history" => {
                let window = query(&["window"])?.window()?;
                Ok(data(&self.view.curves().await?.columns(window)))
            }
            "/journal" => {
                let query = query(&["client", "limit"])?;
                let client = query.number("client")?.map(|client| client.min(u64::from(u32::MAX)) as u32);
                let most = query.number("limit")?.map_or(ENTRIES.0, |most| (most as usize).min(ENTRIES.1));
                let journal = self.view.journal().await?;
                let of = |entry: &&Entry| client.is_none_or(|client| entry.client == Some(client));
                let events: Vec<&Entry> =
                    journal.iter().map(|entry| &**entry).filter(of).take(most).collect();
                Ok(data(&json!({ "events": events })))
            }
            "/events" => self.feed.watch(&self.view).await,
            "/metrics" => {
                let (status, members) = (self.view.status().await?, self.view.members().await?);
                let members: Vec<&MemberStatus> = members.since(0).collect();
                Ok(text(metrics::written(&status, &members, self.feed.watchers())))
            }
            "/openapi.json" => Ok(document(OPENAPI.as_bytes(), "application/json")),
            path => match assets::coordinator(path) {
                Some(asset) => Ok(document(asset.bytes, asset.kind)),
                None => Err(Refused(StatusCode::NOT_FOUND, THERE_IS.into())),
            },
        }
    }
}
