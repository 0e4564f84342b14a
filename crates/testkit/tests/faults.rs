//! Schedules of faults around the real cores, and bugs that are planted to see that they are found.

use std::sync::LazyLock;

use cahoots_testkit::faults::{
    Bug, Cases, LATER, NAMED, Plan, Totals, command, interrupted, run, run_all, shrink,
};
use cahoots_testkit::lockstep::ours;

static CASES: LazyLock<Cases> = LazyLock::new(|| Cases::new(ours()));

/// Seeds of `./check`; `./soak faults` runs any number of others.
const SEEDS: u64 = 1000;

/// Seeds that once failed, and what was wrong. With the fault that was mended planted again, all of them fail but the first
/// four, whose schedules have changed since.
const ONCE: &[(u64, &str)] = &[
    (7, "a store whose number had been released came back and sent everything again"),
    (19, "a coordinator restored from a backup refused a client that had been restarted since"),
    (75, "a client with an old store was let in, and never sent what it had confirmed before"),
    (828, "fclub: an upload between the news of a new cluster and its view was counted among the new ones"),
    (0, "a client whose rejoin was interrupted had a store that said it was damaged"),
    (52, "a coordinator whose restore was interrupted began an empty federation"),
    (408, "a copy of a store that was starting anew started anew once more, and was merged twice"),
    (
        73,
        "a copy of a store that did not know the terms yet came back after its number was freed, with the same noise",
    ),
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

/// Apps with names of their own for decisions, which defer some and give some rewards in parts.
#[test]
fn schedules_with_names_break_nothing() {
    let seeds = NAMED..NAMED + 300;
    let named = seeds.clone().filter(|seed| Plan::of(*seed, &CASES).named).count() as u64;
    match run_all(seeds, &CASES, None) {
        Ok(totals) => assert!(named > 150 && totals.acknowledged > 40 * 300, "{named}: {totals:?}"),
        Err((seed, failure)) => panic!("{}", command::report(seed, &failure, &CASES)),
    }
}

/// What is not in the schedules above, since seeds keep their meaning.
#[test]
fn schedules_of_algorithms_that_came_later_break_nothing() {
    match run_all(LATER..LATER + 300, &CASES, None) {
        // Some of these speak in phases and epochs: less.
        Ok(totals) => assert!(totals.faults > 3 * 300 && totals.taken > 15 * 300, "{totals:?}"),
        Err((seed, failure)) => panic!("{}", command::report(seed, &failure, &CASES)),
    }
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
fn a_federation_has_begun_from_its_prior_or_has_not_begun() {
    interrupted::beginning();
}

#[test]
fn a_store_that_makes_room_is_whole_or_aside() {
    interrupted::making_room();
}

#[test]
fn a_store_that_is_put_back_in_part_does_not_pass_for_an_empty_one() {
    interrupted::putting_back();
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
    found_from(0, bug, words);
}

fn found_from(first: u64, bug: Bug, words: &[&str]) {
    let Err((seed, failure)) = run_all(first..first + SEEDS, &CASES, Some(bug)) else {
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
            "has told",
            "an empty store",
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

#[test]
fn a_forgotten_ticket_is_found() {
    found_from(NAMED, Bug::ForgetTicket, &["forgotten", "other tickets", "asked again"]);
}
