//! `faults`: any number of schedules; `fault`: one of them, with all that happens.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Cases, Failure, Plan, Totals, rerun, run, shrink};
use crate::lockstep::ours;

/// Failures after which no more are looked for.
const MOST: usize = 20;
/// Seeds that are run between two looks at the others.
const PIECE: u64 = 64;

/// Runs the schedules of `seeds` seeds from `first` on, on all processors; the first failure is made small and shown.
pub fn many(seeds: &str, first: &str) -> ExitCode {
    let (Ok(seeds), Ok(first)) = (seeds.parse::<u64>(), first.parse::<u64>()) else {
        eprintln!("usage: faults SEEDS FIRST, two numbers");
        return ExitCode::from(2);
    };
    quietly();
    let cases = Cases::new(ours());
    let next = AtomicU64::new(first);
    let (all, failures) = (Mutex::new(Totals::default()), Mutex::new(Vec::new()));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while failures.lock().expect("no panic under the lock").len() < MOST {
                    let from = next.fetch_add(PIECE, Ordering::Relaxed);
                    for seed in from..(from + PIECE).min(first + seeds) {
                        match run(&Plan::of(seed, &cases), &cases, None, false) {
                            Ok(totals) => {
                                let mut all = all.lock().expect("no panic under the lock");
                                *all = all.plus(totals);
                            }
                            Err(failure) => {
                                failures.lock().expect("no panic under the lock").push((seed, failure));
                            }
                        }
                    }
                    if from >= first + seeds {
                        break;
                    }
                }
            });
        }
    });
    let (all, seconds) = (all.into_inner().expect("no panic"), begun.elapsed().as_secs_f64());
    println!("{all:?}: {:.0} schedules a second", all.schedules as f64 / seconds);
    let mut failures = failures.into_inner().expect("no panic");
    failures.sort_by_key(|(seed, _)| *seed);
    for (seed, failure) in failures.iter().skip(1) {
        eprintln!("seed {seed}: {}", failure.words);
    }
    let Some((seed, failure)) = failures.into_iter().next() else { return ExitCode::SUCCESS };
    eprintln!("{}", report(seed, &failure, &cases));
    ExitCode::FAILURE
}

/// What failed, made small, and how to run it again.
pub fn report(seed: u64, failure: &Failure, cases: &Cases) -> String {
    let plan = Plan::of(seed, cases);
    let algorithm = cases.all[plan.case.0][plan.case.1].terms.algorithm.clone();
    let mut words = format!("seed {seed} ({algorithm}): {}\n", failure.words);
    if let Some((small, failure)) = shrink(plan, cases, None) {
        words += &format!("smaller: {}\n", failure.words);
        for (place, (at, fault)) in small.remaining() {
            words += &format!("  {place}: {:.3} ms {fault:?}\n", *at as f64 / 1000.0);
        }
        words += &format!("run it again with: {}", rerun(&small));
    }
    words
}

/// Runs one schedule, without some of its faults and with fewer decisions, and shows what happens.
pub fn one(seed: &str, without: &str, decisions: &str) -> ExitCode {
    let places: Result<Vec<usize>, _> =
        without.split(',').filter(|place| *place != "-").map(str::parse).collect();
    let decisions = if decisions == "-" { Ok(None) } else { decisions.parse::<u64>().map(Some) };
    let (Ok(seed), Ok(without), Ok(decisions)) = (seed.parse(), places, decisions) else {
        eprintln!(
            "usage: fault SEED WITHOUT DECISIONS: a number, numbers of faults (1,2) or -, a number or -"
        );
        return ExitCode::from(2);
    };
    let cases = Cases::new(ours());
    let plan = Plan::of(seed, &cases);
    let decisions = decisions.unwrap_or(plan.decisions);
    let plan = Plan { without, decisions, ..plan };
    println!("{}", cases.all[plan.case.0][plan.case.1].terms.to_toml());
    println!("{plan:#?}");
    match run(&plan, &cases, None, true) {
        Ok(totals) => {
            println!("all is well: {totals:?}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            failure.trace.iter().for_each(|line| println!("{line}"));
            println!("{}", failure.words);
            ExitCode::FAILURE
        }
    }
}

/// What panics in a schedule is reported as its failure, and not as it happens.
fn quietly() {
    std::panic::set_hook(Box::new(|_| {}));
}
