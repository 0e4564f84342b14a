//! All papers on one page: how far their items are, and claim by claim what came of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cahoots_lab::LabError;
use cahoots_lab::files;
use cahoots_lab::report::{Page, Values, escape, figure, table};
use serde_json::Value as Json;

use super::state::{REPORT, State};
use super::{Item, Paper};
use crate::PAPERS;

/// Name of the page in a folder of reproductions.
pub const INDEX: &str = "index.html";

/// How names of files end that hold what can be read off a figure.
pub(super) const VALUES: &str = ".values.json";

/// Whether a folder holds reproductions.
pub fn holds_reproductions(out: &Path) -> bool {
    PAPERS.iter().any(|paper| paper.items.iter().any(|item| item.state(out) != State::NotRun))
}

/// Writes the page over all papers, to `to` or into the folder. Gives where it is.
pub fn write_index(out: &Path, to: Option<&Path>) -> Result<PathBuf, LabError> {
    let version = env!("CARGO_PKG_VERSION");
    let mut page = Page::new("Papers, reproduced", format!("{}, by cahoots {version}", out.display()));
    page.section("overview", "Overview", overview(out));
    for paper in PAPERS {
        let heading = format!("{}: {}", paper.name, paper.title);
        page.section(paper.name, heading, of_paper(paper, out));
    }
    page.section("again", "How to run it again", again(out));
    let path = to.map_or_else(|| out.join(INDEX), Path::to_path_buf);
    files::write(&path, page.html().as_bytes())?;
    Ok(path)
}

/// What an item's folder says of it, if it is done.
pub(super) fn report(item: &Item, out: &Path) -> Option<Json> {
    let text = fs::read_to_string(out.join(item.name).join(REPORT)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Claims by verdict: hold, do not, cannot be decided.
pub(super) fn counts(report: &Json) -> [usize; 3] {
    let claims = report["claims"].as_array().map(Vec::as_slice).unwrap_or_default();
    ["holds", "does-not-hold", "undecided"]
        .map(|verdict| claims.iter().filter(|claim| claim["verdict"] == verdict).count())
}

fn overview(out: &Path) -> String {
    let mut rows = vec![
        ["item", "shows", "state", "holds", "does not", "undecided", "seeds"].map(String::from).to_vec(),
    ];
    let mut totals = [0; 3];
    let mut done = 0;
    for item in PAPERS.iter().flat_map(|paper| paper.items) {
        let report = report(item, out);
        let own = report.as_ref().map(counts);
        let number = |place: usize| own.map_or(String::new(), |own| own[place].to_string());
        let state = match (&report, item.state(out)) {
            (Some(report), _) if report["quick"] == true => "a quick look".to_string(),
            (Some(_), _) => "done".into(),
            (None, state) => state.text(),
        };
        let seeds = report.as_ref().map_or(String::new(), seeds);
        rows.push(vec![item.name.into(), item.title.into(), state, number(0), number(1), number(2), seeds]);
        if let Some(own) = own {
            done += 1;
            totals.iter_mut().zip(own).for_each(|(total, own)| *total += own);
        }
    }
    let [hold, fail, open] = totals;
    let all = rows.len() - 1;
    format!(
        "<p>{done} of {all} tables and figures have been run: {hold} claims hold, {fail} do not, {open} cannot be \
         decided with the seeds that were run. A claim that does not hold is a result, not a failure.</p>\n{}",
        table("overview-table", &rows)
    )
}

/// How many seeds an item was run with, experiment by experiment.
pub(super) fn seeds(report: &Json) -> String {
    let all = report["seeds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut counts: Vec<u64> = all.iter().filter_map(|pair| pair[1].as_u64()).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn of_paper(paper: &Paper, out: &Path) -> String {
    let mut text = format!("<p>{}, {}.</p>\n", escape(paper.authors), paper.year);
    for item in paper.items {
        let (id, title) = (item.name.replace('/', "-"), escape(item.title));
        let _ = writeln!(text, "<h3 id=\"{id}\">{}: {title}</h3>", escape(item.name));
        match report(item, out) {
            Some(report) => text += &of_item(item, &report, &out.join(item.name)),
            None => {
                let _ = writeln!(
                    text,
                    "<p>{}. <code>cahoots reproduce {}</code></p>",
                    item.state(out).text(),
                    item.name
                );
            }
        }
    }
    text
}

fn of_item(item: &Item, report: &Json, folder: &Path) -> String {
    let mut rows =
        vec![["claim", "source", "they say", "ours (± 95%)", "verdict"].map(String::from).to_vec()];
    for claim in report["claims"].as_array().into_iter().flatten() {
        let cell = |key: &str| claim[key].as_str().unwrap_or_default().to_string();
        let verdict = cell("verdict").replace('-', " ");
        rows.push(vec![cell("what"), cell("source"), cell("paper"), cell("ours"), verdict]);
    }
    let quick = if report["quick"] == true { ", a quick look" } else { "" };
    let version = report["version"].as_str().unwrap_or_default();
    let seeds = seeds(report);
    let word = if seeds == "1" { "seed" } else { "seeds" };
    let mut text = format!("<p>{seeds} {word}{quick}, cahoots {}.</p>\n", escape(version));
    text += &table(&format!("{}-table", item.name.replace('/', "-")), &rows);
    let notes = report["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !notes.is_empty() {
        text += "<ul>\n";
        for note in notes.iter().filter_map(Json::as_str) {
            let _ = writeln!(text, "<li>{}</li>", escape(note));
        }
        text += "</ul>\n";
    }
    for name in report["figures"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        let Ok(svg) = fs::read_to_string(folder.join(format!("{name}.svg"))) else { continue };
        let values = fs::read_to_string(folder.join(format!("{name}{VALUES}"))).ok();
        let values = values.and_then(|text| serde_json::from_str(&text).ok()).map(Values);
        text += &figure(&format!("{} {name}", item.name), &svg, values.as_ref());
    }
    text
}

fn again(out: &Path) -> String {
    format!(
        "<p>Everything, as far as it is not there yet; the experiment files are part of the program:</p>\n\
         <pre>cahoots reproduce --out {0}</pre>\n<p>This page again, from what is there:</p>\n\
         <pre>cahoots report {0}</pre>\n",
        escape(&out.display().to_string())
    )
}
