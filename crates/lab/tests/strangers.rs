//! An algorithm and a world that the library has never heard of, named in an experiment file like any other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cahoots_core::{ArmBuffer, ArmIndex, ParamError, Setting, Tick, UserId};
use cahoots_lab::experiment::{Source, json_schema};
use cahoots_lab::results::no_theory;
use cahoots_lab::run::{Options, Start, run};
use cahoots_lab::{LabError, catalogue, from_text, load};
use cahoots_sim::arrivals::{ArrivalLaw, Arrivals};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::world::{Pull, World, WorldKind};
use cahoots_testkit::probe::ExploreThenCommit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Doors, behind one of which is a prize.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Doors {
    /// Doors to choose from.
    #[schemars(range(min = 2))]
    doors: usize,
    /// What is behind the right one.
    #[serde(default = "one")]
    prize: f64,
}

fn one() -> f64 {
    1.0
}

const CLIENTS: usize = 3;

impl WorldKind for Doors {
    const NAME: &'static str = "doors";
    const SUMMARY: &'static str = "a prize behind one door";

    fn check(&self) -> Result<(), ParamError> {
        ParamError::positive("prize", self.prize).map(|_| ())
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let setting = Setting {
            users: CLIENTS,
            dim: 0,
            local_dims: Vec::new(),
            arms: self.doors,
            horizon,
            reward_noise: 0.0,
            hosts: Vec::new(),
            smallest_gap: None,
            context_norm: None,
            reward_range: None,
            keep_apart: false,
        };
        let world = DoorsWorld { setting, right: seed as usize % self.doors, prize: self.prize };
        Ok((Box::new(world), Arrivals::new(&ArrivalLaw::All, CLIENTS, seed)))
    }
}

struct DoorsWorld {
    setting: Setting,
    right: usize,
    prize: f64,
}

impl World for DoorsWorld {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, _tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        arms.plain = self.setting.arms;
    }

    fn pull(&mut self, _tick: Tick, _user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let reward = if arm.index() == self.right { self.prize } else { 0.0 };
        Pull { reward, expected: reward, best: self.prize, sides: None }
    }
}

const FILE: &str = r#"
name = "strangers"
horizon = 100
seeds = 2
[environment]
kind = "doors"
doors = [3, 4]
prize = 0.5
[[algorithm]]
kind = "explore-then-commit"
pulls = [2, 5]
[[algorithm]]
kind = "ucb-alone"
"#;

fn with_strangers() -> Arc<Catalogue> {
    Arc::new(Catalogue::clone(&catalogue()).algorithm::<ExploreThenCommit>().world::<Doors>())
}

fn complaint(catalogue: &Arc<Catalogue>, text: &str) -> String {
    match from_text(catalogue, Source { name: "x.toml".into(), text: text.into() }, None) {
        Err(LabError::Input(message)) => message,
        other => panic!("{:?}", other.map(|experiment| experiment.entries.len())),
    }
}

#[test]
fn they_are_run_by_name_with_sweeps_and_beside_ours() {
    let source = Source { name: "strangers.toml".into(), text: FILE.into() };
    let experiment = from_text(&with_strangers(), source, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let stop = AtomicBool::new(false);
    let options = Options {
        jobs: 2,
        start: Start::Fresh,
        quiet: true,
        command: vec![],
        stop: &stop,
        theory: no_theory,
        per_client: false,
        watch: None,
    };
    let outcome = run(&experiment, &out, &options).unwrap();
    let labels: Vec<&str> = outcome.summaries.iter().map(|summary| summary.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "explore-then-commit pulls=2 doors=3",
            "explore-then-commit pulls=5 doors=3",
            "ucb-alone doors=3",
            "explore-then-commit pulls=2 doors=4",
            "explore-then-commit pulls=5 doors=4",
            "ucb-alone doors=4",
        ]
    );
    for (entry, pulls, doors) in [(0, 2.0, 3.0), (1, 5.0, 3.0), (3, 2.0, 4.0), (4, 5.0, 4.0)] {
        // Every wrong door as often as told, by every client; then at most three ticks until the server's word.
        let explored = 0.5 * (doors - 1.0) * pulls * CLIENTS as f64;
        let regret = outcome.summaries[entry].regret().mean;
        assert!(regret >= explored && regret <= explored + 3.0 * 0.5 * CLIENTS as f64, "{entry}: {regret}");
    }
    // The manifest says it all, and is all it takes to run it again.
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let environment = &manifest["stages"][1]["environment"];
    assert_eq!(*environment, serde_json::json!({ "kind": "doors", "doors": 4, "prize": 0.5 }));
    let again = load(&with_strangers(), &out.join("manifest.json"), None).unwrap();
    assert_eq!(again.entries.len(), 6);
}

#[test]
fn they_are_in_the_schema() {
    let text = json_schema(&with_strangers()).to_string();
    for part in [
        r#"{"const":"explore-then-commit"}"#,
        "a probe of the contract",
        "Pulls of each arm.",
        r#"{"const":"doors"}"#,
        "a prize behind one door",
        "What is behind the right one.",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let ours = json_schema(&catalogue()).to_string();
    assert!(!ours.contains("explore-then-commit") && !ours.contains("\"doors\""));
}

#[test]
fn misspelt_they_are_refused_with_the_nearest_name() {
    let strangers = with_strangers();
    for (good, bad, problem, remedy) in [
        ("\"doors\"", "\"doros\"", "there is no environment \"doros\"", "did you mean \"doors\"?"),
        (
            "explore-then-commit",
            "explore-than-commit",
            "there is no algorithm \"explore-than-commit\"",
            "did you mean \"explore-then-commit\"?",
        ),
        ("prize", "price", "unknown key `price`", "did you mean `prize`?"),
        ("doors = [3, 4]", "doors = 1", "1 is out of range", "a whole number of at least 2"),
        ("doors = [3, 4]\n", "", "`doors` is missing", ""),
        ("prize = 0.5", "prize = -1", "prize: must be a number above 0, not -1", ""),
        ("pulls = [2, 5]", "pulls = \"many\"", "this is a string", "must be a whole number"),
    ] {
        let message = complaint(&strangers, &FILE.replace(good, bad));
        assert!(message.contains(problem) && message.contains(remedy), "{message}");
    }
    let message = complaint(&catalogue(), FILE);
    assert!(message.contains("there is no environment \"doors\""), "{message}");
    assert!(message.contains("there is no algorithm \"explore-then-commit\""), "{message}");
}

#[test]
#[should_panic(expected = "the name \"ucb-alone\" is taken")]
fn a_name_of_ours_is_taken() {
    let _ = Catalogue::clone(&catalogue()).algorithm::<cahoots_algorithms::ucb_alone::UcbAlone>();
}
