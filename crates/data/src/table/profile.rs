//! What a column holds, found in one pass and in memory that its values cannot grow.

use std::collections::HashMap;

use crate::rows::{Cell, Place, Row, RowError};

/// The longest text that can be a name of something, in bytes: names are held in memory.
pub(super) const LONGEST_NAME: usize = 256;

/// What is known of a column so far.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Cells that hold something.
    pub held: u64,
    /// Cells that do not.
    pub missing: u64,
    /// Cells that are numbers.
    pub numbers: u64,
    /// Whether all numbers are whole.
    pub whole: bool,
    /// The smallest and the largest number.
    pub range: (f64, f64),
    mean: f64,
    squares: f64,
    /// The first text that is no number, and where.
    pub first_text: Option<(Place, String)>,
    /// The first number that is not finite.
    pub not_finite: Option<Place>,
    /// How often each value comes, until there are too many.
    values: Option<HashMap<Box<str>, u64>>,
    most: usize,
}

impl Profile {
    /// Of a column; more than `most` different values are not told apart.
    pub fn new(name: &str, most: usize) -> Profile {
        Profile {
            name: name.into(),
            held: 0,
            missing: 0,
            numbers: 0,
            whole: true,
            range: (f64::INFINITY, f64::NEG_INFINITY),
            mean: 0.0,
            squares: 0.0,
            first_text: None,
            not_finite: None,
            values: Some(HashMap::new()),
            most,
        }
    }

    /// Takes in a cell.
    pub fn add(&mut self, row: &Row<'_>, column: usize) -> Result<(), RowError> {
        match row.cell(column)? {
            Cell::Missing => {
                self.missing += 1;
                return Ok(());
            }
            Cell::Number(number) if number.is_finite() => self.add_number(number),
            Cell::Number(_) => {
                self.not_finite.get_or_insert(row.place());
            }
            Cell::Text(text) => {
                self.first_text.get_or_insert_with(|| (row.place(), text.chars().take(40).collect()));
            }
        }
        self.held += 1;
        if let Some(values) = &mut self.values
            && let Some(text) = row.text(column)?
        {
            if let Some(count) = values.get_mut(text.as_ref()) {
                *count += 1;
            } else if values.len() == self.most || text.len() > LONGEST_NAME {
                self.values = None;
            } else {
                values.insert(text.as_ref().into(), 1);
            }
        }
        Ok(())
    }

    fn add_number(&mut self, number: f64) {
        self.numbers += 1;
        self.whole &= number.fract() == 0.0;
        self.range = (self.range.0.min(number), self.range.1.max(number));
        // Welford's way, which does not lose what is small beside the mean.
        let change = number - self.mean;
        self.mean += change / self.numbers as f64;
        self.squares += change * (number - self.mean);
    }

    /// Whether everything that it holds is a number.
    pub fn is_numeric(&self) -> bool {
        self.held > 0 && self.first_text.is_none()
    }

    /// Mean of its numbers; 0 where there are none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Deviation of its numbers.
    pub fn deviation(&self) -> f64 {
        if self.numbers == 0 { 0.0 } else { (self.squares / self.numbers as f64).sqrt() }
    }

    /// How many different values there are, where they could be told apart.
    pub fn distinct(&self) -> Option<usize> {
        self.values.as_ref().map(HashMap::len)
    }

    /// Its values in order, numbers by size, each with how often it comes; nothing where there are too many.
    pub fn values(&self) -> Option<Vec<(String, u64)>> {
        let mut values: Vec<(String, u64)> =
            self.values.as_ref()?.iter().map(|(value, count)| (value.to_string(), *count)).collect();
        values.sort_by(|(a, _), (b, _)| in_order(a, b));
        Some(values)
    }
}

/// Numbers by size and before texts, texts by their letters.
pub(super) fn in_order(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}
