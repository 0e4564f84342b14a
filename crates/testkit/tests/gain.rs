//! What a client knows of its gain from federation, against the truth, which a simulated world knows.

use std::sync::{Arc, Mutex};

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::linucb_alone::LinucbAlone;
use cahoots_algorithms::sync_linucb::SyncLinucb;
use cahoots_core::gain::{Assumed, Gain, Shadow};
use cahoots_core::{
    Algorithm, Alone, ArmBuffer, ArmIndex, Keys, NodeId, Seats, Setting, Stream, Tick, UserId,
};
use cahoots_sim::arrivals::{ArrivalLaw, Arrivals};
use cahoots_sim::driver::{Decided, Options, Simulation};
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::world::{Pull, World};
use serde_json::{Value, json};

const DIM: usize = 4;
const ARMS: usize = 8;
const CLIENTS: usize = 8;
const NOISE: f64 = 0.1;

/// Arms anywhere in the unit ball; client 0 may have a taste of its own.
struct Tastes {
    setting: Setting,
    common: Vec<f64>,
    own: Vec<f64>,
    seed: u64,
}

impl Tastes {
    fn new(seed: u64, horizon: u64, contrary: bool) -> Tastes {
        let mut rng = Keys::from_seed(seed).policy(NodeId(77), 0);
        let common = direction(&mut rng);
        let own = common.iter().map(|v| if contrary { -v } else { *v }).collect();
        let setting = Setting::linear(CLIENTS, DIM, ARMS).with_horizon(horizon).with_reward_noise(NOISE);
        Tastes { setting, common, own, seed }
    }

    fn rng(&self, tick: Tick, user: UserId) -> Stream {
        Keys::from_seed(self.seed ^ (tick << 20)).choice(NodeId(user.0), tick)
    }

    fn expected(&self, user: UserId, x: &[f64]) -> f64 {
        dot(if user == UserId(0) { &self.own } else { &self.common }, x)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn direction(rng: &mut Stream) -> Vec<f64> {
    let x: Vec<f64> = (0..DIM).map(|_| rng.normal()).collect();
    let norm = dot(&x, &x).sqrt();
    x.iter().map(|v| v / norm).collect()
}

impl World for Tastes {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        let mut rng = self.rng(tick, user);
        arms.features.reset(DIM);
        for _ in 0..ARMS {
            let length = rng.uniform().sqrt().sqrt();
            let row: Vec<f64> = direction(&mut rng).iter().map(|v| v * length).collect();
            arms.features.push(&row);
        }
    }

    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let expected = self.expected(user, &arms.row(arm));
        let values = (0..ARMS as u32).map(|arm| self.expected(user, &arms.row(ArmIndex(arm))));
        let best = values.fold(f64::NEG_INFINITY, f64::max);
        let noise = NOISE * Keys::from_seed(self.seed ^ (tick << 20)).policy(NodeId(user.0), tick).normal();
        Pull { reward: expected + noise, expected, best, sides: None }
    }
}

/// Client 0's shadow, and the truth.
struct Watched {
    alone: Alone,
    assumed: Assumed,
    shadow: Shadow,
    keys: Keys,
    seats: Seats,
    theta: Vec<f64>,
    decisions: u64,
    truth: f64,
    /// The truth was outside of the interval at some time.
    missed: bool,
    /// Federation was said to hurt, and the truth then.
    hurt: Option<f64>,
    /// The same for helping.
    helped: Option<f64>,
    last: Option<Gain>,
}

impl Watched {
    fn decided(&mut self, decided: &Decided<'_>) {
        if decided.user != UserId(0) {
            return;
        }
        self.decisions += 1;
        let arms = decided.arms.arm_set(&self.seats.seat(NodeId(0))).unwrap();
        let mut rng = self.keys.choice(NodeId(0), self.decisions);
        let alone = decided.arms.row(self.shadow.choose(&self.alone, arms, &mut rng).arm);
        let taken = decided.arms.row(decided.picked.arm);
        self.shadow.compare(&taken, &alone);
        self.truth += dot(&taken, &self.theta) - dot(&alone, &self.theta);
        self.look();
        self.shadow.learn(&taken, decided.reward);
        self.look();
    }

    /// At any time.
    fn look(&mut self) {
        let gain = self.shadow.gain(&self.assumed).expect("small numbers");
        let rounding = 1e-9;
        self.missed |= !(gain.low - rounding..=gain.high + rounding).contains(&self.truth);
        if gain.high < 0.0 {
            self.hurt.get_or_insert(self.truth);
        }
        if gain.low > 0.0 {
            self.helped.get_or_insert(self.truth);
        }
        self.last = Some(gain);
    }
}

/// What came of one run.
struct Outcome {
    missed: bool,
    hurt: Option<f64>,
    helped: Option<f64>,
    truth: f64,
    last: Gain,
}

fn run<A: Algorithm>(
    params: &Value,
    seed: u64,
    each: u64,
    contrary: bool,
    assume: fn(Assumed) -> Assumed,
) -> Outcome {
    let world = Tastes::new(seed, each * CLIENTS as u64, contrary);
    let theta = world.own.clone();
    let valid = A::check(serde_json::from_value(params.clone()).unwrap(), world.setting()).unwrap();
    let seats = Seats::of::<A>(&valid, world.setting());
    let alone = A::alone(&valid, &seats.seat(NodeId(0))).expect("a linear algorithm");
    let watched = Arc::new(Mutex::new(Watched {
        assumed: assume(alone.assumed(0.95)),
        shadow: Shadow::new(&alone, DIM),
        alone,
        keys: Keys::from_seed(seed),
        seats,
        theta,
        decisions: 0,
        truth: 0.0,
        missed: false,
        hurt: None,
        helped: None,
        last: None,
    }));
    let arrivals = Arrivals::new(&ArrivalLaw::RoundRobin, CLIENTS, seed);
    let mut simulation = Simulation::<A>::new(
        valid,
        Box::new(world),
        arrivals,
        Network::default(),
        Rewards::default(),
        seed,
        Options::default(),
    );
    let seen = watched.clone();
    simulation.on_decision(Box::new(move |decided| seen.lock().unwrap().decided(decided)));
    simulation.run(&mut |_| true).expect("nobody stops it");
    let watched = watched.lock().unwrap();
    let Watched { missed, hurt, helped, truth, last, .. } = &*watched;
    Outcome { missed: *missed, hurt: *hurt, helped: *helped, truth: *truth, last: last.expect("it decided") }
}

/// The most of `n` that chance explains, each happening with probability `p`: more has probability below 1/1000.
fn most_by_chance(n: u32, p: f64) -> u32 {
    let (mut term, mut below) = (power(1.0 - p, n), 0.0);
    for k in 0..=n {
        below += term;
        if below >= 0.999 {
            return k;
        }
        term *= f64::from(n - k) / f64::from(k + 1) * p / (1.0 - p);
    }
    n
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * base)
}

fn ratio() -> Value {
    json!({ "ratio": 1.2 })
}

fn threshold() -> Value {
    json!({ "sync_threshold": 0.5 })
}

#[test]
fn the_truth_is_within_the_interval_at_all_times_whether_federation_helps_or_hurts() {
    let runs = 150;
    for contrary in [false, true] {
        let missed = |run: fn(u64, bool) -> Outcome| {
            (0..u64::from(runs)).filter(|seed| run(*seed, contrary).missed).count() as u32
        };
        let most = most_by_chance(runs, 0.05);
        let asynchronous = missed(|seed, contrary| run::<AsyncLinucb>(&ratio(), seed, 60, contrary, |a| a));
        let synchronous = missed(|seed, contrary| run::<SyncLinucb>(&threshold(), seed, 60, contrary, |a| a));
        assert!(asynchronous <= most, "{asynchronous} of {runs} runs, {most} at most");
        assert!(synchronous <= most, "{synchronous} of {runs} runs, {most} at most");
    }
}

/// An interval that rests on less noise and a shorter parameter than there is misses, and the test above would see it.
#[test]
fn false_assumptions_show_as_misses() {
    let runs = 40;
    let small = |assumed: Assumed| Assumed { noise: 0.02 * assumed.noise, norm: 0.01, ..assumed };
    let missed = (0..u64::from(runs))
        .filter(|seed| run::<AsyncLinucb>(&ratio(), *seed, 60, true, small).missed)
        .count();
    assert!(missed as u32 > most_by_chance(runs, 0.05), "only {missed} of {runs}");
}

#[test]
fn a_client_with_another_taste_finds_out_that_federation_hurts_it() {
    let runs = 20;
    for run in [
        |seed| run::<AsyncLinucb>(&ratio(), seed, 250, true, |a| a),
        |seed| run::<SyncLinucb>(&threshold(), seed, 250, true, |a| a),
    ] {
        let outcomes: Vec<Outcome> = (0..runs).map(run).collect();
        assert!(outcomes.iter().all(|outcome| outcome.truth < 0.0), "the test must be about something");
        let found: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.hurt).collect();
        assert_eq!(found.len() as u64, runs, "all of them");
        assert!(found.iter().all(|truth| *truth < 0.0), "and rightly: {found:?}");
        assert!(outcomes.iter().all(|outcome| outcome.helped.is_none_or(|truth| truth > 0.0)));
    }
}

#[test]
fn among_its_like_a_client_is_never_told_that_federation_hurts() {
    let outcomes: Vec<Outcome> =
        (0..20).map(|seed| run::<AsyncLinucb>(&ratio(), seed, 120, false, |a| a)).collect();
    let mean = outcomes.iter().map(|outcome| outcome.truth).sum::<f64>() / outcomes.len() as f64;
    assert!(mean > 0.0, "federation helps: {mean}");
    assert!(outcomes.iter().all(|outcome| outcome.hurt.is_none()));
    let estimated = outcomes.iter().filter(|outcome| outcome.last.estimate > 0.0).count();
    assert!(estimated > 10, "most estimates say so: {estimated}");
}

/// Who is alone anyway gains nothing, exactly: the shadow is the learner again.
#[test]
fn a_client_that_is_alone_gains_nothing() {
    for policy in ["linucb", "lints", "softmax"] {
        let outcome = run::<LinucbAlone>(&json!({ "policy": policy }), 3, 60, true, |a| a);
        assert_eq!((outcome.last.decisions, outcome.last.differed), (60, 0), "{policy}");
        assert_eq!((outcome.last.low, outcome.last.high), (0.0, 0.0));
    }
}
