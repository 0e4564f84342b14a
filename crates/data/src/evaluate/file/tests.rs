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

#[test]
fn arms_that_were_not_offered_are_never_taken() {
    let mut text = "arm,reward,offered".to_string();
    for row in 0..300 {
        // Arm c is offered every third time, and a and b always.
        let (arm, offered) =
            if row % 3 == 0 { (["a", "b", "c"][row / 3 % 3], "a|b|c") } else { (["a", "b"][row % 2], "b|a") };
        text += &format!("\n{arm},{},{offered}", u8::from(arm == "b"));
    }
    let (_folder, path) = written(&text);
    let read = Names { uniform_logging: true, offered: Some("offered".into()), ..Names::default() };
    let file = LogFile::open(&path, &read).unwrap();
    assert_eq!((file.shape().least_offered, file.shape().propensities), (2, (1.0 / 3.0, 0.5)));
    // Uniform over what is offered is what was logged.
    let found = evaluate(&file, &Target::Uniform, &Settings::default()).unwrap();
    assert!((found.estimates[0].value - found.logged).abs() < 1e-12);
    assert!((found.diagnostics.effective - 300.0).abs() < 1e-9);
    assert_eq!(found.warnings, Vec::<String>::new());
    let refusal = evaluate(&file, &Target::Constant("c".into()), &Settings::default()).unwrap_err();
    assert!(refusal.to_string().contains("row 2: the policy's arm is not among those"), "{refusal}");
    assert!(evaluate(&file, &Target::BestOfLog, &Settings::default()).is_ok());
    let (_folder, path) = written("arm,reward,offered\na,1,a|b\nc,0,a|b\n");
    let refusal = evaluate(&LogFile::open(&path, &read).unwrap(), &Target::Uniform, &Settings::default());
    assert!(
        refusal
            .unwrap_err()
            .to_string()
            .ends_with("line 3: the arm that was taken is not among those that were offered")
    );
}

#[test]
fn a_context_must_not_hold_what_has_a_role() {
    let (_folder, path) =
        written("arm,reward,propensity,place,who,offered,x\na,1,0.5,1,u,a|b,1\nb,0,0.5,1,u,a|b,2\n");
    let read = |context: &[&str]| Names {
        position: Some("place".into()),
        client: Some("who".into()),
        with_clients: true,
        offered: Some("offered".into()),
        ..names(context)
    };
    for column in ["arm", "reward", "propensity", "place", "who", "offered"] {
        let refusal = LogFile::open(&path, &read(&["x", column])).unwrap_err().to_string();
        let says = format!("--context: column `{column}` is the ");
        assert!(refusal.starts_with(&says) && refusal.ends_with("a context must not hold it"), "{refusal}");
    }
    let twice = LogFile::open(&path, &read(&["x", "x"])).unwrap_err().to_string();
    assert_eq!(twice, "--context: column `x` is named twice");
    assert_eq!(LogFile::open(&path, &read(&["x"])).unwrap().shape().features, ["x"]);
}

#[test]
fn an_offer_of_nothing_is_refused_with_its_line() {
    let read = Names { uniform_logging: true, offered: Some("offered".into()), ..Names::default() };
    for nothing in ["|", " | ", "||"] {
        let (_folder, path) = written(&format!("arm,reward,offered\na,1,a|b\nb,0,{nothing}\n"));
        let refusal = LogFile::open(&path, &read).unwrap_err().to_string();
        assert!(refusal.contains("line 3: no arm is on offer"), "{refusal}");
    }
}

#[test]
fn more_names_than_there_can_be_are_refused_with_their_number() {
    let placed = Names { position: Some("place".into()), uniform_logging: true, ..Names::default() };
    let text =
        |rows: usize| (0..rows).fold("arm,reward,place".to_string(), |text, n| text + &format!("\na,1,{n}"));
    let (_folder, path) = written(&text(MOST_POSITIONS));
    assert_eq!(LogFile::open(&path, &placed).unwrap().shape().positions.len(), 1000);
    let (_folder, path) = written(&text(MOST_POSITIONS + 1));
    let refusal = LogFile::open(&path, &placed).unwrap_err().to_string();
    assert!(refusal.starts_with("the log has more than 1000 different positions"), "{refusal}");
    let mut names: HashMap<String, u32> = HashMap::new();
    note(&mut names, "a", "arms", 1).unwrap();
    note(&mut names, "a", "arms", 1).unwrap();
    assert_eq!(note(&mut names, "b", "arms", 1), Err(Refusal::TooMany { what: "arms", most: 1 }));
    let arms = (0..=MOST_ARMS).fold("arm,reward".to_string(), |text, n| text + &format!("\n{n},1"));
    let (_folder, path) = written(&arms);
    let uniform = Names { uniform_logging: true, ..Names::default() };
    let refusal = LogFile::open(&path, &uniform).unwrap_err();
    assert_eq!(refusal, Refusal::TooMany { what: "arms", most: MOST_ARMS });
}
