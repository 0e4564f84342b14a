//! What a table does not show is said below it, with the key to turn.

mod common;

use cahoots_lab::results::no_theory;
use cahoots_lab::run::{Outcome, Start, run};
use cahoots_lab::{LabError, catalogue};
use common::{experiment, options, read};

fn go(text: &str) -> Result<Outcome, LabError> {
    let folder = tempfile::tempdir().unwrap();
    run(&read(text)?, &folder.path().join("out"), &options(Start::Fresh, 2))
}

fn warnings(text: &str) -> Vec<String> {
    go(text).unwrap().warnings
}

#[test]
fn the_page_of_a_run_says_what_is_said_below_its_table() {
    let text = |mean: f64| {
        format!(
            "horizon = 200\nseeds = 2\n[environment]\nkind = \"arms\"\narrivals = \"all\"\nclients = 3\n\
             rewards = \"gaussian\"\nmeans = [[{mean:?}, 0.4]]\nreward_noise = 0.01\n\
             [[algorithm]]\nkind = \"cdp-mab\"\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (mean, warned) in [(5.0, true), (0.6, false)] {
        let start = if warned { Start::Fresh } else { Start::Force };
        let outcome = run(&experiment(&text(mean)), &out, &options(start, 2));
        assert_eq!(outcome.unwrap().warnings.len(), usize::from(warned));
        let page = cahoots_lab::report::of_run(&catalogue(), &out, None, no_theory).unwrap();
        let said = std::fs::read_to_string(page).unwrap();
        assert_eq!(said.contains("to which cdp-mab clips them"), warned, "{mean}");
    }
}

#[test]
fn rewards_that_are_clipped_are_said_to_be() {
    let arms = |world: &str| {
        format!(
            "horizon = 200\nseeds = 2\n[environment]\nkind = \"arms\"\narrivals = \"all\"\nclients = 3\n{world}\n\
             [[algorithm]]\nkind = \"cdp-mab\"\ndp_epsilon = [1, 2]\n"
        )
    };
    let said = warnings(&arms("rewards = \"gaussian\"\nmeans = [[5.0, 4.0]]\nreward_noise = 0.1"));
    assert_eq!(
        said,
        [
            "cdp-mab dp_epsilon=1 and 1 more: 100% of the rewards lie outside [0, 1], to which cdp-mab clips them: \
          see `means` and `reward_noise` in [environment]"
        ]
    );
    assert_eq!(warnings(&arms("means = [[0.9, 0.4]]")), [""; 0]);
    let linear = |range: &str| {
        format!(
            "horizon = 300\nseeds = 2\n[environment]\nkind = \"linear\"\nclients = 3\ndim = 3\narms = 3\nreward_noise = 1.0\n\
             [[algorithm]]\nkind = \"private-linucb\"\ndp_delta = 1e-5\n{range}\n"
        )
    };
    let said = warnings(&linear(""));
    assert!(said.len() == 1 && said[0].contains("outside [-1, 1]"), "{said:?}");
    assert!(said[0].ends_with("state its `reward_range`"), "{said:?}");
    assert_eq!(warnings(&linear("reward_range = [-6.0, 6.0]")), [""; 0]);
}

/// The confidence radius of the paper is so wide that a client alone, with the usual one, does better for long.
#[test]
fn constants_of_a_proof_that_lose_to_nobody_at_all_are_named() {
    let text = |key: &str| {
        format!(
            "horizon = 20000\nseeds = 3\n[environment]\nkind = \"users\"\n\
             [[algorithm]]\nkind = \"fclub\"\n{key}\n[[algorithm]]\nkind = \"linucb-alone\"\n"
        )
    };
    let said = warnings(&text(""));
    assert!(
        said.len() == 1
            && said[0].starts_with("fclub: more regret than linucb-alone, which shares nothing (+"),
        "{said:?}"
    );
    assert!(said[0].ends_with("`radius_scale` is the key to turn, or a longer `horizon`"), "{said:?}");
    assert_eq!(warnings(&text("radius_scale = 0.05")), [""; 0]);
}

#[test]
fn whoever_is_offline_must_be_there() {
    let text = |client: u32, world: &str, algorithm: &str| {
        format!(
            "horizon = 20\nseeds = 1\n[environment]\n{world}\n[network]\noffline = [{{ client = {client}, from = 1, until = 9 }}]\n\
             [[algorithm]]\nkind = \"{algorithm}\"\n"
        )
    };
    let linear = "kind = \"linear\"\nclients = 4\ndim = 3\narms = 3";
    go(&text(3, linear, "async-linucb")).unwrap();
    let error = go(&text(4, linear, "async-linucb")).unwrap_err().to_string();
    assert!(error.contains("offline: there is no client 4: clients are numbered from 0 to 3"), "{error}");
    // Where users sit at local servers, those are the clients of some algorithms.
    let users = "kind = \"users\"\nusers = 6\nservers = 2\nclusters = 2";
    go(&text(1, users, "fclub")).unwrap();
    assert!(go(&text(2, users, "fclub")).is_err());
    go(&text(2, users, "linucb-alone")).unwrap();
}

#[test]
fn what_overflows_is_the_worlds() {
    let text = |noise: &str| {
        format!(
            "horizon = 200\nseeds = 1\n[environment]\nkind = \"linear\"\nclients = 2\ndim = 3\narms = 3\nreward_noise = {noise}\n\
             [[algorithm]]\nkind = \"linucb-alone\"\nreward_noise = 0.1\n"
        )
    };
    let error = go(&text("1e308")).unwrap_err();
    assert!(matches!(&error, LabError::Input(message) if message.contains("reward_noise")), "{error}");
    assert!(!error.to_string().contains("algorithm"), "{error}");
    go(&text("1e100")).unwrap();
    let means = "horizon = 20\nseeds = 1\n[environment]\nkind = \"arms\"\nrewards = \"gaussian\"\nmeans = [[1e308, -1e308]]\n\
        [[algorithm]]\nkind = \"ucb-alone\"\n";
    let error = go(means).unwrap_err().to_string();
    assert!(error.contains("means: row 1, column 1 must be a number, not 1e308"), "{error}");
    // What an algorithm loses for communication is its own key's.
    let loss = "horizon = 2000\nseeds = 1\n[environment]\nkind = \"arms\"\narrivals = \"all\"\nclients = 3\narms = 2\n\
        [[algorithm]]\nkind = \"pf-ucb\"\ncommunication_loss = 1e308\n";
    let error = go(loss).unwrap_err().to_string();
    assert!(error.contains("lower `communication_loss`"), "{error}");
}
