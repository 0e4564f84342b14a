//! What a user reads when an experiment file is wrong. The snapshots are the messages.

use std::path::Path;

use cahoots_lab::experiment::Source;
use cahoots_lab::{LabError, catalogue, from_text, load};

const GOOD: &str = r#"name = "good"
horizon = 50
seeds = 2

[environment]
kind = "linear"
clients = 4
dim = 3
arms = 4

[[algorithm]]
kind = "async-linucb"
"#;

/// The message about a file that differs from a good one in one place.
fn message(good: &str, bad: &str) -> String {
    assert!(GOOD.contains(good), "{good}");
    message_of(&GOOD.replace(good, bad))
}

fn message_of(text: &str) -> String {
    match from_text(&catalogue(), Source { name: "bad.toml".into(), text: text.into() }, None) {
        Err(LabError::Input(message)) => message,
        other => panic!("{:?}", other.map(|experiment| experiment.entries.len())),
    }
}

#[test]
fn the_good_file_is_good() {
    let experiment =
        from_text(&catalogue(), Source { name: "x".into(), text: GOOD.into() }, Some(7)).unwrap();
    assert_eq!((experiment.name.as_str(), experiment.entries.len(), experiment.seeds.len()), ("good", 1, 7));
}

#[test]
fn a_missing_file() {
    insta::assert_snapshot!(load(&catalogue(), Path::new("no/such.toml"), None).unwrap_err());
}

#[test]
fn whole_files() {
    insta::assert_snapshot!("empty", message_of(""));
    insta::assert_snapshot!("only_comments", message_of("# nothing yet\n"));
    insta::assert_snapshot!("not_toml", message_of("horizon = = 3\n"));
    insta::assert_snapshot!("nothing_but_a_horizon", message_of("horizon = 3\n"));
    insta::assert_snapshot!("single_brackets", message("[[algorithm]]", "[algorithm]"));
}

#[test]
fn keys() {
    insta::assert_snapshot!("unknown_key", message("dim = 3", "dims = 3"));
    insta::assert_snapshot!(
        "unknown_key_of_algorithm",
        message("\"async-linucb\"", "\"async-linucb\"\nuplod_ratio = 5")
    );
    insta::assert_snapshot!("unknown_key_at_the_top", message("seeds = 2", "seed = 2"));
    insta::assert_snapshot!("misspelt_required_key", message("horizon = 50", "horizont = 50"));
    insta::assert_snapshot!("missing_horizon", message("horizon = 50\n", ""));
    insta::assert_snapshot!("misplaced_key", message("arms = 4", "arms = 4\nseeds = 3"));
    insta::assert_snapshot!("strange_key", message("dim = 3", "dim = 3\ntemperature = 3"));
}

#[test]
fn kinds() {
    insta::assert_snapshot!("unknown_environment", message("\"linear\"", "\"liner\""));
    insta::assert_snapshot!("unknown_algorithm", message("\"async-linucb\"", "\"async-linubc\""));
    insta::assert_snapshot!("no_kind", message("kind = \"linear\"\n", ""));
    insta::assert_snapshot!("kind_of_wrong_type", message("\"async-linucb\"", "3"));
    insta::assert_snapshot!(
        "unknown_word",
        message("\"async-linucb\"", "\"async-linucb\"\nfidelity = \"authers\"")
    );
    insta::assert_snapshot!("algorithm_in_the_wrong_world", message("\"async-linucb\"", "\"ucb-alone\""));
}

#[test]
fn values() {
    insta::assert_snapshot!("negative_noise", message("dim = 3", "dim = 3\nreward_noise = -0.1"));
    insta::assert_snapshot!("zero_clients", message("clients = 4", "clients = 0"));
    insta::assert_snapshot!("nan", message("dim = 3", "dim = 3\nreward_noise = nan"));
    insta::assert_snapshot!("infinite_noise", message("dim = 3", "dim = 3\nreward_noise = inf"));
    insta::assert_snapshot!("wrong_type", message("clients = 4", "clients = \"four\""));
    insta::assert_snapshot!("fraction", message("clients = 4", "clients = 4.0"));
    insta::assert_snapshot!("zero_horizon", message("horizon = 50", "horizon = 0"));
    insta::assert_snapshot!("ratio_below_one", message("\"async-linucb\"", "\"async-linucb\"\nratio = 0.5"));
    insta::assert_snapshot!(
        "ratios_of_wrong_length",
        message("\"async-linucb\"", "\"async-linucb\"\nupload_ratio = { per_client = [2, 3] }")
    );
    insta::assert_snapshot!(
        "lossy_network",
        message("[[algorithm]]", "[network]\nloss = 1.0\n\n[[algorithm]]")
    );
    insta::assert_snapshot!(
        "probability",
        message("[[algorithm]]", "[rewards]\nloss = 1.5\n\n[[algorithm]]")
    );
    insta::assert_snapshot!("arrivals", message("arms = 4", "arms = 4\narrivals = { zip = 1.2 }"));
    insta::assert_snapshot!("seeds_twice", message("seeds = 2", "seeds = [1, 2, 1]"));
    insta::assert_snapshot!("name_of_a_path", message("\"good\"", "\"../up\""));
}

#[test]
fn sweeps() {
    insta::assert_snapshot!(
        "bad_cell",
        message("\"async-linucb\"", "\"async-linucb\"\nupload_ratio = [2, 0.5, 3]")
    );
    insta::assert_snapshot!(
        "bad_range",
        message("dim = 3", "dim = 3\nreward_noise = { logspace = [0, 1, 3] }")
    );
    insta::assert_snapshot!("empty_sweep", message("clients = 4", "clients = []"));
    insta::assert_snapshot!(
        "the_same_twice",
        message_of(&(GOOD.to_string() + "\n[[algorithm]]\nkind = \"async-linucb\"\n"))
    );
}

#[test]
fn several_complaints_come_at_once() {
    insta::assert_snapshot!(message("clients = 4\ndim = 3", "clients = -1\ndims = 3\npool = \"bal\""));
}
