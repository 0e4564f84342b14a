//! What figures show of one entry, and how entries are put into panels.

use cahoots_figure::Point;

use super::super::statistics::Estimate;
use super::swept::{self, Choice};
use crate::run::{Curve, ManifestEntry};

/// Lines in one panel, at most.
pub(super) const MOST_LINES: usize = 16;

/// Lines of one panel where entries are spread over several.
const LINES_PER_PANEL: usize = 8;

/// Entries that are repeated in every panel, at most.
const MOST_BASELINES: usize = 4;

/// What figures show of one entry.
#[derive(Clone, Debug)]
pub(in crate::results) struct Drawn {
    pub about: ManifestEntry,
    /// What is swept, and this entry's values.
    pub choices: Vec<Choice>,
    pub over_time: Vec<Point>,
    pub regret: Estimate,
    pub transfers: Estimate,
}

impl Drawn {
    /// Means and intervals over the curves of an entry.
    pub(in crate::results) fn new(about: &ManifestEntry, curves: &[&Curve]) -> Drawn {
        let points = curves.iter().map(|curve| curve.tick.len()).min().unwrap_or_default();
        let mut over_time = vec![Point::new(0.0, 0.0)];
        over_time.extend((0..points).map(|point| {
            let regret = Estimate::new(curves.iter().map(|curve| curve.regret[point]));
            with_band(Point::new(curves[0].tick[point] as f64, regret.mean), &regret)
        }));
        let last = |value: fn(&Curve) -> f64| Estimate::new(curves.iter().map(|curve| value(curve)));
        Drawn {
            about: about.clone(),
            choices: swept::of_entry(about, &[]),
            over_time,
            regret: last(|curve| curve.regret.last().copied().unwrap_or_default()),
            transfers: last(|curve| curve.transfers.last().copied().unwrap_or_default() as f64),
        }
    }

    /// Its value of a swept key.
    pub(super) fn choice(&self, key: &str) -> Option<&serde_json::Value> {
        self.choices.iter().find(|choice| choice.key == key).map(|choice| &choice.value)
    }

    /// The choices of its algorithm, without one of the keys.
    pub(super) fn own_but(&self, key: &str) -> Vec<Choice> {
        let own = self.choices.iter().take(self.about.swept.len());
        own.filter(|choice| choice.key != key).cloned().collect()
    }

    /// The choices of its world, without one of the keys.
    pub(super) fn world_but(&self, key: &str) -> Vec<Choice> {
        let world = self.choices.iter().skip(self.about.swept.len());
        world.filter(|choice| choice.key != key).cloned().collect()
    }

    /// Regret with its interval at a place across.
    pub(super) fn point(&self, x: f64) -> Point {
        with_band(Point::new(x, self.regret.mean), &self.regret)
    }
}

/// A point with the interval of its height. What cannot be below zero is not drawn below zero.
pub fn with_band(point: Point, estimate: &Estimate) -> Point {
    match estimate.ci95 {
        Some(half) => {
            let low = possible(estimate.mean, estimate.mean - half);
            point.with_y_range(low, estimate.mean + half)
        }
        None => point,
    }
}

/// The lower end of an interval around a mean that cannot be negative.
pub(super) fn possible(mean: f64, low: f64) -> f64 {
    if mean >= 0.0 { low.max(0.0) } else { low }
}

/// Some entries that belong together.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    /// What they have in common; empty where everything is in one group.
    pub title: String,
    pub entries: Vec<&'a Drawn>,
    /// Entries that stand in every group, to compare with.
    pub baselines: Vec<&'a Drawn>,
}

/// Entries of one world in as few groups as can be read. Nobody is left out, and who has nothing swept stands in
/// every group.
pub(super) fn groups<'a>(entries: &[&'a Drawn]) -> Vec<Group<'a>> {
    if entries.len() <= MOST_LINES {
        return vec![Group { title: String::new(), entries: entries.to_vec(), baselines: Vec::new() }];
    }
    let mut blocks: Vec<Vec<&Drawn>> = Vec::new();
    for entry in entries {
        match blocks.iter_mut().find(|block| block[0].about.block == entry.about.block) {
            Some(block) => block.push(entry),
            None => blocks.push(vec![entry]),
        }
    }
    let (single, several): (Vec<Vec<&Drawn>>, Vec<Vec<&Drawn>>) =
        blocks.into_iter().partition(|block| block.len() == 1);
    let single: Vec<&Drawn> = single.into_iter().flatten().collect();
    let few = single.len() <= MOST_BASELINES;
    let baselines = if few { single.clone() } else { single[..1].to_vec() };
    let mut groups = Vec::new();
    for block in several {
        for (title, entries) in parts(&block) {
            groups.push(Group { title, entries, baselines: baselines.clone() });
        }
    }
    if !few {
        for part in even(&single[1..]) {
            groups.push(Group { title: String::new(), entries: part.to_vec(), baselines: baselines.clone() });
        }
    }
    groups
}

/// The entries of one block: together, by the values of a key, or in pieces.
fn parts<'a>(block: &[&'a Drawn]) -> Vec<(String, Vec<&'a Drawn>)> {
    let name = &block[0].about.block_label;
    if block.len() <= LINES_PER_PANEL {
        return vec![(name.clone(), block.to_vec())];
    }
    // The key that leaves as many lines per panel as can be read.
    let keys = block[0].about.swept.iter().map(|(key, _)| key.clone());
    let values = |key: &str| swept::distinct(block.iter().filter_map(|entry| entry.choice(key)));
    let lines = |key: &String| block.len() / values(key).len().max(1);
    let readable = keys.clone().filter(|key| lines(key) <= LINES_PER_PANEL).max_by_key(lines);
    match readable.filter(|_| block[0].about.swept.len() > 1).or_else(|| keys.min_by_key(lines)) {
        Some(key) if block[0].about.swept.len() > 1 => values(&key)
            .iter()
            .flat_map(|value| {
                let own: Vec<&Drawn> =
                    block.iter().copied().filter(|entry| entry.choice(&key) == Some(value)).collect();
                let title = format!("{name} {key}={}", swept::text(value));
                even(&own).map(|part| (title.clone(), part.to_vec())).collect::<Vec<_>>()
            })
            .collect(),
        _ => even(block).map(|part| (name.clone(), part.to_vec())).collect(),
    }
}

/// Pieces of about the same size, none larger than can be read.
fn even<'a, 'b>(entries: &'b [&'a Drawn]) -> impl Iterator<Item = &'b [&'a Drawn]> {
    let pieces = entries.len().div_ceil(LINES_PER_PANEL).max(1);
    entries.chunks(entries.len().div_ceil(pieces).max(1))
}

/// Labels for entries that stand in one figure: what their world is called is in the panel's title; what they
/// pursue is said where not all pursue the same.
pub(super) fn label(entry: &Drawn, objectives: bool) -> String {
    match objectives {
        true => format!("{} [{}]", entry.about.short_label, entry.about.objective),
        false => entry.about.short_label.clone(),
    }
}

/// Whether not all entries' regret is measured against the same.
pub(super) fn objectives_differ(entries: &[&Drawn]) -> bool {
    entries.iter().any(|entry| entry.about.objective != entries[0].about.objective)
}
