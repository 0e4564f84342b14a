//! What is said of a run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cahoots_sim::catalogue::Catalogue;
use serde_json::Value as Json;

use super::html::{Cell, cells, escape, verdict};
use super::page::Page;
use super::values::{Values, figure};
use super::words::{Row, comparable, paragraphs};
use crate::error::LabError;
use crate::files;
use crate::results::{self, Theory, grouped, plus_minus, readable};
use crate::run::Manifest;

/// Name of the page in a folder of results.
pub const FILE: &str = "report.html";

/// Writes the page of a finished run, to `out` or into its folder. Gives where it is.
pub fn of_run(
    catalogue: &Catalogue,
    folder: &Path,
    out: Option<&Path>,
    theory: Theory,
) -> Result<PathBuf, LabError> {
    let (manifest, pictures) = results::pictures(folder, theory)?;
    let summary = read_summary(folder)?;
    if summary.len() != manifest.entries.len() {
        let shown = folder.display();
        return Err(LabError::Failed(format!("{shown}: summary.json and manifest.json are not of one run")));
    }
    let worlds = results::world_names(&manifest);
    let rows: Vec<Row<'_>> = summary
        .iter()
        .zip(&manifest.entries)
        .map(|(json, entry)| {
            let (stage, objective) = (entry.stage, entry.objective.as_str());
            Row { json, objective, stage, world: &worlds[stage] }
        })
        .collect();
    let title = manifest.title.clone().unwrap_or_else(|| manifest.name.clone());
    let mut page = Page::new(title, subtitle(&manifest));
    let mut words = paragraphs(&manifest, &rows);
    words.extend(results::read_warnings(folder).into_iter().map(|line| format!("Warning: {line}.")));
    let words: String = words.iter().map(|text| format!("<p>{}</p>\n", escape(text))).collect();
    page.section("words", "In words", words);
    page.section("results", "Results", table(&manifest, &rows));
    let mut drawn = String::new();
    for (name, picture) in &pictures {
        let scene = picture.scene()?;
        drawn += &figure(name, &scene.svg(), Some(&Values::of(&scene)));
    }
    if let Some(topology) = results::topology_diagrams(catalogue, &manifest) {
        drawn += &figure("topology", &cahoots_figure::Picture::svg(&topology)?, None);
    }
    page.section("figures", "Figures", drawn);
    page.section("verdicts", "Verdicts", verdicts(&manifest, &rows));
    page.section("privacy", "Privacy", privacy(&rows));
    page.section("configuration", "Configuration", configuration(&manifest));
    page.section("again", "How to run it again", again(&manifest, folder));
    let path = out.map_or_else(|| folder.join(FILE), Path::to_path_buf);
    files::write(&path, page.html().as_bytes())?;
    Ok(path)
}

fn read_summary(folder: &Path) -> Result<Vec<Json>, LabError> {
    let path = folder.join("summary.json");
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            LabError::Input(format!("{} holds no finished run: there is no summary.json", folder.display()))
        }
        _ => LabError::io("read", &path, &error),
    })?;
    serde_json::from_str(&text)
        .map_err(|error| LabError::Input(format!("{} cannot be read: {error}", path.display())))
}

fn subtitle(manifest: &Manifest) -> String {
    format!(
        "{}, by cahoots {} ({} arithmetic): {} entries, {} seeds",
        manifest.name,
        manifest.version,
        manifest.arithmetic,
        manifest.entries.len(),
        manifest.seeds.len()
    )
}

fn table(manifest: &Manifest, rows: &[Row<'_>]) -> String {
    let worlds = manifest.stages.len() > 1;
    let objectives = rows.iter().any(|row| row.objective != rows[0].objective || row.objective != "local");
    let mut titles = vec!["entry"];
    let mut out: Vec<Vec<Cell>> = rows.iter().map(|row| vec![Cell::text(row.label())]).collect();
    let mut column = |title: &'static str, cell: &dyn Fn(&Row<'_>) -> Cell| {
        titles.push(title);
        for (cells, row) in out.iter_mut().zip(rows) {
            cells.push(cell(row));
        }
    };
    if worlds {
        column("world", &|row| Cell::text(row.world));
    }
    if objectives {
        column("objective", &|row| Cell::text(row.objective));
    }
    let whole = |row: &Row<'_>, key: &str| Cell::number(grouped(row.number(key), 0), row.number(key));
    column("decisions", &|row| whole(row, "steps"));
    column("regret (± 95%)", &|row| Cell::number(row.regret(), row.number("regret_mean")));
    column("reward", &|row| Cell::number(readable(row.number("reward_mean")), row.number("reward_mean")));
    if rows.iter().any(|row| row.json["normalised_reward_mean"].is_number()) {
        column("times random (± 95%)", &|row| match row.json["normalised_reward_mean"].as_f64() {
            Some(times) => {
                let half = row.json["normalised_reward_ci95"].as_f64();
                Cell::number(plus_minus(times, half, false), times)
            }
            None => Cell::text("-"),
        });
    }
    column("messages", &|row| whole(row, "transfers_mean"));
    column("bytes", &|row| whole(row, "bytes_mean"));
    if rows.iter().any(|row| row.json["clusters_mean"].is_number()) {
        column("clusters", &|row| match row.json["clusters_mean"].as_f64() {
            Some(clusters) => Cell::number(readable(clusters), clusters),
            None => Cell::text(""),
        });
    }
    if rows.iter().any(|row| row.json["privacy"].is_object()) {
        column("epsilon", &|row| match row.json["privacy"]["epsilon"].as_f64() {
            Some(epsilon) => Cell::number(readable(epsilon), epsilon),
            None if row.json["privacy"].is_object() => Cell::text("no bound"),
            None => Cell::text("-"),
        });
    }
    let over = match manifest.seeds.len() {
        1 => "Of one seed.".to_string(),
        n => format!("Means over {n} seeds; ± is half the 95% confidence interval (Student's t)."),
    };
    let hint = "<span class=\"on-screen\">A click on a heading sorts.</span>";
    format!("<p>{over} {hint}</p>\n{}", cells("results-table", &titles, &out))
}

/// Every entry against the first of its world.
fn verdicts(manifest: &Manifest, rows: &[Row<'_>]) -> String {
    if manifest.seeds.len() == 1 {
        return "<p>With one seed nothing can be told beyond chance.</p>\n".into();
    }
    let mut out = Vec::new();
    for group in comparable(rows).iter().filter(|group| group.len() > 1) {
        for row in &group[1..] {
            if let Some((difference, told)) = row.verdict() {
                let mean = row.number("regret_vs_first_mean");
                let told = Cell { class: verdict(told), ..Cell::text(told) };
                let first = rows.iter().find(|first| first.stage == row.stage).map_or("", Row::label);
                let cells =
                    vec![Cell::text(row.label()), Cell::text(first), Cell::number(difference, mean), told];
                out.push(cells);
            }
        }
    }
    if out.is_empty() {
        return "<p>There is nothing to compare: one entry per world and objective.</p>\n".into();
    }
    let titles = ["entry", "against", "difference in regret (± 95%)", "verdict"];
    format!(
        "<p>Each entry against the first of its world, seed by seed. A verdict is given where the 95% confidence \
         interval of the difference lies on one side of zero; each comparison stands for itself.</p>\n{}",
        cells("verdicts-table", &titles, &out)
    )
}

fn privacy(rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for row in rows {
        let Some(words) = row.json["privacy"]["in_words"].as_str() else { continue };
        let _ = writeln!(out, "<h3>{}</h3>\n<pre>{}</pre>", escape(row.label()), escape(words));
    }
    if out.is_empty() {
        return "<p>No entry makes a promise about users' data: what is sent are statistics, without noise.</p>\n".into();
    }
    out
}

fn configuration(manifest: &Manifest) -> String {
    let mut out = String::from("<h3>Seeds</h3>\n");
    let seeds: Vec<String> = manifest.seeds.iter().map(u64::to_string).collect();
    let _ = writeln!(out, "<p><code>{}</code></p>", seeds.join(", "));
    if !manifest.source.is_empty() {
        let (file, text) = (escape(&manifest.file), escape(manifest.source.trim_end()));
        let _ = writeln!(out, "<h3>Experiment file ({file})</h3>\n<pre>{text}</pre>");
    }
    out += "<h3>What was run, defaults filled in</h3>\n";
    for (stage, world) in manifest.stages.iter().zip(results::world_names(manifest)) {
        let name = if world.is_empty() { "world".to_string() } else { format!("world: {world}") };
        let mut shown = stage.clone();
        if let Some(table) = shown.as_object_mut() {
            table.shift_remove("label");
        }
        out += &details(&name, &shown);
    }
    for entry in &manifest.entries {
        out += &details(&format!("{} ({})", entry.label, entry.algorithm), &entry.params);
    }
    out
}

fn details(name: &str, value: &Json) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("<details><summary>{}</summary><pre>{}</pre></details>\n", escape(name), escape(&text))
}

fn again(manifest: &Manifest, folder: &Path) -> String {
    let shown = folder.join("manifest.json").display().to_string();
    let command = format!("cahoots run {} --out again", quoted(&shown));
    let called: Vec<String> = manifest.command.iter().map(|word| quoted(word)).collect();
    format!(
        "<p>With cahoots {} on a machine with the same arithmetic ({}), this gives the same results, bit for bit:</p>\n\
         <pre>{}</pre>\n<p>It was called as</p>\n<pre>{}</pre>\n\
         <p>Beside this page: summary.csv and curves.parquet have all numbers, columns.md says what they are, and \
         timing.csv holds times and memory.</p>\n",
        escape(&manifest.version),
        escape(&manifest.arithmetic),
        escape(&command),
        escape(&called.join(" "))
    )
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
