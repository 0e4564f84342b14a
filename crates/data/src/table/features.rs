//! What columns become: numbers that are scaled, texts that become a feature per value, and a constant.

use cahoots_core::ParamError;
use serde::{Deserialize, Serialize};

use super::keys::{Missing, Scale, TableParams};
use super::profile::Profile;
use crate::rows::{Row, RowError, Rows};

/// A number beyond this is refused: the product of two, one of a context and one of an arm, must still be a feature
/// that can be learned from ([`cahoots_kernel::LARGEST`]).
const MOST: f64 = 1e15;

/// Features made of columns, in their order; a constant comes last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// What each column becomes.
    pub columns: Vec<Feature>,
    /// All are multiplied by this, the constant included.
    factor: f64,
}

/// What a column becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Feature {
    /// One feature.
    Number {
        /// The column.
        name: String,
        /// What is taken away from it first.
        shift: f64,
        /// What it is multiplied by then.
        factor: f64,
        /// What it is, so scaled, where it is missing.
        fill: f64,
    },
    /// A feature per value, 1 for the value that it has.
    Choice {
        /// The column.
        name: String,
        /// Its values, in order.
        values: Vec<String>,
        /// Whether there is one more for cells that are empty.
        empty: bool,
    },
}

impl Feature {
    fn name(&self) -> &str {
        match self {
            Feature::Number { name, .. } | Feature::Choice { name, .. } => name,
        }
    }

    fn dim(&self) -> usize {
        match self {
            Feature::Number { .. } => 1,
            Feature::Choice { values, empty, .. } => values.len() + usize::from(*empty),
        }
    }

    fn width(&self) -> usize {
        match self {
            Feature::Number { .. } => 8,
            Feature::Choice { .. } => 4,
        }
    }
}

impl Features {
    /// Of these columns; `key` is what a complaint is about. Columns that are the same everywhere are left out.
    pub(super) fn new(profiles: &[Profile], key: &str, params: &TableParams) -> Result<Features, ParamError> {
        let mut columns = Vec::new();
        for profile in profiles {
            columns.extend(feature(profile, key, params)?);
        }
        let factor = match params.scale {
            Scale::None => 1.0,
            // A column is at most 1 long, and so is the constant.
            Scale::Unit | Scale::Standard => 1.0 / ((columns.len() + 1) as f64).sqrt(),
        };
        Ok(Features { columns, factor })
    }

    /// How many there are.
    pub fn dim(&self) -> usize {
        self.columns.iter().map(Feature::dim).sum::<usize>() + 1
    }

    /// Bytes that a row takes.
    pub(super) fn width(&self) -> usize {
        self.columns.iter().map(Feature::width).sum()
    }

    /// Where the columns are that they are made of, among those of a file.
    pub(super) fn places(&self, rows: &Rows) -> Result<Vec<usize>, RowError> {
        self.columns.iter().map(|feature| rows.column(feature.name())).collect()
    }

    /// Packs the cells of a row; `columns` says where those are that features are made of.
    pub(super) fn pack(&self, row: &Row<'_>, columns: &[usize], out: &mut Vec<u8>) -> Result<(), RowError> {
        for (column, feature) in columns.iter().copied().zip(&self.columns) {
            match feature {
                Feature::Number { shift, factor, fill, .. } => {
                    let scaled = row.number(column)?.map_or(*fill, |number| (number - shift) * factor);
                    out.extend(scaled.to_le_bytes());
                }
                Feature::Choice { values, .. } => {
                    let value = match row.text(column)? {
                        None => values.len(),
                        Some(text) => values.iter().position(|value| *value == text).ok_or_else(|| {
                            row.wrong(format!(
                                "`{text}` was not there before: the file changes while it is read"
                            ))
                        })?,
                    };
                    out.extend((value as u32).to_le_bytes());
                }
            }
        }
        Ok(())
    }

    /// The features that were packed, in the place of what `out` held.
    pub(super) fn unpack(&self, mut packed: &[u8], out: &mut Vec<f64>) {
        out.clear();
        for feature in &self.columns {
            let (mine, rest) = packed.split_at(feature.width());
            packed = rest;
            match mine.try_into() {
                Ok(number) => out.push(f64::from_le_bytes(number) * self.factor),
                Err(_) => {
                    let value = mine.try_into().map_or(0, u32::from_le_bytes) as usize;
                    let first = out.len();
                    out.resize(first + feature.dim(), 0.0);
                    out[first + value] = self.factor;
                }
            }
        }
        out.push(self.factor);
    }
}

fn feature(profile: &Profile, key: &str, params: &TableParams) -> Result<Option<Feature>, ParamError> {
    let Profile { name, missing, .. } = profile;
    let refuse = |problem: String| Err(ParamError::new(key, problem));
    if let Some(place) = profile.not_finite {
        return refuse(format!(
            "column `{name}` holds a number that is not finite ({place}): mend the cell, leave it empty, or leave the \
             column out"
        ));
    }
    let empty = *missing > 0 && params.missing == Missing::Fill;
    let varies = profile.distinct() != Some(1) || empty;
    if profile.held == 0 || !varies {
        return Ok(None);
    }
    let numeric = profile.is_numeric() && !params.categories.contains(name);
    if !numeric {
        let Some(values) = profile.values() else {
            let first = match &profile.first_text {
                Some((place, text)) if profile.numbers > 0 => {
                    format!("; most may be numbers, but {text:?} ({place}) is none")
                }
                _ => String::new(),
            };
            return refuse(format!(
                "column `{name}` has more than {} different values{first}: leave it out of context, or raise levels",
                params.levels
            ));
        };
        let values = values.into_iter().map(|(value, _)| value).collect();
        return Ok(Some(Feature::Choice { name: name.clone(), values, empty }));
    }
    let (least, most) = profile.range;
    let (shift, factor) = match params.scale {
        Scale::None if least.abs().max(most.abs()) > MOST => {
            return refuse(format!("column `{name}` goes beyond {MOST:e}: scale it, or leave it out"));
        }
        Scale::None => (0.0, 1.0),
        // Halved first: their difference may not be a number.
        Scale::Unit => (least / 2.0 + most / 2.0, 1.0 / (most / 2.0 - least / 2.0)),
        Scale::Standard => (profile.mean(), 1.0 / profile.deviation()),
    };
    if !(shift.is_finite() && factor.is_finite()) {
        // Numbers that differ by less than can be told.
        return Ok(None);
    }
    let fill = (profile.mean() - shift) * factor;
    Ok(Some(Feature::Number { name: name.clone(), shift, factor, fill }))
}
