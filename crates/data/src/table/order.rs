//! Rows in random order without a list of them: a keyed permutation, whose memory does not grow with the table.

use cahoots_sim::draw::{Draw, Purpose};

/// Rounds of the network. Four make it look random to who may ask anything of it (Luby and Rackoff 1988); two more,
/// because halves of small tables are small.
const ROUNDS: usize = 6;

/// A permutation of 0..n: a Feistel network on the next even power of two, walked until it lands inside.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    rows: u64,
    /// Bits of one half.
    half: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(rows: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - rows.saturating_sub(1).leading_zeros();
        let mut draw = Draw::keyed(seed, Purpose::Arrival, 0, 0);
        Permutation { rows, half: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| draw.bits()) }
    }

    /// The row that comes at a place.
    pub(super) fn at(&self, place: u64) -> u64 {
        debug_assert!(place < self.rows);
        let mut walked = place;
        loop {
            walked = self.step(walked);
            // The network permutes a set of at most four times as many: it comes back inside soon.
            if walked < self.rows {
                return walked;
            }
        }
    }

    fn step(&self, value: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (value >> self.half, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// Murmur's finaliser, twice: every bit of the word depends on every other.
fn mix(mut word: u64) -> u64 {
    for _ in 0..2 {
        word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        word ^= word >> 33;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_once() {
        for rows in [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097] {
            let order = Permutation::new(rows, 7);
            let mut seen = vec![false; rows as usize];
            for place in 0..rows {
                let row = order.at(place) as usize;
                assert!(!std::mem::replace(&mut seen[row], true), "{rows}: {row} twice");
            }
        }
    }

    #[test]
    fn every_place_is_as_likely_as_every_other() {
        for rows in [3u64, 10, 40] {
            let seeds = 20_000;
            // Where the first and the last row go, and how they lie to each other.
            let mut counts = vec![vec![0.0; rows as usize]; 3];
            for seed in 0..seeds {
                let order = Permutation::new(rows, seed);
                let (first, last) = (order.at(0), order.at(rows - 1));
                counts[0][first as usize] += 1.0;
                counts[1][last as usize] += 1.0;
                counts[2][((last + rows - first) % rows) as usize] += 1.0;
            }
            assert_eq!(counts[2].remove(0), 0.0, "two rows never share a place");
            for counts in counts {
                let expected = seeds as f64 / counts.len() as f64;
                let chi2: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
                // Mean k - 1, variance 2 (k - 1).
                let degrees = counts.len() as f64 - 1.0;
                assert!(chi2 < degrees + 5.0 * (2.0 * degrees).sqrt(), "{rows}: {chi2}");
            }
        }
    }
}
