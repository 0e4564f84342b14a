//! Numbers that go with the phases of an algorithm, such as the exploration length f(p): the forms of PF-UCB's Table 1,
//! and a user's own.

use cahoots_core::ParamError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// f(p) as a user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "what goes with phases must be a formula such as \"2^p log T\", a number, or { table = [...] }"
)]
pub enum PhaseLengths {
    /// The same in every phase (lambda).
    Constant(#[schemars(extend("exclusiveMinimum" = 0.0))] f64),
    /// A product of a number, a number to the power of p, and log T, each of which may be left out:
    /// "2^p log T", "2^p", "10 log T", "1.5^p".
    Formula(String),
    /// Values of one's own.
    Own {
        /// f(1), f(2), ...; the last one stays.
        #[schemars(schema_with = "lengths")]
        table: Vec<f64>,
    },
}

fn lengths(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "number", "exclusiveMinimum": 0.0 } })
}

impl Default for PhaseLengths {
    fn default() -> Self {
        PhaseLengths::Formula("2^p log T".into())
    }
}

/// f(p), checked, with all factors that do not depend on p multiplied out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Lengths {
    /// scale * base^p
    Power { scale: f64, base: f64 },
    /// f(1), f(2), ...; the last one stays.
    Table(Vec<f64>),
}

impl PhaseLengths {
    /// Refuses formulas that are none and lengths that are not above 0, naming `key`; multiplies all by `factor`.
    pub(crate) fn check(&self, key: &str, log_horizon: f64, factor: f64) -> Result<Lengths, ParamError> {
        let lengths = match self {
            PhaseLengths::Constant(scale) => Lengths::Power { scale: scale * factor, base: 1.0 },
            PhaseLengths::Formula(text) => {
                let (scale, base, log) = parse(key, text)?;
                let log = if log { log_horizon } else { 1.0 };
                Lengths::Power { scale: scale * log * factor, base }
            }
            PhaseLengths::Own { table } => Lengths::Table(table.iter().map(|f| f * factor).collect()),
        };
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let right = match &lengths {
            Lengths::Power { scale, base } => positive(*scale) && positive(*base),
            Lengths::Table(table) => !table.is_empty() && table.iter().all(|f| positive(*f)),
        };
        if right { Ok(lengths) } else { Err(ParamError::new(key, "every length must be above 0")) }
    }
}

impl Lengths {
    /// f(p), p counting from 1.
    pub(crate) fn at(&self, phase: u64) -> f64 {
        match self {
            Lengths::Power { scale, base } => scale * libm::pow(*base, phase as f64),
            Lengths::Table(table) => {
                let index = usize::try_from(phase - 1).unwrap_or(usize::MAX).min(table.len() - 1);
                table[index]
            }
        }
    }
}

/// Coefficient, base of the power of p, whether log T is a factor.
fn parse(key: &str, text: &str) -> Result<(f64, f64, bool), ParamError> {
    let refuse = || {
        let problem = format!(
            "{text:?} is no length: write a product such as \"2^p log T\", \"10 log T\" or \"2^p\", \
             a number, or {{ table = [...] }}"
        );
        ParamError::new(key, problem)
    };
    let plain = text.to_ascii_lowercase().replace(['*', '(', ')'], " ").replace("logt", "log t");
    let (mut scale, mut base, mut log) = (None, None, false);
    let mut words = plain.split_whitespace();
    while let Some(word) = words.next() {
        let again = match word.strip_suffix("^p") {
            Some(number) => base.replace(number.parse().map_err(|_| refuse())?).is_some(),
            None if word == "log" || word == "ln" => {
                words.next().filter(|next| *next == "t").ok_or_else(refuse)?;
                std::mem::replace(&mut log, true)
            }
            None => scale.replace(word.parse().map_err(|_| refuse())?).is_some(),
        };
        if again {
            return Err(refuse());
        }
    }
    match (scale, base, log) {
        (None, None, false) => Err(refuse()),
        _ => Ok((scale.unwrap_or(1.0), base.unwrap_or(1.0), log)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: serde_json::Value) -> Result<Lengths, ParamError> {
        serde_json::from_value::<PhaseLengths>(value).unwrap().check("schedule", 10.0, 1.0)
    }

    #[test]
    fn table_1_every_form_of_f() {
        let at = |value: serde_json::Value| {
            let lengths = read(value).unwrap();
            [1, 2, 5].map(|phase| lengths.at(phase))
        };
        assert_eq!(at(serde_json::json!(7)), [7.0; 3], "lambda");
        assert_eq!(at(serde_json::json!("7")), [7.0; 3], "lambda");
        assert_eq!(at(serde_json::json!("7 log T")), [70.0; 3], "lambda log T");
        assert_eq!(at(serde_json::json!("2^p")), [2.0, 4.0, 32.0]);
        assert_eq!(at(serde_json::json!("2^p log T")), [20.0, 40.0, 320.0]);
        assert_eq!(at(serde_json::json!("3 * 2^p * log(T)")), [60.0, 120.0, 960.0]);
        assert_eq!(at(serde_json::json!({ "table": [3, 4.5] })), [3.0, 4.5, 4.5]);
    }

    #[test]
    fn what_is_no_length_is_refused() {
        for value in ["", "lambda", "2^q", "2 3", "log", "log p", "log T log T", "2^p 3^p", "x^p"] {
            let error = read(serde_json::json!(value)).unwrap_err();
            assert_eq!(error.key, "schedule", "{value}");
        }
        for value in [
            serde_json::json!(0),
            serde_json::json!(-1),
            serde_json::json!("0 log T"),
            serde_json::json!({ "table": [] }),
            serde_json::json!({ "table": [1, 0] }),
        ] {
            assert_eq!(read(value).unwrap_err().to_string(), "schedule: every length must be above 0");
        }
        assert!(serde_json::from_value::<PhaseLengths>(serde_json::json!({ "tabel": [1] })).is_err());
    }
}
