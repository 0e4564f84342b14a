//! The client for apps in any language: JSON over HTTP, on this machine or with a token. A reward that
//! got no answer can be sent again.

mod app;
mod arms;
mod bodies;
mod entrance;
mod listen;
mod look;
mod offer;
mod personalizer;
mod request;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use cahoots_core::decision::RewardError;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

pub use self::entrance::Entrance;
pub(crate) use self::entrance::speaks_to_this_machine;
pub use self::listen::{Listening, listen};
pub(crate) use self::listen::{addresses, at_any_port, cannot, listen_again, listen_anywhere, may_listen};
use self::offer::Expected;
use self::request::{Answer, Refused, SMALL};
use crate::client::{Client, TicketError};
use crate::error::NodeError;
use crate::limits::{Accepts, ClientLimits, Counters, Door, REASON, cut};
use crate::login::{self, LOGIN};

/// Bytes of a connection that are buffered: a usual request fits.
const BUFFER: usize = 64 << 10;

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
    let login = face.entrance.login();
    if request.uri().path() == LOGIN {
        return Ok(match login {
            Some(login) => login.answer(request, face.limits.body).await,
            None => login::to_the_page(),
        });
    }
    let origin = match face.entrance.origin(request.headers()) {
        Ok(origin) => origin,
        Err(refused) => return Ok(words(refused)),
    };
    if let Some(origin) = origin.as_ref().filter(|_| request.method() == Method::OPTIONS) {
        return Ok(entrance::preflight(origin));
    }
    let mut answered = match face.entrance.admit(request.method(), request.headers()) {
        Ok(()) => routed(face.clone(), request).await,
        Err(refused) => match (request.uri().path(), refused.0, login) {
            ("/", StatusCode::UNAUTHORIZED, Some(login)) => login.form(refused.0, ""),
            // Whoever is asked for the token is asked in a form that can be read.
            (style @ "/page.css", StatusCode::UNAUTHORIZED, _) => look::page(style).unwrap_or_else(words),
            (path, ..) if personalizer::Route::of(path).is_some() => personalizer::words(refused),
            _ => words(refused),
        },
    };
    if let Some(origin) = &origin {
        entrance::share(answered.headers_mut(), origin);
    }
    Ok(answered)
}

fn words(Refused(status, words): Refused) -> Answer {
    in_json(status, &json!({ "error": words }))
}

/// All that can be asked for, but for [`LOGIN`]. The document in `api/client.json` says the same.
pub(crate) const ROUTES: [(&str, Method); 14] = [
    ("/decide", Method::POST),
    ("/reward", Method::POST),
    ("/activate", Method::POST),
    ("/abandon", Method::POST),
    ("/arms", Method::POST),
    ("/arms", Method::GET),
    ("/status", Method::GET),
    ("/health", Method::GET),
    ("/history", Method::GET),
    ("/gain", Method::GET),
    ("/openapi.json", Method::GET),
    ("/", Method::GET),
    ("/page.js", Method::GET),
    ("/page.css", Method::GET),
];

async fn routed(face: Arc<Face>, request: Request<Incoming>) -> Answer {
    let path = request.uri().path();
    if personalizer::Route::of(path).is_some() {
        return personalizer::answer(face, request).await;
    }
    let mut here = ROUTES.iter().filter(|(known, _)| *known == path);
    let asked = request.method();
    let fits = |method: &Method| asked == method || asked == Method::HEAD && *method == Method::GET;
    let Some((path, method)) = here.clone().find(|(_, method)| fits(method)) else {
        let listed = |wanted: &Method| {
            let paths: Vec<&str> =
                ROUTES.iter().filter(|(_, method)| method == wanted).map(|(path, _)| *path).collect();
            paths.join(", ")
        };
        return match (here.next(), here.next()) {
            (None, _) => {
                let words =
                    format!("there is POST {} and GET {}", listed(&Method::POST), listed(&Method::GET));
                words_of(StatusCode::NOT_FOUND, words)
            }
            (Some((path, only)), None) => {
                words_of(StatusCode::METHOD_NOT_ALLOWED, format!("{path} takes {only} and not {asked}"))
            }
            (Some((path, _)), Some(_)) => words_of(
                StatusCode::METHOD_NOT_ALLOWED,
                format!("{path} takes GET and POST, and not {asked}"),
            ),
        };
    };
    let query = request.uri().query().map(str::to_owned);
    let answered = match *path {
        "/decide" => app::decide(face, request.into_body()).await,
        "/reward" => app::reward(&face, request.into_body()).await,
        "/activate" => app::activate(&face, request.into_body()).await,
        "/abandon" => app::abandon(&face, request.into_body()).await,
        "/arms" if *method == Method::POST => app::register(&face, request.into_body()).await,
        "/arms" => Ok(app::arms(&face)),
        "/status" => Ok(in_json(StatusCode::OK, &face.client.status())),
        "/health" => Ok(health(&face.client)),
        "/history" => {
            look::window(query.as_deref()).map(|window| in_json(StatusCode::OK, &face.client.history(window)))
        }
        "/gain" => Ok(in_json(StatusCode::OK, &face.client.gain())),
        "/openapi.json" => Ok(look::openapi()),
        page => look::page(page),
    };
    answered.unwrap_or_else(words)
}

fn words_of(status: StatusCode, text: String) -> Answer {
    words(Refused(status, text))
}

fn health(client: &Client) -> Answer {
    match client.refusing() {
        None => {
            let problems = client.problems();
            let status = if problems.is_empty() { "ok" } else { "degraded" };
            in_json(StatusCode::OK, &json!({ "status": status, "problems": problems }))
        }
        Some(reason) => in_json(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": reason })),
    }
}

fn in_json(status: StatusCode, value: &impl Serialize) -> Answer {
    request::answer(status, serde_json::to_vec(value).expect("answers can be written").into())
}

impl From<NodeError> for Refused {
    fn from(error: NodeError) -> Refused {
        Refused(status_of(&error), error.to_string())
    }
}

fn status_of(error: &NodeError) -> StatusCode {
    match error {
        NodeError::OneOf { error, .. } => status_of(error),
        NodeError::Arms(_) | NodeError::Request(_) | NodeError::Config(_) => StatusCode::BAD_REQUEST,
        NodeError::Apprentice(_) => StatusCode::BAD_REQUEST,
        NodeError::Reward(RewardError::Unusable(_) | RewardError::Outside { .. })
        | NodeError::Ticket(TicketError::TooManyParts(_)) => StatusCode::BAD_REQUEST,
        NodeError::Reward(RewardError::Unknown(_)) | NodeError::Ticket(TicketError::UnknownEvent(_)) => {
            StatusCode::NOT_FOUND
        }
        NodeError::Reward(RewardError::Contradiction { .. } | RewardError::Rewarded(_))
        | NodeError::Ticket(TicketError::OtherPart { .. } | TicketError::TooLate { .. })
        | NodeError::Declined(_)
        | NodeError::Lockstep => StatusCode::CONFLICT,
        NodeError::TooManyOpen { .. } | NodeError::TooMuchKept { .. } => StatusCode::TOO_MANY_REQUESTS,
        NodeError::NotJoined | NodeError::Stopped(_) | NodeError::Store(_) | NodeError::Network(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// For this project's own tests: bodies as they are read here.
pub(crate) mod inside {
    use super::bodies::{ArmsBody, RewardBody, WhichBody};
    use super::offer::{Asked, Expected, Offer};
    use super::{Refused, arms, parse};

    /// `POST /decide` with arms of so many features: how many numbers were kept.
    pub fn decide_body(body: &[u8], width: usize, usual: usize, most: usize) -> Result<usize, String> {
        let expected = Expected { width, usual, most, batch: 8 };
        let kept = |offer: &Offer| match &offer.arms {
            arms::Offered::Plain(_) | arms::Offered::Registered => 0,
            arms::Offered::Features(numbers) => numbers.len(),
            arms::Offered::Named(_) => {
                let named = offer.named();
                let ask = offer.ask(&named);
                assert!(named.len() <= most && ask.masked.len() <= most);
                named.iter().map(|arm| arm.features.map_or(0, <[f64]>::len)).sum()
            }
        };
        Ok(match expected.read(body).map_err(|e| e.to_string())? {
            Asked::One(offer) => kept(&offer),
            Asked::Several(offers) => offers.iter().map(kept).max().unwrap_or(0),
        })
    }

    /// `POST /reward`: how many there are, and their sum.
    pub fn reward_body(body: &[u8]) -> Result<(usize, f64), String> {
        let said = |refused: Refused| refused.1;
        let (items, several) = parse::<RewardBody>(body, "").map_err(said)?.rewards().map_err(said)?;
        assert!(several || items.len() == 1);
        let values = items.iter().map(|item| item.reward().map(|reward| reward.value).map_err(said));
        let values = values.collect::<Result<Vec<f64>, _>>()?;
        Ok((values.len(), values.iter().sum()))
    }

    /// `POST /abandon` and `POST /activate`
    pub fn abandon_body(body: &[u8]) -> Result<(), String> {
        let request: WhichBody = parse(body, "").map_err(|refused| refused.1)?;
        request.which().map(drop).map_err(|refused| refused.1)
    }

    /// `POST /arms`: how many come and go.
    pub fn arms_body(body: &[u8]) -> Result<(usize, usize), String> {
        let request: ArmsBody = parse(body, "").map_err(|refused| refused.1)?;
        request.changes().map(|(come, go)| (come.len(), go.len())).map_err(|refused| refused.1)
    }
}

/// The same of a body that may be large: others are answered while it is read.
async fn parse_any<T: DeserializeOwned + Send + 'static>(
    body: Bytes,
    expected: &'static str,
) -> Result<T, Refused> {
    if body.len() <= SMALL {
        return parse(&body, expected);
    }
    let parsed = tokio::task::spawn_blocking(move || parse(&body, expected)).await;
    parsed.map_err(|e| Refused(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?
}

fn parse<T: DeserializeOwned>(body: &[u8], expected: &str) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string(), expected))
}

fn unreadable(error: &str, expected: &str) -> Refused {
    Refused(StatusCode::BAD_REQUEST, format!("{}; expected {expected}", cut(error, REASON)))
}
