//! How many decisions it takes, and what other bounds would take: the numbers of the module's documentation.

use super::world::{Learner, Run, World};
use crate::apprentice::evidence::{BETS, bets};
use crate::apprentice::{Apprentice, Recent, Settings};
use crate::{Keys, NodeId, Stream};

fn median(mut counts: Vec<u64>) -> u64 {
    counts.sort_unstable();
    counts[counts.len() / 2]
}

/// Until a learner that always differs takes over from a baseline that earns `base`, in the middle of many runs.
fn takes(base: f64, difference: f64, explore: f64, runs: u64) -> u64 {
    let mut world = World::new(&[base, base + difference], Learner::Last);
    world.settings.explore = explore;
    median((0..runs).map(|seed| Run::new(world.clone(), 20_000_000 + seed).until_takeover(100_000)).collect())
}

/// The table in the documentation: decisions until the takeover, by difference and explore.
#[test]
fn a_worse_baseline_is_displaced_after_so_many_decisions() {
    let table = [0.05, 0.1, 0.3]
        .map(|difference| [0.05, 0.1, 0.3].map(|explore| takes(0.5, difference, explore, 101)));
    assert_eq!(table, [[16_581, 10_942, 4_679], [5_257, 2_898, 1_142], [624, 412, 129]]);
}

/// What other bounds would have made of the same draws.
struct Others {
    share: f64,
    bets: [f64; BETS],
    /// Fixed bets on rewards that are not centred.
    raw: [f64; BETS],
    /// Empirical Bernstein: sum, and squares around the mean so far.
    sum: f64,
    squares: f64,
    count: f64,
    means: [Recent; 2],
}

impl Others {
    fn new(share: f64) -> Others {
        let means = [Recent::NOTHING; 2];
        Others { share, bets: bets(share), raw: [0.0; BETS], sum: 0.0, squares: 0.0, count: 0.0, means }
    }

    fn tell(&mut self, own: bool, reward: f64) {
        let likely = if own { self.share } else { self.share - 1.0 };
        for (log, bet) in self.raw.iter_mut().zip(&self.bets) {
            *log += libm::log1p(bet * reward / likely);
        }
        let centre = (1.0 - self.share) * self.means[1].mean + self.share * self.means[0].mean;
        let x = (reward - centre) / likely;
        let expected = self.sum / f64::max(1.0, self.count);
        self.squares += (x - expected) * (x - expected);
        self.sum += x;
        self.count += 1.0;
        self.means[usize::from(own)].add(reward);
    }

    fn raw(&self, error: f64) -> bool {
        self.raw.iter().map(|log| libm::exp(*log)).sum::<f64>() / BETS as f64 > 1.0 / error
    }

    /// Howard and others, Theorem 4: exp(b S - psi(b) V) with psi of the sub-exponential, mixed over as many b.
    fn bernstein(&self, error: f64) -> bool {
        let range = 1.0 / self.share;
        let fortune = |i: u32| {
            let bet = 0.9 / range / f64::from(1u32 << i);
            let psi = (-libm::log1p(-range * bet) - range * bet) / (range * range);
            libm::exp(bet * self.sum - psi * self.squares)
        };
        (0..BETS as u32).map(fortune).sum::<f64>() / BETS as f64 > 1.0 / error
    }
}

/// On rewards of 0 or 1, at every level and difference: no other is quicker by more than a tenth, and both are slower by half
/// somewhere.
#[test]
fn fixed_bets_around_what_is_expected_are_quicker_than_others() {
    let mut factors = Vec::new();
    for (base, difference) in [(0.1, 0.1), (0.5, 0.1), (0.5, 0.3), (0.8, 0.1)] {
        let settings = Settings { explore: 0.1, error: 0.05, range: (0.0, 1.0) };
        let level = settings.error_of(1);
        let mut counts = [vec![], vec![], vec![]];
        for seed in 0..41 {
            let keys = Keys::from_seed(21_000_000 + seed);
            let mut apprentice = Apprentice::new(settings).unwrap();
            let mut others = Others::new(settings.explore);
            let mut when = [None; 3];
            for number in 1..=50_000 {
                let toss = apprentice.toss(&mut keys.coin(NodeId(1), number));
                let mean = if toss.own { base + difference } else { base };
                let reward = f64::from(keys.choice(NodeId(1), number).uniform() < mean);
                if when[0].is_none() {
                    apprentice.decided(number, toss, true, None);
                    apprentice.settle(number, reward).unwrap();
                }
                others.tell(toss.own, reward);
                let says = [apprentice.in_charge(), others.raw(level), others.bernstein(level)];
                for (when, says) in when.iter_mut().zip(says) {
                    *when = when.or(says.then_some(number));
                }
                if apprentice.in_charge() {
                    apprentice = Apprentice::new(settings).unwrap();
                }
                if when.iter().all(Option::is_some) {
                    break;
                }
            }
            for (counts, when) in counts.iter_mut().zip(when) {
                counts.push(when.unwrap_or(50_000));
            }
        }
        let [ours, raw, bernstein] = counts.map(median).map(|count| count as f64);
        println!("{base} {difference}: {ours} raw {raw} bernstein {bernstein}");
        assert!(ours < 1.1 * raw && ours < 1.1 * bernstein, "{base} {difference}: {ours} {raw} {bernstein}");
        factors.push((raw / ours, bernstein / ours));
    }
    assert!(factors.iter().any(|(raw, _)| *raw > 1.5) && factors.iter().any(|(_, other)| *other > 1.5));
}

/// Users are easy or hard to please, which explains most of what rewards do. A model that has noticed makes it quicker; one that
/// says nonsense does not make it slower by much.
#[test]
fn a_model_of_rewards_makes_it_quicker_and_a_bad_one_is_not_followed() {
    #[derive(Clone, Copy, Debug)]
    enum Model {
        None,
        Learned,
        Nonsense,
    }
    let run = |model: Model, seed: u64| {
        let keys = Keys::from_seed(22_000_000 + seed);
        let mut apprentice =
            Apprentice::new(Settings { explore: 0.1, error: 0.05, range: (-1.0, 1.0) }).unwrap();
        let mut known = [Recent::NOTHING; 2];
        for number in 1..=50_000 {
            let mut rng: Stream = keys.choice(NodeId(1), number);
            let easy = usize::from(rng.uniform() < 0.5);
            let expected = match model {
                Model::None => None,
                Model::Learned => Some((known[easy].mean, known[easy].mean)),
                Model::Nonsense => Some((1e9 * (rng.uniform() - 0.5), 1.0)),
            };
            let toss = apprentice.toss(&mut keys.coin(NodeId(1), number));
            let mean = [0.05, 0.85][easy] + 0.1 * f64::from(toss.own);
            let reward = if rng.uniform() < mean { 1.0 } else { -1.0 };
            apprentice.decided(number, toss, true, expected);
            apprentice.settle(number, reward).unwrap();
            known[easy].add(reward);
            if apprentice.in_charge() {
                return number;
            }
        }
        50_000
    };
    let [none, learned, nonsense] = [Model::None, Model::Learned, Model::Nonsense]
        .map(|model| median((0..41).map(|seed| run(model, seed)).collect()) as f64);
    println!("none {none}, learned {learned}, nonsense {nonsense}");
    assert!(learned < 0.6 * none, "{learned} against {none}");
    assert!(nonsense < 1.1 * none, "{nonsense} against {none}");
}

/// What learning first costs: mistakes of its beginnings count too.
#[test]
fn a_learner_that_begins_without_knowledge_takes_longer() {
    let arms: Vec<f64> = std::iter::once(0.5).chain([0.3; 8]).chain([0.8]).collect();
    let runs = |learner| {
        let world = World::new(&arms, learner);
        median(
            (0..21).map(|seed| Run::new(world.clone(), 23_000_000 + seed).until_takeover(50_000)).collect(),
        )
    };
    let (knows, learns) = (runs(Learner::Last), runs(Learner::Ucb));
    println!("knows {knows}, learns {learns}");
    assert_eq!((knows, learns), (285, 1_906));
}
