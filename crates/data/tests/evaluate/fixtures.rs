//! What `make_fixtures.py` found with another implementation.

use cahoots_data::evaluate::{Columns, Evaluation, Interval, Row, Settings, Target, evaluate};
use serde_json::Value as Json;

/// How far two implementations may differ, relative to numbers above 1.
const TOLERANCE: f64 = 1e-9;

#[test]
fn all_numbers_are_those_of_a_second_implementation() {
    let fixtures: Json = serde_json::from_str(include_str!("fixtures.json")).unwrap();
    let cases = fixtures["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    let mut inside = Vec::new();
    for case in cases {
        let found = evaluated(case);
        compare(case, &found);
        // Sequences that end at the range of rewards would be equal whatever they were made of.
        let narrow = |interval: Option<Interval>| interval.is_some_and(|(low, high)| low > 0.0 && high < 1.0);
        let named = found.estimates.iter().filter(|e| case["name"] == "narrow" && narrow(e.anytime));
        inside.extend(named.map(|estimate| estimate.estimator));
    }
    assert_eq!(inside, ["ips", "snips", "dr"]);
}

#[test]
fn what_moves_with_the_models_has_no_interval_at_any_time() {
    let fixtures: Json = serde_json::from_str(include_str!("fixtures.json")).unwrap();
    let case = fixtures["cases"].as_array().unwrap().iter().find(|case| case["name"] == "narrow").unwrap();
    let anytime = |clip: Option<f64>, tau: Option<f64>| {
        let found = evaluated_with(case, clip, tau);
        let of = |name| found.estimates.iter().find(|e| e.estimator == name).unwrap().anytime;
        (of("ips"), of("dr"), of("switch"), found.diagnostics.largest_possible)
    };
    // Every weight is at most 1 / 0.4629: a threshold above keeps all, and switch is dr.
    let (_, dr, switch, largest) = anytime(None, Some(2.2));
    assert!(largest > 2.1 && largest < 2.2, "{largest}");
    assert!(dr.is_some_and(|(low, high)| low > 0.0 && high < 1.0), "{dr:?}");
    assert_eq!(switch, dr);
    assert_eq!(anytime(None, Some(largest)).2, dr);
    // Below, models stand in for what is left out; a clipped dr has what was cut replaced by them.
    assert_eq!(anytime(None, Some(2.1)).2, None);
    assert_eq!(anytime(None, None).2, None);
    let (ips, clipped, _, _) = anytime(Some(1.5), None);
    assert!(ips.is_some());
    assert_eq!(clipped, None);
}

fn evaluated(case: &Json) -> Evaluation {
    evaluated_with(case, case["clip"].as_f64(), case["stated_tau"].as_f64())
}

fn evaluated_with(case: &Json, clip: Option<f64>, tau: Option<f64>) -> Evaluation {
    let names = |count: &Json, prefix: &str| {
        (0..count.as_u64().unwrap()).map(|number| format!("{prefix}{number}")).collect::<Vec<_>>()
    };
    let numbers =
        |list: &Json| list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>();
    let mut log = Columns::new(names(&case["arms"], "a"), names(&case["dim"], "x"));
    for row in case["log"].as_array().unwrap() {
        let whole = |key: &str| row[key].as_u64().unwrap() as u32;
        let row = Row {
            client: 0,
            arm: whole("arm"),
            position: whole("position"),
            reward: row["reward"].as_f64().unwrap(),
            propensity: row["propensity"].as_f64().unwrap(),
            context: numbers(&row["context"]),
            target: numbers(&row["target"]),
            ..Row::default()
        };
        log.push_row(&row).unwrap();
    }
    let settings = Settings {
        folds: case["folds"].as_u64().unwrap() as usize,
        ridge: case["ridge"].as_f64().unwrap(),
        clip,
        tau,
        seed: case["seed"].as_u64().unwrap(),
        least_effective: 10.0,
        ..Settings::default()
    };
    evaluate(&log, &Target::Columns, &settings).unwrap()
}

fn compare(case: &Json, found: &Evaluation) {
    let name = &case["name"];
    let expected = &case["expected"];
    let near = |what: &str, found: f64, expected: &Json| {
        let expected = expected.as_f64().unwrap_or_else(|| panic!("{name}: no {what}"));
        let off = (found - expected).abs();
        assert!(off <= TOLERANCE * expected.abs().max(1.0), "{name}: {what} is {found}, not {expected}");
    };
    assert_eq!(expected["estimates"].as_object().unwrap().len(), found.estimates.len());
    for estimate in &found.estimates {
        let expected = &expected["estimates"][estimate.estimator];
        let of = |what: &str| format!("{what} of {}", estimate.estimator);
        near(&of("value"), estimate.value, &expected["value"]);
        near(&of("standard error"), estimate.standard_error, &expected["standard_error"]);
        near(&of("normal interval"), estimate.normal.0, &expected["normal"][0]);
        near(&of("normal interval"), estimate.normal.1, &expected["normal"][1]);
        match estimate.anytime {
            Some((low, high)) => {
                near(&of("sequence"), low, &expected["anytime"][0]);
                near(&of("sequence"), high, &expected["anytime"][1]);
            }
            None => assert!(expected["anytime"].is_null(), "{name}: no sequence of {}", estimate.estimator),
        }
        if estimate.estimator == "switch" {
            assert_eq!(
                estimate.tau.filter(|tau| tau.is_finite()),
                case["expected"]["tau"].as_f64(),
                "{name}"
            );
        }
    }
    let seen = &found.diagnostics;
    near("effective sample size", seen.effective, &expected["effective"]);
    near("mean weight", seen.mean_weight, &expected["mean_weight"]);
    near("mean weight's distance", seen.mean_weight_off, &expected["mean_weight_off"]);
    near("largest share", seen.largest_share, &expected["largest_share"]);
    for (at, weight) in seen.weight_quantiles.iter().enumerate() {
        near("weight quantile", *weight, &expected["weight_quantiles"][at]);
    }
    let worst = seen.calibration.as_ref().unwrap();
    near("calibration", worst.mean, &expected["calibration"][0]);
    near("calibration's distance", worst.standard_errors, &expected["calibration"][1]);
}
