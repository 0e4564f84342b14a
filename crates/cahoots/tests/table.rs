//! Tables of one's own, from a file to a result.

mod shell;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value as Json;
use shell::{command, text};

/// Calls the command, which keeps what it prepares in the same folder.
fn cahoots(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).env("CAHOOTS_CACHE", folder.join("cache")).output().unwrap()
}

fn succeeds(folder: &Path, args: &[&str]) -> String {
    let output = cahoots(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// What is said about input that is wrong.
fn refused(folder: &Path, args: &[&str]) -> String {
    let output = cahoots(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

/// Visits to four clinics as a spreadsheet might give them: the department follows from age and temperature, mostly.
fn visits(rows: u32) -> Vec<u8> {
    let mut table = "Nr;Klinik;Alter;Temperatur;Bemerkung;outcome\r\n".to_owned();
    let mut state = 1u32;
    let mut below = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    for row in 0..rows {
        let clinic = ["Köln", "Bonn", "Aachen", "\"Haus \"\"Süd\"\"; Essen\""][below(4) as usize];
        let (age, tenths) = (below(90), 360 + below(50));
        let right = if age < 16 {
            "children"
        } else if tenths > 385 {
            "infection"
        } else {
            "general"
        };
        let outcome = if below(20) == 0 { "general" } else { right };
        let temperature = match below(50) {
            0 => "NA".into(),
            _ => format!("{}.{}", tenths / 10, tenths % 10),
        };
        let remark =
            if row % 100 == 0 { format!("\"in zwei\r\nZeilen, {row}\"") } else { format!("Fall {row}") };
        writeln!(table, "{row};{clinic};{age};{temperature};{remark};{outcome}\r").unwrap();
    }
    table.chars().map(|letter| letter as u32 as u8).collect()
}

#[test]
fn a_table_of_ones_own_becomes_an_experiment_that_runs_as_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("visits.csv"), visits(3000)).unwrap();
    let said =
        succeeds(at, &["data", "describe", "visits.csv", "--client", "Klinik", "--write", "visits.toml"]);
    for part in [
        "visits.csv: text with semicolon between cells and a header, 3000 rows",
        "- (an index?)",
        "- (too many different texts)",
        "As classification: every value of `outcome` is an arm, the right one pays 1.",
        "children, general, infection",
        "what always answering `general` earns",
        "Run it: cahoots run visits.toml",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let json: Json = serde_json::from_str(&succeeds(
        at,
        &["data", "describe", "visits.csv", "--client", "Klinik", "--json"],
    ))
    .unwrap();
    assert_eq!(
        (&json["rows"], &json["clients"], &json["arms"], &json["dim"]),
        (&3000.into(), &4.into(), &3.into(), &9.into())
    );
    let column = |name: &str| {
        json["columns"].as_array().unwrap().iter().find(|column| column["name"] == name).unwrap()
    };
    assert_eq!(
        (&column("Temperatur")["holds"], &column("Temperatur")["role"]),
        (&"number".into(), &"context".into())
    );
    assert!(column("Temperatur")["missing"].as_u64().unwrap() > 20);
    assert_eq!(json["experiment"], fs::read_to_string(at.join("visits.toml")).unwrap());

    let lines: Vec<Json> = succeeds(at, &["run", "visits.toml", "--json", "--jobs", "2"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    let to_beat = json["most_frequent"].as_f64().unwrap();
    for line in &lines {
        assert_eq!((&line["steps"], &line["seeds"]), (&3000.into(), &3.into()));
    }
    let shared = lines.iter().find(|line| line["algorithm"] == "linucb-shared").unwrap();
    let earned = shared["reward_mean"].as_f64().unwrap() / 3000.0;
    assert!(earned > to_beat + 0.03, "{earned} is no better than {to_beat}");
}

#[test]
fn a_run_knows_its_table_by_what_is_in_it() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let records = |at: &Path, renamed: &str| {
        fs::write(at.join("visits.csv"), visits(300)).unwrap();
        succeeds(at, &["data", "describe", "visits.csv", "--encoding", "latin-1", "--write", "visits.toml"]);
        let experiment = fs::read_to_string(at.join("visits.toml")).unwrap();
        assert!(experiment.contains("encoding = \"latin-1\"\n"), "{experiment}");
        fs::write(at.join("visits.toml"), experiment.replace("visits.csv", renamed)).unwrap();
        fs::rename(at.join("visits.csv"), at.join(renamed)).unwrap();
        succeeds(at, &["run", "visits.toml", "--seeds", "1", "--quiet"]);
        let manifest: Json =
            serde_json::from_str(&fs::read_to_string(at.join("results/visits/manifest.json")).unwrap())
                .unwrap();
        let mut names: Vec<_> = walk(&at.join("results/visits"));
        names.sort();
        (names, manifest)
    };
    let ((names, manifest), (same, _)) =
        (records(here.path(), "visits.csv"), records(there.path(), "renamed.txt"));
    assert_eq!(names, same, "the same runs, wherever the table is and whatever it is called");
    assert_eq!(manifest["inputs"][0]["path"], "visits.csv");
    let mut other = visits(300);
    other.extend(b"301;Bonn;50;36.6;;general\r\n");
    fs::write(here.path().join("visits.csv"), other).unwrap();
    let said = refused(here.path(), &["run", "results/visits/manifest.json", "--out", "again"]);
    assert!(said.contains("it has changed since that run (sha256 "), "{said}");
}

/// All files below a folder, by their names within it.
fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            names.extend(walk(&path).into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            names.push(name);
        }
    }
    names
}

#[test]
fn careless_users_are_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("visits.csv"), visits(100)).unwrap();
    let file = |name: &str, text: &str| fs::write(at.join(name), text).unwrap();
    file("empty.csv", "");
    file("header.csv", "a,b\n");
    file("ragged.csv", "x,y\n1,a\n2\n3,b\n4,a\n");
    file("log.csv", "context,action,reward,propensity\n1,a,0,0.5\n2,b,1,0.5\n");
    for (args, says) in [
        (&["visits.csv", "--label", "Outcome"][..], "there is no column `Outcome`; did you mean `outcome`?"),
        (&["empty.csv"], "empty.csv: there is nothing in it"),
        (&["ragged.csv"], "ragged.csv, line 3: 1 cells, where the first line has 2"),
        (&["nowhere.csv"], "nowhere.csv: No such file"),
        (&["header.csv", "--label", "b", "--write", "x.toml"], "it has columns and no rows"),
        (&["log.csv", "--write", "x.toml"], "`cahoots evaluate` says what it would have earned"),
    ] {
        let args: Vec<&str> = ["data", "describe"].iter().chain(args).copied().collect();
        let said = refused(at, &args);
        assert!(said.contains(says), "{args:?}: {said}");
    }
    assert!(!at.join("x.toml").exists());
    let said = succeeds(at, &["data", "describe", "ragged.csv", "--skip-ragged", "--clients", "1"]);
    assert!(said.contains("3 rows, 1 more left out") && said.contains("ragged = \"skip\""), "{said}");
    assert!(said.contains("One client has nobody to learn from"), "{said}");
    let said = succeeds(at, &["data", "describe", "log.csv"]);
    assert!(
        said.contains("No experiment can be made of it as it is") && said.contains("cahoots evaluate"),
        "{said}"
    );
    file(
        "x.toml",
        "horizon = 200\n[environment]\nkind = \"table\"\nfile = \"visits.csv\"\nlabel = \"outcom\"\n[[algorithm]]\nkind = \"linucb-alone\"\n",
    );
    let said = refused(at, &["run", "x.toml"]);
    assert!(said.contains("x.toml:5") && said.contains("did you mean `outcome`?"), "{said}");
}

#[test]
fn memory_does_not_grow_with_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let peak = |rows: u32| {
        let mut table = "a,b,c,d,e,f,g,h,label\n".to_owned();
        for row in 0..rows {
            let x = |k: u32| row.wrapping_mul(2_654_435_761).wrapping_add(k * 977) % 1009;
            writeln!(
                table,
                "{},{},{},{},{},{},{},{},{}",
                x(1),
                x(2),
                x(3),
                x(4),
                x(5),
                x(6),
                x(7),
                x(8),
                x(9) % 3
            )
            .unwrap();
        }
        fs::write(at.join("t.csv"), table).unwrap();
        let experiment = "horizon = 1000\nseeds = 1\n[environment]\nkind = \"table\"\nfile = \"t.csv\"\nlabel = \"label\"\n[[algorithm]]\nkind = \"linucb-shared\"\n";
        fs::write(at.join("t.toml"), experiment).unwrap();
        let line = succeeds(at, &["run", "t.toml", "--json", "--jobs", "1", "--force"]);
        let line: Json = serde_json::from_str(&line).unwrap();
        line["peak_rss_bytes"].as_f64().unwrap()
    };
    let (few, many) = (peak(1000), peak(300_000));
    // Held in memory, the rows alone would be 21 MB.
    assert!(many - few < 8e6, "{few} bytes for a thousand rows, {many} for 300 times as many");
}

#[test]
fn no_file_is_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = visits(300);
    fs::write(at.join("visits.csv"), &table).unwrap();
    fs::write(at.join("mine.toml"), "# mine").unwrap();
    for name in ["visits.csv", "mine.toml"] {
        let said = refused(at, &["data", "describe", "visits.csv", "--write", name]);
        assert!(said.contains(&format!("{name} is there already")) && said.contains("--force"), "{said}");
    }
    assert_eq!(fs::read(at.join("visits.csv")).unwrap(), table);
    assert_eq!(fs::read_to_string(at.join("mine.toml")).unwrap(), "# mine");
    succeeds(at, &["data", "describe", "visits.csv", "--write", "mine.toml", "--force"]);
    assert!(fs::read_to_string(at.join("mine.toml")).unwrap().contains("[environment]"));
}

#[test]
fn rows_that_are_left_out_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // More labels than features could tell apart: the most frequent are kept.
    let rows = (0..3000).map(|row| format!("{},{},kind-{}\n", row % 7, row % 11, row % 1000));
    fs::write(at.join("many.csv"), "a,b,label\n".to_owned() + &rows.collect::<String>()).unwrap();
    let said = succeeds(at, &["data", "describe", "many.csv"]);
    let line = |name: &str| {
        let line = said.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {said}")).to_owned()
    };
    let number = |name: &str| {
        line(name).trim().trim_start_matches(name).split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    assert!(number("decisions") < 3000 && number("decisions") + number("left out") == 3000, "{said}");
    assert!(line("left out").contains("most frequent"), "{said}");
    fs::write(at.join("few.csv"), "a,label\n1,x\n2,y\n3,x\n4,y\n").unwrap();
    assert!(!succeeds(at, &["data", "describe", "few.csv"]).contains("left out"));
}

#[test]
fn features_that_nothing_can_learn_from_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("large.csv"), "a,label\n1,x\n2e40,y\n3,x\n4,y\n").unwrap();
    fs::write(
        at.join("large.toml"),
        "name = \"large\"\n[environment]\nkind = \"table\"\nfile = \"large.csv\"\nlabel = \"label\"\n\
         scale = \"none\"\n[[algorithm]]\nkind = \"linucb-alone\"\n",
    )
    .unwrap();
    assert!(refused(at, &["run", "large.toml"]).contains("goes beyond 1e15: scale it, or leave it out"));
}
