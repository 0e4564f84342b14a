//! Columns of a context as features: numbers as they are, words as one feature each.

use super::super::refusal::Refusal;
use super::unreadable;
use crate::rows::{Cell, Row};

/// A column with more different words is no feature.
const MOST_WORDS: usize = 64;

/// What a column holds, found out row by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Sniffer {
    /// Different cells, while they are few.
    words: Vec<String>,
    many: bool,
    texts: bool,
    missing: bool,
}

/// How a column becomes features.
#[derive(Clone, Debug)]
pub(super) enum Encoder {
    /// A number.
    Number,
    /// A 1 for the word that stands there; missing ones have a feature of their own, where there are any.
    Words(Vec<String>),
}

impl Sniffer {
    pub(super) fn see(&mut self, row: &Row<'_>, column: usize) -> Result<(), Refusal> {
        match row.cell(column).map_err(unreadable)? {
            Cell::Missing => self.missing = true,
            Cell::Number(number) if !number.is_finite() => {
                // Says so, with its place.
                row.needed_number(column).map_err(unreadable)?;
            }
            Cell::Number(_) => {}
            Cell::Text(_) => self.texts = true,
        }
        if self.many {
            return Ok(());
        }
        let word = row.text(column).map_err(unreadable)?.unwrap_or_default();
        if !self.words.iter().any(|known| *known == word) {
            self.words.push(word.into_owned());
            self.many = self.words.len() > MOST_WORDS;
        }
        Ok(())
    }

    pub(super) fn finish(mut self, column: &str) -> Result<Encoder, Refusal> {
        if !self.texts && self.missing {
            return Err(Refusal::Question(format!(
                "column `{column}` of the context is missing in some rows: fill them in, or leave the column out"
            )));
        }
        if !self.texts {
            return Ok(Encoder::Number);
        }
        if self.many {
            return Err(Refusal::Question(format!(
                "column `{column}` has more than {MOST_WORDS} different words: a feature for each would be too many. Leave it \
                 out, or group them"
            )));
        }
        self.words.sort();
        Ok(Encoder::Words(self.words))
    }
}

impl Encoder {
    /// What its features are called.
    pub(super) fn names(&self, column: &str) -> Vec<String> {
        match self {
            Encoder::Number => vec![column.to_string()],
            Encoder::Words(words) => words.iter().map(|word| format!("{column}={word}")).collect(),
        }
    }

    /// Adds the features of a row.
    pub(super) fn encode(
        &self,
        row: &Row<'_>,
        column: usize,
        features: &mut Vec<f64>,
    ) -> Result<(), Refusal> {
        match self {
            Encoder::Number => features.push(row.needed_number(column).map_err(unreadable)?),
            Encoder::Words(words) => {
                let word = row.text(column).map_err(unreadable)?.unwrap_or_default();
                features.extend(words.iter().map(|known| f64::from(*known == word)));
            }
        }
        Ok(())
    }
}
