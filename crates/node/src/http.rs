//! The client for apps in any language: JSON over HTTP, on this machine or with a token. A reward that
//! got no answer can be sent again.

mod entrance;
mod listen;
mod offer;
mod request;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use cahoots_core::DecisionId;
use cahoots_core::decision::{RewardError, Taken};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

pub use self::entrance::Entrance;
pub use self::listen::{Listening, listen};
use self::offer::{Expected, Offer, Offered, TOO_MANY};
use self::request::{Answer, Refused, SMALL};
use crate::client::{Arms, Client};
use crate::error::NodeError;
use crate::limits::{Accepts, ClientLimits, Counters, Door, NAME, REASON, cut};

/// Bytes of a connection that are buffered: a usual request fits.
const BUFFER: usize = 64 << 10;

/// `POST /reward`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RewardRequest {
    id: String,
    reward: f64,
}

/// `POST /abandon`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AbandonRequest {
    id: String,
}

/// A client as its app sees it.
struct Face {
    client: Arc<Client>,
    entrance: Entrance,
    limits: ClientLimits,
    counters: Arc<Counters>,
    /// What is offered, once the terms are known.
    expected: OnceLock<Expected>,
    /// Kibibytes of large bodies that may still be taken in.
    room: Semaphore,
}

/// Answers an app's requests on this machine until it is dropped.
pub async fn serve(listener: tokio::net::TcpListener, client: Arc<Client>) {
    serve_behind(listener, Entrance::default(), client).await;
}

/// Answers the requests of those whom an entrance lets in, until it is dropped.
pub async fn serve_behind<L>(listener: L, entrance: Entrance, client: Arc<Client>)
where
    L: Accepts<Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static>,
{
    let (limits, counters) = (client.limits().clone(), client.counters().clone());
    let mut door = Door::new(listener, limits.connections, counters.clone());
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(BUFFER)
        .pipeline_flush(true);
    let room = Semaphore::new((limits.bodies_bytes >> 10).clamp(1, Semaphore::MAX_PERMITS));
    let face = Arc::new(Face { client, entrance, limits, counters, expected: OnceLock::new(), room });
    loop {
        let (stream, place) = door.next().await;
        let (served, counters) = (face.clone(), face.counters.clone());
        let service = service_fn(move |request| answer(served.clone(), request));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            if let Err(error) = connection.await
                && error.is_timeout()
            {
                Counters::count(&counters.late);
            }
            drop(place);
        });
    }
}

async fn answer(face: Arc<Face>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let origin = match face.entrance.origin(request.headers()) {
        Ok(origin) => origin,
        Err(refused) => return Ok(words(refused)),
    };
    if let Some(origin) = origin.as_ref().filter(|_| request.method() == Method::OPTIONS) {
        return Ok(entrance::preflight(origin));
    }
    let mut answered = match face.entrance.admit(request.method(), request.headers()) {
        Ok(()) => routed(face, request).await,
        Err(refused) => words(refused),
    };
    if let Some(origin) = &origin {
        entrance::share(answered.headers_mut(), origin);
    }
    Ok(answered)
}

fn words(Refused(status, words): Refused) -> Answer {
    json(status, &json!({ "error": words }))
}

async fn routed(face: Arc<Face>, request: Request<Incoming>) -> Answer {
    let post = request.method() == Method::POST;
    let answered = match (request.uri().path(), post) {
        ("/decide", true) => decide(face, request.into_body()).await,
        ("/reward", true) => reward(&face, request.into_body()).await,
        ("/abandon", true) => abandon(&face, request.into_body()).await,
        ("/status", false) => Ok(json(StatusCode::OK, &face.client.status())),
        ("/health", false) => Ok(health(&face.client)),
        ("/decide" | "/reward" | "/abandon" | "/status" | "/health", _) => Err(Refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "decide, reward and abandon are posted, status and health are not".into(),
        )),
        _ => Err(Refused(
            StatusCode::NOT_FOUND,
            "there is POST /decide, /reward and /abandon, and GET /status and /health".into(),
        )),
    };
    answered.unwrap_or_else(words)
}

async fn decide(face: Arc<Face>, body: Incoming) -> Result<Answer, Refused> {
    let expected = match face.expected.get() {
        Some(expected) => *expected,
        None => {
            let (width, usual) = face.client.offered()?;
            *face.expected.get_or_init(|| Expected { width, usual, most: face.limits.arms.max(usual) })
        }
    };
    let (body, _room) = face.body(body, face.limits.body_bytes).await?;
    if body.len() <= SMALL {
        return face.decide(&body, expected);
    }
    // Others are answered while this one is read.
    let face_ = face.clone();
    let decided = tokio::task::spawn_blocking(move || face_.decide(&body, expected)).await;
    decided.map_err(|e| Refused(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?
}

impl Face {
    fn decide(&self, body: &[u8], expected: Expected) -> Result<Answer, Refused> {
        let Offer { arms, user } = expected.read(body).map_err(|error| {
            let error = error.to_string();
            if error.starts_with(TOO_MANY) {
                Counters::count(&self.counters.too_large);
                let words = format!("{error}; {} is the most", expected.most);
                return Refused(StatusCode::PAYLOAD_TOO_LARGE, words);
            }
            unreadable(
                &error,
                r#"{"arms": [[...], ...]} or {"arms": NUMBER}, with an optional "user": NUMBER"#,
            )
        })?;
        let arms = match &arms {
            Offered::Plain(arms) => Arms::Plain(*arms),
            Offered::Features(numbers) => Arms::Flat(numbers),
        };
        let decision = self.client.decide(user, arms)?;
        let probability = decision.probability().map_or(Value::Null, Value::from);
        // Ids are digits and a dash: nothing to escape.
        let text =
            format!(r#"{{"id":"{}","arm":{},"probability":{probability}}}"#, decision.id, decision.arm().0);
        Ok(request::answer(StatusCode::OK, Bytes::from(text)))
    }
}

async fn reward(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, SMALL).await?;
    let request: RewardRequest = parse(&body, r#"{"id": "EPOCH-NUMBER", "reward": NUMBER}"#)?;
    let ack = face.client.reward_async(id(&request.id)?, request.reward).await?;
    Ok(json(StatusCode::OK, &json!({ "status": ack })))
}

async fn abandon(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, SMALL).await?;
    let request: AbandonRequest = parse(&body, r#"{"id": "EPOCH-NUMBER"}"#)?;
    let status = match face.client.abandon(id(&request.id)?)? {
        Taken::Fresh(()) => "abandoned",
        Taken::Repeated => "repeated",
    };
    Ok(json(StatusCode::OK, &json!({ "status": status })))
}

fn health(client: &Client) -> Answer {
    match client.refusing() {
        None => {
            let problems = client.problems();
            let status = if problems.is_empty() { "ok" } else { "degraded" };
            json(StatusCode::OK, &json!({ "status": status, "problems": problems }))
        }
        Some(reason) => json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": reason })),
    }
}

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    request::answer(status, serde_json::to_vec(value).expect("answers can be written").into())
}

impl From<NodeError> for Refused {
    fn from(error: NodeError) -> Refused {
        let status = match &error {
            NodeError::Arms(_) | NodeError::Request(_) | NodeError::Config(_) => StatusCode::BAD_REQUEST,
            NodeError::Reward(RewardError::Unusable(_) | RewardError::Outside { .. }) => {
                StatusCode::BAD_REQUEST
            }
            NodeError::Reward(RewardError::Unknown(_)) => StatusCode::NOT_FOUND,
            NodeError::Reward(RewardError::Contradiction { .. } | RewardError::Rewarded(_))
            | NodeError::Declined(_)
            | NodeError::Lockstep => StatusCode::CONFLICT,
            NodeError::TooManyOpen { .. } => StatusCode::TOO_MANY_REQUESTS,
            NodeError::NotJoined | NodeError::Stopped(_) | NodeError::Store(_) | NodeError::Network(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Refused(status, error.to_string())
    }
}

/// For this project's own tests: bodies as they are read here.
pub(crate) mod inside {
    use super::offer::{Expected, Offered};
    use super::{AbandonRequest, RewardRequest, id, parse};

    /// `POST /decide` with arms of so many features: how many numbers were kept.
    pub fn decide_body(body: &[u8], width: usize, usual: usize, most: usize) -> Result<usize, String> {
        let offer = Expected { width, usual, most }.read(body).map_err(|e| e.to_string())?;
        Ok(match offer.arms {
            Offered::Plain(_) => 0,
            Offered::Features(numbers) => numbers.len(),
        })
    }

    /// `POST /reward`
    pub fn reward_body(body: &[u8]) -> Result<f64, String> {
        let request: RewardRequest = parse(body, "").map_err(|refused| refused.1)?;
        id(&request.id).map_err(|refused| refused.1)?;
        Ok(request.reward)
    }

    /// `POST /abandon`
    pub fn abandon_body(body: &[u8]) -> Result<(), String> {
        let request: AbandonRequest = parse(body, "").map_err(|refused| refused.1)?;
        id(&request.id).map(drop).map_err(|refused| refused.1)
    }
}

fn parse<T: DeserializeOwned>(body: &[u8], expected: &str) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string(), expected))
}

fn unreadable(error: &str, expected: &str) -> Refused {
    Refused(StatusCode::BAD_REQUEST, format!("{}; expected {expected}", cut(error, REASON)))
}

fn id(text: &str) -> Result<DecisionId, Refused> {
    cut(text, NAME).parse().map_err(|e| Refused(StatusCode::BAD_REQUEST, e))
}
