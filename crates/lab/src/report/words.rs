//! A run in words: what was done, what came of it, and how sure that is.

use serde_json::Value as Json;

use crate::results::{grouped, plus_minus, readable};
use crate::run::Manifest;

/// One entry of a summary, as files of results hold it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub json: &'a Json,
    pub objective: &'a str,
    pub stage: usize,
    /// What sets its world apart; empty where there is one.
    pub world: &'a str,
}

impl<'a> Row<'a> {
    pub(super) fn text(&self, key: &str) -> &'a str {
        self.json[key].as_str().unwrap_or_default()
    }

    pub(super) fn number(&self, key: &str) -> f64 {
        self.json[key].as_f64().unwrap_or(f64::NAN)
    }

    pub(super) fn label(&self) -> &'a str {
        self.text("label")
    }

    pub(super) fn regret(&self) -> String {
        plus_minus(self.number("regret_mean"), self.json["regret_ci95"].as_f64(), false)
    }

    /// The difference to the first entry of its world, and what it says; `None` for that one, and where there is
    /// nothing to compare.
    pub(super) fn verdict(&self) -> Option<(String, &'static str)> {
        let mean = self.json["regret_vs_first_mean"].as_f64()?;
        let half = self.json["regret_vs_first_ci95"].as_f64();
        let verdict = match half {
            Some(half) if mean + half < 0.0 => "less regret",
            Some(half) if mean - half > 0.0 => "more regret",
            _ => "cannot tell",
        };
        Some((plus_minus(mean, half, true), verdict))
    }
}

/// Entries that can be compared: of one world, measured against one objective.
pub(super) fn comparable<'a>(rows: &[Row<'a>]) -> Vec<Vec<Row<'a>>> {
    let mut groups: Vec<Vec<Row<'a>>> = Vec::new();
    for row in rows {
        let same =
            |group: &&mut Vec<Row<'a>>| group[0].stage == row.stage && group[0].objective == row.objective;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(*row),
            None => groups.push(vec![*row]),
        }
    }
    groups
}

/// Groups of entries that are told about one by one, at most.
const MOST_GROUPS: usize = 12;

/// Paragraphs.
pub(super) fn paragraphs(manifest: &Manifest, rows: &[Row<'_>]) -> Vec<String> {
    let mut said = vec![what(manifest, rows)];
    let groups = comparable(rows);
    let several = groups.len() > 1;
    let objectives = rows.iter().any(|row| row.objective != rows[0].objective);
    for group in groups.iter().take(MOST_GROUPS) {
        said.push(outcome(manifest, group, several, objectives));
    }
    if groups.len() > MOST_GROUPS {
        said.push(format!("The other {} worlds are in the table.", groups.len() - MOST_GROUPS));
    }
    if objectives {
        said.push(
            "Regret is not measured against the same for all entries; only those with the same objective are compared."
                .into(),
        );
    }
    said.push(communication(rows));
    said.push(privacy(rows));
    if manifest.seeds.len() == 1 {
        said.push("There is one seed only: nothing here tells chance from merit. Run it with ten.".into());
    }
    said
}

fn what(manifest: &Manifest, rows: &[Row<'_>]) -> String {
    let (entries, worlds, seeds) = (rows.len(), manifest.stages.len(), manifest.seeds.len());
    let count = |n: usize, one: &str, many: &str| match n {
        1 => format!("One {one}"),
        n => format!("{n} {many}"),
    };
    let mut text = format!("{} ran", count(entries, "entry", "entries"));
    if worlds > 1 {
        text += &format!(" in {worlds} worlds");
    }
    text += &match seeds {
        1 => ", once".to_string(),
        n => format!(", each with {n} seeds"),
    };
    let (horizon, steps) = (rows[0].number("horizon"), rows[0].number("steps"));
    let same = |key: &str| rows.iter().all(|row| row.number(key) == rows[0].number(key));
    if same("horizon") {
        text += &format!(", for {} ticks", grouped(horizon, 0));
        if same("steps") {
            text += &format!(" ({} decisions)", grouped(steps, 0));
        }
    }
    let world = &manifest.stages[0]["environment"];
    let keys = ["clients", "users", "servers", "arms", "dim", "clusters"];
    let sizes: Vec<String> =
        keys.iter().filter_map(|key| Some(format!("{key} = {}", world[key].as_u64()?))).collect();
    if worlds == 1 {
        let kind = world["kind"].as_str().unwrap_or_default();
        text += &format!(", in a world of the kind \"{kind}\" ({})", sizes.join(", "));
    }
    text + ". All entries of a world meet the same contexts and the same noise, seed by seed."
}

fn outcome(manifest: &Manifest, group: &[Row<'_>], several: bool, objectives: bool) -> String {
    let mut place = String::new();
    if several {
        let objective =
            if objectives { format!("measured against \"{}\"", group[0].objective) } else { String::new() };
        let parts = [group[0].world.to_string(), objective];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() {
            place = format!("{}: ", parts.join(", "));
        }
    }
    let mut order: Vec<&Row<'_>> = group.iter().collect();
    order.sort_by(|a, b| a.number("regret_mean").total_cmp(&b.number("regret_mean")));
    let (best, worst) = (order[0], order[order.len() - 1]);
    if group.len() == 1 {
        return format!("{place}{} had a regret of {}.", best.label(), best.regret());
    }
    let the = if place.is_empty() { "The" } else { "the" };
    let mut text = format!("{place}{the} least regret is that of {} ({}), ", best.label(), best.regret());
    text += &format!("the largest that of {} ({})", worst.label(), worst.regret());
    let (low, high) = (best.number("regret_mean"), worst.number("regret_mean"));
    if low > 0.0 {
        text += &format!(", {} times as much", readable(high / low));
    }
    text += ".";
    let verdicts: Vec<(&Row<'_>, &str)> =
        group.iter().skip(1).filter_map(|row| row.verdict().map(|(_, verdict)| (row, verdict))).collect();
    let names = |wanted: &str| {
        let named: Vec<&str> =
            verdicts.iter().filter(|(_, verdict)| *verdict == wanted).map(|(row, _)| row.label()).collect();
        match named.len() {
            0..=4 => named.join(", "),
            n => format!("{n} entries"),
        }
    };
    let first = group[0].label();
    let parts = [("less regret", "less"), ("more regret", "more")];
    for (verdict, word) in parts {
        let named = names(verdict);
        if !named.is_empty() {
            text +=
                &format!(" With {word} regret than {first}, the first entry, beyond chance (95%): {named}.");
        }
    }
    let open = names("cannot tell");
    if !open.is_empty() && manifest.seeds.len() > 1 {
        text += &format!(" Not to be told from {first} with these seeds: {open}.");
    }
    text
}

fn communication(rows: &[Row<'_>]) -> String {
    let transfers = |row: &Row<'_>| row.number("transfers_mean");
    let silent = rows.iter().filter(|row| transfers(row) == 0.0).count();
    let talking: Vec<&Row<'_>> = rows.iter().filter(|row| transfers(row) > 0.0).collect();
    let Some(least) = talking.iter().min_by(|a, b| transfers(a).total_cmp(&transfers(b))) else {
        return "No entry sends anything.".into();
    };
    let most = talking.iter().max_by(|a, b| transfers(a).total_cmp(&transfers(b))).unwrap_or(least);
    let about = |row: &Row<'_>| {
        let bytes = row.number("bytes_mean");
        format!("{} ({} messages, {} bytes)", row.label(), grouped(transfers(row), 0), grouped(bytes, 0))
    };
    let mut text = match least.label() == most.label() {
        true => format!("Only {} sends anything.", about(least)),
        false => format!("Of those that communicate, {} sends least and {} most.", about(least), about(most)),
    };
    if silent > 0 {
        text += &format!(" {silent} of {} send nothing.", rows.len());
    }
    text
}

fn privacy(rows: &[Row<'_>]) -> String {
    let promising = rows.iter().filter(|row| row.json["privacy"].is_object()).count();
    match promising {
        0 => "No entry promises anything about users' data beyond that the data themselves stay where they are.".into(),
        n => format!("{n} of {} entries state what they promise about users' data: see below.", rows.len()),
    }
}
