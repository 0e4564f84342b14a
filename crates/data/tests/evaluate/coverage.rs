//! Do intervals hold the truth as often as they say? Logs of a world whose truth is known.
//!
//! `CAHOOTS_LOGS=1000 cargo test -p cahoots-data --test evaluate coverage -- --nocapture` tries more of them.

use cahoots_data::evaluate::{Interval, Settings, Target, evaluate, example};
use statrs::distribution::{Binomial, DiscreteCDF as _};

/// Decisions in each log.
const ROWS: u64 = 1000;
/// How rarely a right program may fail this test, interval by interval.
const FAILS: f64 = 1e-4;

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let logs: u64 = match std::env::var("CAHOOTS_LOGS") {
        Ok(text) => text.parse().expect("CAHOOTS_LOGS is a number"),
        Err(_) => 200,
    };
    let truth = example::worth(example::target);
    let settings = Settings { bootstrap: 400, ..Settings::default() };
    let names = ["ips", "snips", "dm", "dr", "switch", "switch, tau by its rule", "switch, tau 2"];
    let mut missed = [[0u64; 3]; 7];
    for log in 0..logs {
        let columns = example::log(ROWS, 1000 + log).unwrap();
        // The threshold is stated, and above every weight here: what SWITCH estimates is then the truth, too.
        let with = |tau| {
            let settings = Settings { tau, seed: log, ..settings.clone() };
            evaluate(&columns, &Target::Columns, &settings).unwrap().estimates
        };
        let mut estimates = with(Some(50.0));
        estimates.extend(with(None).pop());
        estimates.extend(with(Some(2.0)).pop());
        for (index, estimate) in estimates.iter().enumerate() {
            assert!(names[index].starts_with(estimate.estimator));
            let misses =
                |interval: Option<Interval>| interval.is_some_and(|(low, high)| truth < low || truth > high);
            let intervals = [Some(estimate.normal), estimate.bootstrap, estimate.anytime];
            for (count, interval) in missed[index].iter_mut().zip(intervals) {
                *count += u64::from(misses(interval));
            }
        }
    }
    let law = Binomial::new(0.05, logs).unwrap();
    let (least, most) = (law.inverse_cdf(FAILS / 2.0), law.inverse_cdf(1.0 - FAILS / 2.0));
    println!("misses of {logs} logs of {ROWS} decisions (5% would be {}):", logs as f64 * 0.05);
    for (name, [normal, bootstrap, anytime]) in names.iter().zip(missed) {
        println!("{name:23} normal {normal:4}  bootstrap {bootstrap:4}  at any time {anytime:4}");
    }
    let unbiased = names.iter().zip(missed).filter(|(name, _)| !["dm", "switch, tau 2"].contains(name));
    for (name, [normal, bootstrap, anytime]) in unbiased {
        for (kind, count) in [("normal", normal), ("bootstrap", bootstrap)] {
            assert!((least..=most).contains(&count), "{name}, {kind}: {count} not in {least}..={most}");
        }
        assert!(anytime <= most, "{name}, at any time: {anytime} above {most}");
    }
    // The models are wrong here: the interval of the direct method does not know it, nor that of a SWITCH that trusts
    // them for every weight above 2.
    assert!(missed[2][0] > most, "the direct method missed {} times", missed[2][0]);
    assert!(missed[6][0] > most, "SWITCH with a small threshold missed {} times", missed[6][0]);
}

#[test]
fn a_policy_that_was_fitted_is_judged_on_what_it_has_not_seen() {
    // The best constant arm is worth max over arms of its mean chance; a policy that is fitted to half of the log and
    // evaluated on all of it would be overrated. Nothing here may depend on the half that it was fitted to.
    let columns = example::log(4000, 5).unwrap();
    let settings = Settings { bootstrap: 0, ..Settings::default() };
    let found = evaluate(&columns, &Target::GreedyLinear { epsilon: 0.1 }, &settings).unwrap();
    let evaluated = found.diagnostics.rows;
    assert_eq!(found.fitted_on + evaluated, 4000);
    // Halves by a fair coin: within four standard deviations of 2000.
    assert!(evaluated.abs_diff(2000) < 127, "{evaluated}");
}

#[test]
fn the_logging_policy_is_worth_the_mean_reward() {
    let columns = example::log(500, 3).unwrap();
    let found = evaluate(&columns, &Target::Logged, &Settings::default()).unwrap();
    for name in ["ips", "snips", "dr", "switch"] {
        let estimate = found.estimates.iter().find(|estimate| estimate.estimator == name).unwrap();
        assert!((estimate.value - found.logged).abs() < 1e-12, "{name}");
    }
    assert_eq!(found.diagnostics.effective, 500.0);
}
