//! The arms of a decision, as a body lists them.

use cahoots_core::arms::ArmError;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::offer::{Expected, TOO_MANY};

/// What is on offer.
#[derive(Debug, Default)]
pub(super) enum Offered {
    Plain(usize),
    /// Rows of [`Expected::width`] numbers, one after the other.
    Features(Vec<f64>),
    /// By id.
    Named(Named),
    /// All that are registered.
    #[default]
    Registered,
}

/// Arms by id: their features, where they came with some, lie one after the other.
#[derive(Debug, Default)]
pub(super) struct Named {
    width: usize,
    /// Id, and which row of the numbers.
    arms: Vec<(Box<str>, Option<usize>)>,
    numbers: Vec<f64>,
}

impl Named {
    /// Ids and features.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Option<&[f64]>)> {
        let row = |row: usize| &self.numbers[row * self.width..(row + 1) * self.width];
        self.arms.iter().map(move |(id, features)| (&**id, features.map(row)))
    }
}

/// A number of arms, or a list of them; `room` is made at once for so many.
pub(super) struct List {
    pub(super) expected: Expected,
    pub(super) room: usize,
}

impl<'de> DeserializeSeed<'de> for List {
    type Value = Offered;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Offered, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = Offered;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of arms, a list of rows, or a list of arms with ids")
    }

    fn visit_unit<E: Error>(self) -> Result<Offered, E> {
        Ok(Offered::Registered)
    }

    fn visit_u64<E: Error>(self, arms: u64) -> Result<Offered, E> {
        Ok(Offered::Plain(usize::try_from(arms).unwrap_or(usize::MAX)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Offered, A::Error> {
        let Expected { width, most, .. } = self.expected;
        let mut named =
            Named { width, numbers: Vec::with_capacity(width * self.room.min(most)), ..Named::default() };
        let mut rows = 0;
        while list
            .next_element_seed(Arm { expected: self.expected, named: &mut named, rows: &mut rows })?
            .is_some()
        {
            if rows > 0 && !named.arms.is_empty() {
                return Err(A::Error::custom("arms are all of one kind: rows of features, or arms with ids"));
            }
            if rows.max(named.arms.len()) > most {
                return Err(A::Error::custom(TOO_MANY));
            }
        }
        Ok(if named.arms.is_empty() { Offered::Features(named.numbers) } else { Offered::Named(named) })
    }
}

/// One arm, added to the others.
struct Arm<'a> {
    expected: Expected,
    named: &'a mut Named,
    rows: &'a mut usize,
}

impl<'de> DeserializeSeed<'de> for Arm<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Arm<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a row of {} numbers, an id, or an object with an id", self.expected.width)
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<(), E> {
        self.named.arms.push((id.into(), None));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, row: A) -> Result<(), A::Error> {
        let Expected { width, usual, .. } = self.expected;
        if width == 0 {
            return Err(A::Error::custom(format!(
                "this federation's arms have no features: offer their number, {usual}"
            )));
        }
        *self.rows += 1;
        Row { width, numbers: &mut self.named.numbers }.visit_seq(row)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let width = self.expected.width;
        let (mut id, mut row) = (None::<Box<str>>, None);
        while let Some(key) = map.next_key()? {
            match key {
                Key::Id if id.is_some() => return Err(A::Error::duplicate_field("id")),
                Key::Id => id = Some(map.next_value()?),
                Key::Features if row.is_some() => return Err(A::Error::duplicate_field("features")),
                Key::Features => {
                    let numbers = &mut self.named.numbers;
                    row = Some(numbers.len().checked_div(width).unwrap_or(0));
                    map.next_value_seed(Row { width, numbers })?;
                }
            }
        }
        let id = id.ok_or_else(|| A::Error::missing_field("id"))?;
        self.named.arms.push((id, row));
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Id,
    Features,
}

/// The features of one arm.
pub(super) struct Row<'a> {
    pub(super) width: usize,
    pub(super) numbers: &'a mut Vec<f64>,
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
