//! Genres are tags that everybody agrees on: each is given to its movies once.

use std::collections::BTreeMap;

use super::super::dataset::Gathering;

/// Genres are numbered from here on, above all tags.
const FIRST: u64 = 1 << 32;

/// The genres met so far.
#[derive(Debug, Default)]
pub(in super::super) struct Genres {
    numbers: BTreeMap<String, u64>,
}

impl Genres {
    /// A movie is of a genre.
    pub(in super::super) fn give(&mut self, set: &mut Gathering, movie: u32, genre: &str) {
        let next = FIRST + self.numbers.len() as u64;
        let number = *self.numbers.entry(genre.to_string()).or_insert(next);
        if number == next {
            set.tag(number, genre);
        }
        set.assign(movie, number);
    }
}
