//! Every experiment file of a paper can be read, and is one of the program's.

use std::fs;
use std::path::{Path, PathBuf};

use cahoots_data::datasets::{Kind, synthetic};
use cahoots_lab::experiment::Source;
use cahoots_lab::from_text;
use cahoots_papers::reproduce::items;

/// The experiment files in the papers' folders.
fn files() -> Vec<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let papers = fs::read_dir(sources).unwrap().map(|entry| entry.unwrap().path().join("experiments"));
    papers
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .collect()
}

#[test]
fn every_experiment_file_can_be_read() {
    let stand_in = tempfile::tempdir().unwrap();
    for file in files() {
        let text = with_stand_in(&fs::read_to_string(&file).unwrap(), stand_in.path());
        let source = Source { name: file.display().to_string(), text };
        from_text(&cahoots_lab::catalogue(), source, None).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_experiment_file_belongs_to_a_table_or_figure() {
    let known: Vec<&str> = items().flat_map(|item| item.experiments).map(|file| file.text).collect();
    let files = files();
    assert!(files.len() >= 40);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(known.contains(&text.as_str()), "nothing runs {}", file.display());
    }
}

/// Begins a path to a dataset.
const DATA: &str = "\"DATA/";

/// Folders of datasets, and what is in them.
const SETS: [(&str, Kind); 3] = [
    ("lastfm-2k", Kind::Lastfm),
    ("delicious-2k-reduced", Kind::DeliciousReduced),
    ("ml-latest-small-2018", Kind::Movielens),
];

/// What a made-up set is too small for.
const TOO_MUCH: [(&str, &str); 5] = [
    ("horizon = 41284", ""),
    ("min_events = 300", "min_events = 2"),
    ("top_users = 54", "top_users = 5"),
    ("dim = 25", "dim = 3"),
    ("arms = 25", "arms = 4"),
];

/// The text of an experiment with a made-up set, or a small matrix, in place of every dataset it names.
fn with_stand_in(text: &str, folder: &Path) -> String {
    let mut text = text.to_string();
    for name in text.clone().split(DATA).skip(1).filter_map(|rest| rest.split('"').next()) {
        if let Some((name, kind)) = SETS.iter().find(|(set, _)| *set == name) {
            synthetic::write(*kind, &folder.join(name)).unwrap();
            for (much, little) in TOO_MUCH {
                text = text.replace(much, little);
            }
            continue;
        }
        // Good as users' preferences (ten features, the last 1/sqrt 2), and as the means of arms.
        let row =
            |user: u32| format!("{},{}0.7071067811865476\n", f64::from(user) / 5000.0, "0.1,".repeat(8));
        fs::write(folder.join(name), (0..1000).map(row).collect::<String>()).unwrap();
    }
    text.replace(DATA, &format!("\"{}/", folder.display()))
}
