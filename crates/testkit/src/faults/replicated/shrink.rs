//! A schedule that fails, made small.

use super::super::{Bug, Cases, Failure};
use super::plan::Plan;
use super::run;

/// A smaller schedule that fails too, with what it breaks; nothing if this one does not fail.
pub fn shrink(mut plan: Plan, cases: &Cases, bug: Option<Bug>) -> Option<(Plan, Failure)> {
    let mut failure = run(&plan, cases, bug, false).err()?;
    loop {
        let mut smaller = Vec::new();
        let left: Vec<usize> = plan.remaining().map(|(place, _)| place).collect();
        let mut half = plan.clone();
        half.without.extend(&left[..left.len() / 2]);
        smaller.push(half);
        for place in left {
            let mut one = plan.clone();
            one.without.push(place);
            smaller.push(one);
        }
        for decisions in [plan.decisions / 2, plan.decisions.saturating_sub(1)] {
            smaller.push(Plan { decisions, ..plan.clone() });
        }
        smaller.retain(|smaller| {
            smaller.without.len() > plan.without.len() || smaller.decisions < plan.decisions
        });
        let found = smaller.into_iter().find_map(|smaller| {
            let failure = run(&smaller, cases, bug, false).err()?;
            Some((smaller, failure))
        });
        match found {
            Some((smaller, last)) => (plan, failure) = (smaller, last),
            None => return Some((plan, failure)),
        }
    }
}

/// What failed, made small, and how to run it again.
pub fn report(seed: u64, failure: &Failure, cases: &Cases) -> String {
    let plan = Plan::of(seed, cases);
    let algorithm = cases.all[plan.case.0][plan.case.1].terms.algorithm.clone();
    let mut words = format!("seed {seed} ({algorithm}): {}\n", failure.words);
    if let Some((small, failure)) = shrink(plan, cases, None) {
        words += &format!("smaller: {}\n", failure.words);
        for (place, (at, trouble)) in small.remaining() {
            words += &format!("  {place}: {:.3} ms {trouble:?}\n", *at as f64 / 1000.0);
        }
        let without: Vec<String> = small.without.iter().map(ToString::to_string).collect();
        let without = if without.is_empty() { "-".into() } else { without.join(",") };
        words += &format!("run it again with: ./soak replicated-fault {seed} {without} {}", small.decisions);
    }
    words
}
