//! Rank, reward and activate as apps of Azure Personalizer know them (versions 1.0 and 1.1; it retired in October 2026): the same paths,
//! bodies and answers, so that an app moves by changing an address. What it sends stays on this machine.
//!
//! Named features become numbers by [`crate::features`]. `expiry` in the client's file is Personalizer's reward wait time,
//! `default_reward` its default reward, `[personalizer] rewards` how several rewards of an event count.

use std::borrow::Cow;
use std::sync::Arc;

use cahoots_core::decision::RewardError;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, StatusCode};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::{self, Answer, Refused, SMALL};
use super::{Face, in_json, parse, parse_any};
use crate::client::{Aggregation, ArmRef, Arms, Ask, NamedArm, Reply, Reward, Which};
use crate::error::NodeError;
use crate::features::{FeatureError, Features, row};
use crate::limits::{NAME, cut};

/// Actions of one request, as Personalizer had it.
const MOST_ACTIONS: usize = 50;
const RANK: &str = r#"{"actions": [{"id": TEXT, "features": [{...}]}, ...]} with optional "contextFeatures", "excludedActions", "eventId", "deferActivation""#;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route<'a> {
    Rank,
    Reward(Cow<'a, str>),
    Activate(Cow<'a, str>),
}

impl Route<'_> {
    /// What a path asks for, if it is one of Personalizer's.
    pub(super) fn of(path: &str) -> Option<Route<'_>> {
        let (version, rest) = path.strip_prefix("/personalizer/")?.split_once('/')?;
        if version != "v1.0" && !version.starts_with("v1.1-preview.") {
            return None;
        }
        if rest == "rank" {
            return Some(Route::Rank);
        }
        let (event, what) = rest.strip_prefix("events/")?.rsplit_once('/')?;
        let event = percent_decode_str(event).decode_utf8().ok().filter(|event| !event.is_empty())?;
        match what {
            "reward" => Some(Route::Reward(event)),
            "activate" => Some(Route::Activate(event)),
            _ => None,
        }
    }
}

/// Does what a path asks for.
pub(super) async fn answer(face: Arc<Face>, request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        let text = format!("{} takes POST and not {}", parts.uri.path(), parts.method);
        return words(Refused(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    let answered = match Route::of(parts.uri.path()).expect("looked at by the caller") {
        Route::Rank => rank(&face, body).await,
        Route::Reward(event) => reward(&face, &event, body).await,
        Route::Activate(event) => activate(&face, &event).await,
    };
    answered.unwrap_or_else(words)
}

/// An error, as Personalizer told it.
pub(super) fn words(Refused(status, message): Refused) -> Answer {
    let code = match status {
        StatusCode::NOT_FOUND => "ResourceNotFound".into(),
        other => other.canonical_reason().unwrap_or("Error").replace(' ', ""),
    };
    in_json(status, &json!({ "error": { "code": code, "message": message } }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RankRequest {
    context_features: Option<Vec<Value>>,
    actions: Vec<Action>,
    excluded_actions: Option<Vec<String>>,
    event_id: Option<String>,
    defer_activation: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    id: String,
    features: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RewardRequest {
    value: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RankResponse {
    ranking: Vec<RankedAction>,
    event_id: String,
    reward_action_id: String,
}

#[derive(Serialize)]
struct RankedAction {
    id: String,
    /// Null where the policy cannot tell.
    probability: Option<f64>,
}

async fn rank(face: &Face, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, face.limits.body_bytes).await?;
    let asked: RankRequest = parse_any(body, RANK).await?;
    if asked.actions.len() > MOST_ACTIONS {
        let words = format!("{} actions, where {MOST_ACTIONS} are the most", asked.actions.len());
        return Err(Refused(StatusCode::BAD_REQUEST, words));
    }
    let excluded = asked.excluded_actions.as_deref().unwrap_or_default();
    let is_there = |id: &&String| !asked.actions.iter().any(|action| action.id == **id);
    if let Some(id) = excluded.iter().find(is_there) {
        let words = format!("excludedActions: there is no action {:?}", cut(id, NAME));
        return Err(Refused(StatusCode::BAD_REQUEST, words));
    }
    let (width, _) = face.client.offered()?;
    let rows = rows(&asked, width).map_err(|e| Refused(StatusCode::BAD_REQUEST, e.to_string()))?;
    let named = |(at, action): (usize, &'_ Action)| (at, action.id.clone());
    let ids: Vec<(usize, String)> = asked.actions.iter().enumerate().map(named).collect();
    let arms: Vec<NamedArm<'_>> =
        ids.iter().map(|(at, id)| NamedArm { id, features: rows.get(*at).map(Vec::as_slice) }).collect();
    let masked: Vec<ArmRef> = excluded.iter().map(|id| ArmRef::Id(id.as_str().into())).collect();
    let event = asked.event_id.map_or_else(uuid, Ok)?;
    // The first that may be shown is what the app would show itself.
    let first =
        ids.iter().find(|(_, id)| !excluded.contains(id)).map(|(_, id)| ArmRef::Id(id.as_str().into()));
    let ask = Ask {
        baseline: first.as_ref().filter(|_| face.client.is_apprentice()),
        masked: &masked,
        top: if face.client.ranks()? { arms.len() } else { 0 },
        event: Some(&event),
        deferred: asked.defer_activation.unwrap_or(false),
        ..Ask::of(Arms::Named(&arms))
    };
    let reply = face.client.ask(&ask)?;
    let ids = ids.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>();
    Ok(in_json(StatusCode::CREATED, &in_order(&reply, &ids, excluded, event)))
}

/// The row of every action; none where arms have no features.
fn rows(asked: &RankRequest, width: usize) -> Result<Vec<Vec<f64>>, FeatureError> {
    if width == 0 {
        return Ok(Vec::new());
    }
    let context = Features::of(asked.context_features.as_deref().unwrap_or_default())?;
    let of = |action: &Action| {
        let own = Features::of_action(&action.id, action.features.as_deref().unwrap_or_default())?;
        Ok(row(&context, &own, width))
    };
    asked.actions.iter().map(of).collect()
}

/// As Personalizer ranked: the best first, but excluded actions stay where they were.
fn in_order(reply: &Reply, ids: &[&str], excluded: &[String], event: String) -> RankResponse {
    let called = |arm: &ArmRef| match arm {
        ArmRef::Id(id) => id.to_string(),
        ArmRef::Position(position) => {
            ids.get(*position as usize).map_or_else(String::new, ToString::to_string)
        }
    };
    let ranked = reply.ranking.as_deref().unwrap_or(std::slice::from_ref(&reply.taken));
    let mut best: Vec<RankedAction> = ranked
        .iter()
        .map(|one| RankedAction { id: called(&one.arm), probability: one.probability })
        .collect();
    // Those of which nothing is said follow in the app's own order.
    for id in ids {
        if !excluded.iter().any(|out| out == id) && !best.iter().any(|one| one.id == *id) {
            best.push(RankedAction { id: (*id).into(), probability: None });
        }
    }
    let mut best = best.into_iter();
    let place = |id: &&str| match excluded.iter().any(|out| out == id) {
        true => Some(RankedAction { id: (*id).into(), probability: Some(0.0) }),
        false => best.next(),
    };
    let ranking = ids.iter().filter_map(place).collect();
    RankResponse { ranking, event_id: event, reward_action_id: called(&reply.taken.arm) }
}

async fn reward(face: &Face, event: &str, body: Incoming) -> Result<Answer, Refused> {
    let (body, _room) = face.body(body, SMALL).await?;
    let RewardRequest { value } = parse(&body, r#"{"value": NUMBER}"#)?;
    let part = match face.client.aggregation() {
        Aggregation::Earliest => None,
        Aggregation::Sum => Some(uuid()?),
    };
    match face.client.reward_async(&Reward { of: Which::Event(event), value, part: part.as_deref() }).await {
        // The first one counts, and Personalizer's apps are not told.
        Ok(_) | Err(NodeError::Reward(RewardError::Contradiction { .. } | RewardError::Rewarded(_))) => {
            Ok(nothing())
        }
        Err(error) => Err(error.into()),
    }
}

async fn activate(face: &Face, event: &str) -> Result<Answer, Refused> {
    face.client.activate_async(Which::Event(event)).await?;
    Ok(nothing())
}

/// 204
fn nothing() -> Answer {
    request::answer(StatusCode::NO_CONTENT, Bytes::new())
}

/// A random name.
fn uuid() -> Result<String, Refused> {
    let mut bytes = [0; 16];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|e| Refused(StatusCode::SERVICE_UNAVAILABLE, e.to_string()))?;
    // Version 4 (RFC 9562).
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_personalizer() {
        let event = |name: &'static str| Cow::<str>::from(name);
        for (path, route) in [
            ("/personalizer/v1.0/rank", Some(Route::Rank)),
            ("/personalizer/v1.1-preview.3/rank", Some(Route::Rank)),
            ("/personalizer/v1.0/events/75269AD0-BFEE/reward", Some(Route::Reward(event("75269AD0-BFEE")))),
            ("/personalizer/v1.0/events/a%20b%2Fc/activate", Some(Route::Activate(event("a b/c")))),
            ("/personalizer/v1.0/events//reward", None),
            ("/personalizer/v1.0/events/%ff/reward", None),
            ("/personalizer/v2/rank", None),
            ("/personalizer/v1.0/evaluations", None),
            ("/rank", None),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
    }

    #[test]
    fn random_names_are_uuids_and_differ() {
        let (one, other) = (uuid().ok().unwrap(), uuid().ok().unwrap());
        assert!(one != other && one.len() == 36 && one.as_bytes()[14] == b'4', "{one}");
    }
}
