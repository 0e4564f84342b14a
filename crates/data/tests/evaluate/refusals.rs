//! What a log cannot answer is refused, and said where it is forced.

use cahoots_data::evaluate::{Columns, Refusal, Row, Settings, Target, evaluate, example};

fn log(rows: &[(u32, f64, f64)]) -> Columns {
    let mut log = Columns::new(["a", "b", "c"].map(String::from).to_vec(), Vec::new());
    for &(arm, propensity, reward) in rows {
        log.push_row(&Row { arm, propensity, reward, ..Row::default() }).unwrap();
    }
    log
}

#[test]
fn a_log_without_chance_is_refused_unless_it_is_asked_for_itself() {
    let log = log(&[(0, 1.0, 0.5), (1, 1.0, 0.25)].repeat(100));
    let settings = Settings::default();
    assert_eq!(evaluate(&log, &Target::Uniform, &settings).unwrap_err(), Refusal::Deterministic);
    assert_eq!(evaluate(&log, &Target::Logged, &settings).unwrap().estimates[0].value, 0.375);
}

#[test]
fn propensities_that_are_none_are_refused_with_their_row() {
    for wrong in [0.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let mut log = log(&[(0, 0.5, 1.0)]);
        let row = Row { propensity: wrong, ..Row::default() };
        match log.push_row(&row).unwrap_err() {
            Refusal::Propensity { place, .. } => assert_eq!(place, "row 2"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_policy_that_goes_where_the_log_never_went_is_refused() {
    let log = log(&[(0, 0.5, 1.0), (1, 0.5, 0.0)].repeat(100));
    match evaluate(&log, &Target::Uniform, &Settings::default()).unwrap_err() {
        Refusal::NoOverlap { share, never } => {
            assert!((share - 100.0 / 3.0).abs() < 1e-9);
            assert_eq!(never, "c");
        }
        other => panic!("{other}"),
    }
    let forced = Settings { force: true, ..Settings::default() };
    let found = evaluate(&log, &Target::Uniform, &forced).unwrap();
    assert!(found.warnings.iter().any(|warning| warning.starts_with("by --force: the policy puts 33.3%")));
    // Arms that the log shows are answered for.
    assert!(evaluate(&log, &Target::Constant("a".into()), &Settings::default()).is_ok());
    assert!(matches!(
        evaluate(&log, &Target::Constant("d".into()), &Settings::default()),
        Err(Refusal::Question(_))
    ));
}

#[test]
fn too_few_effective_decisions_are_refused() {
    let mut rows = vec![(0, 0.99, 1.0); 990];
    rows.extend([(1, 0.01, 1.0); 10]);
    let log = log(&rows);
    let target = Target::Constant("b".into());
    match evaluate(&log, &target, &Settings::default()).unwrap_err() {
        Refusal::FewEffective { effective, floor, .. } => {
            assert!((effective - 10.0).abs() < 1e-9);
            assert_eq!(floor, 50.0);
        }
        other => panic!("{other}"),
    }
    let lower = Settings { least_effective: 10.0, ..Settings::default() };
    assert!(evaluate(&log, &target, &lower).is_ok());
}

#[test]
fn propensities_that_do_not_fit_are_warned_of_and_right_ones_are_not() {
    let right = evaluate(&example::log(5000, 1).unwrap(), &Target::Columns, &Settings::default()).unwrap();
    assert_eq!(right.warnings, Vec::<String>::new());
    // Halves of what they were: 1/p adds up to 2.
    let half = log(&[(0, 0.25, 1.0), (1, 0.25, 0.0)].repeat(500));
    let found = evaluate(&half, &Target::Constant("a".into()), &Settings::default()).unwrap();
    assert!(found.warnings.iter().any(|warning| warning.contains("propensities are too small")), "{found:?}");
    assert!(found.warnings.iter().any(|warning| warning.contains("do not fit how often")), "{found:?}");
}

#[test]
fn rewards_without_any_spread_are_warned_of() {
    let log = log(&[(0, 0.5, 0.0), (1, 0.5, 0.0)].repeat(100));
    let found = evaluate(&log, &Target::Constant("a".into()), &Settings::default()).unwrap();
    assert!(
        found.warnings.iter().any(|warning| warning.starts_with("all weighted rewards are equal")),
        "{found:?}"
    );
}

#[test]
fn stated_bounds_are_held_against_the_log() {
    let log = log(&[(0, 0.5, 1.0), (1, 0.25, 0.0)].repeat(100));
    let target = Target::Constant("a".into());
    let least = Settings { least_propensity: Some(0.3), ..Settings::default() };
    assert!(matches!(evaluate(&log, &target, &least), Err(Refusal::Bound { row: 2, .. })));
    let range = Settings { rewards: Some((0.0, 0.9)), ..Settings::default() };
    assert!(matches!(evaluate(&log, &target, &range), Err(Refusal::Bound { row: 1, .. })));
}

#[test]
fn weights_beyond_all_numbers_are_refused() {
    // 1/p is infinite, and infinite weights have no effective size: not below any floor, nor above.
    let log = log(&[(0, 1e-310, 1.0), (1, 0.5, 0.0)].repeat(100));
    let target = Target::Constant("a".into());
    match evaluate(&log, &target, &Settings::default()).unwrap_err() {
        Refusal::FewEffective { effective, .. } => assert!(effective.is_nan()),
        other => panic!("{other}"),
    }
}

#[test]
fn rows_with_and_without_a_policy_do_not_mix() {
    let without = Row { propensity: 0.5, ..Row::default() };
    let with = Row { target: vec![0.5, 0.5, 0.0], ..without.clone() };
    for (first, second) in [(&with, &without), (&without, &with)] {
        let mut log = log(&[]);
        log.push_row(first).unwrap();
        let refusal = log.push_row(second).unwrap_err().to_string();
        assert_eq!(refusal, "row 2: the probabilities of the policy in every row, or in none");
    }
}

#[test]
fn numbers_that_are_no_positions_or_clients_are_refused() {
    let row = Row { propensity: 0.5, ..Row::default() };
    let mut log = log(&[]);
    let far = Row { position: 1000, ..row.clone() };
    assert_eq!(log.push_row(&far).unwrap_err(), Refusal::TooMany { what: "positions", most: 1000 });
    let many = Row { client: 1_000_000, ..row };
    assert_eq!(log.push_row(&many).unwrap_err(), Refusal::TooMany { what: "clients", most: 1_000_000 });
}

/// Propensities that are all alike, and all wrong: weights have no spread, and are no less wrong for that.
#[test]
fn weights_that_never_vary_can_be_wrong() {
    let found = |propensity: f64| {
        let rows: Vec<_> = (0..900).map(|row| (row % 3, propensity, f64::from(row % 2))).collect();
        evaluate(&log(&rows), &Target::Uniform, &Settings::default()).unwrap()
    };
    let wrong = found(0.3);
    assert_eq!(wrong.diagnostics.mean_weight_off, f64::INFINITY);
    let said = wrong.warnings.iter().any(|line| line.contains("weights have a mean of 1.111"));
    assert!(said, "{:?}", wrong.warnings);
    let right = found(1.0 / 3.0);
    assert_eq!((right.diagnostics.mean_weight_off, &right.warnings), (0.0, &Vec::new()));
}
