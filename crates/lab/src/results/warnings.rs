//! What a table does not show and its reader must know: one line each, with the key to turn.

use std::fs;
use std::path::Path;

use super::Summary;
use super::statistics::Estimate;
use super::table::plus_minus;
use crate::error::LabError;
use crate::experiment::{Entry, Experiment, Record};
use crate::files;

/// Name of the file in a folder of results that has something to be warned of.
pub const FILE: &str = "warnings.txt";

/// Keeps lines beside the results that they are about; where there are none, there is no file.
pub fn keep(folder: &Path, lines: &[String]) -> Result<(), LabError> {
    let path = folder.join(FILE);
    if lines.is_empty() {
        return files::remove(&path);
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    files::write(&path, text.as_bytes())
}

/// The lines that were kept.
pub fn read(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The part of all rewards that may be clipped without a word.
const FEW: f64 = 0.01;

/// Keys that make an algorithm trust its data more or share more of it, the first that it has being the one to turn.
const TURN: [&str; 7] = [
    "radius_scale",
    "confidence_constant",
    "dp_epsilon",
    "schedule",
    "sync_threshold",
    "upload_ratio",
    "radius",
];

/// One line for each thing that a reader of the table must know.
pub fn warnings(experiment: &Experiment, summaries: &[Summary]) -> Vec<String> {
    let all: Vec<(&Entry, &Summary)> = experiment.entries.iter().zip(summaries).collect();
    let mut lines = clipped(experiment, &all);
    lines.extend(lost_to_alone(experiment, &all));
    lines
}

/// The part of the rewards that an entry clips, and to what, where it is not a few.
fn clips(entry: &Entry, summary: &Summary) -> Option<((f64, f64), f64)> {
    let share = summary.over(|run| run.clipped_rewards as f64 / run.steps.max(1) as f64).mean;
    entry.clips.filter(|_| share >= FEW).map(|interval| (interval, share))
}

/// A few labels, and how many more.
fn named(labels: &[&str]) -> String {
    match labels {
        [one] => (*one).to_string(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
        [] => String::new(),
    }
}

/// Entries that clip alike.
struct Clipped<'a> {
    entry: &'a Entry,
    interval: (f64, f64),
    most: f64,
    labels: Vec<&'a str>,
}

/// Rewards that an algorithm clips are not the world's any more.
fn clipped(experiment: &Experiment, all: &[(&Entry, &Summary)]) -> Vec<String> {
    let mut found: Vec<Clipped<'_>> = Vec::new();
    for (entry, summary) in all {
        let Some((interval, share)) = clips(entry, summary) else { continue };
        let same =
            |known: &&mut Clipped<'_>| known.entry.algorithm == entry.algorithm && known.interval == interval;
        match found.iter_mut().find(same) {
            Some(known) => {
                known.most = known.most.max(share);
                known.labels.push(&entry.label);
            }
            None => found.push(Clipped { entry, interval, most: share, labels: vec![&entry.label] }),
        }
    }
    let line = |Clipped { entry, interval: (low, high), most, labels }: Clipped<'_>| {
        let key = if has_key(experiment, entry, "reward_range") {
            "state its `reward_range`"
        } else {
            "see `means` and `reward_noise` in [environment]"
        };
        format!(
            "{}: {:.0}% of the rewards lie outside [{low}, {high}], to which {} clips them: {key}",
            named(&labels),
            100.0 * most,
            entry.algorithm
        )
    };
    found.into_iter().map(line).collect()
}

/// Entries of one block that do worse than not sharing.
struct Lost<'a> {
    entry: &'a Entry,
    labels: Vec<&'a str>,
    worst: Estimate,
    baseline: &'a Entry,
}

/// Sharing that does worse than not sharing: a line for each block of the file, on its worst entry.
fn lost_to_alone(experiment: &Experiment, all: &[(&Entry, &Summary)]) -> Vec<String> {
    let mut found: Vec<Lost<'_>> = Vec::new();
    for (entry, summary) in all {
        let shares = summary.transfers().mean > 0.0 && !entry.algorithm.ends_with("-alone");
        let alone = all.iter().filter(|(other, _)| {
            other.algorithm.ends_with("-alone")
                && other.stage_index == entry.stage_index
                && other.objective == entry.objective
        });
        let best = alone.min_by(|(_, a), (_, b)| a.regret().mean.total_cmp(&b.regret().mean));
        let Some((baseline, best)) = best.filter(|_| shares && clips(entry, summary).is_none()) else {
            continue;
        };
        let pairs = summary.runs.iter().zip(&best.runs);
        let difference = Estimate::new(pairs.map(|(own, alone)| own.regret - alone.regret));
        if difference.ci95.is_none_or(|half| difference.mean <= half) {
            continue;
        }
        match found.iter_mut().find(|known| known.entry.block == entry.block) {
            Some(known) => {
                known.labels.push(&entry.label);
                if difference.mean > known.worst.mean {
                    (known.worst, known.baseline) = (difference, baseline);
                }
            }
            None => found.push(Lost { entry, labels: vec![&entry.label], worst: difference, baseline }),
        }
    }
    let line = |Lost { entry, labels, worst, baseline }: Lost<'_>| {
        let key = TURN.iter().find(|key| has_key(experiment, entry, key))?;
        Some(format!(
            "{}: more regret than {}, which shares nothing ({}): `{key}` is the key to turn, or a longer `horizon`",
            named(&labels),
            baseline.label,
            plus_minus(worst.mean, worst.ci95, true)
        ))
    };
    found.into_iter().filter_map(line).collect()
}

fn has_key(experiment: &Experiment, entry: &Entry, key: &str) -> bool {
    let known = experiment.catalogue.find(&entry.algorithm);
    known.is_ok_and(|about| Record::from_schema(about.schema().as_value()).field(key).is_some())
}
