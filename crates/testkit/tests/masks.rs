//! Arms that cannot be chosen: those who take masks never choose one, and are not moved by those they would
//! not have chosen anyway; the others are never offered any.

use std::collections::BTreeMap;

use cahoots_algorithms::hetofed::Hetofed;
use cahoots_algorithms::linucb_alone::LinucbAlone;
use cahoots_algorithms::registry::ours;
use cahoots_core::arms::ArmError;
use cahoots_core::drive::Blueprint;
use cahoots_core::{Algorithm, ArmBuffer, ArmIndex, Erase, Keys, NodeId, Seats, Setting, Tick, UserId};
use cahoots_sim::run::Scenario;
use cahoots_sim::world::{Pull, World};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::crash::Crashing;
use cahoots_testkit::{scenarios, suites};
use serde_json::{Value, json};

const SEED: u64 = 23;

/// What was pulled, by tick and user.
type Pulls = BTreeMap<(Tick, UserId), ArmIndex>;

/// Which of so many arms cannot be chosen by a user at a tick.
type Mask<'a> = dyn Fn(Tick, UserId, usize) -> Vec<bool> + Send + 'a;

/// A world that masks arms, and sees that no masked one is pulled.
struct Masking<'a> {
    world: Box<dyn World>,
    mask: Box<Mask<'a>>,
    pulls: Pulls,
    masked: usize,
}

impl World for Masking<'_> {
    fn setting(&self) -> &Setting {
        self.world.setting()
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.world.offer(tick, user, arms);
        arms.masked = (self.mask)(tick, user, self.world.setting().arms);
        self.masked += arms.masked.iter().filter(|masked| **masked).count();
    }

    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let masked = arms.masked.get(arm.index()).copied().unwrap_or(false);
        assert!(!masked, "arm {arm:?} was masked at {tick}, and chosen for {user:?}");
        self.pulls.insert((tick, user), arm);
        self.world.pull(tick, user, arms, arm)
    }
}

/// A whole run, through bytes and a log: what was pulled, how many arms were masked, and the final states.
fn run<A: Algorithm>(
    params: &Value,
    scenario: &Scenario,
    mask: impl Fn(Tick, UserId, usize) -> Vec<bool> + Send,
) -> (Pulls, usize, Vec<Vec<u8>>) {
    let (world, mut arrivals) = scenario.build(&Worlds::ours(), SEED).expect("a scenario that fits");
    let valid = A::check(serde_json::from_value(params.clone()).expect("readable"), world.setting());
    let valid = valid.expect("parameters that fit");
    let mut world = Masking { world, mask: Box::new(mask), pulls: Pulls::new(), masked: 0 };
    let mut federation = Crashing::<A>::new(&valid, &world, SEED, 16, Box::new(|_, input| input % 5 == 0));
    federation.run(&mut world, &mut arrivals);
    (world.pulls, world.masked, federation.states())
}

/// Leaves one arm for certain, and of the others every second or so.
fn about_half(tick: Tick, user: UserId, arms: usize) -> Vec<bool> {
    let mut rng = Keys::from_seed(tick).policy(NodeId(user.0), 0);
    let open = rng.below(arms as u64) as usize;
    (0..arms).map(|arm| arm != open && rng.below(2) == 0).collect()
}

/// Tries masks on one algorithm; says whether it takes them.
struct Masks(fn(&Scenario) -> bool);

impl Erase for Masks {
    fn of<A: Algorithm>() -> Masks {
        Masks(takes_masks::<A>)
    }
}

/// Those whose pulls are drawn from what is open: where less is, they are others.
const DRAWN: [&str; 6] = ["random", "epsilon-greedy", "softmax", "igw", "exp3-alone", "fed-igw"];

fn takes_masks<A: Algorithm>(scenario: &Scenario) -> bool {
    // Random pulls are drawn from what is open: they are others where less is.
    let least = serde_json::from_str(A::LEAST).expect("JSON");
    let explores = ["hetofed", "hetofed-pq", "hetofed-async"].contains(&A::NAME);
    let params = if explores { json!({ "exploration": 0 }) } else { least };
    let (world, _) = scenario.build(&Worlds::ours(), SEED).expect("a scenario that fits");
    let valid = A::check(serde_json::from_value(params.clone()).expect("readable"), world.setting());
    let valid = valid.expect("parameters that fit");
    if !A::takes_masks(&valid) {
        refuses_masks::<A>(valid, world);
        return false;
    }
    let (plain, none, states) = run::<A>(&params, scenario, |_, _, _| Vec::new());
    assert_eq!(none, 0);
    let unmasked = run::<A>(&params, scenario, |_, _, arms| vec![false; arms]);
    assert!((&unmasked.0, &unmasked.2) == (&plain, &states), "{}: masks that mask nothing", A::NAME);
    let others = run::<A>(&params, scenario, |tick, user, arms| {
        let mut mask = about_half(tick, user, arms);
        mask[plain[&(tick, user)].index()] = false;
        mask
    });
    assert!(others.1 > plain.len() / 2, "{}: hardly an arm was masked", A::NAME);
    let unmoved = (&others.0, &others.2) == (&plain, &states);
    assert!(unmoved || DRAWN.contains(&A::NAME), "{}: moved by arms it would not choose", A::NAME);
    let half = run::<A>(&params, scenario, about_half);
    assert!(half.1 > plain.len() / 2 && half.0 != plain, "{}: masks that never mattered", A::NAME);
    true
}

/// Not even a decision is logged.
fn refuses_masks<A: Algorithm>(valid: A::Valid, mut world: Box<dyn World>) {
    let (setting, mut arms) = (world.setting().clone(), ArmBuffer::default());
    let seat = Seats::of::<A>(&valid, &setting).seat(NodeId(0));
    world.offer(1, UserId(0), &mut arms);
    arms.masked = vec![false; setting.arms];
    assert!(arms.arm_set(&seat).is_ok(), "{}: a mask that masks nothing is none", A::NAME);
    arms.masked[0] = true;
    assert_eq!(arms.arm_set(&seat).unwrap_err(), ArmError::NoMasks, "{}", A::NAME);
    let blueprint: Blueprint<A> = Blueprint { params: String::new(), valid, setting: setting.into() };
    let mut client = blueprint.client(NodeId(0), None).expect("a new client");
    let (before, mut log) = (client.save(), Vec::new());
    let refused = client.decide(1, 1, UserId(0), &arms, &Keys::from_seed(SEED), &mut log);
    assert_eq!(refused, Err(ArmError::NoMasks), "{}", A::NAME);
    assert!(log.is_empty() && client.save() == before, "{}: a refused offer left a trace", A::NAME);
}

#[test]
fn masked_arms_are_never_chosen_or_never_offered() {
    let mut takers = Vec::new();
    let (masks, suites) = (ours::<Masks>(), suites());
    for (Masks(takes), suite) in masks.iter().zip(suites.iter()) {
        let name = suite.name;
        let taken: Vec<bool> = scenarios::fitting(suite, &Worlds::ours()).iter().map(takes).collect();
        takers.extend(taken.contains(&true).then_some(name));
        assert!(taken.iter().all(|one| *one == taken[0]), "{name}: masks in some worlds alone");
    }
    let schedules =
        ["cdp-mab", "ddp-mab", "hdp-mab", "single-mab", "pf-ucb", "pf-ucb-enhanced", "fed-elim", "fed2-ucb"];
    let others: Vec<&str> = suites.names().filter(|name| !schedules.contains(name)).collect();
    assert_eq!(takers, others, "those who explore by a schedule need every arm, nobody else does");
}

/// Random pulls are drawn from what is open, whoever draws them.
#[test]
fn random_pulls_are_of_arms_that_can_be_chosen() {
    let exploring = json!({ "exploration": 1000 });
    let (pulls, masked, _) = run::<Hetofed>(&exploring, &scenarios::all()[1], about_half);
    assert!(masked > pulls.len() / 2, "hardly an arm was masked");
    let uniform = json!({ "policy": "uniform" });
    let (pulls, masked, _) = run::<LinucbAlone>(&uniform, &scenarios::all()[0], about_half);
    assert!(masked > pulls.len() / 2, "hardly an arm was masked");
}
