//! Runs: the same results whatever the threads, kills and resumptions.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use cahoots_lab::results::{Wanted, no_theory, read_curves, redraw, table};
use cahoots_lab::run::{Options, Outcome, Start, run};
use cahoots_lab::{LabError, catalogue, load};
use common::{FILE, experiment, options, read};
use serde_json::Value as Json;

fn go(text: &str, out: &Path, start: Start, jobs: usize) -> Result<Outcome, LabError> {
    run(&experiment(text), out, &options(start, jobs))
}

/// Everything in a folder that must not depend on how it came about: all but the times.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in [folder.to_path_buf(), folder.join("seeds")] {
        for path in
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(path).unwrap());
        }
    }
    let timing = String::from_utf8(files.remove("timing.csv").unwrap()).unwrap();
    for (number, line) in timing.lines().enumerate().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(
            cells[5].parse::<u64>().unwrap() > 0 && cells[7].parse::<u64>().unwrap() > 0,
            "{number}: {line}"
        );
    }
    assert_eq!(timing.lines().count(), 1 + seed_files(folder).len(), "a line for every run");
    for name in
        ["summary.csv", "summary.json", "summary.parquet", "curves.parquet", "columns.md", "regret.svg"]
    {
        assert!(files.contains_key(name), "{name}");
    }
    files
}

fn seed_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("seeds")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn any_number_of_threads_and_any_kill_give_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let (one, many, cut) = (folder.path().join("one"), folder.path().join("many"), folder.path().join("cut"));
    go(FILE, &one, Start::Fresh, 1).unwrap();
    go(FILE, &many, Start::Fresh, 4).unwrap();
    let whole = contents(&one);
    assert!(whole == contents(&many), "threads changed a result");

    // What a kill leaves: some runs, one of them cut short, a file being written, no summary.
    go(FILE, &cut, Start::Fresh, 2).unwrap();
    let seeds = seed_files(&cut);
    assert_eq!(seeds.len(), 18);
    for path in seeds.iter().step_by(3) {
        fs::remove_file(path).unwrap();
    }
    fs::write(&seeds[1], &fs::read(&seeds[1]).unwrap()[..100]).unwrap();
    fs::write(cut.join("seeds/.part-x"), "half").unwrap();
    for name in ["summary.json", "summary.csv", "curves.parquet", "regret.svg", "regret.png"] {
        fs::remove_file(cut.join(name)).unwrap();
    }
    go(FILE, &cut, Start::Resume, 3).unwrap();
    assert!(whole == contents(&cut), "resuming changed a result");
    assert!(!cut.join("seeds/.part-x").exists());

    // Again, with everything there.
    let untouched = fs::metadata(&seeds[2]).unwrap().modified().unwrap();
    go(FILE, &cut, Start::Resume, 1).unwrap();
    assert!(whole == contents(&cut));
    assert_eq!(fs::metadata(&seeds[2]).unwrap().modified().unwrap(), untouched);
}

#[test]
fn entries_are_in_the_order_of_the_file_and_paired() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = go(FILE, &folder.path().join("x"), Start::Fresh, 2).unwrap();
    let labels: Vec<&str> = outcome.summaries.iter().map(|summary| summary.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "async-linucb ratio=1.5 arms=3",
            "async-linucb ratio=inf arms=3",
            "linucb-alone arms=3",
            "async-linucb ratio=1.5 arms=4",
            "async-linucb ratio=inf arms=4",
            "linucb-alone arms=4",
        ]
    );
    // Never talking is being alone: same decisions, same regret, and the pairing shows it.
    let [_, never, alone, ..] = outcome.summaries.as_slice() else { panic!() };
    assert_eq!(never.regret(), alone.regret());
    assert_eq!(never.regret_vs_first, alone.regret_vs_first);
    assert_eq!(outcome.summaries[0].regret_vs_first.as_ref().unwrap().mean, 0.0);
    assert_eq!(never.params["ratio"], "inf");
}

#[test]
fn curves_can_be_read_back_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let outcome = go(FILE, &out, Start::Fresh, 2).unwrap();
    let curves = read_curves(&out).unwrap();
    assert_eq!(curves.len(), 18);
    for (number, summary) in outcome.summaries.iter().enumerate() {
        let own: Vec<_> = curves.iter().filter(|curve| curve.entry == number).collect();
        assert_eq!(own.iter().map(|curve| curve.seed).collect::<Vec<_>>(), [0, 1, 2]);
        let last = own.iter().map(|curve| *curve.curve.regret.last().unwrap());
        assert!((last.sum::<f64>() / 3.0 - summary.regret().mean).abs() < 1e-12);
        assert_eq!(own[0].curve.tick.last(), Some(&120));
    }
    let before = contents(&out);
    fs::remove_file(out.join("regret.svg")).unwrap();
    redraw(&catalogue(), &out, &out, no_theory, &Wanted::default()).unwrap();
    assert!(before == contents(&out), "drawn again from the curves, figures are the same");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    go(FILE, &out, Start::Fresh, 2).unwrap();
    let before = contents(&out);
    let other = FILE.replace("clients = 5", "clients = 6");
    let refused = |text: &str, start| match go(text, &out, start, 2).unwrap_err() {
        LabError::Input(message) => message.replace(&out.display().to_string(), "OUT"),
        error => panic!("{error:?}"),
    };
    assert_eq!(
        refused(FILE, Start::Fresh),
        "OUT already holds the finished run of this experiment: \
         add --resume to use what is there, or --force to start over"
    );
    assert_eq!(
        refused(&other, Start::Fresh),
        "OUT holds another run: stages[0].environment.clients is 5 there, 6 here\n\
         choose another --out, or --force to replace it"
    );
    assert_eq!(
        refused(&FILE.replace("seeds = 3", "seeds = 2"), Start::Resume),
        "cannot resume OUT, it holds another run: seed 2 is there, not here\n\
         choose another --out, or --force to replace it"
    );
    assert_eq!(
        refused(&FILE.replace("arms = [3, 4]", "arms = 3"), Start::Resume),
        "cannot resume OUT, it holds another run: \"async-linucb ratio=1.5 arms=4\" is there, not here\n\
         choose another --out, or --force to replace it"
    );
    assert_eq!(
        refused(&FILE.replace("seeds = 3", "seeds = 4"), Start::Fresh),
        "OUT already holds a part of this experiment: add --resume to run what is new, or --force to start over"
    );
    let ratio = FILE.replace("1.5", "2.5").replace("name = \"small\"", "name = \"small\" # a comment");
    assert!(refused(&ratio, Start::Resume).contains("ratio=1.5"));
    assert!(before == contents(&out));

    // Comments and the order of work do not make another run; force replaces, and leaves strangers alone.
    fs::write(out.join("notes.txt"), "mine").unwrap();
    go(&FILE.replace("seeds = 3", "seeds = 3 # three"), &out, Start::Resume, 2).unwrap();
    go(&other, &out, Start::Force, 2).unwrap();
    assert_eq!(seed_files(&out).len(), 18);
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
}

/// More seeds, more entries, another order: what is there is used, and the files are those of one run.
#[test]
fn a_run_grows() {
    let folder = tempfile::tempdir().unwrap();
    let (grown, whole) = (folder.path().join("grown"), folder.path().join("whole"));
    let small = FILE.replace("seeds = 3", "seeds = 2").replace("arms = [3, 4]", "arms = 4");
    go(&small, &grown, Start::Fresh, 2).unwrap();
    let before: Vec<_> = seed_files(&grown);
    let times: Vec<_> = before.iter().map(|file| fs::metadata(file).unwrap().modified().unwrap()).collect();
    assert_eq!(before.len(), 6);

    // Interrupted in the middle of growing: nothing of the smaller run is left to be taken for the larger one.
    let stop = AtomicBool::new(true);
    let stopped = run(&experiment(FILE), &grown, &Options { stop: &stop, ..options(Start::Resume, 2) });
    assert!(matches!(&stopped, Err(LabError::Stopped(said)) if said.contains("6 of 18")), "{stopped:?}");
    assert!(!grown.join("summary.json").exists() && !grown.join("curves.parquet").exists());

    go(FILE, &grown, Start::Resume, 2).unwrap();
    go(FILE, &whole, Start::Fresh, 2).unwrap();
    assert!(contents(&grown) == contents(&whole));
    let names = |folder: &Path| -> Vec<_> {
        seed_files(folder).iter().map(|file| file.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&grown), names(&whole));
    for (file, time) in before.iter().zip(times) {
        assert_eq!(fs::metadata(file).unwrap().modified().unwrap(), time, "{file:?} was run again");
    }
}

#[test]
fn a_folder_must_be_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    for out in [file.clone(), file.join("below")] {
        assert!(matches!(go(FILE, &out, Start::Fresh, 1), Err(LabError::Input(_))), "{out:?}");
    }
    let strange = folder.path().join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("notes.txt"), "mine").unwrap();
    assert!(matches!(go(FILE, &strange, Start::Fresh, 1), Err(LabError::Input(_))));
    assert!(matches!(go(FILE, &strange, Start::Resume, 1), Err(LabError::Input(_))));
    assert_eq!(fs::read_dir(&strange).unwrap().count(), 1);
}

#[test]
fn stopping_keeps_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    let stop = AtomicBool::new(true);
    let error =
        run(&experiment(FILE), &out, &Options { stop: &stop, ..options(Start::Fresh, 2) }).unwrap_err();
    assert!(
        matches!(&error, LabError::Stopped(message) if message.contains("0 of 18 runs are kept")),
        "{error:?}"
    );
    assert!(!out.join("summary.json").exists());
    let error = go(FILE, &out, Start::Fresh, 1).unwrap_err().to_string();
    assert!(error.contains("already holds part of the run"), "{error}");
    go(FILE, &out, Start::Resume, 2).unwrap();
}

#[test]
fn a_manifest_is_enough_to_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let (first, again) = (folder.path().join("first"), folder.path().join("again"));
    let text = FILE.replace("seeds = 3", "seeds = [7, 3]");
    go(&text, &first, Start::Fresh, 2).unwrap();
    let experiment = load(&catalogue(), &first.join("manifest.json"), None).unwrap();
    assert_eq!(experiment.seeds, [7, 3]);
    run(&experiment, &again, &options(Start::Fresh, 1)).unwrap();
    assert!(contents(&first) == contents(&again));
}

#[test]
fn one_seed_has_no_spread() {
    let folder = tempfile::tempdir().unwrap();
    let outcome =
        go(&FILE.replace("seeds = 3", "seeds = [42]"), &folder.path().join("x"), Start::Fresh, 1).unwrap();
    assert_eq!((outcome.summaries[0].regret().sd, outcome.summaries[0].runs.len()), (None, 1));
}

#[test]
fn faults_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let faulty =
        FILE.to_string() + "[network]\ndelay = 2\nduplicate = 0.5\n[rewards]\nloss = 0.3\npatience = 5\n";
    let outcome = go(&faulty, &folder.path().join("x"), Start::Fresh, 2).unwrap();
    let first = &outcome.summaries[0];
    for run in &first.runs {
        assert!(run.duplicates_dropped > 0 && run.abandoned > 0 && run.refused == 0, "{run:?}");
    }
}

#[test]
fn kinds_are_swept_like_everything_else() {
    let folder = tempfile::tempdir().unwrap();
    let text = FILE
        .replace("kind = \"linear\"", "kind = [\"linear\", \"clustered\"]")
        .replace("arms = [3, 4]", "arms = 3")
        .replace(
            "kind = \"async-linucb\"\nratio = [1.5, inf]",
            "kind = [\"async-linucb\", \"sync-linucb\"]\nridge = 0.5",
        );
    let outcome = go(&text, &folder.path().join("x"), Start::Fresh, 2).unwrap();
    let labels: Vec<&str> = outcome.summaries.iter().map(|summary| summary.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "async-linucb kind=linear",
            "sync-linucb kind=linear",
            "linucb-alone kind=linear",
            "async-linucb kind=clustered",
            "sync-linucb kind=clustered",
            "linucb-alone kind=clustered",
        ]
    );
    assert_eq!(outcome.summaries[1].params["ridge"], 0.5);
    // Each kind must take the keys.
    let wrong = text.replace("ridge = 0.5", "ratio = 2");
    let error = read(&wrong).unwrap_err().to_string();
    assert!(error.contains("unknown key `ratio`"), "{error}");
    let named = text.replace("ridge = 0.5", "label = \"mine\"");
    let labels: Vec<String> = experiment(&named).entries.into_iter().map(|entry| entry.short_label).collect();
    assert_eq!(labels[..2], ["mine async-linucb", "mine sync-linucb"]);
}

/// Giving up early means learning from less, whether what is waited for is lost or late.
#[test]
fn patience_ends_for_late_rewards_too() {
    let folder = tempfile::tempdir().unwrap();
    let late = |patience: &str| {
        let text = FILE.replace("horizon = 120", "horizon = 400") + "[rewards]\ndelay = 60\n" + patience;
        let out = folder.path().join(patience.len().to_string() + patience.trim_end());
        go(&text, &out, Start::Fresh, 2).unwrap().summaries
    };
    let (waiting, short, long) = (late(""), late("patience = 5\n"), late("patience = 60\n"));
    for (waiting, long) in waiting.iter().zip(&long) {
        assert_eq!(waiting.runs, long.runs, "who waits as long as it takes is who does not give up");
    }
    for run in &waiting[2].runs {
        assert_eq!((run.abandoned, run.late_rewards), (0, 0));
    }
    let alone = (&short[2], &waiting[2]);
    for (short, waiting) in alone.0.runs.iter().zip(&alone.1.runs) {
        // All but those of the last ticks are given up, nine out of ten, and come later.
        assert!(short.abandoned > 300 && short.late_rewards > 250, "{short:?}");
        assert!(short.late_rewards < short.abandoned, "some would come after the end");
        assert!(short.regret > waiting.regret, "{} with patience, {} without", short.regret, waiting.regret);
    }
    let csv = fs::read_to_string(folder.path().join("13patience = 5/summary.csv")).unwrap();
    assert!(csv.lines().next().unwrap().contains("late_rewards_mean"));
}

/// Three objectives, and the loss apart.
#[test]
fn a_mixed_objective_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "mixed"
        horizon = 500
        seeds = 2
        [environment]
        kind = "arms"
        arrivals = "all"
        rewards = "gaussian"
        means = [[1.0, 0.0, 0.75], [0.0, 1.0, 0.5]]
        [[algorithm]]
        kind = "pf-ucb"
        schedule = 4
    "#;
    let outcome = go(text, &folder.path().join("x"), Start::Fresh, 1).unwrap();
    let (first, metrics) = (&outcome.summaries[0], &outcome.summaries[0].metrics);
    assert!((first.regret().mean - metrics["regret_mixed"] - metrics["communication_loss"]).abs() < 1e-6);
    assert!(metrics["communication_loss"] > 0.0);
    assert!(
        (metrics["reward_mixed"] - (metrics["reward_local"] + metrics["reward_global"]) / 2.0).abs() < 1e-6
    );
}

/// A difference between regrets that are measured against different things means nothing.
#[test]
fn what_pursues_different_objectives_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
        name = "objectives"
        horizon = 60
        seeds = 2
        [environment]
        kind = "arms"
        arrivals = "all"
        means = [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]
        [[algorithm]]
        kind = "ucb-alone"
        [[algorithm]]
        kind = "pf-ucb"
        [[algorithm]]
        kind = "pf-ucb"
        personalization = 1.0
        [[algorithm]]
        kind = "cdp-mab"
    "#;
    let outcome = go(text, &folder.path().join("x"), Start::Fresh, 1).unwrap();
    let objectives: Vec<&str> = outcome.summaries.iter().map(|summary| summary.objective.as_str()).collect();
    assert_eq!(objectives, ["local", "mixed:0.5", "local", "global"]);
    let compared: Vec<bool> = outcome.summaries.iter().map(|one| one.regret_vs_first.is_some()).collect();
    assert_eq!(compared, [true, false, true, false]);
    let shown = table(&outcome.summaries);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("objective"), "{shown}");
    assert!(lines[2].contains("mixed:0.5") && lines[2].contains("other objective"), "{shown}");
    assert!(!lines[3].contains("other objective"), "{shown}");
    let json: Json =
        serde_json::from_slice(&fs::read(folder.path().join("x/summary.json")).unwrap()).unwrap();
    assert!(json[3]["regret_vs_first_mean"].is_null() && json[3]["objective"] == "global");
    let manifest: Json =
        serde_json::from_slice(&fs::read(folder.path().join("x/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["entries"][1]["objective"], "mixed:0.5");

    // An objective that the file states is everyone's, and so is the only one where clients are alike.
    for world in [
        "objective = \"global\"\n        means = [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]",
        "means = [[0.9, 0.1, 0.5]]",
    ] {
        let alike = text.replace("means = [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]", world);
        let outcome = go(&alike, &folder.path().join(world.len().to_string()), Start::Fresh, 1).unwrap();
        assert!(outcome.summaries.iter().all(|one| one.regret_vs_first.is_some()), "{world}");
        assert!(!table(&outcome.summaries).contains("other objective"));
    }
}

#[test]
fn every_example_can_be_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> = fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    assert!(files.len() >= 5);
    for file in files {
        load(&catalogue(), &file, None).unwrap_or_else(|error| panic!("{error}"));
    }
}
