//! All papers in Markdown: a page per paper with its claims and figures, and one over all of them. `docs/results` is
//! written by this, and by nobody's hand.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cahoots_lab::LabError;
use cahoots_lab::files;
use serde_json::Value as Json;

use super::index::{counts, report, seeds};
use super::{Item, Paper};
use crate::PAPERS;

/// Writes `README.md` and a page per paper into a folder, with the figures that they show.
pub fn write_markdown(out: &Path, to: &Path) -> Result<PathBuf, LabError> {
    for paper in PAPERS {
        let page = to.join(format!("{}.md", paper.name));
        create(to)?;
        files::write(&page, of_paper(paper, out, to)?.as_bytes())?;
    }
    let index = to.join("README.md");
    files::write(&index, overview(out).as_bytes())?;
    Ok(index)
}

fn create(folder: &Path) -> Result<(), LabError> {
    fs::create_dir_all(folder)
        .map_err(|error| LabError::Failed(format!("cannot create {}: {error}", folder.display())))
}

fn overview(out: &Path) -> String {
    let mut text = format!(
        "# The papers' tables and figures, as measured here\n\n\
         Written by `cahoots report DIR --markdown docs/results` (cahoots {}) from what `cahoots reproduce --out DIR` left; \
         nothing in this folder is typed. A claim that does not hold is a result, not a failure. \
         Intervals are 95% confidence.\n\n\
         | item | shows | state | holds | does not | undecided | seeds |\n|---|---|---|---|---|---|---|\n",
        env!("CARGO_PKG_VERSION")
    );
    for paper in PAPERS {
        for item in paper.items {
            let anchor = item.name.replace('/', "");
            let name = format!("[{}]({}.md#{anchor})", item.name, paper.name);
            let cells = match report(item, out) {
                Some(report) => {
                    let [hold, fail, open] = counts(&report);
                    let state = if report["quick"] == true { "a quick look" } else { "in full" };
                    format!("{state} | {hold} | {fail} | {open} | {}", seeds(&report))
                }
                None if item.needs_data() => "needs data, see its page | | | |".into(),
                None => "not run | | | |".into(),
            };
            let _ = writeln!(text, "| {name} | {} | {cells} |", cell(item.title));
        }
    }
    text
}

fn of_paper(paper: &Paper, out: &Path, to: &Path) -> Result<String, LabError> {
    let mut text = format!(
        "# {}\n\n{}, {}. `cahoots reproduce {}`\n",
        paper.title, paper.authors, paper.year, paper.name
    );
    for item in paper.items {
        let _ = write!(text, "\n## {}\n\n{}.\n", item.name, item.title);
        match report(item, out) {
            Some(report) => text += &of_item(paper, item, &report, out, to)?,
            None if item.needs_data() => {
                let _ = write!(
                    text,
                    "\nNot run here: it is made of data that everybody has to obtain for himself. `cahoots data check DIR` \
                     says what a folder holds and where the rest is; `cahoots reproduce {} --data DIR` runs it.\n",
                    item.name
                );
            }
            None => text += "\nNot run.\n",
        }
    }
    Ok(text)
}

fn of_item(paper: &Paper, item: &Item, report: &Json, out: &Path, to: &Path) -> Result<String, LabError> {
    let count = seeds(report);
    let word = if count == "1" { "seed" } else { "seeds" };
    let quick = if report["quick"] == true { ", a quick look" } else { "" };
    let mut text = format!(
        "\n{count} {word}{quick}, cahoots {}.\n\n| claim | source | they say | ours (± 95%) | verdict |\n|---|---|---|---|---|\n",
        report["version"].as_str().unwrap_or_default()
    );
    for claim in report["claims"].as_array().into_iter().flatten() {
        let of = |key: &str| cell(claim[key].as_str().unwrap_or_default());
        let verdict = of("verdict").replace('-', " ");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {verdict} |",
            of("what"),
            of("source"),
            of("paper"),
            of("ours")
        );
    }
    let notes = report["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes.iter().filter_map(Json::as_str) {
        let _ = writeln!(text, "- {note}");
    }
    for name in report["figures"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        let Ok(svg) = fs::read(out.join(item.name).join(format!("{name}.svg"))) else { continue };
        let folder = to.join(paper.name);
        create(&folder)?;
        files::write(&folder.join(format!("{name}.svg")), &svg)?;
        let _ = write!(text, "\n![{name}]({}/{name}.svg)\n", paper.name);
    }
    Ok(text)
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
