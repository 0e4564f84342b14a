//! An apprentice: a learner beside whoever decides already (the baseline), who takes over once it is certain to be better.
//!
//! At every decision both pick. Where they differ, a coin that knows nothing of the world says whose pick is taken: the learner's
//! own with probability `q`, which is `explore` while it is an apprentice and `1 - explore` once it is in charge. With `r` the
//! reward of what was taken, and `m` any number that is fixed before the coin is tossed,
//!
//! `X = (r - m) / q` where the own pick was taken, and `X = -(r - m) / (1 - q)` where the baseline's was,
//!
//! is on average over the coin what the own pick would have earned more in this very decision (Horvitz and Thompson 1952, with a
//! control variate). Where both pick the same there is nothing to compare.
//!
//! # The bound
//!
//! Let `d_i` be the expectation of `X_i` given all that was before the coin of decision `i`, and `D_t` the sum of the first `t`:
//! what own picks have earned more so far, however much the learner, the baseline and the world have changed meanwhile. For a
//! fixed bet `b` with `1 + b X_i > 0`,
//!
//! `M_t = prod (1 + b X_i) / (1 + b d_i)`  is a martingale that begins with 1, and  `prod (1 + b X_i) <= M_t exp(b D_t)`,
//!
//! since `1 + z <= exp(z)`. The same is true of the mean over several bets. A nonnegative martingale that begins with 1 ever
//! exceeds `1 / error` with probability `error` at most (Ville 1939): at all times at once,
//!
//! `mean over bets of prod (1 + b X_i) exp(-b D_t)  <=  1 / error`  with probability `1 - error`.
//!
//! The left side falls as `D_t` grows, and so bounds it from below; `-X` bounds it from above. The bound is above zero just when
//! the gamblers' fortunes at `D_t = 0` exceed `1 / error`. Nothing is assumed of rewards but their range: one may even take them
//! as fixed and the coin as all that is random. Bets are for ever: one that changed would weigh decisions, and bound another sum.
//! Betting on bounded means is Waudby-Smith and Ramdas (2024); that fixed bets, mixed, bound means that move is Mineiro (2022, "A
//! lower confidence sequence for the changing mean"), and sharper than the empirical-Bernstein bound of Howard, Ramdas, McAuliffe
//! and Sekhon (2021, Theorem 4), which Choe and Ramdas (2024) use for the same question among forecasters.
//!
//! `m` may be another one for every gambler: each has the nearest to what was expected with which no reward takes more than 9/10
//! of what they have. What is expected is `(1 - q) own + q baseline`, which leaves the least variance, of two running means, or
//! of what a model of the caller says, if that has made the `X` smaller so far.
//!
//! # In charge
//!
//! The learner is in charge while the lower bound is above zero, and not otherwise: with probability `1 - error`, it never is
//! while its picks have not been better on average since the round began. A world that turns would have to outweigh all that was
//! good before; so since a takeover others bet on the baseline, a little more at every comparison (`w_j`, 1 in all, at the
//! `j`-th; Shiryaev and Roberts, as in the e-detectors of Shin, Ramdas and Rinaldo 2024). Their fortunes exceed `1 / error` only
//! where, but for an error of that probability, the baseline has been better over all decisions from some one after the takeover
//! on. Then the learner gives back, and everything begins anew in a next round. The first round may err with probability 3/4
//! `error`, the `k`-th with `error / (4 k (k - 1))`: `error` in all.
//!
//! # Order
//!
//! Rewards may come late, and when they come may depend on what they are. `X_i` is therefore told in the order of decisions, up
//! to the first that is still open ([`Apprentice::settle`]); what is settled behind it is kept as one stretch per open decision.
//! The coin of a decision must not reach back: rewards of earlier decisions must not depend on it. A reward that will not come
//! ([`Apprentice::missing`]) is left out, as if both had picked the same: that is right where its absence does not depend on
//! whose pick was taken. Where it does (no click, no message), a default reward says what absence means.
//!
//! # Numbers
//!
//! Decisions until the takeover from a baseline that earns 1 half of the time, and 0 otherwise, by a learner that always picks
//! another arm, in the middle of 101 runs with `error` 0.05:
//!
//! | difference | `explore` 0.05 | 0.1 | 0.3 |
//! |---|---|---|---|
//! | 0.05 | 16,581 | 10,942 | 4,679 |
//! | 0.1 | 5,257 | 2,898 | 1,142 |
//! | 0.3 | 624 | 412 | 129 |
//!
//! Who knew the difference and staked on nothing else would need a little more than half as many. With `explore` 0.1: without `m`
//! it takes 2.3 times as many at a baseline of 0.5 and 5 times at 0.8; the empirical-Bernstein bound takes 1.4 to 1.8 times as
//! many. A model of what rewards depend on more than halves them where it explains most of it. Mistakes that a learner makes while it
//! learns count: among ten arms, 1,906 instead of 285. Of 4,000 baselines that were as good as every other arm, learners that
//! chase their luck displaced 35 within 2,000 decisions (0.9%), and 9 of 4,000 better ones; a test that is fine once, looked at
//! every time, 27%. (`cargo test -p cahoots-core apprentice -- --nocapture`.)

mod evidence;
mod order;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::evidence::{BETS, Seen, Stretch, bets};
use self::order::{Order, Waiting};
pub use self::settings::{OutsideRange, Settings};
use crate::rng::Stream;

/// Whose pick is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Toss {
    /// The learner's own, not the baseline's.
    pub own: bool,
    /// How likely that was.
    pub share: f64,
}

/// What follows from what was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The learner is better, and in charge from now on.
    TookOver,
    /// That it is better is not certain any more.
    GaveBack,
    /// The baseline has been better of late: a new round begins, and the learner is not in charge.
    Restarted,
}

/// How it stands. Sums are of this round, in the rewards' own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The learner decides, but for the share of the baseline.
    pub in_charge: bool,
    /// From 1.
    pub round: u64,
    /// Decisions with a baseline.
    pub decisions: u64,
    /// Comparisons that were told: both picked something else, the reward came, and none before it is open.
    pub differed: u64,
    /// Comparisons whose reward will not come.
    pub missing: u64,
    /// Comparisons whose reward is awaited.
    pub open: u64,
    /// Own picks have earned at least this more.
    pub low: f64,
    /// By the best estimate.
    pub estimate: f64,
    /// At most this more.
    pub high: f64,
    /// With this probability either bound holds, at all times at once.
    pub confidence: f64,
    /// How often the learner took over, in all rounds.
    pub takeovers: u64,
}

/// The mean of the last rewards.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Recent {
    mean: f64,
    count: u64,
}

impl Recent {
    /// Before anything came: as good as one reward in the middle.
    const NOTHING: Recent = Recent { mean: 0.5, count: 1 };
    /// Older ones fade.
    const MEMORY: u64 = 1_000;

    fn add(&mut self, value: f64) {
        self.count = (self.count + 1).min(Recent::MEMORY);
        self.mean += (value - self.mean) / self.count as f64;
    }
}

/// What is kept, beside those who wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    settings: Settings,
    round: u64,
    in_charge: bool,
    /// Comparisons since the takeover of this round; `None` before it.
    since: Option<u64>,
    decisions: u64,
    missing: u64,
    takeovers: u64,
    /// What this round has told.
    told: Stretch,
    own: Recent,
    baseline: Recent,
    /// Mean squares of differences by running means and by the caller's model: the smaller is used.
    squares: (Recent, Recent),
}

/// As it is stored: a later version adds a variant, and reads this one.
#[derive(Serialize, Deserialize)]
enum Stored {
    First(Kept),
}

/// An apprentice and all that it has been told.
#[derive(Clone, Debug, PartialEq)]
pub struct Apprentice {
    kept: Kept,
    order: Order,
    bets: [f64; BETS],
}

impl Apprentice {
    /// Knows nothing yet.
    pub fn new(settings: Settings) -> Result<Apprentice, String> {
        settings.check()?;
        let kept = Kept {
            settings,
            round: 1,
            in_charge: false,
            since: None,
            decisions: 0,
            missing: 0,
            takeovers: 0,
            told: Stretch::empty(),
            own: Recent::NOTHING,
            baseline: Recent::NOTHING,
            squares: (Recent { mean: 0.0, count: 0 }, Recent { mean: 0.0, count: 0 }),
        };
        Ok(Apprentice { kept, order: Order::default(), bets: bets(settings.explore) })
    }

    /// Something else is asked of it: what it was told is forgotten.
    pub fn begin_anew(&mut self, settings: Settings) -> Result<(), String> {
        let Apprentice { kept, bets, .. } = Apprentice::new(settings)?;
        (self.kept, self.bets) = (kept, bets);
        self.order.clear();
        Ok(())
    }

    /// As it was kept by [`Apprentice::state`] and [`Apprentice::record`]; `None` if that cannot be read.
    pub fn restore<'a>(state: &[u8], records: impl Iterator<Item = (u64, &'a [u8])>) -> Option<Apprentice> {
        let Stored::First(kept) = postcard::from_bytes(state).ok()?;
        kept.settings.check().ok()?;
        let read = |(number, bytes)| Some((number, postcard::from_bytes::<Waiting>(bytes).ok()?));
        let waiting = records.map(read).collect::<Option<BTreeMap<_, _>>>()?;
        let bets = bets(kept.settings.explore);
        Some(Apprentice { kept, order: Order::restore(waiting), bets })
    }

    /// What is to be kept, but for decisions that wait: of a fixed size.
    pub fn state(&self) -> Vec<u8> {
        postcard::to_stdvec(&Stored::First(self.kept.clone())).expect("can always be written")
    }

    /// What is to be kept of a decision that waits; `None` when it does not, any more.
    pub fn record(&self, number: u64) -> Option<Vec<u8>> {
        self.order.get(number).map(|waiting| postcard::to_stdvec(waiting).expect("can always be written"))
    }

    /// Decisions whose record has changed, or gone, since this was last asked.
    pub fn take_changed(&mut self) -> BTreeSet<u64> {
        self.order.take_changed()
    }

    /// Decisions whose reward is awaited.
    pub fn waiting(&self) -> Vec<u64> {
        self.order.numbers()
    }

    /// What is asked of it.
    pub fn settings(&self) -> &Settings {
        &self.kept.settings
    }

    /// Does the learner decide, but for the baseline's share?
    pub fn in_charge(&self) -> bool {
        self.kept.in_charge
    }

    /// The probability with which the own pick is taken now.
    pub fn share(&self) -> f64 {
        let explore = self.kept.settings.explore;
        if self.kept.in_charge { 1.0 - explore } else { explore }
    }

    /// Whose pick is taken. The stream must be of this decision and of nothing else.
    pub fn toss(&self, coin: &mut Stream) -> Toss {
        let share = self.share();
        Toss { own: coin.uniform() < share, share }
    }

    /// Decision `number` was taken where the coin said so. `differ`: the two picks did; numbers grow. `expected` is what a model
    /// of the caller's, that has not seen this decision's reward, expects of the own pick and of the baseline's, if there is one.
    pub fn decided(&mut self, number: u64, toss: Toss, differ: bool, expected: Option<(f64, f64)>) {
        let kept = &mut self.kept;
        kept.decisions += 1;
        if !differ {
            return;
        }
        let between = |own: f64, baseline: f64| (1.0 - toss.share) * own + toss.share * baseline;
        let (low, high) = kept.settings.range;
        let scaled = |value: f64| ((value - low) / (high - low)).clamp(0.0, 1.0);
        let means = between(kept.own.mean, kept.baseline.mean);
        let model = expected
            .filter(|(own, baseline)| own.is_finite() && baseline.is_finite())
            .map(|(own, baseline)| between(scaled(own), scaled(baseline)));
        let centre = match model {
            Some(model) if kept.squares.1.mean < kept.squares.0.mean => model,
            _ => means,
        };
        kept.since = kept.since.map(|since| since + 1);
        let seen = Seen { own: toss.own, share: toss.share, centre, since: kept.since.unwrap_or(0) };
        self.order.open(number, seen, (means, model));
    }

    /// Would this reward be taken?
    pub fn check(&self, reward: f64) -> Result<(), OutsideRange> {
        self.kept.settings.scaled(reward).map(|_| ())
    }

    /// The reward of a decision came. Decisions that nothing can be learned from (both picked the same; an earlier round) are known
    /// by no number here, and change nothing.
    pub fn settle(&mut self, number: u64, reward: f64) -> Result<Option<Turn>, OutsideRange> {
        let reward = self.kept.settings.scaled(reward)?;
        let Some(waiting) = self.order.get(number) else { return Ok(None) };
        let Waiting { seen, expected: (means, model), .. } = waiting;
        if let Some(model) = *model {
            let square = |centre| {
                let difference = seen.difference(reward, centre);
                difference * difference
            };
            self.kept.squares.0.add(square(*means));
            self.kept.squares.1.add(square(model));
        }
        if seen.own { &mut self.kept.own } else { &mut self.kept.baseline }.add(reward);
        let told = self.order.settle(number, Some(reward), &self.bets);
        Ok(told.and_then(|told| self.tell(&told)))
    }

    /// The reward of a decision will not come.
    pub fn missing(&mut self, number: u64) -> Option<Turn> {
        self.order.get(number)?;
        self.kept.missing += 1;
        let told = self.order.settle(number, None, &self.bets)?;
        self.tell(&told)
    }

    /// What is known next, in the order of decisions.
    fn tell(&mut self, told: &Stretch) -> Option<Turn> {
        let kept = &mut self.kept;
        kept.told.append(told);
        let error = kept.settings.error_of(kept.round);
        if kept.told.turned(error) {
            kept.round += 1;
            kept.in_charge = false;
            kept.since = None;
            kept.told = Stretch::empty();
            (kept.decisions, kept.missing) = (0, 0);
            // Those who wait were decided under what is over.
            self.order.clear();
            return Some(Turn::Restarted);
        }
        let better = kept.told.better(&self.bets, error);
        if better == kept.in_charge {
            return None;
        }
        kept.in_charge = better;
        if better {
            kept.since = kept.since.or(Some(0));
            kept.takeovers += 1;
        }
        Some(if better { Turn::TookOver } else { Turn::GaveBack })
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        let kept = &self.kept;
        let error = kept.settings.error_of(kept.round);
        let (low, high) = kept.told.bounds(&self.bets, error);
        let unit = kept.settings.range.1 - kept.settings.range.0;
        Status {
            in_charge: kept.in_charge,
            round: kept.round,
            decisions: kept.decisions,
            differed: kept.told.differed,
            missing: kept.missing,
            open: self.order.len() as u64,
            low: unit * low,
            estimate: unit * kept.told.estimate.clamp(low, high),
            high: unit * high,
            confidence: 1.0 - error,
            takeovers: kept.takeovers,
        }
    }
}
