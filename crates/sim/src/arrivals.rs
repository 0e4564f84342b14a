//! Who acts at a tick: everyone, some, or one client drawn by a law that does
//! not change over time; or all who were admitted by then; or whom data name. Keyed by (seed, tick),
//! so that all algorithms of an experiment meet the same clients.

use std::fmt::Debug;
use std::sync::Arc;

use cahoots_core::{ParamError, Tick, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::draw::{Draw, Purpose};

/// The law of arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalLaw {
    /// One client per tick, all equally likely.
    #[default]
    Uniform,
    /// Every client at every tick.
    All,
    /// One client per tick, in turn.
    RoundRobin,
    /// Each client at each tick with this chance, independently.
    Participation(#[schemars(range(min = 0.0, max = 1.0), extend("exclusiveMinimum" = 0.0))] f64),
    /// One client per tick, client i (from 0) with a chance proportional to (i + 1)^-s.
    Zipf(#[schemars(range(min = 0.0))] f64),
    /// One client per tick, with chances drawn once from a symmetric Dirichlet law: the smaller the
    /// number, the fewer clients do most of the acting.
    Dirichlet(#[schemars(extend("exclusiveMinimum" = 0.0))] f64),
    /// Every client that was admitted, at every tick; more are admitted over time, in the order of their
    /// numbers, by a schedule that all know.
    Admission(Admission),
}

/// A schedule by which clients are admitted: the first group at tick 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Admission {
    /// Ticks between one group and the next.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Clients in the first group.
    #[schemars(range(min = 1))]
    pub clients: u64,
    /// How many times as large each group is as the one before.
    #[serde(default = "same")]
    #[schemars(range(min = 1.0))]
    pub growth: f64,
}

fn same() -> f64 {
    1.0
}

impl Admission {
    fn check(&self) -> Result<(), String> {
        for (key, value) in [("every", self.every), ("clients", self.clients)] {
            if value == 0 {
                return Err(format!("admission.{key} must be at least 1, not 0"));
            }
        }
        if !(self.growth.is_finite() && self.growth >= 1.0) {
            return Err(format!("admission.growth must be 1 or more, not {}", self.growth));
        }
        Ok(())
    }

    /// The first tick at which each group of newcomers acts, and how many act from then on: up to `clients`,
    /// all of whom are admitted in the end.
    fn groups(&self, clients: usize) -> Vec<(Tick, usize)> {
        let (mut groups, mut admitted) = (Vec::new(), 0);
        let (mut size, mut tick) = (self.clients as f64, 1u64);
        while admitted < clients {
            // What is larger than a federation can be is everyone.
            admitted = (size as usize).saturating_add(admitted).min(clients);
            groups.push((tick, admitted));
            size *= self.growth;
            tick = tick.saturating_add(self.every);
        }
        groups
    }
}

impl ArrivalLaw {
    /// The memory of those who arrive at one tick, and of their chances, in bytes.
    pub(crate) fn bytes(&self, clients: usize) -> f64 {
        match self {
            ArrivalLaw::Uniform | ArrivalLaw::RoundRobin => 0.0,
            ArrivalLaw::Participation(p) => 4.0 * p * clients as f64,
            ArrivalLaw::All | ArrivalLaw::Admission(_) => 4.0 * clients as f64,
            ArrivalLaw::Zipf(_) | ArrivalLaw::Dirichlet(_) => 8.0 * clients as f64,
        }
    }

    /// Refuses exponents and concentrations that define no law.
    pub fn check(&self) -> Result<(), ParamError> {
        let problem = match *self {
            ArrivalLaw::Zipf(s) if !(s.is_finite() && s >= 0.0) => format!("zipf must be 0 or more, not {s}"),
            ArrivalLaw::Dirichlet(a) if !(a.is_finite() && a > 0.0) => {
                format!("dirichlet must be a number above 0, not {a}")
            }
            ArrivalLaw::Participation(p) if !(p > 0.0 && p <= 1.0) => {
                format!("participation must be above 0 and at most 1, not {p}")
            }
            ArrivalLaw::Admission(ref admission) => match admission.check() {
                Ok(()) => return Ok(()),
                Err(problem) => problem,
            },
            _ => return Ok(()),
        };
        Err(ParamError::new("arrivals", problem))
    }
}

/// Who acts when, as data have it: one per tick, from tick 1 on, until there are no more.
pub trait Schedule: Debug + Send + Sync {
    /// How many ticks there are.
    fn ticks(&self) -> u64;

    /// Who acts at one of them.
    fn at(&self, tick: Tick) -> UserId;
}

/// The arrivals of one run.
#[derive(Clone, Debug)]
pub struct Arrivals {
    seed: u64,
    clients: usize,
    law: Law,
    /// After this tick nobody acts any more.
    last: Tick,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform,
    All,
    RoundRobin,
    Participation(f64),
    /// Weights summed up to and including each client.
    Weighted(Vec<f64>),
    /// From which tick on how many act.
    Admitted(Vec<(Tick, usize)>),
    Given(Arc<dyn Schedule>),
}

impl Arrivals {
    /// The arrivals of `clients` clients under a law that passed its check.
    pub fn new(law: &ArrivalLaw, clients: usize, seed: u64) -> Arrivals {
        let law = match *law {
            ArrivalLaw::Uniform => Law::Uniform,
            ArrivalLaw::All => Law::All,
            ArrivalLaw::RoundRobin => Law::RoundRobin,
            ArrivalLaw::Participation(p) => Law::Participation(p),
            ArrivalLaw::Admission(ref admission) => Law::Admitted(admission.groups(clients)),
            ArrivalLaw::Zipf(s) => Law::Weighted((1..=clients).map(|i| libm::pow(i as f64, -s)).collect()),
            ArrivalLaw::Dirichlet(alpha) => {
                // Ticks start at 1: 0 is free for what is drawn once. Most weights are tiny when alpha is,
                // so logarithms are compared before anything is called 0.
                let mut draw = Draw::keyed(seed, Purpose::Arrival, 0, 0);
                let logs: Vec<f64> = (0..clients).map(|_| draw.ln_gamma(alpha)).collect();
                let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Law::Weighted(logs.iter().map(|log| libm::exp(log - largest)).collect())
            }
        };
        let law = match law {
            Law::Weighted(mut weights) => {
                for i in 1..clients {
                    weights[i] += weights[i - 1];
                }
                Law::Weighted(weights)
            }
            law => law,
        };
        Arrivals { seed, clients, law, last: Tick::MAX }
    }

    /// The arrivals that data have, of `clients` clients.
    pub fn given(schedule: Arc<dyn Schedule>, clients: usize) -> Arrivals {
        Arrivals { seed: 0, clients, law: Law::Given(schedule), last: Tick::MAX }
    }

    /// The same, until this tick: then nobody acts any more, and what is under way can come to its end.
    pub fn until(self, last: Tick) -> Arrivals {
        Arrivals { last, ..self }
    }

    /// Who acts at `tick`, in the order of their numbers. Replaces what `out` held.
    pub fn at(&mut self, tick: Tick, out: &mut Vec<UserId>) {
        out.clear();
        if tick > self.last {
            return;
        }
        let mut draw = Draw::keyed(self.seed, Purpose::Arrival, tick, 0);
        let one = match &self.law {
            Law::All => {
                out.extend((0..self.clients as u32).map(UserId));
                return;
            }
            Law::Admitted(groups) => {
                let groups = &groups[..groups.partition_point(|(from, _)| *from <= tick)];
                let admitted = groups.last().map_or(0, |(_, admitted)| *admitted);
                out.extend((0..admitted as u32).map(UserId));
                return;
            }
            Law::Participation(p) => {
                out.extend((0..self.clients as u32).filter(|_| draw.uniform() < *p).map(UserId));
                return;
            }
            Law::Given(schedule) => {
                if (1..=schedule.ticks()).contains(&tick) {
                    out.push(schedule.at(tick));
                }
                return;
            }
            Law::Uniform => draw.below(self.clients as u64) as usize,
            Law::RoundRobin => (tick.saturating_sub(1) % self.clients as u64) as usize,
            Law::Weighted(sums) => {
                // Below the total, so that a client is found, and never one of weight 0.
                let total = sums[self.clients - 1];
                let at = (draw.uniform() * total).min(total.next_down());
                sums.partition_point(|sum| *sum <= at)
            }
        };
        out.push(UserId(one as u32));
    }

    /// How many act at each tick, on average, once all who will be were admitted.
    pub fn per_tick(&self) -> usize {
        match self.law {
            Law::All | Law::Admitted(_) => self.clients,
            Law::Participation(p) => (p * self.clients as f64).round().max(1.0) as usize,
            _ => 1,
        }
    }

    /// How many decisions are made up to `horizon`, on average.
    pub fn steps(&self, horizon: Tick) -> u64 {
        let groups = match &self.law {
            Law::Admitted(groups) => groups,
            Law::Given(schedule) => return horizon.min(schedule.ticks()),
            _ => return horizon.saturating_mul(self.per_tick() as u64),
        };
        let ends = groups.iter().skip(1).map(|(from, _)| *from).chain([Tick::MAX]);
        let steps = groups.iter().zip(ends).map(|((from, admitted), until)| {
            let ticks = until.min(horizon.saturating_add(1)).saturating_sub(*from);
            ticks.saturating_mul(*admitted as u64)
        });
        steps.fold(0, u64::saturating_add)
    }

    /// Whether every client acts at every tick.
    pub fn is_everyone(&self) -> bool {
        matches!(self.law, Law::All) && self.last == Tick::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_takes_part_with_its_chance() {
        let (clients, ticks, p) = (20, 4000, 0.3);
        let mut arrivals = Arrivals::new(&ArrivalLaw::Participation(p), clients, 9);
        let (mut counts, mut out) = (vec![0.0; clients], Vec::new());
        for tick in 1..=ticks {
            arrivals.at(tick, &mut out);
            assert!(out.is_sorted());
            out.iter().for_each(|user| counts[user.index()] += 1.0);
        }
        // Binomial.
        let error = (ticks as f64 * p * (1.0 - p)).sqrt();
        assert!(counts.iter().all(|count| (count - ticks as f64 * p).abs() < 5.0 * error), "{counts:?}");
        assert_eq!(arrivals.per_tick(), 6);
        assert!(
            ArrivalLaw::Participation(0.0).check().is_err() && ArrivalLaw::Participation(1.0).check().is_ok()
        );
    }

    #[test]
    fn nobody_acts_after_the_last_tick() {
        let whole = Arrivals::new(&ArrivalLaw::All, 3, 9);
        let mut ending = whole.clone().until(5);
        assert!(whole.is_everyone() && !ending.is_everyone());
        let mut out = Vec::new();
        for (tick, expected) in [(5, 3), (6, 0), (100, 0)] {
            ending.at(tick, &mut out);
            assert_eq!(out.len(), expected, "tick {tick}");
        }
    }

    #[derive(Debug)]
    struct Three;

    impl Schedule for Three {
        fn ticks(&self) -> u64 {
            3
        }

        fn at(&self, tick: Tick) -> UserId {
            UserId(10 - tick as u32)
        }
    }

    #[test]
    fn data_say_who_acts_until_there_are_no_more() {
        let mut arrivals = Arrivals::given(Arc::new(Three), 10);
        assert_eq!((arrivals.per_tick(), arrivals.is_everyone()), (1, false));
        assert_eq!((arrivals.steps(2), arrivals.steps(3), arrivals.steps(100)), (2, 3, 3));
        let (mut all, mut out) = (Vec::new(), Vec::new());
        for tick in 0..6 {
            arrivals.at(tick, &mut out);
            all.extend(out.iter().map(|user| (tick, user.0)));
        }
        assert_eq!(all, [(1, 9), (2, 8), (3, 7)]);
    }

    fn counts(law: ArrivalLaw, clients: usize, ticks: u64) -> Vec<f64> {
        let mut arrivals = Arrivals::new(&law, clients, 9);
        let (mut counts, mut out) = (vec![0.0; clients], Vec::new());
        for tick in 1..=ticks {
            arrivals.at(tick, &mut out);
            assert_eq!(out.len(), 1);
            counts[out[0].index()] += 1.0;
        }
        counts
    }

    fn close(counts: &[f64], chances: &[f64]) {
        let ticks: f64 = counts.iter().sum();
        for (count, chance) in counts.iter().zip(chances) {
            let error = (ticks * chance * (1.0 - chance)).sqrt();
            assert!((count - ticks * chance).abs() <= 5.0 * error, "{count} of {ticks}, chance {chance}");
        }
    }

    #[test]
    fn frequencies_follow_the_law() {
        close(&counts(ArrivalLaw::Uniform, 7, 20_000), &[1.0 / 7.0; 7]);
        let weights: Vec<f64> = (1..=50).map(|i| f64::from(i).powf(-1.2)).collect();
        let total: f64 = weights.iter().sum();
        let chances: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        close(&counts(ArrivalLaw::Zipf(1.2), 50, 50_000), &chances);
        close(&counts(ArrivalLaw::Zipf(0.0), 7, 20_000), &[1.0 / 7.0; 7]);
        let law = ArrivalLaw::Dirichlet(0.1);
        close(&counts(law.clone(), 30, 20_000), &chances_of(&law, 30, 9));
    }

    fn chances_of(law: &ArrivalLaw, clients: usize, seed: u64) -> Vec<f64> {
        let Law::Weighted(sums) = Arrivals::new(law, clients, seed).law else { unreachable!() };
        let before = std::iter::once(&0.0).chain(&sums);
        sums.iter().zip(before).map(|(sum, before)| (sum - before) / sums[clients - 1]).collect()
    }

    #[test]
    fn dirichlet_chances_are_as_uneven_as_the_law_says() {
        for alpha in [0.001, 0.1, 5.0] {
            let (clients, seeds) = (50, 400);
            let squares: Vec<f64> = (0..seeds)
                .map(|seed| {
                    let chances = chances_of(&ArrivalLaw::Dirichlet(alpha), clients, seed);
                    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    chances.iter().map(|chance| chance * chance).sum()
                })
                .collect();
            let n = seeds as f64;
            let mean = squares.iter().sum::<f64>() / n;
            let variance = squares.iter().map(|square| (square - mean).powi(2)).sum::<f64>() / (n - 1.0);
            // E sum p_i^2 = (alpha + 1) / (N alpha + 1).
            let expected = (alpha + 1.0) / (clients as f64 * alpha + 1.0);
            assert!((mean - expected).abs() < 5.0 * (variance / n).sqrt(), "{alpha}: {mean}, not {expected}");
        }
    }

    #[test]
    fn clients_without_weight_never_come() {
        let law = ArrivalLaw::Dirichlet(0.001);
        let chances = chances_of(&law, 100, 9);
        assert!(chances.contains(&0.0));
        for (count, chance) in counts(law, 100, 5_000).iter().zip(chances) {
            assert!(*count == 0.0 || chance > 0.0);
        }
    }

    #[test]
    fn clients_are_admitted_over_time_and_then_stay() {
        let law = |every, clients, growth| ArrivalLaw::Admission(Admission { every, clients, growth });
        let acting = |law: &ArrivalLaw, clients| -> Vec<usize> {
            let (mut arrivals, mut out) = (Arrivals::new(law, clients, 1), Vec::new());
            assert!(!arrivals.is_everyone(), "who comes later must not be run through in a block");
            let each = (1..=8).map(|tick| {
                arrivals.at(tick, &mut out);
                assert!(out.iter().enumerate().all(|(i, user)| user.index() == i));
                out.len()
            });
            each.collect()
        };
        let steady = law(3, 2, 1.0);
        assert_eq!(acting(&steady, 5), [2, 2, 2, 4, 4, 4, 5, 5]);
        assert_eq!(acting(&law(2, 1, 2.0), 100), [1, 1, 3, 3, 7, 7, 15, 15]);
        assert_eq!(acting(&law(1, 200, 1.0), 100), [100; 8]);
        for horizon in 1..=8 {
            let sum: usize = acting(&steady, 5)[..horizon].iter().sum();
            assert_eq!(Arrivals::new(&steady, 5, 1).steps(horizon as u64), sum as u64);
        }
        assert_eq!(Arrivals::new(&ArrivalLaw::All, 5, 1).steps(8), 40);
        for (wrong, problem) in [
            (law(0, 1, 1.0), "arrivals: admission.every must be at least 1, not 0"),
            (law(1, 0, 1.0), "arrivals: admission.clients must be at least 1, not 0"),
            (law(1, 1, 0.5), "arrivals: admission.growth must be 1 or more, not 0.5"),
        ] {
            assert_eq!(wrong.check().unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn the_others_are_certain() {
        let mut out = vec![UserId(9)];
        let mut all = Arrivals::new(&ArrivalLaw::All, 3, 1);
        all.at(5, &mut out);
        assert_eq!(out, [UserId(0), UserId(1), UserId(2)]);
        assert_eq!((all.per_tick(), all.is_everyone()), (3, true));
        let mut turns = Arrivals::new(&ArrivalLaw::RoundRobin, 3, 1);
        let who: Vec<u32> = (1..=4)
            .map(|tick| {
                turns.at(tick, &mut out);
                out[0].0
            })
            .collect();
        assert_eq!(who, [0, 1, 2, 0]);
        assert_eq!((turns.per_tick(), turns.is_everyone()), (1, false));
    }

    #[test]
    fn a_tick_is_answered_the_same_in_any_order() {
        for law in [ArrivalLaw::Uniform, ArrivalLaw::Zipf(1.0), ArrivalLaw::Dirichlet(0.5)] {
            let (mut one, mut other) = (Arrivals::new(&law, 20, 1), Arrivals::new(&law, 20, 1));
            let mut out = Vec::new();
            let mut at = |arrivals: &mut Arrivals, tick| {
                arrivals.at(tick, &mut out);
                out[0]
            };
            let forward: Vec<UserId> = (1..50).map(|tick| at(&mut one, tick)).collect();
            let mut backward: Vec<UserId> = (1..50).rev().map(|tick| at(&mut other, tick)).collect();
            backward.reverse();
            assert_eq!(forward, backward);
        }
    }
}
