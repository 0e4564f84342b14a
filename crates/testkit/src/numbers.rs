//! The numbers inside a machine, whatever structs hold them: Gram matrices,
//! moments, counts, log-determinants, sums of rewards. Two machines that know
//! the same have the same numbers, even if their fields have been rearranged.
//!
//! Found by walking a machine's serialised form. What a machine has not learned
//! yet (all zeros) is left out, so that it does not matter whether "nothing" is
//! kept as `None` or as an empty sum.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde::de::value::Error;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Distinct values by quantity: single numbers as they are, longer ones as a checksum of their bits.
pub type Numbers = BTreeMap<&'static str, BTreeSet<String>>;

/// What is inside `machine`.
pub fn numbers(machine: &impl Serialize) -> Numbers {
    let mut walk = Walk::default();
    machine.serialize(&mut walk).expect("machine states can always be written");
    walk.numbers
}

/// The quantity that a field of a struct holds, if it is one that is looked for.
fn quantity(owner: &str, field: &str) -> Option<&'static str> {
    Some(match (owner, field) {
        ("LinearStats", "gram") => "gram",
        ("LinearStats", "moment") => "moment",
        ("LinearStats", "contexts") => "contexts",
        ("LinearStats", "count") => "count",
        // Those that are not part of statistics.
        ("Symmetric", "packed") => "matrix",
        ("Factor", "w") => "factor",
        ("Factor", "z") => "direction",
        ("ArmStats", "counts") => "pulls",
        ("ArmStats", "sums") => "rewards",
        ("Exp3", "weights") => "weights",
        (_, field) if field.ends_with("log_det") => "log_det",
        _ => return None,
    })
}

#[derive(Default)]
struct Walk {
    numbers: Numbers,
    /// Inside a quantity: its numbers so far.
    values: Option<Values>,
}

#[derive(Default)]
struct Values {
    bits: Vec<u8>,
    len: usize,
    any: bool,
    last: String,
}

impl Values {
    fn shown(self) -> String {
        if self.len == 1 { self.last } else { format!("{:08x}", crc32fast::hash(&self.bits)) }
    }
}

impl Walk {
    fn number(&mut self, bits: u64, is_zero: bool, shown: impl FnOnce() -> String) -> Result<(), Error> {
        if let Some(values) = &mut self.values {
            values.bits.extend(bits.to_le_bytes());
            values.len += 1;
            values.any |= !is_zero;
            values.last = shown();
        }
        Ok(())
    }

    fn unsigned(&mut self, value: u64) -> Result<(), Error> {
        self.number(value, value == 0, || value.to_string())
    }

    fn inside(&mut self, name: &'static str) -> Inside<'_> {
        Inside { walk: self, name, found: Vec::new() }
    }
}

/// A sequence, a map, a struct: whatever has parts.
struct Inside<'a> {
    walk: &'a mut Walk,
    name: &'static str,
    found: Vec<(&'static str, Values)>,
}

impl Inside<'_> {
    fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.walk)
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        match quantity(self.name, key) {
            Some(quantity) if self.walk.values.is_none() => {
                self.walk.values = Some(Values::default());
                self.part(value)?;
                self.found.extend(self.walk.values.take().map(|values| (quantity, values)));
                Ok(())
            }
            // A size is no value: an empty sum has one too.
            _ if (self.name, key) == ("Symmetric", "dim") => Ok(()),
            _ => self.part(value),
        }
    }

    fn close(self) -> Result<(), Error> {
        // A factor without data says no more than its ridge.
        let idle = self.found.iter().any(|(quantity, values)| *quantity == "direction" && !values.any);
        for (quantity, values) in self.found {
            if values.any && !idle {
                self.walk.numbers.entry(quantity).or_default().insert(values.shown());
            }
        }
        Ok(())
    }
}

macro_rules! unsigned {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            self.unsigned(value.into())
        })*
    };
}

macro_rules! signed {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            self.number(i64::from(value) as u64, value == 0, || value.to_string())
        })*
    };
}

impl<'a> Serializer for &'a mut Walk {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Inside<'a>;
    type SerializeTuple = Inside<'a>;
    type SerializeTupleStruct = Inside<'a>;
    type SerializeTupleVariant = Inside<'a>;
    type SerializeMap = Inside<'a>;
    type SerializeStruct = Inside<'a>;
    type SerializeStructVariant = Inside<'a>;

    unsigned!(serialize_bool: bool, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char);
    signed!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.number(value.to_bits(), value == 0.0, || format!("{value:?}"))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.iter().try_for_each(|byte| self.unsigned((*byte).into()))
    }

    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        Ok(())
    }

    fn serialize_unit_variant(self, _name: &'static str, index: u32, _: &'static str) -> Result<(), Error> {
        self.unsigned(index.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Inside<'a>, Error> {
        Ok(self.inside(""))
    }

    fn serialize_tuple(self, _len: usize) -> Result<Inside<'a>, Error> {
        Ok(self.inside(""))
    }

    fn serialize_tuple_struct(self, name: &'static str, _len: usize) -> Result<Inside<'a>, Error> {
        Ok(self.inside(name))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Inside<'a>, Error> {
        Ok(self.inside(variant))
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Inside<'a>, Error> {
        Ok(self.inside(""))
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Inside<'a>, Error> {
        Ok(self.inside(name))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Inside<'a>, Error> {
        Ok(self.inside(variant))
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! parts {
    ($($kind:ident: $method:ident),*) => {
        $(impl $kind for Inside<'_> {
            type Ok = ();
            type Error = Error;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.part(value)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

macro_rules! fields {
    ($($kind:ident),*) => {
        $(impl $kind for Inside<'_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
                self.field(key, value)
            }
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

parts!(SerializeSeq: serialize_element, SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field);
fields!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.part(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.part(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use cahoots_core::{ArmIndex, ArmStats, Factor, LinearStats, NodeId, View};

    use super::*;

    #[derive(Serialize)]
    struct OneWay {
        merged: LinearStats,
        open: Option<LinearStats>,
        model: Factor,
        base_log_det: f64,
    }

    #[derive(Serialize)]
    enum Kept {
        View { view: Arc<View> },
        Nothing(LinearStats),
        Model(Box<Factor>, f64),
    }

    #[derive(Serialize)]
    struct OtherWay {
        log_det: f64,
        kept: BTreeMap<(NodeId, u32), Kept>,
    }

    fn data() -> (LinearStats, Factor) {
        let mut stats = LinearStats::empty(2);
        stats.observe(&[0.5, -1.0], 2.0);
        let factor = Factor::of(stats.gram.packed(), &stats.moment, 0.1).unwrap();
        (stats, factor)
    }

    #[test]
    fn they_do_not_depend_on_where_they_are_kept() {
        let (merged, model) = data();
        let one = OneWay { merged: merged.clone(), open: None, model: model.clone(), base_log_det: 1.5 };
        let kept = [
            Kept::View { view: View::new(7, merged) },
            Kept::Nothing(LinearStats::empty(3)),
            Kept::Model(Box::new(model), 9.5),
        ];
        let kept = kept.into_iter().enumerate().map(|(i, kept)| ((NodeId(3), i as u32), kept));
        let other = OtherWay { log_det: 1.5, kept: kept.collect() };
        assert_eq!(numbers(&one), numbers(&other));
    }

    #[test]
    fn every_quantity_is_seen_and_its_last_bit_counts() {
        let (merged, model) = data();
        let before = numbers(&(&merged, &model));
        let names: Vec<&str> = before.keys().copied().collect();
        assert_eq!(names, ["count", "direction", "factor", "gram", "log_det", "moment"]);
        assert_eq!(before["count"], BTreeSet::from(["1".to_string()]));
        assert_eq!(before["log_det"], BTreeSet::from([format!("{:?}", model.log_det())]));
        let mut nudged = merged.clone();
        nudged.gram.packed_mut()[1] = nudged.gram.packed()[1].next_up();
        let after = numbers(&(&nudged, &model));
        assert_ne!(after["gram"], before["gram"]);
        assert_eq!(after["moment"], before["moment"]);
        nudged.moment[0] = nudged.moment[0].next_up();
        assert_ne!(numbers(&nudged)["moment"], before["moment"]);

        let mut arms = ArmStats::empty(3);
        assert_eq!(numbers(&arms), Numbers::new());
        arms.observe(ArmIndex(2), 0.5);
        assert_eq!(numbers(&arms).keys().copied().collect::<Vec<_>>(), ["pulls", "rewards"]);
    }
}
