//! What an app has done: arms, decisions, rewards.

use std::sync::Arc;

use cahoots_core::decision::Taken;
use hyper::StatusCode;
use hyper::body::Incoming;
use serde::Serialize;
use serde_json::{Value, json};

use super::bodies::{self, ArmsBody, RewardBody, RewardItem, WhichBody};
use super::offer::{Asked, Expected, TOO_MANY, TOO_MANY_DECISIONS};
use super::request::{Answer, Refused, SMALL};
use super::{Face, in_json, parse, parse_any, unreadable};
use crate::client::{Ack, ArmRef, Decision, Ranked, Registered, Reply};
use crate::error::NodeError;
use crate::limits::Counters;

/// What `POST /decide` takes.
const DECIDE: &str = r#"{"arms": [[...], ...]}, {"arms": NUMBER} or {"arms": [{"id": TEXT, "features": [...]}, TEXT, ...]}, with optional "user", "masked", "top", "event", "deferred", "baseline", "context"; or {"decisions": [...]}"#;

pub(super) async fn decide(face: Arc<Face>, body: Incoming) -> Result<Answer, Refused> {
    let expected = match face.expected.get() {
        Some(expected) => *expected,
        None => {
            let (width, usual) = face.client.offered()?;
            let most = face.limits.arms.max(usual);
            *face.expected.get_or_init(|| Expected { width, usual, most, batch: face.limits.batch })
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

/// As several decisions are answered.
#[derive(Serialize)]
struct Decisions {
    decisions: Vec<Reply>,
}

impl Face {
    fn decide(&self, body: &[u8], expected: Expected) -> Result<Answer, Refused> {
        let asked = expected.read(body).map_err(|error| {
            let error = error.to_string();
            let most = if error.starts_with(TOO_MANY) {
                expected.most
            } else if error.starts_with(TOO_MANY_DECISIONS) {
                expected.batch
            } else {
                return unreadable(&error, DECIDE);
            };
            Counters::count(&self.counters.too_large);
            Refused(StatusCode::PAYLOAD_TOO_LARGE, format!("{error}; {most} is the most"))
        })?;
        match asked {
            Asked::One(offer) => {
                let reply = match offer.bare() {
                    Some((arms, user)) => plainly(self.client.decide(user, arms)?),
                    None => self.client.ask(&offer.ask(&offer.named()))?,
                };
                Ok(in_json(StatusCode::OK, &reply))
            }
            Asked::Several(offers) => {
                let named: Vec<_> = offers.iter().map(|offer| offer.named()).collect();
                let asks: Vec<_> = offers.iter().zip(&named).map(|(offer, named)| offer.ask(named)).collect();
                Ok(in_json(StatusCode::OK, &Decisions { decisions: self.client.decide_all(&asks)? }))
            }
        }
    }
}

/// A decision by position, as all others are told.
fn plainly(Decision { id, picked, model, decided }: Decision) -> Reply {
    let taken = Ranked {
        arm: ArmRef::Position(picked.arm.0),
        score: picked.score,
        interval: picked.interval,
        probability: picked.probability,
    };
    Reply { id, event: None, taken, model, decided, ranking: None }
}

pub(super) async fn reward(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, face.limits.body_bytes).await?;
    let (rewards, several) = parse_any::<RewardBody>(body, bodies::REWARD).await?.rewards()?;
    if several {
        return several_rewards(face, &rewards).await;
    }
    let ack = face.client.reward_async(&rewards[0].reward()?).await?;
    Ok(in_json(StatusCode::OK, &json!({ "status": ack })))
}

/// Each has an answer of its own, and those that can be read are given together.
async fn several_rewards(face: &Face, items: &[RewardItem]) -> Result<Answer, Refused> {
    let read: Vec<_> = items.iter().map(RewardItem::reward).collect();
    let good: Vec<_> = read.iter().filter_map(|reward| reward.as_ref().ok().copied()).collect();
    let mut acks = if good.is_empty() && !items.is_empty() {
        Vec::new()
    } else {
        face.client.reward_all_async(&good).await?
    }
    .into_iter();
    let answers: Vec<Value> = read
        .into_iter()
        .map(|read| match read {
            Ok(_) => acknowledged(acks.next().expect("one for each")),
            Err(refused) => refusal(&refused),
        })
        .collect();
    Ok(in_json(StatusCode::OK, &json!({ "rewards": answers })))
}

fn acknowledged(ack: Result<Ack, NodeError>) -> Value {
    match ack {
        Ok(ack) => json!({ "status": ack }),
        Err(error) => refusal(&error.into()),
    }
}

fn refusal(Refused(status, words): &Refused) -> Value {
    json!({ "code": status.as_u16(), "error": words })
}

pub(super) async fn abandon(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, SMALL).await?;
    let request: WhichBody = parse(&body, bodies::WHICH)?;
    let status = match face.client.abandon(request.which()?)? {
        Taken::Fresh(()) => "abandoned",
        Taken::Repeated => "repeated",
    };
    Ok(in_json(StatusCode::OK, &json!({ "status": status })))
}

pub(super) async fn activate(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, SMALL).await?;
    let request: WhichBody = parse(&body, bodies::WHICH)?;
    let status = match face.client.activate_async(request.which()?).await? {
        Taken::Fresh(()) => "activated",
        Taken::Repeated => "repeated",
    };
    Ok(in_json(StatusCode::OK, &json!({ "status": status })))
}

pub(super) async fn register(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, face.limits.body_bytes).await?;
    let request: ArmsBody = parse_any(body, bodies::ARMS).await?;
    let (come, go) = request.changes()?;
    let arms = face.client.register_async(&come, &go).await?;
    Ok(in_json(StatusCode::OK, &json!({ "arms": arms })))
}

/// All arms that are registered.
pub(super) fn arms(face: &Face) -> Answer {
    let arms = face.client.registered(|id, is| match is {
        Registered::Features(features) => json!({ "features": features, "id": id }),
        Registered::Index(index) => json!({ "id": id, "index": index }),
    });
    in_json(StatusCode::OK, &json!({ "arms": arms }))
}
