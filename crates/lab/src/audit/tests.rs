//! What is honest agrees, what is broken is caught.

use super::*;

/// As many runs as a laptop makes in seconds; the command makes more.
const TRIALS: usize = 40_000;

fn find(name: &str, trials: usize, seed: u64) -> Finding {
    select(name).unwrap().remove(0).audit(trials, seed, &Progress::hidden())
}

#[test]
fn honest_mechanisms_agree_and_broken_ones_are_caught() {
    for subject in subjects() {
        // Whole federations make a tenth of what is asked for.
        let trials = if subject.name.starts_with("cdp-fclub") { 5 * TRIALS } else { TRIALS };
        let finding = subject.audit(trials, 1, &Progress::hidden());
        assert!(finding.passed, "{}: {} {finding:?}", subject.name, finding.words());
    }
}

/// The controls that the honest ones stand beside: each kind of mechanism has one that must be caught.
#[test]
fn there_is_a_control_for_every_mechanism() {
    let all = subjects();
    let families = ["laplace", "gaussian", "tree", "cdp-mab", "trigger", "clusters", "cdp-fclub-dc"];
    let family = |name: &str| families.iter().copied().find(|family| name.starts_with(family));
    let controls: Vec<Option<&str>> =
        all.iter().filter(|subject| subject.control).map(|subject| family(subject.name)).collect();
    for subject in all.iter().filter(|subject| !subject.control) {
        let own = family(subject.name);
        assert!(own.is_some() && controls.contains(&own), "{} has no control", subject.name);
    }
    let names: Vec<&str> = all.iter().map(|subject| subject.name).collect();
    assert!(names.contains(&"trigger-broken") && names.contains(&"clusters-broken"), "{names:?}");
    assert!(select("nobody").is_err());
    assert_eq!(select("all").unwrap().len(), all.len());
}

/// What is too weak to tell says so, instead of agreeing.
#[test]
fn noise_that_is_far_too_much_says_nothing() {
    let finding = find("tree-text", 4000, 1);
    assert!(finding.passed && finding.verdict == Verdict::SaysNothing, "{finding:?}");
    assert!(finding.words().contains("says nothing"));
}

#[test]
fn the_same_seed_finds_the_same_with_any_number_of_threads() {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (one, other) = (alone.install(|| find("laplace", 4000, 3)), find("laplace", 4000, 3));
    assert_eq!(one.audit, other.audit);
    assert_ne!(one.audit, find("laplace", 4000, 4).audit);
}

/// A federation that states 1 and loses 1.5 is caught at twenty thousand runs, whatever the seed.
#[test]
fn half_as_much_again_is_caught_every_time() {
    for seed in 2..4 {
        // A tenth of what is asked for: see its share.
        let finding = find("cdp-fclub-dc-broken", 200_000, seed);
        assert_eq!(finding.verdict, Verdict::Contradicts, "{seed}: {finding:?}");
        assert_eq!(finding.audit.trials, 20_000);
    }
}

#[test]
fn every_run_is_counted() {
    let subject = select("tree").unwrap().remove(0);
    let progress = Progress::hidden();
    subject.audit(1000, 1, &progress);
    assert_eq!(progress.done(), subject.runs(1000));
}
