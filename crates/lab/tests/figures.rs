//! Figures with one, five and forty entries, swept over no key, one and two.
//! `CAHOOTS_GALLERY=DIR` keeps them, to be looked at.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use cahoots_lab::files::Format;
use cahoots_lab::results::{Wanted, no_theory, redraw, with_band};
use cahoots_lab::run::{Start, run};
use cahoots_lab::{LabError, catalogue};
use common::{experiment, options};

const WORLD: &str = "
horizon = 200
seeds = 3
[environment]
kind = \"linear\"
clients = 6
dim = 4
arms = 5
";

/// A folder that is kept where somebody wants to look.
struct Out {
    path: PathBuf,
    _gone_afterwards: Option<tempfile::TempDir>,
}

fn results(name: &str, text: &str) -> Out {
    let (path, gone) = match std::env::var_os("CAHOOTS_GALLERY") {
        Some(folder) => (PathBuf::from(folder).join(name), None),
        None => {
            let folder = tempfile::tempdir().unwrap();
            (folder.path().join(name), Some(folder))
        }
    };
    let text = format!("name = \"{name}\"\n{text}");
    run(&experiment(&text), &path, &options(Start::Force, 2)).unwrap();
    Out { path, _gone_afterwards: gone }
}

/// Names of the figures that are there, without endings; each in every form.
fn figures(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_some_and(|ending| ending == "svg") {
            assert!(path.with_extension("png").is_file() && path.with_extension("pdf").is_file(), "{path:?}");
            names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names
}

fn svg(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name).with_extension("svg")).unwrap()
}

/// Texts of a class in a figure.
fn texts(svg: &str, class: &str) -> Vec<String> {
    let start = format!("<text class=\"{class}\"");
    let lines = svg.lines().map(str::trim).filter(|line| line.starts_with(&start));
    let inner = |line: &str| line.split_once('>').unwrap().1.trim_end_matches("</text>").to_string();
    lines.map(inner).collect()
}

#[test]
fn one_entry_that_sends_nothing_has_one_figure() {
    let out = results("one", &format!("{WORLD}[[algorithm]]\nkind = \"linucb-alone\"\n"));
    assert_eq!(figures(&out.path), ["regret"], "no empty figures");
}

#[test]
fn five_entries_and_a_swept_key() {
    let blocks = "[[algorithm]]\nkind = \"async-linucb\"\nratio = [1.1, 3, 10, 30]\n[[algorithm]]\nkind = \"linucb-alone\"\n";
    let out = results("five", &(WORLD.to_string() + blocks));
    assert_eq!(figures(&out.path), ["regret", "regret-vs-communication", "regret-vs-ratio"]);
    let against = svg(&out.path, "regret-vs-ratio");
    assert_eq!(against.matches("class=\"reference\"").count(), 1, "the baseline is a line across");
    assert!(texts(&against, "entry").contains(&"linucb-alone".to_string()));
    assert_eq!(texts(&against, "x-label"), ["ratio"]);
}

#[test]
fn infinity_and_words_are_named_on_the_axis() {
    let blocks = "[[algorithm]]\nkind = \"async-linucb\"\nratio = [1.5, 5, inf]\n";
    let out = results("infinity", &(WORLD.to_string() + blocks));
    let ticks = texts(&svg(&out.path, "regret-vs-ratio"), "tick");
    for value in ["1.5", "5", "inf"] {
        assert!(ticks.contains(&value.to_string()), "{value} in {ticks:?}");
    }
}

const FORTY: &str = "[[algorithm]]
kind = \"async-linucb\"
upload_ratio = [1.1, 2, 4, 8, 16, 32, 64, 128]
ridge = [0.01, 0.1, 1, 10, 100]
[[algorithm]]
kind = \"linucb-alone\"
[[algorithm]]
kind = \"linucb-shared\"
";

#[test]
fn forty_entries_over_two_keys_are_small_multiples_and_a_map_with_baselines_everywhere() {
    let out = results("forty", &(WORLD.to_string() + FORTY));
    let names =
        ["regret", "regret-map", "regret-vs-communication", "regret-vs-ridge", "regret-vs-upload_ratio"];
    assert_eq!(figures(&out.path), names);
    let regret = svg(&out.path, "regret");
    assert_eq!(regret.matches("class=\"chart\"").count(), 5, "a panel per ridge");
    let lines = regret.matches("<path class=\"line\"").count();
    assert_eq!(lines, 40 + 5 * 2, "everyone, and both baselines in every panel");
    let entries = texts(&regret, "entry");
    assert_eq!(entries.len(), 8 + 2, "one legend for all: {entries:?}");
    for baseline in ["linucb-alone", "linucb-shared"] {
        assert!(entries.contains(&baseline.to_string()));
    }
    // One scale: the same ticks in every panel.
    let ticks: Vec<Vec<String>> = regret
        .split("<g class=\"y-axis\">")
        .skip(1)
        .map(|axis| texts(axis.split("</g>").next().unwrap(), "tick"))
        .collect();
    assert!(ticks.iter().all(|panel| *panel == ticks[0] && panel.len() > 2), "{ticks:?}");
    let map = svg(&out.path, "regret-map");
    assert_eq!(map.matches("class=\"cell\"").count(), 40);
    assert!(texts(&map, "note").join(" ").contains("linucb-alone"), "a baseline is named");
}

#[test]
fn forty_blocks_without_a_sweep_are_all_there() {
    let block = |n: usize| {
        format!("[[algorithm]]\nkind = \"async-linucb\"\nupload_ratio = {}\n", 1.0 + n as f64 / 4.0)
    };
    let out = results("blocks", &(WORLD.to_string() + &(1..=40).map(block).collect::<String>()));
    let regret = svg(&out.path, "regret");
    let all: std::collections::BTreeSet<String> = texts(&regret, "entry").into_iter().collect();
    assert_eq!(all.len(), 40, "{all:?}");
    // By hand, too, regret can be drawn against what tells them apart.
    let wanted = Wanted { against: Some("upload_ratio".into()), ..Wanted::default() };
    let drawn = redraw(&catalogue(), &out.path, &out.path, no_theory, &wanted).unwrap();
    assert_eq!(drawn, ["regret-vs-upload_ratio"]);
}

#[test]
fn titles_say_network_or_rewards_and_worlds_share_a_scale() {
    let text = format!(
        "{WORLD}[network]\ndelay = [0, 20]\n[rewards]\ndelay = [0, 30]\n\
         [[algorithm]]\nkind = \"async-linucb\"\nratio = 1.5\n[[algorithm]]\nkind = \"linucb-alone\"\n"
    );
    let out = results("faults", &text);
    let titles = texts(&svg(&out.path, "regret"), "title");
    for title in ["network delay=0, rewards delay=30", "network delay=20, rewards delay=0"] {
        assert!(titles.contains(&title.to_string()), "{title} in {titles:?}");
    }
    assert!(figures(&out.path).contains(&"regret-vs-network-delay".to_string()), "{:?}", figures(&out.path));
    let across = svg(&out.path, "regret-vs-rewards-delay");
    assert_eq!(texts(&across, "x-label"), ["rewards delay", "rewards delay"]);
}

#[test]
fn a_key_of_the_world_and_one_of_an_algorithm_are_two_keys() {
    let text = format!(
        "{WORLD}reward_noise = [0.1, 0.5]\n[[algorithm]]\nkind = \"async-linucb\"\nreward_noise = [0.2, 0.7]\n\
         [[algorithm]]\nkind = \"linucb-shared\"\n"
    );
    let out = results("keys", &text);
    let names = figures(&out.path);
    let both = ["regret-vs-reward_noise", "regret-vs-world-reward_noise"];
    assert!(both.iter().all(|name| names.iter().any(|known| known == name)), "{names:?}");
    // Who does not have the algorithm's key is a line across there, and has a line of its own along the world's.
    let count = |name: &str| svg(&out.path, name).matches("class=\"reference\"").count();
    assert_eq!((count(both[0]), count(both[1])), (2, 0));
}

#[test]
fn entries_with_different_objectives_say_so() {
    let text = "horizon = 300\nseeds = 2\n[environment]\nkind = \"arms\"\nclients = 4\narms = 4\nheterogeneous = true\n\
        [[algorithm]]\nkind = \"pf-ucb\"\npersonalization = [0.0, 0.5, 1.0]\n";
    let out = results("objectives", text);
    let regret = svg(&out.path, "regret");
    assert!(texts(&regret, "note").join(" ").contains("not comparable"), "{:?}", texts(&regret, "note"));
    let entries = texts(&regret, "entry").join(" ");
    assert!(["[global]", "[mixed:0.5]", "[local]"].iter().all(|one| entries.contains(one)), "{entries}");
}

#[test]
fn bands_stay_where_regret_can_be() {
    let estimate = cahoots_lab::results::Estimate::new([0.1, 5.0]);
    assert!(estimate.mean - estimate.ci95.unwrap() < 0.0, "otherwise this shows nothing");
    let point = with_band(cahoots_figure::Point::new(1.0, estimate.mean), &estimate);
    assert_eq!(point.y_low, Some(0.0));
    assert!(point.y_high.unwrap() > estimate.mean);
}

#[test]
fn plots_are_drawn_as_asked_and_wrong_wishes_are_answered() {
    let blocks = "[[algorithm]]\nkind = \"async-linucb\"\nratio = [1.1, 3, 10]\n[[algorithm]]\nkind = \"linucb-alone\"\n";
    let out = results("plots", &(WORLD.to_string() + blocks));
    let other = out.path.join("elsewhere");
    let draw = |wanted: &Wanted| redraw(&catalogue(), &out.path, &other, no_theory, wanted);
    let wanted = Wanted {
        only: vec!["alone".into(), "ratio=3".into()],
        log_y: true,
        size: Some((480.0, 320.0)),
        formats: vec![Format::Svg],
        ..Wanted::default()
    };
    assert_eq!(draw(&wanted).unwrap(), ["regret", "regret-vs-communication"]);
    let regret = svg(&other, "regret");
    assert!(regret.contains("width=\"480\" height=\"320\""));
    assert_eq!(texts(&regret, "entry").join(" "), "async-linucb ratio=3 linucb-alone");
    assert!(!texts(&regret, "note").join(" ").contains("not drawn"), "{:?}", texts(&regret, "note"));
    assert!(!other.join("regret.png").exists());
    let refused = |wanted: Wanted| match draw(&wanted).unwrap_err() {
        LabError::Input(message) => message,
        error => panic!("{error:?}"),
    };
    let message = refused(Wanted { only: vec!["linucb-alon3".into()], ..Wanted::default() });
    assert!(message.contains("linucb-alone"), "{message}");
    let message = refused(Wanted { against: Some("rato".into()), ..Wanted::default() });
    assert!(message.contains("ratio"), "{message}");
    // The run's own figures are as they were; drawn again there, nothing of the past is left.
    fs::write(out.path.join("regret-vs-former.svg"), "old").unwrap();
    redraw(&catalogue(), &out.path, &out.path, no_theory, &Wanted::default()).unwrap();
    assert_eq!(figures(&out.path), ["regret", "regret-vs-communication", "regret-vs-ratio"]);
}

#[test]
fn long_labels_keep_what_tells_them_apart() {
    let long = "a-very-long-name-for-one-and-the-same-algorithm-that-nobody-can-read with-many-words";
    let block = |n: usize| {
        format!(
            "[[algorithm]]\nkind = \"linucb-alone\"\nlabel = \"{long} middle={n} and the end is the same for all of them\"\n"
        )
    };
    let out = results("labels", &(WORLD.to_string() + &(0..9).map(block).collect::<String>()));
    let entries = texts(&svg(&out.path, "regret"), "entry").join(" ");
    for n in 0..9 {
        assert!(entries.contains(&format!("middle={n}")), "{n}: {entries}");
    }
}
