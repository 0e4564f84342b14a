//! Parameters that change while a federation runs: at once where they are applied, after every crash again,
//! and never those that may not.

use cahoots_algorithms::registry::{NAMES, Visitor, visit};
use cahoots_core::drive::Blueprint;
use cahoots_core::{Algorithm, NodeId};
use cahoots_sim::run::Scenario;
use cahoots_testkit::crash::{Change, Crashing};
use cahoots_testkit::scenarios;

const SEED: u64 = 31;

/// A run through bytes and logs, killed as `kill` says, whose parameters change on the way.
fn run<A: Algorithm>(
    params: &str,
    changes: &[Change],
    scenario: &Scenario,
    snapshot_every: usize,
    kill: fn(NodeId, u64) -> bool,
) -> (usize, Vec<Vec<u8>>) {
    let (mut world, mut arrivals) = scenario.build(SEED).expect("a scenario that fits");
    let valid = A::check(toml::from_str(params).expect("readable"), world.setting()).expect("that fit");
    let mut federation = Crashing::<A>::new(&valid, &*world, SEED, snapshot_every, Box::new(kill));
    federation.agree(params, changes);
    federation.run(&mut *world, &mut arrivals);
    (federation.posted, federation.states())
}

struct Changes {
    before: &'static str,
    after: &'static str,
    scenario: Scenario,
}

impl Visitor for Changes {
    type Out = ();

    fn visit<A: Algorithm>(self) {
        let Changes { before, after, scenario } = self;
        let at = |tick| [Change { tick, params: after.into() }];
        let run = |params, changes: &[Change], every, kill| run::<A>(params, changes, &scenario, every, kill);
        let never: fn(NodeId, u64) -> bool = |_, _| false;
        let changed = run(before, &at(scenario.horizon / 2), 1000, never);
        let (left, ran) = (run(before, &[], 1000, never), run(after, &[], 1000, never));
        assert!(changed.0 != left.0 && changed.0 != ran.0, "{}: the change never showed", A::NAME);
        // From the log alone, from a snapshot and a log, and from a snapshot that is never far behind.
        for every in [10_000, 16, 1] {
            let killed = run(before, &at(scenario.horizon / 2), every, |_, _| true);
            assert!(
                killed == changed,
                "{}: another run after crashes, with snapshots every {every}",
                A::NAME
            );
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
}

fn world(name: &str) -> Scenario {
    scenarios::for_algorithm(name).into_iter().next().expect("a scenario that fits")
}

const CASES: [(&str, &str, &str); 11] = [
    ("async-linucb", "ratio = 8.0", "ratio = 1.2"),
    ("async-linucb", "upload_ratio = 1.2\ndownload_ratio = 1.2", "upload_ratio = 1.2\ndownload_ratio = 30.0"),
    ("async-linucb", "ratio = 2.0", "upload_ratio = { per_client = [1.0, 2.0, 3.0, 4.0, 5.0, inf] }"),
    ("async-linucb-am", "ratio = 3.0", "ratio = 1.1"),
    ("sync-linucb", "sync_threshold = 8.0", "sync_threshold = 1.0"),
    ("hetofed", "exploration = 5\nsync_threshold = 4.0", "exploration = 5\nsync_threshold = 0.5"),
    ("hetofed-pq", "exploration = 5\nsync_threshold = 4.0", "exploration = 5\nsync_threshold = 0.5"),
    ("hetofed-dr", "sync_threshold = 4.0", "sync_threshold = 0.5"),
    ("hetofed-e", "sync_threshold = 4.0", "sync_threshold = 0.5"),
    ("fclub-dc", "ratio = 2.0", "upload_ratio = 1.1\ndownload_ratio = 1.01"),
    ("homo-dc", "ratio = 2.0", "upload_ratio = 1.1\ndownload_ratio = 1.01"),
];

#[test]
fn a_change_holds_from_then_on_and_after_every_crash() {
    for (name, before, after) in CASES {
        visit(name, Changes { before, after, scenario: world(name) }).expect("an algorithm");
    }
}

struct Keys<'a>(&'a str);

impl Visitor for Keys<'_> {
    type Out = &'static [&'static str];

    fn visit<A: Algorithm>(self) -> Self::Out {
        let (world, _) = world(A::NAME).build(SEED).expect("a scenario that fits");
        let params: A::Params = toml::from_str("").expect("defaults");
        let valid = A::check(params, world.setting()).expect("defaults that fit");
        let blueprint: Blueprint<A> =
            Blueprint { params: String::new(), valid, setting: world.setting().clone().into() };
        let mut server = blueprint.server(None).expect("a new one");
        let mut client = blueprint.client(NodeId(0), None).expect("a new one");
        let (states, mut log) = ((server.save(), client.save()), Vec::new());
        let refused = [server.change(3, 1, self.0, &mut log), client.change(3, 1, self.0, &mut log)];
        for refused in refused {
            let text = refused.expect_err("may not change").to_string();
            assert!(A::CHANGEABLE.iter().all(|key| text.contains(key)), "{}: {text}", A::NAME);
            assert!(text.contains("cannot change while a federation"), "{}: {text}", A::NAME);
        }
        assert!(log.is_empty() && (server.save(), client.save()) == states, "{}: left a trace", A::NAME);
        A::CHANGEABLE
    }
}

/// Whoever may change something is in the cases above; all else is refused, with a list of what could change.
#[test]
fn what_may_not_change_is_refused_with_what_may() {
    for name in NAMES {
        let changeable = visit(name, Keys("ridge = 0.7")).expect("an algorithm");
        let tried = CASES.iter().any(|(case, ..)| case == name);
        assert_eq!(!changeable.is_empty(), tried, "{name} can change {changeable:?}");
    }
    visit("cdp-fclub-dc", Keys("upload_ratio = 1.5")).expect("an algorithm");
}
