//! What one client adds to a sum that is released a stated number of times, and what the coordinator makes of it.
//!
//! As in [`correlated`](crate::correlated), `sum over j of c_(k-j) y_j` is to be what a client has observed until round k.
//! So in round k it sends `y_k = total - sum over j < k of c_(k-j) y_j`, over the rounds in which it sent something: rounds
//! that it missed are made up for. An observation's part in y_k, w_k, lies between 0 and 1.
//!
//! Where rounds were missed, the w of an observation can be more than a column of R. The noise is made for
//! `sum of w_k^2 <= |c|^2`, so that is kept to: w_k is cut to what is left of it. What was sent counts as sent, whether or
//! not it came through: of such a round `c_(k-j) y_j` is missing in the sum, less and less, and a coordinator that
//! denies having had it learns no more.

use cahoots_core::LinearStats;
use serde::{Deserialize, Serialize};

use crate::correlated::{coefficients, squared_norm};

/// A client's side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contribution {
    releases: u32,
    leaves: Vec<Leaf>,
    sent: Vec<Sent>,
}

/// What was observed between two rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Leaf {
    stats: LinearStats,
    /// The parts of it that were sent, with their rounds.
    parts: Vec<(u32, f64)>,
}

/// What was sent in a round, noise included.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sent {
    round: u32,
    row: LinearStats,
    /// Variance of its noise.
    variance: f64,
}

impl Contribution {
    /// Nothing yet; noise is made for so many rounds.
    pub fn new(releases: u32) -> Contribution {
        Contribution { releases, leaves: Vec::new(), sent: Vec::new() }
    }

    /// The rounds that came through are these: this client has no part in the sums of others.
    pub fn came_through(&mut self, rounds: &[u32]) {
        self.sent.retain(|sent| rounds.contains(&sent.round));
    }

    /// What to send in a round, exact, with all that came since the last; its count is that of all observations. Rounds
    /// come in rising order, `releases` at most.
    pub fn next(&mut self, round: u32, since: LinearStats) -> LinearStats {
        let weights: Vec<f64> = coefficients(self.releases as usize + 1).collect();
        let most = squared_norm(self.releases as usize);
        let mut row = since.emptied();
        self.leaves.push(Leaf { stats: since, parts: Vec::new() });
        for Leaf { stats, parts } in &mut self.leaves {
            let spent: f64 = parts.iter().map(|(_, part)| part * part).sum();
            let known: f64 =
                parts.iter().map(|(earlier, part)| weights[(round - earlier) as usize] * part).sum();
            let part = (1.0 - known).max(0.0).min((most - spent).max(0.0).sqrt());
            add(&mut row, stats, part);
            row.count += stats.count;
            parts.push((round, part));
        }
        row
    }

    /// What was sent, with its noise.
    pub fn sent(&mut self, round: u32, row: LinearStats, variance: f64) {
        self.sent.push(Sent { round, row, variance });
    }

    /// This client's part of the sum of a round, and the variance of its noise in it; none without a part.
    pub fn sum(&self, round: u32) -> Option<(LinearStats, f64)> {
        added_up(self.sent.iter().map(|sent| (sent.round, &sent.row, sent.variance)), round)
    }
}

/// The coordinator's side: the sums over all groups of each round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroupRows {
    rows: Vec<Sent>,
}

impl GroupRows {
    /// A group of a round came through.
    pub fn add(&mut self, round: u32, row: &LinearStats, variance: f64) {
        match self.rows.iter_mut().find(|known| known.round == round) {
            Some(known) => {
                known.row.merge(row);
                known.variance += variance;
            }
            None => self.rows.push(Sent { round, row: row.clone(), variance }),
        }
    }

    /// What all have observed until a round, and the variance of the noise in it.
    pub fn sum(&self, round: u32) -> Option<(LinearStats, f64)> {
        added_up(self.rows.iter().map(|sent| (sent.round, &sent.row, sent.variance)), round)
    }
}

/// `sum over j of c_(round-j) y_j`. The count is that of the last round: counts are not spread over rounds.
fn added_up<'a>(
    rows: impl Iterator<Item = (u32, &'a LinearStats, f64)>,
    round: u32,
) -> Option<(LinearStats, f64)> {
    let weights: Vec<f64> = coefficients(round as usize + 1).collect();
    let mut sum: Option<(LinearStats, f64)> = None;
    for (earlier, row, variance) in rows.filter(|(earlier, ..)| *earlier <= round) {
        let weight = weights[(round - earlier) as usize];
        let (to, noise) = sum.get_or_insert_with(|| (row.emptied(), 0.0));
        add(to, row, weight);
        to.count = row.count;
        *noise += weight * weight * variance;
    }
    sum
}

fn add(to: &mut LinearStats, from: &LinearStats, weight: f64) {
    to.gram.packed_mut().iter_mut().zip(from.gram.packed()).for_each(|(to, value)| *to += weight * value);
    to.moment.iter_mut().zip(&from.moment).for_each(|(to, value)| *to += weight * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: f64) -> LinearStats {
        let mut stats = LinearStats::empty(1);
        stats.observe(&[1.0], value);
        stats
    }

    /// Rounds of which some are missed, and some sent and lost, by the bits of both: sums as the coordinator has them,
    /// parts of the first observation.
    fn play(releases: u32, missed: u32, lost: u32) -> (Vec<(u32, f64)>, Vec<f64>) {
        let mut client = Contribution::new(releases);
        let (mut rows, mut through, mut sums) = (GroupRows::default(), Vec::new(), Vec::new());
        let mut since = LinearStats::empty(1);
        let has = |bits: u32, round: u32| bits >> (round - 1) & 1 == 1;
        for round in 1..=releases {
            since.merge(&one(1.0));
            if has(missed, round) {
                continue;
            }
            let row = client.next(round, std::mem::replace(&mut since, LinearStats::empty(1)));
            client.sent(round, row.clone(), 1.0);
            if !has(lost, round) {
                through.push(round);
                rows.add(round, &row, 1.0);
                sums.push((round, rows.sum(round).unwrap().0.gram.get(0, 0)));
            }
            client.came_through(&through);
            assert_eq!(client.sum(round), rows.sum(round), "both know the same of it");
        }
        let parts = client
            .leaves
            .first()
            .map_or(Vec::new(), |leaf| leaf.parts.iter().map(|(_, part)| *part).collect());
        (sums, parts)
    }

    #[test]
    fn where_all_rounds_come_through_sums_are_right_and_parts_are_a_column_of_the_root() {
        let (sums, parts) = play(9, 0, 0);
        for (round, sum) in sums {
            assert!((sum - f64::from(round)).abs() < 1e-12, "{round}: {sum}");
        }
        for (part, c) in parts.iter().zip(coefficients(9)) {
            assert!((part - c).abs() < 1e-12, "{part} {c}");
        }
    }

    #[test]
    fn rounds_that_were_missed_are_made_up_for_and_lost_ones_fade() {
        for (round, sum) in play(9, 0b1100, 0).0 {
            let exact = f64::from(round);
            // From the seventh on, what the noise is made for is used up by what is oldest, which fades.
            let least = if round < 7 { exact - 1e-12 } else { 0.9 * exact };
            assert!((least..=exact + 1e-12).contains(&sum), "{round}: {sum}");
        }
        let (sums, _) = play(9, 0, 0b100);
        let lacking: Vec<f64> = sums.iter().map(|(round, sum)| f64::from(*round) - sum).collect();
        // 1 + 1/2 + 3/8 was lost in the third round; c_1, c_2, ... of that is missing from then on.
        assert!(
            (lacking[2] - 0.5 * 1.875).abs() < 1e-12 && (lacking[3] - 0.375 * 1.875).abs() < 1e-12,
            "{lacking:?}"
        );
    }

    #[test]
    fn whatever_is_missed_no_observation_has_a_larger_part_than_the_noise_is_made_for() {
        let most = squared_norm(8);
        let mut cut = 0;
        for missed in 0..1 << 8 {
            let (_, parts) = play(8, missed, 0);
            let spent: f64 = parts.iter().map(|part| part * part).sum();
            assert!(spent <= most + 1e-12, "{missed:b}: {spent} of {most}");
            assert!(parts.iter().all(|part| (0.0..=1.0).contains(part)), "{missed:b}: {parts:?}");
            assert_eq!(play(8, missed, u32::MAX).1, parts, "what is said to be lost changes nothing");
            cut += u32::from(spent > most - 1e-9 && missed != 0);
        }
        assert!(cut > 0, "somewhere the bound is what decides");
    }
}
