//! `cahoots reproduce`: the papers' tables and figures.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_lab::{LabError, say};
use cahoots_papers::PAPERS;
use cahoots_papers::reproduce::{self, Item, Options, Paper, Report};
use cahoots_sim::catalogue::Catalogue;
use serde_json::json;

use super::stop;
use crate::print;

/// Reproduce the papers' tables and figures: what the paper says beside what is measured here.
///
/// Each item ends in a table of claims (paper, ours with its 95% interval, verdict), a figure in the
/// paper's layout, and a folder with everything behind them. A claim that does not hold is a result,
/// not a failure. What was run before is not run again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Tables and figures, such as async-linucb/figure-2a, or whole papers, such as hetofed [default: all].
    names: Vec<String>,
    /// List what there is, how far it is and what it costs.
    #[arg(long)]
    list: bool,
    /// A quick look: few seeds, wide intervals.
    #[arg(long)]
    quick: bool,
    /// Folder for the results [default: results/reproduce, or results/reproduce-quick].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder of the datasets, for items that read one.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads [default: as many as there are cores]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON object per item instead of tables.
    #[arg(long)]
    json: bool,
    /// Run everything again, whatever is there.
    #[arg(long)]
    force: bool,
    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots reproduce --list                               what there is
  cahoots reproduce async-linucb/figure-2a --quick       one figure, a quick look
  cahoots reproduce hetofed                              all of a paper
  cahoots reproduce pf-ucb/figure-4 --data DIR           one that reads a dataset
  cahoots reproduce                                      everything; the same command goes on after Ctrl-C

An item's folder holds report.md and report.json (the claims), its figures (.svg, .png and .pdf), and one
folder per experiment as `cahoots run` leaves it; index.html is a page over all papers. The experiment files are in crates/papers/src.";

pub(crate) fn run(args: Args, catalogue: &Arc<Catalogue>) -> Result<(), LabError> {
    let items = reproduce::select(&args.names)?;
    let usual = if args.quick { "results/reproduce-quick" } else { "results/reproduce" };
    let out = args.out.unwrap_or_else(|| usual.into());
    if args.list {
        return list(&items, &out, args.json);
    }
    let (items, skipped): (Vec<&Item>, Vec<&Item>) = items
        .into_iter()
        .partition(|item| args.data.is_some() || !item.needs_data() || named(&args.names, item));
    let options = Options {
        catalogue,
        quick: args.quick,
        data: args.data.as_deref(),
        jobs: args.jobs.map_or_else(stop::cores, usize::from),
        force: args.force,
        quiet: args.quiet,
        command: std::env::args().collect(),
        stop: stop::on_ctrl_c(),
    };
    for item in items {
        if !args.quiet {
            say(format_args!("{}: {}", item.name, item.title));
        }
        let report = reproduce::reproduce(item, &out, &options)?;
        if args.json {
            print::out(&(serde_json::to_string(&report).unwrap_or_default() + "\n"))?;
        } else {
            print::out(&text(&report))?;
        }
    }
    if !args.quiet && !args.json {
        say(format_args!("page over all papers: {}", out.join(reproduce::INDEX).display()));
    }
    if !skipped.is_empty() {
        let names: Vec<&str> = skipped.iter().map(|item| item.name).collect();
        let names = names.join(", ");
        say(format_args!("left out, as they read a dataset (name its folder with --data DIR): {names}"));
    }
    Ok(())
}

/// Whether an item was asked for by its own name.
fn named(names: &[String], item: &Item) -> bool {
    names.iter().any(|name| name == item.name)
}

fn list(items: &[&Item], out: &Path, as_json: bool) -> Result<(), LabError> {
    let of = |paper: &Paper| {
        let own = items.iter().filter(|item| paper.items.iter().any(|own| own.name == item.name));
        own.copied().collect::<Vec<&Item>>()
    };
    let papers = PAPERS.iter().map(|paper| (paper, of(paper))).filter(|(_, items)| !items.is_empty());
    if as_json {
        let lines =
            papers.flat_map(|(paper, items)| items.into_iter().map(|item| json_line(paper, item, out)));
        return print::out(&lines.collect::<String>());
    }
    let mut rows = vec![["item", "shows", "time", "quick", "state"].map(String::from).to_vec()];
    let mut headings = Vec::new();
    for (paper, items) in papers {
        headings.push((rows.len(), paper));
        for item in items {
            let title =
                if item.needs_data() { format!("{} (needs --data)", item.title) } else { item.title.into() };
            let state = item.state(out).text();
            rows.push(vec![
                item.name.into(),
                title,
                span(item.seconds.full),
                span(item.seconds.quick),
                state,
            ]);
        }
    }
    let heading = |row: usize| {
        let (_, paper) = headings.iter().find(|(before, _)| *before == row)?;
        Some(format!("\n{}: {} ({}, {})\n", paper.name, paper.title, paper.authors, paper.year))
    };
    let text = print::columns_under(&rows, heading);
    print::out(&format!("{text}\nTimes are for one core, roughly. State of {}.\n", out.display()))
}

fn json_line(paper: &Paper, item: &Item, out: &Path) -> String {
    let line = json!({
        "item": item.name, "title": item.title, "state": item.state(out).text(),
        "seconds": { "full": item.seconds.full, "quick": item.seconds.quick },
        "needs_data": item.needs_data(),
        "paper": { "name": paper.name, "title": paper.title, "authors": paper.authors, "year": paper.year },
    });
    line.to_string() + "\n"
}

fn span(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

fn text(report: &Report) -> String {
    let mut text = format!("{}: {} ({})\n\n", report.item, report.title, report.seeds_text());
    text += &print::columns(&report.rows());
    text.push('\n');
    for note in &report.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let figures: Vec<String> = report.figures.iter().map(|name| format!("{name}.svg")).collect();
    let _ = writeln!(
        text,
        "results: {}: report.md, report.json, {}\n",
        report.folder.display(),
        figures.join(", ")
    );
    text
}
