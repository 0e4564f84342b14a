//! What an app asks and is told, by position or by its own names for things.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{DecisionId, Picked};
use serde::de::{Error, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::offer::Arms;
use crate::decisions::Known;

/// A decision that is asked for.
///
/// ```
/// use cahoots_node::client::{Arms, Ask, NamedArm};
///
/// let arms = [NamedArm { id: "red", features: Some(&[1.0, 0.0]) }, NamedArm::registered("blue")];
/// let ask = Ask { top: 2, event: Some("visit 17"), ..Ask::of(Arms::Named(&arms)) };
/// assert!(!ask.deferred && ask.masked.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What there is to choose from.
    pub arms: Arms<'a>,
    /// What cannot be chosen this time: ids where arms have some, positions where they have none.
    pub masked: &'a [ArmRef],
    /// Whom it is for, where a client decides for many.
    pub user: Option<u32>,
    /// How many of the best are ranked beside the choice; 0: nothing is ranked.
    pub top: usize,
    /// The app's own name for the decision: who asks again under it is told the same again, and rewards may name it.
    pub event: Option<&'a str>,
    /// It counts only once it is activated.
    pub deferred: bool,
    /// What was known before, for the record of decisions alone; nothing is learned from it, and it is sent nowhere.
    pub context: Option<&'a BTreeMap<String, Known>>,
    /// What the app would have done itself, where this client is an apprentice.
    pub baseline: Option<&'a ArmRef>,
}

impl<'a> Ask<'a> {
    /// Any of these arms, and nothing further.
    pub fn of(arms: Arms<'a>) -> Ask<'a> {
        Ask {
            arms,
            masked: &[],
            user: None,
            top: 0,
            event: None,
            deferred: false,
            baseline: None,
            context: None,
        }
    }
}

/// An arm under its app's own name.
#[derive(Clone, Copy, Debug)]
pub struct NamedArm<'a> {
    /// The name.
    pub id: &'a str,
    /// Its features, for this decision; `None`: as it was registered.
    pub features: Option<&'a [f64]>,
}

impl<'a> NamedArm<'a> {
    /// As it was registered.
    pub fn registered(id: &'a str) -> NamedArm<'a> {
        NamedArm { id, features: None }
    }
}

/// An arm that is to be known by an id.
#[derive(Clone, Copy, Debug)]
pub struct NewArm<'a> {
    /// The id.
    pub id: &'a str,
    /// What it is.
    pub is: Registered<'a>,
}

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Registered<'a> {
    /// These features: the shared ones, then the client's own where it has some.
    Features(&'a [f64]),
    /// The arm of this number, where arms have no features.
    Index(u32),
}

/// Which arm: its position among those that were offered, or its id where they had some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArmRef {
    /// Counted from 0.
    Position(u32),
    /// As the app calls it.
    Id(Arc<str>),
}

impl std::fmt::Display for ArmRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArmRef::Position(position) => write!(f, "{position}"),
            ArmRef::Id(id) => write!(f, "{id:?}"),
        }
    }
}

/// As it is where bytes do not say what they are.
#[derive(Serialize, Deserialize)]
enum Tagged<'a> {
    Number(u32),
    Text(Cow<'a, str>),
}

impl Serialize for ArmRef {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self, to.is_human_readable()) {
            (ArmRef::Position(position), true) => to.serialize_u32(*position),
            (ArmRef::Id(id), true) => to.serialize_str(id),
            (ArmRef::Position(position), false) => Tagged::Number(*position).serialize(to),
            (ArmRef::Id(id), false) => Tagged::Text((&**id).into()).serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ArmRef {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<ArmRef, D::Error> {
        if from.is_human_readable() {
            return from.deserialize_any(NumberOrText);
        }
        Ok(match Tagged::deserialize(from)? {
            Tagged::Number(position) => ArmRef::Position(position),
            Tagged::Text(id) => ArmRef::Id(id.into()),
        })
    }
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = ArmRef;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an id, or a position, counted from 0")
    }

    fn visit_u64<E: Error>(self, position: u64) -> Result<ArmRef, E> {
        let wrong = |_| E::custom(format!("there is no position {position}"));
        u32::try_from(position).map(ArmRef::Position).map_err(wrong)
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<ArmRef, E> {
        Ok(ArmRef::Id(id.into()))
    }
}

/// By what a decision was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    /// By what all have learned.
    Federated,
    /// By what this client has learned: nothing has come from the others yet, or they were found to hurt.
    Alone,
    /// By the app itself, whose apprentice this client is: it got what it would have done.
    Baseline,
}

impl Decider {
    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Decider::Federated => "federated",
            Decider::Alone => "alone",
            Decider::Baseline => "baseline",
        }
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The decision's name, to be given back with the reward.
    pub id: DecisionId,
    /// The app's own name for it.
    pub event: Option<Arc<str>>,
    /// The arm that was taken, and what is known of it.
    pub taken: Ranked,
    /// A number that grows whenever what is known does.
    pub model: u64,
    /// By what it was taken.
    pub decided: Decider,
    /// The best arms, the one that was taken first; where they were asked for.
    pub ranking: Option<Vec<Ranked>>,
}

/// An arm and what is known of it; `None` where the policy cannot tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// Which.
    pub arm: ArmRef,
    /// What arms were compared by.
    pub score: Option<f64>,
    /// Where its expected reward is believed to lie.
    pub interval: Option<(f64, f64)>,
    /// How likely it was to be taken in this decision.
    pub probability: Option<f64>,
}

impl Ranked {
    /// What is known of an arm that was picked.
    pub(super) fn of(arm: ArmRef, picked: &Picked) -> Ranked {
        let Picked { score, interval, probability, .. } = *picked;
        Ranked { arm, score, interval, probability }
    }
}

/// As `POST /decide` answers.
impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Ranked { arm, score, interval, probability } = &self.taken;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id.to_string())?;
        if let Some(event) = &self.event {
            map.serialize_entry("event", &**event)?;
        }
        map.serialize_entry("arm", arm)?;
        map.serialize_entry("score", score)?;
        map.serialize_entry("interval", interval)?;
        map.serialize_entry("probability", probability)?;
        map.serialize_entry("model", &self.model)?;
        map.serialize_entry("decided", &self.decided)?;
        if let Some(ranking) = &self.ranking {
            map.serialize_entry("ranking", ranking)?;
        }
        map.end()
    }
}

/// Which decision: by its id, or by the app's own name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// As `decide` returned it.
    Id(DecisionId),
    /// As `decide` was told.
    Event(&'a str),
}

impl From<DecisionId> for Which<'_> {
    fn from(id: DecisionId) -> Self {
        Which::Id(id)
    }
}

impl<'a> From<&'a str> for Which<'a> {
    fn from(event: &'a str) -> Self {
        Which::Event(event)
    }
}

/// A reward, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reward<'a> {
    /// Of which decision.
    pub of: Which<'a>,
    /// How much.
    pub value: f64,
    /// Under this name it is a part, which counts once; what is learned is the sum of all parts and of the reward without a
    /// name, when that comes or none will any more.
    pub part: Option<&'a str>,
}

impl<'a> Reward<'a> {
    /// All of it.
    pub fn of(which: impl Into<Which<'a>>, value: f64) -> Reward<'a> {
        Reward { of: which.into(), value, part: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_are_numbers_or_texts_in_json_and_told_apart_in_bytes() {
        for (arm, json) in [(ArmRef::Position(3), "3"), (ArmRef::Id("3".into()), "\"3\"")] {
            assert_eq!(serde_json::to_string(&arm).unwrap(), json);
            assert_eq!(serde_json::from_str::<ArmRef>(json).unwrap(), arm);
            let bytes = postcard::to_stdvec(&arm).unwrap();
            assert_eq!(postcard::from_bytes::<ArmRef>(&bytes).unwrap(), arm);
        }
        for wrong in ["-1", "1.5", "null", "[]", "4294967296"] {
            assert!(serde_json::from_str::<ArmRef>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_reply_says_what_it_knows_and_leaves_out_what_was_not_asked() {
        let taken = Ranked {
            arm: ArmRef::Id("red \"1\"".into()),
            score: Some(0.5),
            interval: Some((0.25, 0.75)),
            probability: None,
        };
        let reply = Reply {
            id: DecisionId { epoch: 7, number: 2 },
            event: None,
            taken: taken.clone(),
            model: 9,
            decided: Decider::Alone,
            ranking: None,
        };
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"id":"7-2","arm":"red \"1\"","score":0.5,"interval":[0.25,0.75],"probability":null,"model":9,"decided":"alone"}"#
        );
        let more = Reply { event: Some("visit".into()), ranking: Some(vec![taken]), ..reply };
        let text = serde_json::to_string(&more).unwrap();
        assert!(text.contains(r#""event":"visit","arm""#) && text.contains(r#""ranking":[{"arm""#), "{text}");
    }
}
