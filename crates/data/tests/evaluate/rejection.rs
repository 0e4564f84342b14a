//! Algorithms that learn, on logs of a world that is known.

use std::sync::Arc;

use cahoots_algorithms::registry::ours;
use cahoots_core::Registry;
use cahoots_data::evaluate::rejection::{ArmFeatures, LearnError, Question, learn};
use cahoots_data::evaluate::{Columns, Refusal, Row, example};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::driver::Options;
use cahoots_sim::run::{Params, Scenario};
use cahoots_sim::simulated::Simulated;
use serde_json::json;

fn question() -> Question {
    Question {
        features: None,
        seed: 1,
        confidence: 0.95,
        least_propensity: None,
        least_taken: 50,
        force: false,
    }
}

fn run(
    log: Columns,
    name: &str,
    question: &Question,
) -> Result<cahoots_data::evaluate::rejection::Learned, LearnError> {
    let list: Registry<Simulated> = ours();
    learn(Arc::new(log), list.get(name).unwrap(), Params::new(), question, &mut |_| true)
}

/// Arms that pay 0.2, 0.5 and 0.8, logged with these probabilities.
fn arms(rows: u64, probabilities: [f64; 3]) -> Columns {
    arms_of(9, rows, probabilities)
}

fn arms_of(seed: u64, rows: u64, probabilities: [f64; 3]) -> Columns {
    let mut log = Columns::new(["a", "b", "c"].map(String::from).to_vec(), Vec::new());
    for row in 0..rows {
        let mut draw = Draw::keyed(seed, Purpose::World, 3, row);
        let chance = draw.uniform();
        let arm = usize::from(chance >= probabilities[0])
            + usize::from(chance >= probabilities[0] + probabilities[1]);
        let reward = f64::from(draw.uniform() < [0.2, 0.5, 0.8][arm]);
        let row = Row { arm: arm as u32, reward, propensity: probabilities[arm], ..Row::default() };
        log.push_row(&row).unwrap();
    }
    log
}

#[test]
fn an_algorithm_that_learns_ends_at_the_best_arm() {
    let found = run(arms(30_000, [1.0 / 3.0; 3]), "ucb-alone", &question()).unwrap();
    // A third of the log, by a fair three-sided die: within four standard deviations.
    assert!(found.taken.abs_diff(10_000) < 327, "{found:?}");
    // The last quarter of 2,500 decisions pays 0.8 but for what is explored: above 0.7 with room for four errors of 0.008.
    assert!(found.quarters[3] > 0.72, "{found:?}");
    assert!(found.quarters[3] > found.quarters[0], "{found:?}");
    assert!((found.logged - 0.5).abs() < 0.012, "{found:?}");
}

#[test]
fn arms_that_were_likelier_are_taken_no_more_often() {
    // The best arm is logged often, or seldom: about n p_min = 6,000 events are taken either way (four standard
    // deviations of a binomial are 294), and the best arm is found.
    for probabilities in [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]] {
        let found = run(arms(60_000, probabilities), "ucb-alone", &question()).unwrap();
        assert!(found.taken.abs_diff(6000) < 294, "{found:?}");
        assert!(found.quarters[3] > 0.7, "{found:?}");
    }
}

#[test]
fn contexts_of_what_is_taken_are_those_of_the_log() {
    // What is earned depends on the context alone, half of the time 0.9 and half 0.1: every policy is worth 0.5. The log
    // takes one arm in good contexts and the other in bad ones; who took all that agrees would find an arm worth 0.82.
    let mut log = Columns::new(["a", "b"].map(String::from).to_vec(), Vec::new());
    for row in 0..40_000 {
        let mut draw = Draw::keyed(4, Purpose::World, 5, row);
        let good = draw.uniform() < 0.5;
        let habit = draw.uniform() < 0.9;
        let reward = f64::from(draw.uniform() < if good { 0.9 } else { 0.1 });
        let propensity = if habit { 0.9 } else { 0.1 };
        let row = Row { arm: u32::from(good == habit), reward, propensity, ..Row::default() };
        log.push_row(&row).unwrap();
    }
    let found = run(log, "ucb-alone", &question()).unwrap();
    assert!((found.value - 0.5).abs() < 4.0 * found.standard_error, "{found:?}");
    assert!(found.standard_error < 0.01, "{found:?}");
}

#[test]
fn what_it_says_is_what_a_run_in_the_world_itself_earns() {
    // Logs by an uneven policy, thinned to about 600 decisions, against runs of 600 decisions in the world itself.
    let catalogue = Catalogue::new(ours());
    let environment = json!({ "kind": "arms", "clients": 1, "means": [[0.2, 0.5, 0.8]] });
    let scenario: Scenario =
        serde_json::from_value(json!({ "horizon": 600, "environment": environment })).unwrap();
    let (mut logged, mut lived) = (Vec::new(), Vec::new());
    for seed in 0..80 {
        let question = Question { seed, ..question() };
        logged.push(run(arms_of(seed, 3000, [0.6, 0.2, 0.2]), "ucb-alone", &question).unwrap().value);
        let report = catalogue
            .simulate("ucb-alone", &json!({}), &scenario, seed, Options::default(), &mut |_| true)
            .unwrap();
        lived.push(report.ledger.reward / report.ledger.steps as f64);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let error = |values: &[f64]| {
        let middle = mean(values);
        let squares = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
        (squares / (values.len() * (values.len() - 1)) as f64).sqrt()
    };
    let (off, error) = (mean(&logged) - mean(&lived), error(&logged).hypot(error(&lived)));
    assert!(off.abs() < 4.0 * error, "{} and {}: off by {off}, error {error}", mean(&logged), mean(&lived));
    // The error is small enough for this to say something: arms differ by 0.3.
    assert!(error < 0.005, "{error}");
}

#[test]
fn many_clients_and_contexts_run_through_the_simulator() {
    let log = example::log(20_000, 2).unwrap();
    let found = run(log.clone(), "linucb-alone", &question()).unwrap();
    assert_eq!((found.clients, found.clients_in_log), (20, 20));
    assert_eq!(found.transfers, 0);
    let shared = run(log.clone(), "async-linucb", &question()).unwrap();
    assert!(shared.transfers > 0);
    // The same seed, the same answer; another seed takes other events.
    assert_eq!(shared, run(log.clone(), "async-linucb", &question()).unwrap());
    let other = Question { seed: 2, ..question() };
    assert_ne!(shared.value, run(log.clone(), "async-linucb", &other).unwrap().value);
    // Without features, arms are told apart alone.
    let plain = Question { features: Some(ArmFeatures::None), ..question() };
    let told = run(log.clone(), "ucb-alone", &plain).unwrap();
    // Who takes no features is given none.
    assert_eq!(run(log.clone(), "ucb-alone", &question()).unwrap(), told);
    // With the same features for all, one shared model cannot tell them apart.
    let same = Question { features: Some(ArmFeatures::Same), ..question() };
    let alike = run(log.clone(), "linucb-alone", &same).unwrap();
    assert!(alike.warnings[0].starts_with("one arm was taken alone"), "{alike:?}");
    assert!(matches!(run(log, "linucb-alone", &plain), Err(LearnError::Run(_))));
}

#[test]
fn logs_that_leave_too_little_are_refused() {
    let few = run(arms(300, [0.9, 0.05, 0.05]), "ucb-alone", &question()).unwrap_err();
    assert!(few.to_string().contains("of 300 events are the algorithm's own"), "{few}");
    let forced = Question { force: true, ..question() };
    let found = run(arms(300, [0.9, 0.05, 0.05]), "ucb-alone", &forced).unwrap();
    assert!(found.warnings[0].starts_with("by --force"), "{found:?}");
    let mut certain = Columns::new(["a", "b"].map(String::from).to_vec(), Vec::new());
    for arm in [0, 1] {
        certain.push_row(&Row { arm, propensity: 1.0, ..Row::default() }).unwrap();
    }
    let refused = run(certain, "ucb-alone", &question()).unwrap_err();
    assert_eq!(refused, LearnError::Refused(Refusal::Deterministic));
}

/// Two arms in turn by a fair coin, and a third that is on offer and never taken.
fn without_the_third(rows: u64) -> Columns {
    let mut log = Columns::new(["a", "b", "c"].map(String::from).to_vec(), Vec::new());
    for row in 0..rows {
        let mut draw = Draw::keyed(6, Purpose::World, 8, row);
        let arm = u32::from(draw.uniform() < 0.5);
        let reward = f64::from(draw.uniform() < 0.5);
        log.push_row(&Row { arm, reward, propensity: 0.5, ..Row::default() }).unwrap();
    }
    log
}

#[test]
fn arms_that_the_log_never_shows_are_refused_by_name() {
    let refused = run(without_the_third(2000), "random", &question()).unwrap_err().to_string();
    assert!(refused.starts_with("the log never shows c, although it could"), "{refused}");
    // A third of the picks can never be taken: 667 and not 1,000 events are its own.
    let forced = Question { force: true, ..question() };
    let found = run(without_the_third(2000), "random", &forced).unwrap();
    assert!(found.warnings[0].starts_with("by --force: the log never shows c"), "{found:?}");
    assert!(found.warnings[1].contains("chance does not explain the difference"), "{found:?}");
    // Of a short log an arm may be missing by chance, and that is said.
    let mut short = without_the_third(60);
    short.push_row(&Row { arm: 0, propensity: 0.1, ..Row::default() }).unwrap();
    let few = Question { least_taken: 2, ..question() };
    let found = run(short, "random", &few).unwrap();
    assert!(
        found.warnings.iter().any(|w| w == "the log never shows c: of that it says nothing"),
        "{found:?}"
    );
}

#[test]
fn propensities_that_are_not_those_of_the_log_are_refused() {
    // Said to be a quarter each, and a third in truth.
    let mut log = Columns::new(["a", "b", "c"].map(String::from).to_vec(), Vec::new());
    let right = arms(4000, [1.0 / 3.0; 3]);
    for row in 0..4000 {
        let event = right.event(row);
        let row = Row { arm: event.arm, reward: event.reward, propensity: 0.25, ..Row::default() };
        log.push_row(&row).unwrap();
    }
    let refused = run(log.clone(), "ucb-alone", &question()).unwrap_err().to_string();
    assert!(refused.contains("makes it about 1000, and chance does not explain"), "{refused}");
    let forced = Question { force: true, ..question() };
    let found = run(log, "ucb-alone", &forced).unwrap();
    assert!(found.warnings[0].starts_with("by --force: "), "{found:?}");
    assert_eq!(run(right, "ucb-alone", &question()).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn rewards_that_an_algorithm_clips_are_counted_in_a_warning() {
    let mut log = Columns::new(["a", "b", "c"].map(String::from).to_vec(), Vec::new());
    let right = arms(3000, [1.0 / 3.0; 3]);
    for row in 0..3000 {
        let event = right.event(row);
        let row =
            Row { arm: event.arm, reward: 10.0 * event.reward, propensity: 1.0 / 3.0, ..Row::default() };
        log.push_row(&row).unwrap();
    }
    let found = run(log, "kl-ucb-alone", &question()).unwrap();
    assert!(found.warnings.iter().any(|w| w.starts_with("the algorithm clipped ")), "{found:?}");
}
