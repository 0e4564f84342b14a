//! The body of `POST /decide`, read straight into lists of numbers and names: how large they may become is known before.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::arms::{List, Offered};
use crate::client::{ArmRef, Arms, Ask, NamedArm};
use crate::decisions::Known;

/// What a body may offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Features of an arm, shared and own; 0 where arms have none.
    pub(super) width: usize,
    /// Arms that this federation usually has.
    pub(super) usual: usize,
    /// Arms at most.
    pub(super) most: usize,
    /// Decisions at most.
    pub(super) batch: usize,
}

impl Expected {
    /// What a whole body offers.
    pub(super) fn read(self, body: &[u8]) -> serde_json::Result<Asked> {
        let mut text = serde_json::Deserializer::from_slice(body);
        let asked = Decide { expected: self, within: false }.deserialize(&mut text)?;
        text.end().map(|()| asked)
    }
}

/// How what is too much is told from other mistakes.
pub(super) const TOO_MANY: &str = "more arms than limits.arms allows";
/// The same of decisions.
pub(super) const TOO_MANY_DECISIONS: &str = "more decisions than limits.batch allows";

/// What an app asks for.
#[derive(Debug)]
pub(super) enum Asked {
    /// One decision.
    One(Offer),
    /// Several.
    Several(Vec<Offer>),
}

/// One decision that is asked for.
#[derive(Debug, Default)]
pub(super) struct Offer {
    pub(super) arms: Offered,
    pub(super) masked: Vec<ArmRef>,
    pub(super) user: Option<u32>,
    pub(super) top: usize,
    pub(super) event: Option<String>,
    pub(super) deferred: bool,
    pub(super) context: Option<BTreeMap<String, Known>>,
    pub(super) baseline: Option<ArmRef>,
}

impl Offer {
    /// Arms by position and nothing else: the arms, for whom.
    pub(super) fn bare(&self) -> Option<(Arms<'_>, Option<u32>)> {
        let arms = match &self.arms {
            Offered::Plain(arms) => Arms::Plain(*arms),
            Offered::Features(numbers) => Arms::Flat(numbers),
            Offered::Named(_) | Offered::Registered => return None,
        };
        let named = self.event.is_some() || self.baseline.is_some() || self.context.is_some();
        let more = !self.masked.is_empty() || self.top > 0 || named || self.deferred;
        (!more).then_some((arms, self.user))
    }

    /// The names and features of its arms, where they have names.
    pub(super) fn named(&self) -> Vec<NamedArm<'_>> {
        match &self.arms {
            Offered::Named(named) => named.iter().map(|(id, features)| NamedArm { id, features }).collect(),
            _ => Vec::new(),
        }
    }

    /// All of it, with those.
    pub(super) fn ask<'a>(&'a self, named: &'a [NamedArm<'a>]) -> Ask<'a> {
        Ask {
            arms: match &self.arms {
                Offered::Plain(arms) => Arms::Plain(*arms),
                Offered::Features(numbers) => Arms::Flat(numbers),
                Offered::Named(_) => Arms::Named(named),
                Offered::Registered => Arms::Registered,
            },
            masked: &self.masked,
            user: self.user,
            top: self.top,
            event: self.event.as_deref(),
            deferred: self.deferred,
            context: self.context.as_ref(),
            baseline: self.baseline.as_ref(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Arms,
    Masked,
    User,
    Top,
    Event,
    Deferred,
    Context,
    Baseline,
    Decisions,
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Key::Arms => "arms",
            Key::Masked => "masked",
            Key::User => "user",
            Key::Top => "top",
            Key::Event => "event",
            Key::Deferred => "deferred",
            Key::Context => "context",
            Key::Baseline => "baseline",
            Key::Decisions => "decisions",
        }
    }
}

/// A decision, or several of them; `within` a list of several there are no further lists.
#[derive(Clone, Copy)]
struct Decide {
    expected: Expected,
    within: bool,
}

impl<'de> DeserializeSeed<'de> for Decide {
    type Value = Asked;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Asked, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Decide {
    type Value = Asked;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with arms")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Asked, A::Error> {
        let (mut offer, mut several, mut seen) = (Offer::default(), None, Vec::new());
        while let Some(key) = map.next_key::<Key>()? {
            if seen.contains(&key) {
                return Err(A::Error::duplicate_field(key.name()));
            }
            seen.push(key);
            match key {
                Key::Arms => {
                    let room = if self.within { 0 } else { self.expected.usual };
                    offer.arms = map.next_value_seed(List { expected: self.expected, room })?;
                }
                Key::Masked => offer.masked = map.next_value_seed(Masked(self.expected.most))?,
                Key::User => offer.user = map.next_value()?,
                Key::Top => offer.top = map.next_value::<Option<usize>>()?.unwrap_or(0),
                Key::Event => offer.event = map.next_value()?,
                Key::Deferred => offer.deferred = map.next_value()?,
                Key::Context => offer.context = map.next_value_seed(Context)?,
                Key::Baseline => offer.baseline = map.next_value()?,
                Key::Decisions if self.within => {
                    return Err(A::Error::custom("`decisions` within `decisions`: list them all in one"));
                }
                Key::Decisions => several = Some(map.next_value_seed(Several(self.expected))?),
            }
        }
        match several {
            None => Ok(Asked::One(offer)),
            Some(several) if seen.len() == 1 => Ok(Asked::Several(several)),
            Some(_) => {
                Err(A::Error::custom("`decisions` stands alone: all that is asked for is in its items"))
            }
        }
    }
}

/// What was known, as names and numbers or words.
struct Context;

/// Names in one context.
const MOST_KNOWN: usize = 256;

impl<'de> DeserializeSeed<'de> for Context {
    type Value = Option<BTreeMap<String, Known>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let known = Option::<BTreeMap<String, Known>>::deserialize(from)?;
        if known.as_ref().is_some_and(|known| known.len() > MOST_KNOWN) {
            return Err(D::Error::custom(format!("`context` has more than {MOST_KNOWN} names")));
        }
        Ok(known)
    }
}

/// Several decisions.
struct Several(Expected);

impl<'de> DeserializeSeed<'de> for Several {
    type Value = Vec<Offer>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<Offer>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Several {
    type Value = Vec<Offer>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of decisions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Offer>, A::Error> {
        let mut all = Vec::new();
        while let Some(asked) = list.next_element_seed(Decide { expected: self.0, within: true })? {
            if all.len() == self.0.batch {
                return Err(A::Error::custom(TOO_MANY_DECISIONS));
            }
            let Asked::One(offer) = asked else { unreachable!("no lists within lists") };
            all.push(offer);
        }
        Ok(all)
    }
}

/// What cannot be chosen, no more than there can be arms.
struct Masked(usize);

impl<'de> DeserializeSeed<'de> for Masked {
    type Value = Vec<ArmRef>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<ArmRef>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Masked {
    type Value = Vec<ArmRef>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of ids, or of positions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<ArmRef>, A::Error> {
        let mut masked = Vec::new();
        while let Some(arm) = list.next_element()? {
            if masked.len() == self.0 {
                return Err(A::Error::custom(TOO_MANY));
            }
            masked.push(arm);
        }
        Ok(masked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(width: usize) -> Expected {
        Expected { width, usual: 3, most: 4, batch: 2 }
    }

    fn read(text: &str) -> Result<Offer, String> {
        match expected(2).read(text.as_bytes()).map_err(|e| e.to_string())? {
            Asked::One(offer) => Ok(offer),
            Asked::Several(_) => Err("several".into()),
        }
    }

    #[test]
    fn rows_lie_one_after_the_other() {
        let offer = read(r#"{"user": 7, "arms": [[1, 2.5], [-3e-1, 4]]}"#).unwrap();
        assert_eq!(offer.user, Some(7));
        assert!(offer.bare().is_some());
        assert!(matches!(offer.arms, Offered::Features(numbers) if numbers == [1.0, 2.5, -0.3, 4.0]));
        assert!(matches!(read(r#"{"arms": 3, "user": null}"#).unwrap().arms, Offered::Plain(3)));
    }

    #[test]
    fn arms_with_names_have_features_or_were_registered() {
        let text = r#"{"arms": ["a", {"id": "b", "features": [1, 2]}, {"features": [3, 4], "id": "c\n"}, {"id": "d"}]}"#;
        let offer = read(text).unwrap();
        let named = offer.named();
        let (ids, features): (Vec<_>, Vec<_>) = named.iter().map(|arm| (arm.id, arm.features)).unzip();
        assert_eq!(ids, ["a", "b", "c\n", "d"]);
        assert_eq!(features, [None, Some(&[1.0, 2.0][..]), Some(&[3.0, 4.0]), None]);
        assert!(offer.bare().is_none() && matches!(offer.ask(&named).arms, Arms::Named([_, _, _, _])));
        assert!(matches!(read("{}").unwrap().arms, Offered::Registered));
        assert!(matches!(read(r#"{"arms": null, "top": null}"#).unwrap().arms, Offered::Registered));
    }

    #[test]
    fn all_that_can_be_asked_for_is_read() {
        let text =
            r#"{"arms": 3, "masked": [0, 2], "top": 2, "event": "é", "deferred": true, "baseline": 1}"#;
        let offer = read(text).unwrap();
        let ask = offer.ask(&[]);
        assert_eq!(ask.masked, [ArmRef::Position(0), ArmRef::Position(2)]);
        assert_eq!((ask.top, ask.event, ask.deferred), (2, Some("é"), true));
        assert_eq!(ask.baseline, Some(&ArmRef::Position(1)));
        assert!(read(r#"{"arms": 3, "baseline": 1}"#).unwrap().bare().is_none());
        assert_eq!(read(r#"{"baseline": "b"}"#).unwrap().baseline, Some(ArmRef::Id("b".into())));
        assert_eq!(read(r#"{"baseline": null}"#).unwrap().baseline, None);
        let several = expected(2).read(br#"{"decisions": [{"arms": 3}, {"user": 4}]}"#).unwrap();
        assert!(matches!(several, Asked::Several(all) if all.len() == 2 && all[1].user == Some(4)));
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_begins() {
        for (text, words) in [
            (r#"{"arms": [[1]"#, "2 are expected"),
            (r#"{"arms": [[1, 2], [1, 2, 3]"#, "2 are expected"),
            (r#"{"arms": [{"id": "a", "features": [1, 2, 3]"#, "2 are expected"),
            (r#"{"arms": [[1,2],[1,2],[1,2],[1,2],[1,2]"#, TOO_MANY),
            (r#"{"arms": ["a","b","c","d","e""#, TOO_MANY),
            (r#"{"masked": [1,2,3,4,5"#, TOO_MANY),
            (r#"{"decisions": [{}, {}, {}"#, TOO_MANY_DECISIONS),
            (r#"{"decisions": [{"decisions""#, "within"),
            (r#"{"decisions": [], "user": 3}"#, "stands alone"),
            (r#"{"arms": [[1, null]"#, "expected f64"),
            (r#"{"arms": "x"}"#, "a number of arms"),
            (r#"{"arms": -1}"#, "a number of arms"),
            (r#"{"arms": [3"#, "a row of 2 numbers, an id"),
            (r#"{"arms": [[1, 2], "b""#, "all of one kind"),
            (r#"{"arms": ["b", [1, 2]"#, "all of one kind"),
            (r#"{"arms": [{"features": [1, 2]}"#, "missing field `id`"),
            (r#"{"arms": [{"id": "a", "id""#, "duplicate"),
            (r#"{"arms": [{"id": "a", "colour""#, "colour"),
            (r#"{"arms": 1, "arms": 2}"#, "duplicate"),
            (r#"{"colour""#, "colour"),
            (r#"{"event": 3"#, "string"),
            (r#"{"top": -1"#, "usize"),
            (r#"{"masked": [1.5"#, "an id, or a position"),
            (r#"{"arms": 1} 2"#, "trailing"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        let plain = expected(0).read(br#"{"arms": [[1]]}"#).unwrap_err().to_string();
        assert!(plain.contains("offer their number, 3"), "{plain}");
        assert!(expected(0).read(br#"{"arms": ["a"]}"#).is_ok());
    }
}
