//! The body of `POST /decide`, read straight into one list of numbers: how large it may become is known before.

use cahoots_core::arms::ArmError;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a body may offer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Features of an arm, shared and own; 0 where arms have none.
    pub(super) width: usize,
    /// Arms that this federation usually has.
    pub(super) usual: usize,
    /// Arms at most.
    pub(super) most: usize,
}

impl Expected {
    /// What a whole body offers.
    pub(super) fn read(self, body: &[u8]) -> serde_json::Result<Offer> {
        let mut text = serde_json::Deserializer::from_slice(body);
        let offer = self.deserialize(&mut text)?;
        text.end().map(|()| offer)
    }
}

/// What an app offers.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) arms: Offered,
    pub(super) user: Option<u32>,
}

#[derive(Debug)]
pub(super) enum Offered {
    Plain(usize),
    /// Rows of [`Expected::width`] numbers, one after the other.
    Features(Vec<f64>),
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Arms,
    User,
}

impl<'de> DeserializeSeed<'de> for Expected {
    type Value = Offer;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Offer, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Expected {
    type Value = Offer;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with arms")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Offer, A::Error> {
        let (mut arms, mut user) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                Key::Arms if arms.is_some() => return Err(A::Error::duplicate_field("arms")),
                Key::Arms => arms = Some(map.next_value_seed(Arms(self))?),
                Key::User if user.is_some() => return Err(A::Error::duplicate_field("user")),
                Key::User => user = Some(map.next_value::<Option<u32>>()?),
            }
        }
        let arms = arms.ok_or_else(|| A::Error::missing_field("arms"))?;
        Ok(Offer { arms, user: user.flatten() })
    }
}

struct Arms(Expected);

impl<'de> DeserializeSeed<'de> for Arms {
    type Value = Offered;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Offered, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Arms {
    type Value = Offered;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of arms, or a list of rows")
    }

    fn visit_u64<E: Error>(self, arms: u64) -> Result<Offered, E> {
        Ok(Offered::Plain(usize::try_from(arms).unwrap_or(usize::MAX)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Offered, A::Error> {
        let Expected { width, usual, most } = self.0;
        if width == 0 {
            return Err(A::Error::custom(format!(
                "this federation's arms have no features: offer their number, {usual}"
            )));
        }
        let mut numbers = Vec::with_capacity(width * usual.min(most));
        let mut arms = 0;
        while rows.next_element_seed(Row { width, numbers: &mut numbers })?.is_some() {
            arms += 1;
            if arms > most {
                return Err(A::Error::custom(TOO_MANY));
            }
        }
        Ok(Offered::Features(numbers))
    }
}

/// How an offer of too many arms is told from other mistakes.
pub(super) const TOO_MANY: &str = "more arms than limits.arms allows";

struct Row<'a> {
    width: usize,
    numbers: &'a mut Vec<f64>,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a row of {} numbers", self.width)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        let mut got = 0;
        while got < self.width
            && let Some(number) = row.next_element()?
        {
            self.numbers.push(number);
            got += 1;
        }
        // What is too much is counted, not kept.
        while row.next_element::<IgnoredAny>()?.is_some() {
            got += 1;
        }
        if got == self.width {
            return Ok(());
        }
        let wrong = ArmError::Dimension { which: "(in all)", expected: self.width, got };
        Err(A::Error::custom(wrong))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Offer, String> {
        Expected { width: 2, usual: 3, most: 4 }.read(text.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn rows_lie_one_after_the_other() {
        let offer = read(r#"{"user": 7, "arms": [[1, 2.5], [-3e-1, 4]]}"#).unwrap();
        assert_eq!(offer.user, Some(7));
        assert!(matches!(offer.arms, Offered::Features(numbers) if numbers == [1.0, 2.5, -0.3, 4.0]));
        assert!(matches!(read(r#"{"arms": 3, "user": null}"#).unwrap().arms, Offered::Plain(3)));
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_begins() {
        for (text, words) in [
            (r#"{"arms": [[1]"#, "2 are expected"),
            (r#"{"arms": [[1, 2], [1, 2, 3]"#, "2 are expected"),
            (r#"{"arms": [[1,2],[1,2],[1,2],[1,2],[1,2]"#, TOO_MANY),
            (r#"{"arms": [[1, null]"#, "expected f64"),
            (r#"{"arms": "x"}"#, "a number of arms"),
            (r#"{"arms": -1}"#, "a number of arms"),
            (r#"{"arms": 1, "arms": 2}"#, "duplicate"),
            (r#"{"user": 1}"#, "missing field `arms`"),
            (r#"{"colour""#, "colour"),
            (r#"{"arms": 1} 2"#, "trailing"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
