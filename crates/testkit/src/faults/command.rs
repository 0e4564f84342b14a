//! `faults`: any number of schedules; `fault`: one of them, with all that happens; `replicated-faults` and `replicated-fault`: the same
//! of coordinators that share a log.

use std::fmt::Debug;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{Cases, Failure, Plan, Totals, replicated, rerun, run, shrink};
use crate::lockstep::ours;

/// Failures after which no more are looked for.
const MOST: usize = 20;
/// Seeds that are run between two looks at the others.
const PIECE: u64 = 64;

/// Runs the schedules of `seeds` seeds from `first` on, on all processors; the first failure is made small and shown.
pub fn many(seeds: &str, first: &str) -> ExitCode {
    all::<Totals>(
        seeds,
        first,
        |seed, cases| run(&Plan::of(seed, cases), cases, None, false),
        |all, more| all.plus(*more),
        report,
    )
}

/// The same of coordinators that share a log.
pub fn many_replicated(seeds: &str, first: &str) -> ExitCode {
    all::<replicated::Totals>(
        seeds,
        first,
        |seed, cases| replicated::run(&replicated::Plan::of(seed, cases), cases, None, false),
        |all, more| all.plus(more),
        replicated::report,
    )
}

fn all<T: Debug + Default + Send>(
    seeds: &str,
    first: &str,
    run: impl Fn(u64, &Cases) -> Result<T, Failure> + Sync,
    plus: impl Fn(T, &T) -> T + Sync,
    report: impl Fn(u64, &Failure, &Cases) -> String,
) -> ExitCode {
    let (Ok(seeds), Ok(first)) = (seeds.parse::<u64>(), first.parse::<u64>()) else {
        eprintln!("usage: faults SEEDS FIRST, two numbers");
        return ExitCode::from(2);
    };
    quietly();
    let cases = Cases::new(ours());
    let next = AtomicU64::new(first);
    let (all, failures) = (Mutex::new(T::default()), Mutex::new(Vec::new()));
    let (begun, schedules) = (Instant::now(), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while failures.lock().expect("no panic under the lock").len() < MOST {
                    let from = next.fetch_add(PIECE, Ordering::Relaxed);
                    for seed in from..(from + PIECE).min(first + seeds) {
                        match run(seed, &cases) {
                            Ok(totals) => {
                                let mut all = all.lock().expect("no panic under the lock");
                                *all = plus(std::mem::take(&mut *all), &totals);
                                schedules.fetch_add(1, Ordering::Relaxed);
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
    println!("{all:?}: {:.0} schedules a second", schedules.into_inner() as f64 / seconds);
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
    let Some((seed, without, decisions)) = which(seed, without, decisions) else { return ExitCode::from(2) };
    let cases = Cases::new(ours());
    let plan = Plan::of(seed, &cases);
    let decisions = decisions.unwrap_or(plan.decisions);
    let plan = Plan { without, decisions, ..plan };
    println!("{}", cases.all[plan.case.0][plan.case.1].terms.to_toml());
    println!("{plan:#?}");
    shown(run(&plan, &cases, None, true))
}

/// The same of coordinators that share a log.
pub fn one_replicated(seed: &str, without: &str, decisions: &str) -> ExitCode {
    let Some((seed, without, decisions)) = which(seed, without, decisions) else { return ExitCode::from(2) };
    let cases = Cases::new(ours());
    let plan = replicated::Plan::of(seed, &cases);
    let decisions = decisions.unwrap_or(plan.decisions);
    let plan = replicated::Plan { without, decisions, ..plan };
    println!("{}", cases.all[plan.case.0][plan.case.1].terms.to_toml());
    println!("{plan:#?}");
    shown(replicated::run(&plan, &cases, None, true))
}

/// A seed, faults that are left out, and how many decisions each client makes.
fn which(seed: &str, without: &str, decisions: &str) -> Option<(u64, Vec<usize>, Option<u64>)> {
    let places: Result<Vec<usize>, _> =
        without.split(',').filter(|place| *place != "-").map(str::parse).collect();
    let decisions = if decisions == "-" { Ok(None) } else { decisions.parse::<u64>().map(Some) };
    let (Ok(seed), Ok(without), Ok(decisions)) = (seed.parse(), places, decisions) else {
        eprintln!(
            "usage: fault SEED WITHOUT DECISIONS: a number, numbers of faults (1,2) or -, a number or -"
        );
        return None;
    };
    Some((seed, without, decisions))
}

fn shown(result: Result<impl Debug, Failure>) -> ExitCode {
    match result {
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
