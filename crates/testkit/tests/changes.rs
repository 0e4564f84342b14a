//! Parameters that change while a federation runs: at once where they are applied, after every crash again,
//! and never those that may not.

use cahoots_algorithms::async_linucb::AsyncLinucb;
use cahoots_algorithms::registry::ours;
use cahoots_core::drive::{Blueprint, Saved};
use cahoots_core::{Algorithm, Erase, NodeId};
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::crash::{Change, Crashing};
use cahoots_testkit::{scenarios, suites};

const SEED: u64 = 31;

/// A run through bytes and logs, killed as `kill` says, whose parameters change on the way.
fn run<A: Algorithm>(
    params: &str,
    changes: &[Change],
    scenario: &Scenario,
    snapshot_every: usize,
    kill: fn(NodeId, u64) -> bool,
) -> (usize, Vec<Vec<u8>>) {
    let (mut world, mut arrivals) = scenario.build(&Worlds::ours(), SEED).expect("a scenario that fits");
    let valid = A::check(toml::from_str(params).expect("readable"), world.setting()).expect("that fit");
    let mut federation = Crashing::<A>::new(&valid, &*world, SEED, snapshot_every, Box::new(kill));
    federation.agree(params, changes);
    federation.run(&mut *world, &mut arrivals);
    (federation.posted, federation.states())
}

/// What is tried of one algorithm.
#[derive(Clone, Copy)]
struct Trial {
    changes: fn(&'static str, &'static str, Scenario),
    refuses: fn(&str) -> &'static [&'static str],
}

impl Erase for Trial {
    fn of<A: Algorithm>() -> Trial {
        Trial { changes: changes::<A>, refuses: refuses::<A> }
    }
}

fn changes<A: Algorithm>(before: &'static str, after: &'static str, scenario: Scenario) {
    let at = |tick| [Change { tick, params: after.into() }];
    let run = |params, changes: &[Change], every, kill| run::<A>(params, changes, &scenario, every, kill);
    let never: fn(NodeId, u64) -> bool = |_, _| false;
    let changed = run(before, &at(scenario.horizon / 2), 1000, never);
    let (left, ran) = (run(before, &[], 1000, never), run(after, &[], 1000, never));
    assert!(changed.0 != left.0 && changed.0 != ran.0, "{}: the change never showed", A::NAME);
    // From the log alone, from a snapshot and a log, and from a snapshot that is never far behind.
    for every in [10_000, 16, 1] {
        let killed = run(before, &at(scenario.horizon / 2), every, |_, _| true);
        assert!(killed == changed, "{}: another run after crashes, with snapshots every {every}", A::NAME);
    }
    // Before the first decision it is as if it had always been so: nothing else hangs on these keys.
    let early = run(before, &at(0), 1000, never);
    assert!(early == ran, "{}: changed before the start is not the same as never otherwise", A::NAME);
    // And back again.
    let back = [Change { tick: 0, params: after.into() }, Change { tick: 0, params: before.into() }];
    assert!(
        run(before, &back, 1000, never) == left,
        "{}: a change that is taken back leaves a trace",
        A::NAME
    );
}

fn world(name: &str) -> Scenario {
    let suites = suites();
    let suite = suites.get(name).expect("one of ours");
    scenarios::fitting(suite, &Worlds::ours()).into_iter().next().expect("a scenario that fits")
}

const CASES: [(&str, &str, &str); 15] = [
    ("async-linucb", "ratio = 8.0", "ratio = 1.2"),
    ("async-linucb", "upload_ratio = 1.2\ndownload_ratio = 1.2", "upload_ratio = 1.2\ndownload_ratio = 30.0"),
    ("async-linucb", "ratio = 2.0", "upload_ratio = { per_client = [1.0, 2.0, 3.0, 4.0, 5.0, inf] }"),
    ("async-linucb-am", "ratio = 3.0", "ratio = 1.1"),
    ("sync-linucb", "sync_threshold = 8.0", "sync_threshold = 1.0"),
    ("fed-linucb", "upload_ratio = 8.0", "upload_ratio = 1.2"),
    ("fed-igw", "gap_weight = 0.5", "gap_weight = 5.0\nlongest_epoch = 2"),
    ("hetofed", "exploration = 5\nsync_threshold = 4.0", "exploration = 5\nsync_threshold = 0.5"),
    ("hetofed-pq", "exploration = 5\nsync_threshold = 4.0", "exploration = 5\nsync_threshold = 0.5"),
    ("hetofed-dr", "sync_threshold = 4.0", "sync_threshold = 0.5"),
    ("hetofed-e", "sync_threshold = 4.0", "sync_threshold = 0.5"),
    ("hetofed-async", "exploration = 5\nsync_threshold = 4.0", "exploration = 5\nsync_threshold = 0.5"),
    ("hetofed-async", "exploration = 5\nupload_ratio = 4.0", "exploration = 5\nupload_ratio = 1.5"),
    ("fclub-dc", "ratio = 2.0", "upload_ratio = 1.1\ndownload_ratio = 1.01"),
    ("homo-dc", "ratio = 2.0", "upload_ratio = 1.1\ndownload_ratio = 1.01"),
];

#[test]
fn a_change_holds_from_then_on_and_after_every_crash() {
    for (name, before, after) in CASES {
        (ours::<Trial>().get(name).expect("an algorithm").changes)(before, after, world(name));
    }
}

/// Tries parameters that may not be; gives the keys that may change.
fn refuses<A: Algorithm>(params: &str) -> &'static [&'static str] {
    let (world, _) = world(A::NAME).build(&Worlds::ours(), SEED).expect("a scenario that fits");
    let least: serde_json::Value = serde_json::from_str(A::LEAST).expect("JSON");
    let stated = toml::to_string(&least).expect("TOML");
    let defaults: A::Params = toml::from_str(&stated).expect("defaults");
    let valid = A::check(defaults, world.setting()).expect("defaults that fit");
    let params = format!("{stated}{params}");
    let params = params.as_str();
    let blueprint: Blueprint<A> =
        Blueprint { params: stated, valid, setting: world.setting().clone().into() };
    let mut server = blueprint.server(None).expect("a new one");
    let mut client = blueprint.client(NodeId(0), None).expect("a new one");
    let (states, mut log) = ((server.save(), client.save()), Vec::new());
    let refused = [server.change(3, 1, params, &mut log), client.change(3, 1, params, &mut log)];
    for refused in refused {
        let text = refused.expect_err("may not change").to_string();
        assert!(A::CHANGEABLE.iter().all(|key| text.contains(key)), "{}: {text}", A::NAME);
        assert!(text.contains("cannot change while a federation"), "{}: {text}", A::NAME);
    }
    assert!(log.is_empty() && (server.save(), client.save()) == states, "{}: left a trace", A::NAME);
    A::CHANGEABLE
}

/// Whoever may change something is in the cases above; all else is refused, with a list of what could change.
#[test]
fn what_may_not_change_is_refused_with_what_may() {
    let trials = ours::<Trial>();
    for (name, trial) in trials.names().zip(trials.iter()) {
        let changeable = (trial.refuses)("ridge = 0.7");
        let tried = CASES.iter().any(|(case, ..)| *case == name);
        assert_eq!(!changeable.is_empty(), tried, "{name} can change {changeable:?}");
    }
    (trials.get("cdp-fclub-dc").expect("an algorithm").refuses)("upload_ratio = 1.5");
}

/// Changes may come twice, or late: only a newer one counts. A saved node knows which one it has.
#[test]
fn an_older_change_changes_nothing() {
    let (world, _) = world("async-linucb").build(&Worlds::ours(), SEED).expect("a scenario that fits");
    let valid = AsyncLinucb::check(toml::from_str("ratio = 8.0").expect("readable"), world.setting());
    let valid = valid.expect("parameters that fit");
    let blueprint: Blueprint<AsyncLinucb> =
        Blueprint { params: "ratio = 8.0".into(), valid, setting: world.setting().clone().into() };
    let mut client = blueprint.client(NodeId(0), None).expect("a new one");
    let mut log = Vec::new();
    client.change(1, 2, "ratio = 1.2", &mut log).expect("may change");
    let (state, queues) = (client.save(), client.queues().save());
    for version in [2, 1] {
        client.change(2, version, "ratio = 3.0", &mut log).expect("may change");
    }
    assert_eq!((client.params(), log.len()), ((2, "ratio = 1.2"), 1));
    assert!(client.save() == state, "it left a trace");
    let again = blueprint.client(NodeId(0), Some(Saved { state: &state, queues: &queues }));
    assert_eq!(again.expect("saved a moment ago").params(), (2, "ratio = 1.2"));
}
