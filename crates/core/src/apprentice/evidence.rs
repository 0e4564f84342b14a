//! What comparisons say, as fortunes of gamblers with fixed bets: see the [module](super) for why that is a bound.

use serde::{Deserialize, Serialize};

/// Gamblers on either side.
pub(super) const BETS: usize = 12;
/// Nobody ever stakes more than this share of what they have.
const MOST_AT_STAKE: f64 = 0.9;
/// Fortunes stop here: what they would have beyond it is given away, and a bound that does without is only wider.
const RICHEST: f64 = 1e280;

/// Which pick's reward was seen, and how likely that was. Rewards are scaled to 0..1 here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The learner's own pick was taken, not the baseline's.
    pub own: bool,
    /// The probability with which the own pick is taken.
    pub share: f64,
    /// What was expected before the coin was tossed: any number will do, a good one makes differences small.
    pub centre: f64,
    /// Counts comparisons since the takeover of this round, from 1; 0 before it.
    pub since: u64,
}

impl Seen {
    /// An estimate of own less baseline without bias, whatever the centre.
    pub(super) fn difference(&self, reward: f64, centre: f64) -> f64 {
        let likely = if self.own { self.share } else { self.share - 1.0 };
        (reward - centre) / likely
    }
}

/// The bets: they halve from the largest that cannot ruin anyone, with either share of own picks.
pub(super) fn bets(explore: f64) -> [f64; BETS] {
    let mut bet = 0.5 * (1.0 - explore);
    std::array::from_fn(|_| {
        let this = bet;
        bet *= 0.5;
        this
    })
}

/// The centre nearest to this one with which no reward of 0..1 takes more than [`MOST_AT_STAKE`] from who bets on own picks.
fn affordable(bet: f64, share: f64, centre: f64) -> f64 {
    centre.min(MOST_AT_STAKE * share / bet).max(1.0 - MOST_AT_STAKE * (1.0 - share) / bet)
}

/// What is staked anew on the `since`-th comparison after a takeover. All of it adds up to 1 at most:
/// the sum of 1 / (x ln^2 x) over x = 3, 4, ... is below its integral from 2, 1 / ln 2.
fn fresh_stake(since: u64) -> f64 {
    let x = since as f64 + 2.0;
    let ln = libm::log(x);
    std::f64::consts::LN_2 / (x * ln * ln)
}

/// What comparisons that follow each other say. Two stretches that follow each other can be joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Stretch {
    /// Comparisons in it.
    pub differed: u64,
    /// Their differences, added up.
    pub estimate: f64,
    /// Logarithms of the fortunes of those who bet that own picks are better.
    pub rises: [f64; BETS],
    /// The same for the baseline's.
    pub falls: [f64; BETS],
    /// What one unit that was bet on the baseline before this stretch is worth after it, as far as it lies after a takeover.
    pub keeps: [f64; BETS],
    /// What was bet on the baseline within this stretch, a little at every comparison after a takeover, is worth.
    pub turns: [f64; BETS],
}

impl Stretch {
    /// Without comparisons.
    pub(super) fn empty() -> Stretch {
        Stretch {
            differed: 0,
            estimate: 0.0,
            rises: [0.0; BETS],
            falls: [0.0; BETS],
            keeps: [1.0; BETS],
            turns: [0.0; BETS],
        }
    }

    /// One comparison.
    pub(super) fn of(seen: &Seen, reward: f64, bets: &[f64; BETS]) -> Stretch {
        let mut stretch = Stretch::empty();
        stretch.differed = 1;
        stretch.estimate = seen.difference(reward, seen.centre);
        let stake = if seen.since > 0 { fresh_stake(seen.since) } else { 0.0 };
        for (i, &bet) in bets.iter().enumerate() {
            let centre = affordable(bet, seen.share, seen.centre);
            stretch.rises[i] = libm::log1p(bet * seen.difference(reward, centre));
            // Whoever bets on the baseline loses where own picks earn: the same, upside down.
            let centre = 1.0 - affordable(bet, seen.share, 1.0 - seen.centre);
            let change = -bet * seen.difference(reward, centre);
            stretch.falls[i] = libm::log1p(change);
            if seen.since > 0 {
                stretch.keeps[i] = 1.0 + change;
                stretch.turns[i] = stake * (1.0 + change);
            }
        }
        stretch
    }

    /// Goes on with what came next.
    pub(super) fn append(&mut self, next: &Stretch) {
        self.differed += next.differed;
        self.estimate += next.estimate;
        for i in 0..BETS {
            self.rises[i] += next.rises[i];
            self.falls[i] += next.falls[i];
            self.turns[i] = (self.turns[i] * next.keeps[i] + next.turns[i]).min(RICHEST);
            self.keeps[i] = (self.keeps[i] * next.keeps[i]).min(RICHEST);
        }
    }

    /// Is it certain that own picks are better, but for this error?
    pub(super) fn better(&self, bets: &[f64; BETS], error: f64) -> bool {
        fortune(&self.rises, bets, 0.0) > -libm::log(error)
    }

    /// Is it certain that the baseline was better over all comparisons from some one after the takeover on, but for this error?
    pub(super) fn turned(&self, error: f64) -> bool {
        self.turns.iter().sum::<f64>() / BETS as f64 > 1.0 / error
    }

    /// What own picks have earned more than the baseline's, added up: at least and at most, but for this error on either side.
    pub(super) fn bounds(&self, bets: &[f64; BETS], error: f64) -> (f64, f64) {
        let most = self.differed as f64;
        (least(&self.rises, bets, error, most), -least(&self.falls, bets, error, most))
    }
}

/// Logarithm of what all have together, had every unit of difference cost them their bet.
fn fortune(logs: &[f64; BETS], bets: &[f64; BETS], difference: f64) -> f64 {
    let each = |i: usize| logs[i] - bets[i] * difference;
    let richest = (0..BETS).map(each).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = (0..BETS).map(|i| libm::exp(each(i) - richest)).sum();
    richest + libm::log(sum / BETS as f64)
}

/// The smallest difference between -`most` and `most` that their fortunes allow.
fn least(logs: &[f64; BETS], bets: &[f64; BETS], error: f64, most: f64) -> f64 {
    let allowed = -libm::log(error);
    let (mut low, mut high) = (-most, most);
    if fortune(logs, bets, low) <= allowed {
        return low;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if fortune(logs, bets, middle) > allowed {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(own: bool, share: f64, centre: f64, since: u64) -> Seen {
        Seen { own, share, centre, since }
    }

    /// No bias whatever the centre, and no reward ruins anyone, with the share of an apprentice or of who is in charge.
    #[test]
    fn differences_have_no_bias_and_nobody_is_ruined() {
        for explore in [0.001, 0.05, 0.3, 0.5] {
            for share in [explore, 1.0 - explore] {
                for (centre, own, base) in
                    [(0.0, 0.0, 1.0), (0.5, 1.0, 0.0), (1.0, 1.0, 1.0), (0.3, 0.2, 0.9)]
                {
                    let took = |taken| seen(taken, share, centre, 1);
                    let mean = share * took(true).difference(own, centre)
                        + (1.0 - share) * took(false).difference(base, centre);
                    assert!((mean - (own - base)).abs() < 1e-12, "{mean}");
                    let bets = bets(explore);
                    let (own, base) =
                        (Stretch::of(&took(true), own, &bets), Stretch::of(&took(false), base, &bets));
                    for i in 0..BETS {
                        for log in [own.rises[i], own.falls[i], base.rises[i], base.falls[i]] {
                            assert!(
                                log >= libm::log(1.0 - MOST_AT_STAKE) - 1e-9,
                                "{explore} {share} {centre}: {log}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// On average over the coin, fortunes change by the bet times the difference: by nothing where there is none.
    #[test]
    fn bets_are_fair() {
        for (share, centre, reward) in [(0.1, 0.4, 1.0), (0.9, 0.4, 1.0), (0.1, 0.9, 0.0), (0.7, 0.0, 0.3)] {
            let bets = bets(0.1f64.max(0.3 * f64::from(share == 0.7)));
            let of = |own| Stretch::of(&seen(own, share, centre, 1), reward, &bets);
            let (own, base) = (of(true), of(false));
            for i in 0..BETS {
                for side in [[own.rises[i], base.rises[i]], [own.falls[i], base.falls[i]]] {
                    let mean = share * libm::exp(side[0]) + (1.0 - share) * libm::exp(side[1]);
                    assert!((mean - 1.0).abs() < 1e-12, "{mean}");
                }
            }
        }
    }

    #[test]
    fn stretches_can_be_joined_in_any_grouping() {
        let bets = bets(0.1);
        let parts: Vec<Stretch> = (0..9)
            .map(|i| Stretch::of(&seen(i % 3 == 0, 0.1, 0.4, i / 2), f64::from(i as u32 % 2), &bets))
            .collect();
        let join = |parts: &[Stretch]| {
            let mut all = Stretch::empty();
            parts.iter().for_each(|part| all.append(part));
            all
        };
        let whole = join(&parts);
        let mut halves = join(&parts[..4]);
        halves.append(&join(&parts[4..]));
        assert_eq!(halves.differed, 9);
        for i in 0..BETS {
            assert!((halves.turns[i] - whole.turns[i]).abs() < 1e-12);
            assert!((halves.rises[i] - whole.rises[i]).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_staked_after_a_takeover_adds_up_to_one_at_most() {
        let staked: f64 = (1..1_000_000).map(fresh_stake).sum();
        // What is left is below the integral from the last: ln 2 / ln(1,000,001).
        let rest = std::f64::consts::LN_2 / libm::log(1_000_001.0);
        assert!(staked + rest <= 1.0 && staked > 0.5, "{staked} and {rest}");
    }

    #[test]
    fn bounds_lie_around_the_estimate_and_agree_with_the_verdict() {
        let bets = bets(0.2);
        let mut all = Stretch::empty();
        let mut verdicts = Vec::new();
        for i in 0..4_000u32 {
            // Every fifth decision is the learner's own, and earns 1 of 2; the baseline's earn 1 of 4.
            let own = i % 5 == 0;
            let reward = f64::from((own && i % 10 == 0) || (!own && i % 4 == 0));
            all.append(&Stretch::of(&seen(own, 0.2, 0.4, 0), reward, &bets));
            let (low, high) = all.bounds(&bets, 0.05);
            assert!(low < high, "{low} {high}");
            assert_eq!(all.better(&bets, 0.05), low > 0.0);
            verdicts.push(low > 0.0);
        }
        assert!(!verdicts[100] && verdicts[3_999]);
        let (low, high) = all.bounds(&bets, 0.05);
        assert!(low < 0.25 * 4_000.0 && 0.25 * 4_000.0 < high, "{low} {high}");
    }
}
