//! The Open Bandit Dataset itself, where a folder with it is given: `CAHOOTS_DATA=DIR` (with `obd-small` in it).

use std::path::PathBuf;

use cahoots_data::evaluate::{Log as _, LogFile, Names, Settings, Target, evaluate};

#[test]
fn folders_of_the_dataset_are_read_and_estimates_agree_across_policies() {
    let Some(folder) = std::env::var_os("CAHOOTS_DATA").map(|dir| PathBuf::from(dir).join("obd-small"))
    else {
        println!("not run: CAHOOTS_DATA names no folder with obd-small in it");
        return;
    };
    let open = |path: &str| LogFile::open(&folder.join(path), &Names::default()).unwrap();
    let (random, bts) = (open("random/all"), open("bts/all"));
    for log in [&random, &bts] {
        assert_eq!((log.shape().arms.len(), log.shape().positions.len()), (80, 3));
        assert_eq!(log.shape().rows, 10_000);
    }
    let settings = Settings { bootstrap: 200, ..Settings::default() };
    // Every propensity of the random policy is 1/80 in each position: weights are 1, and the estimate the mean.
    let own = evaluate(&random, &Target::Uniform, &settings).unwrap();
    assert!((own.estimates[0].value - own.logged).abs() < 1e-12);
    assert!((own.diagnostics.effective - 10_000.0).abs() < 1e-6);
    // The random policy from the other one's log: within four standard errors of what it did earn.
    let other = evaluate(&bts, &Target::Uniform, &Settings { force: true, ..settings }).unwrap();
    for estimate in
        other.estimates.iter().filter(|estimate| ["ips", "snips", "dr"].contains(&estimate.estimator))
    {
        let error = estimate.standard_error.hypot(own.estimates[0].standard_error);
        println!("{}: {:.5} ± {:.5}, in truth {:.5}", estimate.estimator, estimate.value, error, own.logged);
        assert!((estimate.value - own.logged).abs() < 4.0 * error, "{estimate:?}");
    }
    println!("{:#?}", other.diagnostics);
    println!("{:#?}", other.warnings);
}
