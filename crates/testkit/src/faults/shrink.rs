//! The smallest schedule that still fails, and how to run it again.

use super::{Bug, Cases, Failure, Plan, run};

/// Leaves out faults and decisions as long as it fails; the last failure.
pub fn shrink(mut plan: Plan, cases: &Cases, bug: Option<Bug>) -> Option<(Plan, Failure)> {
    let mut failure = run(&plan, cases, bug, false).err()?;
    loop {
        let mut smaller = Vec::new();
        let mut half = plan.clone();
        let left: Vec<usize> = plan.remaining().map(|(place, _)| place).collect();
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

/// The command that runs this schedule again, alone and with its trace.
pub fn rerun(plan: &Plan) -> String {
    let without: Vec<String> = plan.without.iter().map(ToString::to_string).collect();
    let without = if without.is_empty() { "-".into() } else { without.join(",") };
    format!("./soak fault {} {without} {}", plan.seed, plan.decisions)
}
