//! The suite: what must hold for every algorithm in every small world.

mod hostile;
mod look;
mod prior;

pub use hostile::an_error_changes_nothing;
pub use look::{Looks, to_look_is_to_decide_and_changes_nothing};
pub use prior::what_is_handed_on_is_begun_from;

use cahoots_core::{Algorithm, Erase, NodeId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::network::{Network, Offline};
use cahoots_sim::rewards::Rewards;
use cahoots_sim::run::{Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use serde_json::Value;

use crate::crash::Crashing;
use crate::witness::{Taken, Watched};

const SEED: u64 = 11;

/// An algorithm's suite without its type.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The algorithm's name.
    pub name: &'static str,
    least: &'static str,
    fits: fn(&Worlds, &Value, &Scenario) -> bool,
    checks: fn() -> [Check; 12],
    blocks: fn(&Worlds, &Value, &Scenario) -> Option<u64>,
    looks: fn(&Worlds, &Value, &Scenario) -> Looks,
}

/// A promise of the contract in words, and what panics if an algorithm with these parameters breaks it there.
pub type Check = (&'static str, fn(&Worlds, &Value, &Scenario));

impl Erase for Suite {
    fn of<A: Algorithm>() -> Suite {
        let fits = |worlds: &Worlds, params: &Value, scenario: &Scenario| {
            prepare::<A>(worlds, params, scenario, SEED, Options::default()).is_ok()
        };
        let blocks = blocks_without_noise_equal_single_steps::<Watched<A>>;
        let looks = to_look_is_to_decide_and_changes_nothing::<Watched<A>>;
        Suite { name: A::NAME, least: A::LEAST, fits, checks: checks::<A>, blocks, looks }
    }
}

impl Suite {
    /// Parameters of which only those are stated that have no default.
    pub fn least(&self) -> Value {
        serde_json::from_str(self.least).expect("an algorithm's least parameters are JSON")
    }

    /// Whether the algorithm can run in this scenario with these parameters.
    pub fn fits(&self, worlds: &Worlds, params: &Value, scenario: &Scenario) -> bool {
        (self.fits)(worlds, params, scenario)
    }

    /// Runs every check.
    pub fn check_all(&self, worlds: &Worlds, params: &Value, scenario: &Scenario) {
        self.checks().iter().for_each(|(_, check)| check(worlds, params, scenario));
    }

    /// Every check by itself.
    pub fn checks(&self) -> [Check; 12] {
        (self.checks)()
    }

    /// See [`blocks_without_noise_equal_single_steps`].
    pub fn blocks(&self, worlds: &Worlds, params: &Value, scenario: &Scenario) -> Option<u64> {
        (self.blocks)(worlds, params, scenario)
    }

    /// See [`to_look_is_to_decide_and_changes_nothing`].
    pub fn looks(&self, worlds: &Worlds, params: &Value, scenario: &Scenario) -> Looks {
        (self.looks)(worlds, params, scenario)
    }
}

/// Runs every check.
pub fn check_all<A: Algorithm>(worlds: &Worlds, params: &Value, scenario: &Scenario) {
    Suite::of::<A>().check_all(worlds, params, scenario);
}

/// All but one need no witness; they have it too, so that federations of each algorithm are compiled once and
/// not twice.
fn checks<A: Algorithm>() -> [Check; 12] {
    [
        (
            "restored at any step, it goes on bit for bit",
            restore_at_any_step_equals_never_stopped::<Watched<A>>,
        ),
        (
            "messages may go through their bytes",
            encoded_bytes_give_the_same_run_as_typed_messages::<Watched<A>>,
        ),
        ("a message that comes twice counts once", duplicates_change_nothing::<Watched<A>>),
        ("rewards may come late or never", late_and_lost_rewards_are_survived::<Watched<A>>),
        ("on a bad network nothing honest is refused", a_bad_network_gives_the_same_run_again::<Watched<A>>),
        ("a bad network loses and repeats nothing", a_bad_network_loses_and_repeats_nothing::<A>),
        ("runs side by side do not touch each other", any_thread_gives_the_same_result::<Watched<A>>),
        (
            "killed at every step, it ends in the same bytes",
            killed_at_every_step_equals_never_killed::<Watched<A>>,
        ),
        ("without noise, blocks equal single steps", |worlds, params, scenario| {
            blocks_without_noise_equal_single_steps::<Watched<A>>(worlds, params, scenario);
        }),
        ("what is refused changes nothing", an_error_changes_nothing::<Watched<A>>),
        ("what is handed on is begun from", what_is_handed_on_is_begun_from::<Watched<A>>),
        ("to look is to decide, and changes nothing", |worlds, params, scenario| {
            to_look_is_to_decide_and_changes_nothing::<Watched<A>>(worlds, params, scenario);
        }),
    ]
}

/// A finished run.
pub fn finished<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
    options: Options,
) -> Simulation<A> {
    let mut simulation = prepare::<A>(worlds, params, scenario, SEED, options).expect("a scenario that fits");
    simulation.run(&mut |_| true).expect("nobody stops it");
    simulation
}

fn assert_same<A: Algorithm>(one: &Simulation<A>, other: &Simulation<A>, what: &str) {
    assert_eq!(one.ledger().regret.to_bits(), other.ledger().regret.to_bits(), "{}: {what}: regret", A::NAME);
    assert_eq!(one.ledger().traffic, other.ledger().traffic, "{}: {what}: traffic", A::NAME);
    assert!(one.states() == other.states(), "{}: {what}: final states differ", A::NAME);
}

/// Saving and restoring after each step is the same as going on.
pub fn restore_at_any_step_equals_never_stopped<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let plain = finished::<A>(worlds, params, scenario, Options::default());
    let restored = finished::<A>(worlds, params, scenario, Options { restore: true, ..Options::default() });
    assert_same(&plain, &restored, "restored at every step");
}

/// Messages may go through their bytes.
pub fn encoded_bytes_give_the_same_run_as_typed_messages<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let typed = finished::<A>(worlds, params, scenario, Options::default());
    let encoded = finished::<A>(worlds, params, scenario, Options { encode: true, ..Options::default() });
    assert_same(&typed, &encoded, "through bytes");
}

/// A message that arrives twice counts once.
pub fn duplicates_change_nothing<A: Algorithm>(worlds: &Worlds, params: &Value, scenario: &Scenario) {
    let once = finished::<A>(worlds, params, scenario, Options::default());
    let network = Network { duplicate: 0.5, ..Network::default() };
    let twice = finished::<A>(worlds, params, &Scenario { network, ..scenario.clone() }, Options::default());
    assert_same(&once, &twice, "duplicated messages");
    let traffic = &once.ledger().traffic;
    assert!(
        twice.ledger().duplicates_dropped > 0 || traffic.transfers() + traffic.control_messages < 20,
        "{}: no duplicate ever came",
        A::NAME
    );
}

/// Rewards may come late or never; restoring in between changes nothing.
pub fn late_and_lost_rewards_are_survived<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let rewards = Rewards { delay: 7, loss: 0.3, patience: Some(9), ..Rewards::default() };
    let scenario = Scenario { rewards, ..scenario.clone() };
    let plain = finished::<A>(worlds, params, &scenario, Options::default());
    let restored = finished::<A>(
        worlds,
        params,
        &scenario,
        Options { restore: true, encode: true, single_steps: true, per_client: false },
    );
    assert_same(&plain, &restored, "late and lost rewards");
    assert!(plain.ledger().abandoned > 0, "{}: no reward was lost", A::NAME);
}

/// Delay, loss, duplicates and a client that is away.
pub fn bad_network() -> Network {
    Network {
        delay: 2,
        jitter: 3,
        loss: 0.3,
        duplicate: 0.3,
        offline: vec![Offline { client: 1, from: 10, until: 40 }],
    }
}

/// On a bad network no machine refuses what comes, and the run is still deterministic.
pub fn a_bad_network_gives_the_same_run_again<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let scenario = Scenario { network: bad_network(), ..scenario.clone() };
    let plain = finished::<A>(worlds, params, &scenario, Options::default());
    let restored = finished::<A>(
        worlds,
        params,
        &scenario,
        Options { restore: true, encode: true, ..Options::default() },
    );
    assert_same(&plain, &restored, "a bad network");
    assert_eq!(plain.ledger().refused, 0, "{}: a machine refused an honest message", A::NAME);
}

/// Ticks without a single arrival in which a bad network comes to rest.
const REST: u64 = 600;

/// A run on this network whose users stay away after the horizon, until all messages have arrived.
pub fn come_to_rest<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
    network: Network,
) -> Simulation<A> {
    let (world, arrivals) = scenario.build(worlds, SEED).expect("a scenario that fits");
    let params = serde_json::from_value(params.clone()).expect("parameters that fit");
    let valid = A::check(params, world.setting()).expect("parameters that fit");
    let (arrivals, rewards) = (arrivals.until(scenario.horizon), scenario.rewards.clone());
    let mut simulation =
        Simulation::<A>::new(valid, world, arrivals, network, rewards, SEED, Options::default());
    for _ in 0..scenario.horizon + REST {
        simulation.step();
    }
    simulation
}

/// Whatever a bad network does to messages on their way, each is taken by its receiver, and once.
pub fn a_bad_network_loses_and_repeats_nothing<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let simulation = come_to_rest::<Watched<A>>(worlds, params, scenario, bad_network());
    let ledger = simulation.ledger();
    let clients = (0..simulation.states().len() as u32 - 1).map(NodeId);
    let by_clients = clients.map(|node| simulation.client(node).taken());
    let taken = by_clients.fold(simulation.server().taken(), Taken::plus);
    let sent = Taken::of(&ledger.traffic);
    assert_eq!(taken, sent, "{}: what was taken is not what was sent", A::NAME);
    assert!(
        ledger.duplicates_dropped > 0 || sent.messages < 20,
        "{}: the network of {} messages was not bad",
        A::NAME,
        sent.messages
    );
}

/// Runs side by side do not touch each other.
pub fn any_thread_gives_the_same_result<A: Algorithm>(worlds: &Worlds, params: &Value, scenario: &Scenario) {
    let run = || finished::<A>(worlds, params, scenario, Options::default()).states();
    let alone = run();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        for thread in threads {
            assert!(thread.join().expect("runs to its end") == alone, "{}: threads differ", A::NAME);
        }
    });
}

/// Every node dies after every single input, and at every third one, and never:
/// all end in the simulator's bytes.
pub fn killed_at_every_step_equals_never_killed<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) {
    let simulated =
        finished::<A>(worlds, params, scenario, Options { single_steps: true, ..Options::default() });
    let schedules: [fn(NodeId, u64) -> bool; 3] = [|_, _| false, |_, _| true, |_, input| input % 3 == 0];
    for (schedule, kill) in schedules.into_iter().enumerate() {
        let (mut world, mut arrivals) = scenario.build(worlds, SEED).expect("checked");
        let valid = A::check(serde_json::from_value(params.clone()).expect("checked"), world.setting());
        let valid = valid.expect("checked");
        let mut crashing = Crashing::<A>::new(&valid, &*world, SEED, 16, Box::new(kill));
        crashing.run(&mut *world, &mut arrivals);
        assert!(crashing.kills > 0 || schedule == 0);
        assert!(
            crashing.states() == simulated.states(),
            "{}: kill schedule {schedule} ends in other bytes than the simulator",
            A::NAME
        );
    }
}

/// Where rewards have no noise, blocks of planned pulls end in the bytes of single steps. (With noise a
/// block draws the sum of its rewards, and what follows is another run of the same law.) Returns the ticks
/// that were run inside blocks; `None` where there is noise, and nothing to compare.
pub fn blocks_without_noise_equal_single_steps<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) -> Option<u64> {
    let (world, _) = scenario.build(worlds, SEED).expect("a scenario that fits");
    if world.setting().reward_noise != 0.0 {
        return None;
    }
    let single =
        finished::<A>(worlds, params, scenario, Options { single_steps: true, ..Options::default() });
    let mut blocks = prepare::<A>(worlds, params, scenario, SEED, Options::default()).expect("fits");
    let mut steps = 0;
    while blocks.ledger().curve.last().is_none_or(|point| point.tick < scenario.horizon) {
        blocks.step();
        steps += 1;
    }
    assert_same(&blocks, &single, "planned blocks");
    Some(scenario.horizon - steps)
}
