//! Named features as numbers: what apps of Personalizer send (JSON objects about a context and about actions) becomes the
//! row of `dim` numbers that a federation's arms have. A pure function, the same in every client, since what one client
//! learns about a number must mean the same to another: [`VERSION`] names it, and it does not change without that.
//!
//! - An object is a list of features. A text, or true and false, is a feature of its own (`"device": "mobile"` is `device=mobile`,
//!   of value 1); a number is a feature with that value; null is none. Within objects, names are joined; a list stands for
//!   each of its elements, numbers in it under their place.
//! - An action has its own features, those of the context, and each pair of both; and a constant. One without features has its id.
//! - A feature's name is hashed (SHA-256, the first 8 bytes). The hash says which of the `dim` numbers it adds to, and with which
//!   sign, so that features that share a number cancel on average (Weinberger et al. 2009).
//! - The row is divided by its length: it is never longer than 1, whatever `context_norm` the terms may state.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Which function this is.
pub const VERSION: u32 = 1;
/// Features of one thing, at most; pairs are their product.
pub const MOST: usize = 1_000;
/// Objects within objects, at most.
const DEEP: usize = 16;

/// Cannot be made into numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeatureError {
    /// Too many.
    #[error("more than {MOST} features of one context or action: leave out those that say little")]
    TooMany,
    /// Lists or objects in one another.
    #[error("features lie more than {DEEP} objects or lists deep: flatten them")]
    TooDeep,
}

/// A name's hash, and a value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Feature {
    hash: u64,
    value: f64,
}

/// What is known of a context or an action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features(Vec<Feature>);

impl Features {
    /// Of JSON objects, as an app lists them.
    pub fn of(objects: &[Value]) -> Result<Features, FeatureError> {
        let mut features = Features::default();
        let mut path = String::new();
        for object in objects {
            features.add(&mut path, object, 0)?;
        }
        Ok(features)
    }

    /// Of an action: its id where it has no features.
    pub fn of_action(id: &str, objects: &[Value]) -> Result<Features, FeatureError> {
        let features = Features::of(objects)?;
        if !features.0.is_empty() {
            return Ok(features);
        }
        let mut named = Features::default();
        named.push(&format!("id{EQUALS}{id}"), 1.0)?;
        Ok(named)
    }

    fn add(&mut self, path: &mut String, value: &Value, depth: usize) -> Result<(), FeatureError> {
        if depth > DEEP {
            return Err(FeatureError::TooDeep);
        }
        match value {
            Value::Null => Ok(()),
            Value::Bool(flag) => self.push(&format!("{path}{EQUALS}{flag}"), 1.0),
            Value::String(text) => self.push(&format!("{path}{EQUALS}{text}"), 1.0),
            Value::Number(number) => self.push(path, number.as_f64().unwrap_or(0.0)),
            Value::Object(keys) => {
                keys.iter().try_for_each(|(key, value)| self.within(path, key, value, depth))
            }
            Value::Array(values) => values.iter().enumerate().try_for_each(|(place, value)| match value {
                Value::Number(_) => self.within(path, &place.to_string(), value, depth),
                other => self.add(path, other, depth + 1),
            }),
        }
    }

    fn within(
        &mut self,
        path: &mut String,
        name: &str,
        value: &Value,
        depth: usize,
    ) -> Result<(), FeatureError> {
        let length = path.len();
        path.push(WITHIN);
        path.push_str(name);
        let added = self.add(path, value, depth + 1);
        path.truncate(length);
        added
    }

    fn push(&mut self, name: &str, value: f64) -> Result<(), FeatureError> {
        if self.0.len() == MOST {
            return Err(FeatureError::TooMany);
        }
        let digest = Sha256::digest(name.as_bytes());
        let first = digest.iter().take(8).fold(0, |hash: u64, byte| (hash << 8) | u64::from(*byte));
        self.0.push(Feature { hash: first, value });
        Ok(())
    }
}

/// Between a name and a text, and between names: no text that an app sends can be mistaken for a name.
const EQUALS: char = '\u{1f}';
const WITHIN: char = '\u{1e}';

/// The row of an action in a context.
pub fn row(context: &Features, action: &Features, dim: usize) -> Vec<f64> {
    let mut row = vec![0.0; dim];
    let mut add = |hash: u64, value: f64| {
        // The lowest bit is the sign, the others say where.
        let at = ((hash >> 1) % dim as u64) as usize;
        row[at] += if hash & 1 == 0 { value } else { -value };
    };
    add(mixed(0, 0), 1.0);
    for own in &action.0 {
        add(mixed(1, own.hash), own.value);
    }
    for about in &context.0 {
        add(mixed(2, about.hash), about.value);
        for own in &action.0 {
            add(mixed(about.hash, own.hash.rotate_left(32)), about.value * own.value);
        }
    }
    let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return vec![0.0; dim];
    }
    // By the largest first: squares of what an app sends need not be finite.
    let norm = row.iter().map(|x| (x / largest) * (x / largest)).sum::<f64>().sqrt() * largest;
    if norm.is_finite() { row.iter().map(|x| x / norm).collect() } else { vec![0.0; dim] }
}

/// Two hashes as one (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
fn mixed(one: u64, other: u64) -> u64 {
    let mut z = one.wrapping_add(other.rotate_left(17)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn of(value: Value) -> Features {
        Features::of(&[value]).unwrap()
    }

    #[test]
    fn the_same_words_are_the_same_numbers_everywhere() {
        let context = of(json!({"timeOfDay": "Morning"}));
        let action = of(json!({"type": "News"}));
        let row = row(&context, &action, 8);
        // On record: other clients of the federation compute these.
        let expected: [f64; 8] = [0.0, 0.5, 0.0, 0.5, 0.0, -0.5, 0.0, -0.5];
        assert_eq!(row, expected);
    }

    #[test]
    fn what_is_said_differently_is_different_and_order_is_nothing() {
        let names = |value| {
            let mut hashes: Vec<(u64, u64)> =
                of(value).0.iter().map(|f| (f.hash, f.value.to_bits())).collect();
            hashes.sort_unstable();
            hashes
        };
        assert_eq!(names(json!({"a": "x", "b": 2})), names(json!({"b": 2, "a": "x"})));
        assert_eq!(names(json!({"a": {"b": 1}})), names(json!({"a": [{"b": 1}]})));
        assert_eq!(names(json!({"a": null})), vec![]);
        let different = [
            json!({"a": "x"}),
            json!({"a": "y"}),
            json!({"ax": ""}),
            json!({"a": true}),
            json!({"a": false}),
            json!({"a": 1}),
            json!({"a": {"x": 1}}),
            json!({"a": [1, 2]}),
            json!({"a": [2, 1]}),
            json!({"a": ["x", "y"]}),
        ];
        for (i, one) in different.iter().enumerate() {
            for other in &different[..i] {
                assert_ne!(names(one.clone()), names(other.clone()), "{one} and {other}");
            }
        }
        assert_eq!(
            names(json!({"a": true})),
            names(json!({"a": "true"})),
            "as documented: a text, or true and false"
        );
    }

    #[test]
    fn an_action_without_features_is_its_id() {
        let (red, blue) =
            (Features::of_action("red", &[]).unwrap(), Features::of_action("blue", &[json!({})]).unwrap());
        assert!(red != blue && red.0.len() == 1 && blue.0.len() == 1);
    }

    #[test]
    fn too_much_is_refused() {
        let many: Vec<u32> = (0..=MOST as u32).collect();
        assert_eq!(Features::of(&[json!({ "a": many })]), Err(FeatureError::TooMany));
        let deep = (0..40).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert_eq!(Features::of(&[deep]), Err(FeatureError::TooDeep));
    }

    proptest! {
        #[test]
        fn no_row_is_longer_than_one_or_no_number(numbers in prop::collection::vec(prop::num::f64::NORMAL, 0..6), dim in 1_usize..20) {
            let context = of(json!({ "x": numbers }));
            let row = row(&context, &of(json!({"y": [1e300, -3, 0.5]})), dim);
            let length: f64 = row.iter().map(|x| x * x).sum();
            prop_assert!(row.iter().all(|x| x.is_finite()) && length <= 1.0 + 1e-12);
        }
    }
}
