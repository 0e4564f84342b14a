use std::fs;

use super::super::example;
use super::super::{Columns, Settings, Target, evaluate};
use super::*;

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn names(context: &[&str]) -> Names {
    Names { context: context.iter().map(ToString::to_string).collect(), ..Names::default() }
}

#[test]
fn a_file_says_what_the_log_in_memory_says() {
    let (_folder, path) = written(&example::csv(800, 4).unwrap());
    let read = Names { target: Some("target_".into()), ..names(&example::FEATURES) };
    let file = LogFile::open(&path, &read).unwrap();
    assert_eq!(file.shape().arms, ["blue", "green", "grey", "red"]);
    let settings = Settings { bootstrap: 50, ..Settings::default() };
    let from_file = evaluate(&file, &Target::Columns, &settings).unwrap();
    let held = evaluate(&Columns::of(&file).unwrap(), &Target::Columns, &settings).unwrap();
    assert_eq!(from_file, held);
    // Arms are in another order here, which changes no more than rounding.
    let made = evaluate(&example::log(800, 4).unwrap(), &Target::Columns, &settings).unwrap();
    for (found, made) in from_file.estimates.iter().zip(&made.estimates) {
        assert!((found.value - made.value).abs() < 1e-12, "{}", found.estimator);
    }
}

#[test]
fn words_become_features_and_numbers_stay() {
    let (_folder, path) = written(
        "where,age,arm,reward,propensity\nhome,3.5,b,1,0.5\nshop,4,a,0,0.5\n,1,a,0,0.5\nhome,2,b,1,0.5\n",
    );
    let file = LogFile::open(&path, &names(&["where", "age"])).unwrap();
    assert_eq!(file.shape().features, ["where=", "where=home", "where=shop", "age"]);
    let mut seen = Vec::new();
    file.each(&mut |event| {
        seen.push((event.arm, event.context.to_vec()));
        Ok(())
    })
    .unwrap();
    assert_eq!(seen[0], (1, vec![0.0, 1.0, 0.0, 3.5]));
    assert_eq!(seen[2], (0, vec![1.0, 0.0, 0.0, 1.0]));
}

#[test]
fn without_propensities_one_has_to_say_that_logging_was_uniform() {
    let (_folder, path) = written("arm,reward\na,1\nb,0\n");
    assert_eq!(LogFile::open(&path, &Names::default()).unwrap_err(), Refusal::NoPropensities);
    let told = Names { uniform_logging: true, ..Names::default() };
    assert_eq!(LogFile::open(&path, &told).unwrap().shape().propensities, (0.5, 0.5));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (cell, says) in [
        ("0", "line 3: a propensity of 0:"),
        ("1.5", "line 3: a propensity of 1.5:"),
        ("", "line 3: the propensity is missing"),
        ("x", "line 3: column `propensity` is \"x\", which is no number"),
    ] {
        let (_folder, path) = written(&format!("arm,reward,propensity\na,1,0.5\nb,0,{cell}\n"));
        let refusal = LogFile::open(&path, &Names::default()).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
    }
}

#[test]
fn probabilities_that_do_not_add_up_are_refused_with_their_line() {
    let (_folder, path) = written("arm,reward,propensity,to_a,to_b\na,1,0.5,0.5,0.5\nb,0,0.5,0.5,0.6\n");
    let read = Names { target: Some("to_".into()), ..Names::default() };
    let file = LogFile::open(&path, &read).unwrap();
    let refusal = evaluate(&file, &Target::Columns, &Settings::default()).unwrap_err().to_string();
    assert!(refusal.contains("line 3: the probabilities of the policy add up to 1.1"), "{refusal}");
}

#[test]
fn a_folder_of_open_bandit_is_recognised() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("all");
    fs::create_dir(&folder).unwrap();
    let mut text = ",timestamp,item_id,position,click,propensity_score".to_string();
    (0..4).for_each(|number| text += &format!(",user_feature_{number}"));
    for row in 0..12 {
        text += &format!("\n{row},2019,{},{},{},0.25,u,v,w,x{}", row % 4, row % 3 + 1, row % 2, row % 2);
    }
    fs::write(folder.join("all.csv"), text).unwrap();
    fs::write(folder.join("item_context.csv"), ",item_id\n0,0\n").unwrap();
    let file = LogFile::open(&folder, &Names::default()).unwrap();
    assert_eq!((file.shape().arms.len(), file.shape().positions.len(), file.shape().rows), (4, 3, 12));
    assert_eq!(file.shape().features.len(), 5);
    let refusal = LogFile::open(above.path(), &Names::default()).unwrap_err().to_string();
    assert!(refusal.contains("a folder of folders (all)"), "{refusal}");
}
