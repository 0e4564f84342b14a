//! Results as files: tables that diff clean, plots as asked for, pages that need nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const EXPERIMENT: &str = r#"
horizon = 100
seeds = 3
[environment]
kind = "linear"
clients = 5
dim = 3
arms = 4
[[algorithm]]
kind = "async-linucb"
ratio = [1.2, 5]
[[algorithm]]
kind = "linucb-alone"
"#;

fn cahoots(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cahoots")).current_dir(folder).args(args).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), EXPERIMENT).unwrap();
    folder
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn done(folder: &Path, args: &[&str]) {
    let output = cahoots(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", said(&output));
}

/// Every file below a folder.
fn files(folder: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            all.extend(files(&path, &format!("{name}/")));
        } else {
            all.insert(name, fs::read(path).unwrap());
        }
    }
    all
}

#[test]
fn two_runs_differ_in_their_times_and_in_nothing_else() {
    let folder = folder();
    let run = ["run", "x.toml", "--quiet", "--force", "--per-client", "--out", "r"];
    let once = |jobs: &str| {
        done(folder.path(), &[&run[..], &["--jobs", jobs]].concat());
        done(folder.path(), &["report", "r"]);
        files(&folder.path().join("r"), "")
    };
    let (mut first, mut second) = (once("1"), once("2"));
    assert!(first.remove("timing.csv") != second.remove("timing.csv"), "times do differ");
    // How it was called is all that the manifest and the page may differ in.
    for name in ["manifest.json", "report.html"] {
        let without = |files: &mut BTreeMap<String, Vec<u8>>| {
            let text = String::from_utf8(files.remove(name).unwrap()).unwrap();
            text.replace("--jobs 1", "--jobs")
                .replace("--jobs 2", "--jobs")
                .replace("\"1\"", "")
                .replace("\"2\"", "")
        };
        assert_eq!(without(&mut first), without(&mut second), "{name}");
    }
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, bytes) in &first {
        assert!(*bytes == second[name], "{name} differs");
    }
    for name in ["clients.csv", "clients.parquet", "columns.md", "summary.parquet", "regret-vs-ratio.pdf"] {
        assert!(first.contains_key(name), "{name}");
    }
}

#[test]
fn times_are_printed_but_not_kept_among_results() {
    let folder = folder();
    let output = cahoots(folder.path(), &["run", "x.toml", "--quiet", "--json", "--out", "r"]);
    let line: serde_json::Value =
        serde_json::from_slice(output.stdout.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert!(line["ns_per_step"].as_f64().unwrap() > 0.0 && line["peak_rss_bytes"].as_u64().unwrap() > 0);
    for (name, bytes) in
        files(&folder.path().join("r"), "").into_iter().filter(|(name, _)| name != "timing.csv")
    {
        let holds = |what: &str| bytes.windows(what.len()).any(|part| part == what.as_bytes());
        assert!(name == "columns.md" || !(holds("ns_per_step") || holds("nanoseconds")), "{name}");
    }
    // All the same after a resumption that has nothing left to do.
    let again = cahoots(folder.path(), &["run", "x.toml", "--quiet", "--json", "--out", "r", "--resume"]);
    assert_eq!(output.stdout, again.stdout, "times included: they are those of the runs");
}

#[test]
fn a_page_needs_nothing_beside_it() {
    let folder = folder();
    done(folder.path(), &["run", "x.toml", "--quiet", "--out", "r"]);
    done(folder.path(), &["report", "r"]);
    let page = fs::read_to_string(folder.path().join("r/report.html")).unwrap();
    let foreign = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        assert!(!foreign.contains(outside), "{outside}");
    }
    for id in ["words", "results", "figures", "verdicts", "privacy", "configuration", "again"] {
        assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    done(folder.path(), &["report", "r", "--out", "elsewhere.html"]);
    assert_eq!(fs::read_to_string(folder.path().join("elsewhere.html")).unwrap(), page);
}

#[test]
fn what_holds_no_results_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path().join("empty")).unwrap();
    done(folder.path(), &["run", "x.toml", "--quiet", "--out", "r"]);
    fs::remove_file(folder.path().join("r/summary.json")).unwrap();
    for (args, words) in [
        (vec!["report", "empty"], "empty holds no run: there is no manifest.json"),
        (vec!["report", "nowhere"], "nowhere holds no run"),
        (vec!["report", "r"], "r holds no finished run"),
        (vec!["report", "r", "--markdown", "docs"], "--markdown is for papers"),
        (vec!["plot", "r", "--size", "10x10"], "each side must be from 240 to 4000 pixels"),
        (vec!["plot", "r", "--size", "wide"], "write it as WIDTHxHEIGHT"),
        (vec!["plot", "r", "--format", "gif"], "there are svg, png and pdf"),
        (vec!["plot", "r", "--only", "nobody"], "--only nobody: no entry has this in its label"),
        (vec!["plot", "r", "--against", "rato"], "--against rato: entries do not differ in such a key"),
    ] {
        let output = cahoots(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
}

#[test]
fn plots_are_drawn_as_asked() {
    let folder = folder();
    done(folder.path(), &["run", "x.toml", "--quiet", "--out", "r"]);
    let before = files(&folder.path().join("r"), "");
    done(
        folder.path(),
        &[
            "plot",
            "r",
            "--against",
            "ratio",
            "--log-y",
            "--size",
            "480x320",
            "--format",
            "pdf,svg",
            "--out",
            "p",
        ],
    );
    let drawn: Vec<String> = files(&folder.path().join("p"), "").into_keys().collect();
    assert_eq!(drawn, ["regret-vs-ratio.pdf", "regret-vs-ratio.svg"]);
    done(folder.path(), &["plot", "r"]);
    assert!(files(&folder.path().join("r"), "") == before, "drawn again, figures are the same");
}

#[test]
fn papers_become_markdown_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let reproduce = ["reproduce", "dp-mab/figure-9", "--quick", "--quiet", "--out", "out"];
    done(folder.path(), &reproduce);
    let page = fs::read_to_string(folder.path().join("out/index.html")).unwrap();
    let all: usize = cahoots_papers::PAPERS.iter().map(|paper| paper.items.len()).sum();
    let run = format!("1 of {all} tables and figures have been run");
    assert!(page.contains(&run), "{}", &page[page.len() / 2..]);
    assert!(page.contains("id=\"figure-dp-mab/figure-9 figure-9\"") && page.contains("class=\"good\""));
    done(folder.path(), &["report", "out", "--markdown", "docs"]);
    let written = files(&folder.path().join("docs"), "");
    let of = |name: &str| String::from_utf8(written[name].clone()).unwrap();
    assert!(of("README.md").contains("| [dp-mab/figure-9](dp-mab.md#dp-mabfigure-9) |"));
    assert!(of("README.md").contains("| not run | | | | |"));
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/dp-mab/figure-9/report.json")).unwrap())
            .unwrap();
    for claim in report["claims"].as_array().unwrap() {
        assert!(of("dp-mab.md").contains(claim["what"].as_str().unwrap()));
    }
    let again = ["reproduce", "dp-mab/figure-9", "--quick", "--quiet", "--out", "elsewhere"];
    done(folder.path(), &again);
    for name in ["report.json", "report.md", "figure-9.svg"] {
        let of = |out: &str| fs::read(folder.path().join(out).join("dp-mab/figure-9").join(name)).unwrap();
        assert!(of("out") == of("elsewhere"), "{name} says when or where it was made");
    }
    assert!(written.contains_key("dp-mab/figure-9.svg"));
    assert!(!of("dp-mab.md").contains(folder.path().to_str().unwrap()), "no paths of this machine");
}
