//! The suite's answer in words: which promises an algorithm keeps, and where it breaks one.

use std::any::Any;

use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use serde_json::Value;

use crate::suite::Suite;

/// One promise of the contract, tried in several worlds.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The promise.
    pub promise: &'static str,
    /// Where it is broken, by the scenario's number, and what was seen there.
    pub broken: Vec<(usize, String)>,
}

impl Verdict {
    /// Whether the promise is kept everywhere.
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }
}

/// Tries every promise in every one of these scenarios, which must fit the algorithm.
pub fn verdicts(suite: &Suite, worlds: &Worlds, params: &Value, scenarios: &[Scenario]) -> Vec<Verdict> {
    let verdict = |(promise, check): (&'static str, fn(&Worlds, &Value, &Scenario))| {
        let seen = scenarios.iter().enumerate().filter_map(|(number, scenario)| {
            let broken = complaint(|| check(worlds, params, scenario))?;
            Some((number, broken))
        });
        Verdict { promise, broken: seen.collect() }
    };
    suite.checks().map(verdict).into()
}

/// Why a check failed. It runs in a thread of its own, named like every run whose failure its starter reports.
fn complaint(check: impl FnOnce() + Send) -> Option<String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("run-contract".into());
        let joined = thread.spawn_scoped(scope, check).expect("a thread can be started").join();
        joined.err().map(|panic| words(&*panic))
    })
}

fn words(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(words), _) => words.clone(),
        (_, Some(words)) => (*words).into(),
        _ => "it panicked".into(),
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::Erase as _;
    use serde_json::json;

    use super::*;
    use crate::probe::ExploreThenCommit;
    use crate::scenarios;

    #[test]
    fn a_check_that_panics_is_a_broken_promise() {
        assert_eq!(complaint(|| ()), None);
        assert_eq!(complaint(|| panic!("no good")), Some("no good".into()));
        assert_eq!(
            complaint(|| assert_eq!(1, 2, "sums")).unwrap().lines().next().unwrap(),
            "assertion `left == right` failed: sums"
        );
        // A scenario that does not fit breaks whatever is tried in it, and nothing that is tried elsewhere.
        let suite = Suite::of::<ExploreThenCommit>();
        let params = json!({ "pulls": 2 });
        let worlds = Worlds::ours();
        let mut tried = vec![scenarios::fitting_with(&suite, &worlds, &params).remove(0)];
        assert!(verdicts(&suite, &worlds, &params, &tried).iter().all(Verdict::holds));
        tried.push(Scenario { horizon: 0, ..tried[0].clone() });
        for verdict in verdicts(&suite, &worlds, &params, &tried) {
            assert_eq!(verdict.broken.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1]);
        }
    }
}
