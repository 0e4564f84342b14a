//! Schedules of faults around the real cores, and bugs that are planted to see that they are found.

use std::sync::LazyLock;

use cahoots_testkit::faults::{Bug, Cases, Plan, Totals, command, run, run_all, shrink};
use cahoots_testkit::lockstep::ours;

static CASES: LazyLock<Cases> = LazyLock::new(|| Cases::new(ours()));

/// Seeds of `./check`; `./soak faults` runs any number of others.
const SEEDS: u64 = 1000;

/// Seeds that once failed, and what was wrong.
const ONCE: &[(u64, &str)] = &[
    (7, "a store whose number had been released came back and sent everything again"),
    (19, "a coordinator restored from a backup refused a client that had been restarted since"),
    (75, "a client with an old store was let in, and never sent what it had confirmed before"),
    (828, "fclub: an upload between the news of a new cluster and its view was counted among the new ones"),
];

#[test]
fn a_thousand_schedules_break_nothing() {
    let half = |from: u64, to: u64| move || run_all(from..to, &CASES, None);
    let totals = std::thread::scope(|scope| {
        let threads = [scope.spawn(half(0, SEEDS / 2)), scope.spawn(half(SEEDS / 2, SEEDS))];
        threads.into_iter().fold(Totals::default(), |all, thread| match thread.join().expect("no panic") {
            Ok(totals) => all.plus(totals),
            Err((seed, failure)) => panic!("{}", command::report(seed, &failure, &CASES)),
        })
    });
    assert_eq!(totals.schedules, SEEDS);
    // They are worth something: plenty went wrong, and plenty went on (a schedule has 20 to 100 decisions).
    assert!(
        totals.faults > 3 * SEEDS && totals.acknowledged > 40 * SEEDS && totals.taken > 20 * SEEDS,
        "{totals:?}"
    );
}

#[test]
fn what_once_failed_does_not_fail_again() {
    for (seed, was_wrong) in ONCE {
        if let Err(failure) = run(&Plan::of(*seed, &CASES), &CASES, None, false) {
            panic!("{was_wrong}: {}", command::report(*seed, &failure, &CASES));
        }
    }
}

#[test]
fn the_same_seed_is_the_same_schedule() {
    for seed in 0..30 {
        let plan = Plan::of(seed, &CASES);
        let once = run(&plan, &CASES, None, true).expect("they break nothing");
        assert_eq!(run(&plan, &CASES, None, false).expect("they break nothing"), once, "seed {seed}");
    }
}

fn found(bug: Bug, words: &[&str]) {
    let Err((seed, failure)) = run_all(0..SEEDS, &CASES, Some(bug)) else {
        panic!("{bug:?} is not found within {SEEDS} seeds");
    };
    println!("{bug:?} is found by seed {seed}: {}", failure.words);
    assert!(words.iter().any(|word| failure.words.contains(word)), "{bug:?}: {}", failure.words);
    let (small, failure) = shrink(Plan::of(seed, &CASES), &CASES, Some(bug)).expect("it fails");
    assert!(small.remaining().count() <= 4, "{bug:?} is not made small: {small:?}: {}", failure.words);
}

#[test]
fn a_skipped_flush_is_found() {
    found(
        Bug::SkipFlush,
        &[
            "is damaged",
            "had Ends",
            "again, and it is not the same",
            "forgotten",
            "lost",
            "an empty store, where it had one",
        ],
    );
}

#[test]
fn a_forgotten_number_is_found() {
    found(Bug::ForgetNumber, &["had Ends", "not what its inputs make", "older than"]);
}

#[test]
fn a_double_merge_is_found() {
    found(Bug::DoubleMerge, &["refuses", "twice", "never sent", "not the same", "at Ends"]);
}

#[test]
fn a_dropped_fact_is_found() {
    found(Bug::DropFacts, &["books"]);
}

#[test]
fn reused_noise_is_found() {
    found(Bug::ReuseNoise, &["draws the same noise again"]);
}
