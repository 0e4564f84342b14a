//! Schedules of faults around coordinators that share a log, and bugs that are planted to see that they are found.

use std::ops::Range;
use std::sync::LazyLock;

use cahoots_testkit::faults::replicated::{KINDS, Plan, Totals, report, run, shrink};
use cahoots_testkit::faults::{Bug, Cases, Failure};
use cahoots_testkit::lockstep::ours;

static CASES: LazyLock<Cases> = LazyLock::new(|| Cases::new(ours()));

/// Seeds of `./check`; `./soak replicated-faults` runs any number of others.
const SEEDS: u64 = 400;

/// Seeds that once failed, and what was wrong.
const ONCE: &[(u64, &str)] = &[
    (
        92,
        "who had read what the log lost began an epoch once it had grown to the same length: nobody could read it any more",
    ),
    (433, "who sent an append again did the same"),
    (
        15,
        "who had not read what another led and the log then lost began an epoch, although a snapshot of that was there",
    ),
    (404, "who had sent an append without an answer did the same"),
    (
        1630,
        "what a leader sent again to a client that knew more than the log was known to itself alone: whoever led next had forgotten it",
    ),
    (2310, "the same"),
    (
        6366,
        "who began while one snapshot was damaged and the other not found for a moment halted, as if that were for good",
    ),
    (
        5790,
        "a reader whose replica answered wrongly halted, because who was asked instead answered from the past",
    ),
];

/// Runs all of these.
fn all(mut seeds: Range<u64>, bug: Option<Bug>) -> Result<Totals, (u64, Failure)> {
    seeds.try_fold(Totals::default(), |totals, seed| {
        let ran = run(&Plan::of(seed, &CASES), &CASES, bug, false);
        ran.map(|more| totals.plus(&more)).map_err(|failure| (seed, failure))
    })
}

#[test]
fn hundreds_of_schedules_break_nothing() {
    let totals = std::thread::scope(|scope| {
        let halves = [0..SEEDS / 2, SEEDS / 2..SEEDS];
        let threads = halves.map(|seeds| scope.spawn(|| all(seeds, None)));
        threads.into_iter().fold(Totals::default(), |all, thread| match thread.join().expect("no panic") {
            Ok(totals) => all.plus(&totals),
            Err((seed, failure)) => panic!("{}", report(seed, &failure, &CASES)),
        })
    });
    println!("{totals:?}");
    assert_eq!(totals.schedules, SEEDS);
    // They are worth something: all that can go wrong did, leaders were deposed, logs lost what they had acknowledged and were trimmed.
    let never = KINDS.iter().zip(totals.troubles).find(|(_, times)| *times == 0);
    assert_eq!(never, None, "{totals:?}");
    assert!(totals.epochs > SEEDS && totals.acknowledged > 30 * SEEDS, "{totals:?}");
    assert!(totals.deposed > SEEDS / 8 && totals.halted > SEEDS / 8, "{totals:?}");
    assert!(totals.lost > SEEDS / 4 && totals.trimmed > SEEDS / 4, "{totals:?}");
}

#[test]
fn what_once_failed_does_not_fail_again() {
    for (seed, was_wrong) in ONCE {
        if let Err(failure) = run(&Plan::of(*seed, &CASES), &CASES, None, false) {
            panic!("{was_wrong}: {}", report(*seed, &failure, &CASES));
        }
    }
}

#[test]
fn the_same_seed_is_the_same_schedule() {
    for seed in 0..20 {
        let plan = Plan::of(seed, &CASES);
        let once = run(&plan, &CASES, None, true).expect("they break nothing");
        assert_eq!(run(&plan, &CASES, None, false).expect("they break nothing"), once, "seed {seed}");
    }
}

fn found(bug: Bug, words: &[&str]) {
    let Err((seed, failure)) = all(0..SEEDS, Some(bug)) else {
        panic!("{bug:?} is not found within {SEEDS} seeds");
    };
    println!("{bug:?} is found by seed {seed}: {}", failure.words);
    assert!(words.iter().any(|word| failure.words.contains(word)), "{bug:?}: {}", failure.words);
    let (small, failure) = shrink(Plan::of(seed, &CASES), &CASES, Some(bug)).expect("it fails");
    assert!(small.remaining().count() <= 4, "{bug:?} is not made small: {small:?}: {}", failure.words);
}

#[test]
fn a_leader_that_sends_before_its_log_has_acknowledged_is_found() {
    found(Bug::SendEarly, &["is not in the log", "than follows from the log"]);
}

#[test]
fn an_input_that_is_skipped_is_found() {
    found(
        Bug::SkipInput,
        &["cannot be replayed", "come to something else", "not in the log", "than follows from the log"],
    );
}

#[test]
fn what_is_forgotten_before_a_snapshot_covers_it_is_found() {
    found(Bug::ForgetUncovered, &["never merged", "no longer has", "says:"]);
}
