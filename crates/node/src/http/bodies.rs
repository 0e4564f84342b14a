//! The bodies of everything but `POST /decide`: lists in them end where they grow beyond any limit.

use std::marker::PhantomData;

use cahoots_core::DecisionId;
use hyper::StatusCode;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use super::request::Refused;
use crate::client::{NewArm, Registered, Reward, Which};
use crate::limits::{MOST_AT_ONCE, NAME, cut};

/// What `POST /reward` takes.
pub(super) const REWARD: &str = r#"{"id": "EPOCH-NUMBER" or "event": TEXT, "reward": NUMBER} with an optional "part": TEXT, or {"rewards": [...]}"#;
/// What `POST /abandon` and `POST /activate` take.
pub(super) const WHICH: &str = r#"{"id": "EPOCH-NUMBER"} or {"event": TEXT}"#;
/// What `POST /arms` takes.
pub(super) const ARMS: &str = r#"{"register": [{"id": TEXT, "features": [...]} or {"id": TEXT, "index": NUMBER}, ...], "retire": [TEXT, ...]}"#;

/// `POST /reward`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RewardBody {
    id: Option<String>,
    event: Option<String>,
    reward: Option<f64>,
    part: Option<String>,
    #[serde(default, deserialize_with = "bounded")]
    rewards: Option<Vec<RewardItem>>,
}

/// One of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RewardItem {
    id: Option<String>,
    event: Option<String>,
    reward: f64,
    part: Option<String>,
}

/// `POST /abandon` and `POST /activate`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhichBody {
    id: Option<String>,
    event: Option<String>,
}

/// `POST /arms`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArmsBody {
    #[serde(default, deserialize_with = "bounded")]
    register: Option<Vec<ArmItem>>,
    #[serde(default, deserialize_with = "bounded")]
    retire: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArmItem {
    id: String,
    features: Option<Vec<f64>>,
    index: Option<u32>,
}

impl RewardBody {
    /// The rewards, and whether they came as a list.
    pub(super) fn rewards(self) -> Result<(Vec<RewardItem>, bool), Refused> {
        let RewardBody { id, event, reward, part, rewards } = self;
        match (rewards, reward) {
            (Some(rewards), None) if id.is_none() && event.is_none() && part.is_none() => Ok((rewards, true)),
            (Some(_), _) => Err(wrong("`rewards` stands alone: all that is given is in its items".into())),
            (None, None) => Err(wrong(format!("missing field `reward`; expected {REWARD}"))),
            (None, Some(reward)) => Ok((vec![RewardItem { id, event, reward, part }], false)),
        }
    }
}

impl RewardItem {
    /// What it means.
    pub(super) fn reward(&self) -> Result<Reward<'_>, Refused> {
        let of = which(&self.id, &self.event)?;
        Ok(Reward { of, value: self.reward, part: self.part.as_deref() })
    }
}

impl WhichBody {
    /// What it means.
    pub(super) fn which(&self) -> Result<Which<'_>, Refused> {
        which(&self.id, &self.event)
    }
}

impl ArmsBody {
    /// Arms that come, and ids of those that go.
    pub(super) fn changes(&self) -> Result<(Vec<NewArm<'_>>, Vec<&str>), Refused> {
        let come = self.register.iter().flatten().map(|ArmItem { id, features, index }| {
            let is = match (features, index) {
                (Some(features), None) => Registered::Features(features),
                (None, Some(index)) => Registered::Index(*index),
                _ => {
                    let id = cut(id, NAME);
                    return Err(wrong(format!(
                        "arm {id:?} needs either `features` or an `index`; expected {ARMS}"
                    )));
                }
            };
            Ok(NewArm { id, is })
        });
        Ok((come.collect::<Result<_, _>>()?, self.retire.iter().flatten().map(String::as_str).collect()))
    }
}

fn which<'a>(id: &Option<String>, event: &'a Option<String>) -> Result<Which<'a>, Refused> {
    match (id, event) {
        (Some(id), None) => self::id(id).map(Which::Id),
        (None, Some(event)) => Ok(Which::Event(event)),
        _ => Err(wrong(format!(
            "which decision: give its `id` or its `event`, and not both; expected {WHICH}"
        ))),
    }
}

fn id(text: &str) -> Result<DecisionId, Refused> {
    cut(text, NAME).parse().map_err(wrong)
}

fn wrong(words: String) -> Refused {
    Refused(StatusCode::BAD_REQUEST, words)
}

/// A list that ends where it is longer than any limit allows.
fn bounded<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Vec<T>>, D::Error> {
    struct List<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(item) = list.next_element()? {
                if all.len() == MOST_AT_ONCE {
                    let words = format!("more than {MOST_AT_ONCE} at once: send them in parts");
                    return Err(A::Error::custom(words));
                }
                all.push(item);
            }
            Ok(all)
        }
    }
    from.deserialize_seq(List(PhantomData)).map(Some)
}
