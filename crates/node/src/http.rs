//! The client for apps in any language: JSON over loopback HTTP. A reward that
//! got no answer can be sent again.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use cahoots_core::DecisionId;
use cahoots_core::decision::{RewardError, Taken};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Arms, Client};
use crate::error::NodeError;

/// A request of some thousand arms with a hundred features each.
const LARGEST: usize = 32 << 20;

/// `POST /decide`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecideRequest {
    arms: OfferedArms,
    user: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OfferedArms {
    Plain(usize),
    Features(Vec<Vec<f64>>),
}

#[derive(Serialize)]
struct DecideAnswer {
    id: String,
    arm: u32,
}

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

/// The routes of a client.
pub fn router(client: Arc<Client>) -> Router {
    Router::new()
        .route("/decide", post(decide))
        .route("/reward", post(reward))
        .route("/abandon", post(abandon))
        .route("/status", get(async |State(client): State<Arc<Client>>| Json(client.status())))
        .route("/health", get(health))
        .layer(axum::extract::DefaultBodyLimit::max(LARGEST))
        .with_state(client)
}

async fn decide(State(client): State<Arc<Client>>, body: Bytes) -> Result<Json<DecideAnswer>, Refused> {
    let request: DecideRequest =
        parse(&body, r#"{"arms": [[...], ...]} or {"arms": NUMBER}, with an optional "user": NUMBER"#)?;
    let arms = match &request.arms {
        OfferedArms::Plain(arms) => Arms::Plain(*arms),
        OfferedArms::Features(rows) => Arms::Features(rows),
    };
    let decision = client.decide(request.user, arms)?;
    Ok(Json(DecideAnswer { id: decision.id.to_string(), arm: decision.arm().0 }))
}

async fn reward(State(client): State<Arc<Client>>, body: Bytes) -> Result<Response, Refused> {
    let request: RewardRequest = parse(&body, r#"{"id": "EPOCH-NUMBER", "reward": NUMBER}"#)?;
    let ack = client.reward_async(id(&request.id)?, request.reward).await?;
    Ok(Json(json!({ "status": ack })).into_response())
}

async fn abandon(State(client): State<Arc<Client>>, body: Bytes) -> Result<Response, Refused> {
    let request: AbandonRequest = parse(&body, r#"{"id": "EPOCH-NUMBER"}"#)?;
    let status = match client.abandon(id(&request.id)?)? {
        Taken::Fresh(()) => "abandoned",
        Taken::Repeated => "repeated",
    };
    Ok(Json(json!({ "status": status })).into_response())
}

async fn health(State(client): State<Arc<Client>>) -> Response {
    match client.refusing() {
        None => {
            let problems = client.problems();
            let status = if problems.is_empty() { "ok" } else { "degraded" };
            Json(json!({ "status": status, "problems": problems })).into_response()
        }
        Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "error": reason }))).into_response(),
    }
}

/// An error and its status.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<NodeError> for Refused {
    fn from(error: NodeError) -> Refused {
        let status = match &error {
            NodeError::Arms(_) | NodeError::Request(_) | NodeError::Config(_) => StatusCode::BAD_REQUEST,
            NodeError::Reward(RewardError::Unusable(_)) => StatusCode::BAD_REQUEST,
            NodeError::Reward(RewardError::Unknown(_)) => StatusCode::NOT_FOUND,
            NodeError::Reward(RewardError::Contradiction { .. } | RewardError::Rewarded(_))
            | NodeError::Lockstep => StatusCode::CONFLICT,
            NodeError::NotJoined | NodeError::Stopped(_) | NodeError::Store(_) | NodeError::Network(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Refused(status, error.to_string())
    }
}

fn parse<T: DeserializeOwned>(body: &[u8], expected: &str) -> Result<T, Refused> {
    serde_json::from_slice(body)
        .map_err(|e| Refused(StatusCode::BAD_REQUEST, format!("{e}; expected {expected}")))
}

fn id(text: &str) -> Result<DecisionId, Refused> {
    text.parse().map_err(|e| Refused(StatusCode::BAD_REQUEST, e))
}
