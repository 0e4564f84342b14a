//! Sums that grow, released at public times: of one client, and over a group of clients of whom two are missing and
//! two tell the coordinator their noise.

use cahoots_core::{LinearStats, Mechanism as _};
use cahoots_privacy::aggregation::{Contribution, GroupNoise, GroupRows, Terms};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::calibration::sensitivity;
use cahoots_privacy::correlated::coefficients;
use cahoots_privacy::{Budget, Calibration, Correlated, Schedule};

use super::Subject;
use super::message::rng;
use super::tree::PAIRS;

/// Releases of one sum.
const RELEASES: u32 = 8;

/// Clients of the group.
const GROUP: u32 = 10;

pub(super) fn subjects() -> Vec<Subject> {
    let (sound, short) = (schedule(RELEASES), Schedule { releases: RELEASES, ..schedule(1) });
    // What is kept to, and what is reckoned with.
    let terms = Terms { least: GROUP, most: 2 * GROUP - 1, missing: 0.2, colluding: 0.2 };
    let careless = Terms { missing: 0.0, colluding: 0.0, ..terms };
    vec![
        subject("sums", "eight releases of a growing sum, noise correlated over them", sound, released),
        subject("sums-short", "the same with the noise of one release", short, released).control(),
        subject(
            "group",
            "eight sums over a group of ten, two missing, two colluding",
            noise(sound, terms),
            summed,
        ),
        subject(
            "group-short",
            "the same with shares of the noise that reckon with neither",
            noise(sound, careless),
            summed,
        )
        .control(),
    ]
}

fn schedule(releases: u32) -> Schedule {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, calibration: Calibration::Analytic };
    Schedule::new(&budget, releases, sensitivity(1.0), 2).expect("noise that can be drawn")
}

fn noise(schedule: Schedule, terms: Terms) -> GroupNoise {
    GroupNoise::new(schedule, terms, 2).expect("noise that can be drawn")
}

fn subject<N: Copy + Send + Sync + 'static>(
    name: &'static str,
    about: &'static str,
    noise: N,
    run: fn(N, LinearStats, u64) -> Transcript,
) -> Subject {
    let subject = Subject::new(name, about, 1.0, 1e-5).gaussian();
    PAIRS.into_iter().fold(subject, |subject, (pair, observations)| {
        subject.pair(pair, move |second, seed| {
            let (context, reward) = observations[usize::from(second)];
            let mut first = LinearStats::empty(2);
            first.observe(&context, reward);
            run(noise, first, seed)
        })
    })
}

/// What an observer makes of sums: the rows behind them, each weighed by the part that the first observation has in it.
/// Against equal Gaussian noise there is nothing better.
struct Matched {
    rows: Vec<[f64; 5]>,
}

impl Matched {
    fn see(&mut self, sum: &LinearStats) {
        let mut row: [f64; 5] = std::array::from_fn(|at| {
            *sum.gram.packed().iter().chain(&sum.moment).nth(at).expect("two features")
        });
        let weights = coefficients(self.rows.len() + 1).skip(1);
        for (earlier, weight) in self.rows.iter().rev().zip(weights) {
            row.iter_mut().zip(earlier).for_each(|(to, value)| *to -= weight * value);
        }
        self.rows.push(row);
    }

    fn transcript(&self) -> Transcript {
        let mut score = vec![0.0; 5];
        for (row, weight) in self.rows.iter().zip(coefficients(self.rows.len())) {
            score.iter_mut().zip(row).for_each(|(to, value)| *to += weight * value);
        }
        Transcript::numbers(score)
    }
}

/// One client: the first leaf holds the observation, the others nothing.
fn released(schedule: Schedule, first: LinearStats, seed: u64) -> Transcript {
    let (mut rng, mut sum, mut seen) = (rng(seed), Correlated::new(schedule), Matched { rows: Vec::new() });
    let empty = first.emptied();
    for release in 0..RELEASES {
        let leaf = if release == 0 { first.clone() } else { empty.clone() };
        seen.see(&sum.mechanism("", "").release(leaf, &mut rng));
    }
    seen.transcript()
}

/// A group: the first client has the observation, two are missing in every round, and two tell what they added.
fn summed(noise: GroupNoise, first: LinearStats, seed: u64) -> Transcript {
    let (mut rng, mut rows, mut seen) = (rng(seed), GroupRows::default(), Matched { rows: Vec::new() });
    let empty = first.emptied();
    let mut client = Contribution::new(RELEASES);
    for round in 1..=RELEASES {
        let since = if round == 1 { first.clone() } else { empty.clone() };
        let exact = client.next(round, since);
        let mut sum = noise.encode(&exact, GROUP).expect("small enough");
        for _ in 0..GROUP - 4 {
            noise.add_share(&mut sum, GROUP, 2, &mut rng);
        }
        let sum: Vec<i64> = sum.into_iter().map(|value| value as i64).collect();
        rows.add(round, &noise.decode(&sum, 2).expect("as it was encoded"), 0.0);
        seen.see(&rows.sum(round).expect("a round").0);
    }
    seen.transcript()
}
