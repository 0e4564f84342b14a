//! Regret at the horizon against a key that differs between entries.

use cahoots_figure::{Axis, Figure, Series};
use serde_json::Value as Json;

use super::shown::{Drawn, MOST_LINES, label};
use super::swept::{self, Choice, text};
use super::{Material, Named, axis};
use crate::error::LabError;
use crate::experiment::remedy;

/// How names begin.
const NAME: &str = "regret-vs-";

/// A figure for every key that is swept.
pub(super) fn figures(material: &Material<'_>) -> Vec<Named> {
    let keys = keys(material);
    keys.iter().filter_map(|key| figure(material, key, &|entry| entry.choice(key).cloned())).collect()
}

/// Keys that are swept, each once.
fn keys(material: &Material<'_>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for choice in material.drawn.iter().flat_map(|entry| &entry.choices) {
        if !keys.contains(&choice.key) {
            keys.push(choice.key.clone());
        }
    }
    keys
}

/// The figure against one key: swept, or any other in which entries differ.
pub(super) fn only(material: &Material<'_>, wanted: &str) -> Result<Named, LabError> {
    let keys = keys(material);
    let key = keys.iter().find(|key| *key == wanted || key.replace(' ', ".") == wanted);
    let value = |entry: &Drawn| match key {
        Some(key) => entry.choice(key).cloned(),
        None => parameter(material, entry, wanted),
    };
    figure(material, key.map_or(wanted, String::as_str), &value).ok_or_else(|| {
        let known = keys.iter().map(|key| key.replace(' ', ".")).collect::<Vec<_>>();
        let told = match known.is_empty() {
            true => "nothing is swept here".to_string(),
            false => remedy(wanted, known.iter().map(String::as_str)),
        };
        LabError::Input(format!("--against {wanted}: entries do not differ in such a key; {told}"))
    })
}

/// A parameter by its path, of the algorithm or of the world.
fn parameter(material: &Material<'_>, entry: &Drawn, path: &str) -> Option<Json> {
    let stage = &material.manifest.stages[entry.about.stage];
    let within = |table: &Json| path.split('.').try_fold(table, |value, part| value.get(part)).cloned();
    within(&entry.about.params).or_else(|| within(stage)).or_else(|| within(&stage["environment"]))
}

type Value<'a> = &'a dyn Fn(&Drawn) -> Option<Json>;

fn figure(material: &Material<'_>, key: &str, value: Value<'_>) -> Option<Named> {
    let values: Vec<Json> = material.drawn.iter().filter_map(value).collect();
    let values = swept::distinct(values.iter());
    if values.len() < 2 {
        return None;
    }
    let numbers: Option<Vec<f64>> = values.iter().map(swept::number).collect();
    let x = match &numbers {
        Some(numbers) => axis(key, numbers),
        None => Axis::names(key, values.iter().map(text).collect()),
    };
    let place = |one: &Json| match swept::number(one).filter(|_| numbers.is_some()) {
        Some(number) => number,
        None => values.iter().position(|known| known == one).unwrap_or_default() as f64,
    };
    // A panel per world, unless it is the key itself that tells worlds apart.
    let mut worlds: Vec<(Vec<Choice>, Vec<&Drawn>)> = Vec::new();
    for entry in &material.drawn {
        let world = entry.world_but(key);
        match worlds.iter_mut().find(|(known, _)| *known == world) {
            Some((_, own)) => own.push(entry),
            None => worlds.push((world, vec![entry])),
        }
    }
    let y = material.regret_axis("Regret at the horizon");
    let mut panels = Vec::new();
    for (world, entries) in &worlds {
        let (lines, baselines) = lines(material, entries, key, value, &place);
        for (name, part) in parts(lines) {
            let mut series = part;
            series.extend(baselines.clone());
            let title = [name, swept::listed(world)].into_iter().filter(|part| !part.is_empty());
            let title = title.collect::<Vec<_>>().join(", ");
            let mut note = material.note("bars");
            if !baselines.is_empty() {
                note += &format!("; lines across: entries without {key}");
            }
            panels.push(Figure { title, x: x.clone(), y: y.clone(), series, note: Some(note) });
        }
    }
    let plain = |letter: char| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' };
    let name: String = key.chars().map(plain).collect();
    Some((format!("{NAME}{name}"), material.picture(panels)))
}

/// The lines of one block.
type Lines = (String, Vec<Series>);

/// A line per block and choice of all other keys; who does not have the key is a line across.
fn lines(
    material: &Material<'_>,
    entries: &[&Drawn],
    key: &str,
    value: Value<'_>,
    place: &dyn Fn(&Json) -> f64,
) -> (Vec<Lines>, Vec<Series>) {
    let objectives = material.objectives_differ();
    let swept = |entry: &&Drawn| entry.choice(key).is_some();
    let mut found: Vec<(String, String, Vec<&Drawn>)> = Vec::new();
    let mut across = Vec::new();
    for entry in entries {
        if value(entry).is_none() {
            across.push(Series::horizontal(label(entry, objectives), entry.regret.mean));
            continue;
        }
        let others = swept::listed(&entry.own_but(key));
        let objective = if objectives { format!("[{}]", entry.about.objective) } else { String::new() };
        // A key that is not swept tells blocks apart: then it is the algorithm that joins them.
        let block =
            if swept(entry) { entry.about.block_label.clone() } else { entry.about.algorithm.clone() };
        let name = [block.clone(), others, objective];
        let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        match found.iter_mut().find(|(_, known, _)| *known == name) {
            Some((.., own)) => own.push(entry),
            None => found.push((block, name, vec![entry])),
        }
    }
    let mut lines: Vec<Lines> = Vec::new();
    for (block, name, mut own) in found {
        let at = |entry: &&Drawn| value(entry).map_or(0.0, |value| place(&value));
        own.sort_by(|a, b| at(a).total_cmp(&at(b)));
        let points = own.iter().map(|entry| entry.point(at(entry))).collect();
        let series = Series::connected_dots(name, points);
        match lines.iter_mut().find(|(known, _)| *known == block) {
            Some((_, series_of)) => series_of.push(series),
            None => lines.push((block, vec![series])),
        }
    }
    (lines, across)
}

/// All in one panel, or a panel per block where there are too many lines.
fn parts(lines: Vec<Lines>) -> Vec<(String, Vec<Series>)> {
    if lines.iter().map(|(_, series)| series.len()).sum::<usize>() <= MOST_LINES {
        return vec![(String::new(), lines.into_iter().flat_map(|(_, series)| series).collect())];
    }
    let (single, several): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(_, series)| series.len() == 1);
    let mut parts: Vec<(String, Vec<Series>)> = several
        .into_iter()
        .flat_map(|(block, series)| {
            let pieces = series.len().div_ceil(MOST_LINES);
            let size = series.len().div_ceil(pieces);
            series.chunks(size).map(|part| (block.clone(), part.to_vec())).collect::<Vec<_>>()
        })
        .collect();
    let single: Vec<Series> = single.into_iter().flat_map(|(_, series)| series).collect();
    parts.extend(single.chunks(MOST_LINES).map(|part| (String::new(), part.to_vec())));
    parts
}
