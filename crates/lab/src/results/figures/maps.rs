//! Regret over two swept keys, as heat maps: one per block, and per choice of further keys.

use cahoots_figure::{HeatMap, HeatMaps};
use serde_json::Value as Json;

use super::shown::Drawn;
use super::swept::{self, Choice, text};
use super::{Material, Named, scale};
use crate::results::table::readable;

/// Name of the figure.
const NAME: &str = "regret-map";

/// Maps in one figure, at most.
const MOST_MAPS: usize = 24;

/// Entries without a map that are named below, at most.
const MOST_NAMED: usize = 6;

/// The maps; none where no block is swept over two keys.
pub(super) fn figure(material: &Material<'_>) -> Option<Named> {
    let mut blocks: Vec<Vec<&Drawn>> = Vec::new();
    for entry in &material.drawn {
        // Cells of one map are compared.
        let same = |other: &Drawn| {
            other.about.block == entry.about.block && other.about.objective == entry.about.objective
        };
        match blocks.iter_mut().find(|block| same(block[0])) {
            Some(block) => block.push(entry),
            None => blocks.push(vec![entry]),
        }
    }
    let mut maps = Vec::new();
    let mut shown: Vec<&Drawn> = Vec::new();
    for block in &blocks {
        let own = of_block(block, material.objectives_differ());
        if !own.is_empty() {
            shown.extend(block);
        }
        maps.extend(own);
    }
    if maps.is_empty() {
        return None;
    }
    let values: Vec<f64> = shown.iter().map(|entry| entry.regret.mean).collect();
    let mut note = material.note("numbers").replace(", numbers: 95% confidence", "");
    note += "; framed: the least of a map";
    let others =
        material.drawn.iter().filter(|entry| shown.iter().all(|own| own.about.label != entry.about.label));
    let others: Vec<String> =
        others.map(|entry| format!("{} {}", entry.about.label, readable(entry.regret.mean))).collect();
    if !others.is_empty() {
        note += &format!("; beside: {}", others[..others.len().min(MOST_NAMED)].join(", "));
        if others.len() > MOST_NAMED {
            note += ", ... (see regret)";
        }
    }
    let all = maps.len();
    maps.truncate(MOST_MAPS);
    let title = match all > maps.len() {
        true => format!("{} (the first {} of {all} maps)", material.title(), maps.len()),
        false => material.title(),
    };
    let columns = match maps.len() {
        1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let scale = scale(&values);
    let value = "Regret at the horizon".to_string();
    Some((NAME.into(), Box::new(HeatMaps { title, columns, value, scale, maps, note: Some(note) })))
}

/// Two keys with most values go across and up; every choice of the others is a map of its own.
fn of_block(block: &[&Drawn], objectives: bool) -> Vec<HeatMap> {
    let values = |key: &str| swept::distinct(block.iter().filter_map(|entry| entry.choice(key)));
    let mut keys: Vec<(String, Vec<Json>)> =
        block[0].choices.iter().map(|choice| (choice.key.clone(), values(&choice.key))).collect();
    keys.retain(|(_, values)| values.len() > 1);
    keys.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let [(x, across), (y, up), ..] = keys.as_slice() else { return Vec::new() };
    let mut maps: Vec<(Vec<Choice>, HeatMap)> = Vec::new();
    for entry in block {
        let others: Vec<Choice> =
            entry.choices.iter().filter(|choice| choice.key != *x && choice.key != *y).cloned().collect();
        let known = maps.iter().position(|(known, _)| *known == others);
        let index = known.unwrap_or_else(|| {
            let objective = if objectives { format!("[{}]", entry.about.objective) } else { String::new() };
            let name = [entry.about.block_label.clone(), swept::listed(&others), objective];
            let title = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            let rows = vec![vec![None; across.len()]; up.len()];
            let names = |values: &[Json]| values.iter().map(text).collect::<Vec<_>>();
            let (x, y) = ((x.clone(), names(across)), (y.clone(), names(up)));
            maps.push((others, HeatMap { title, x, y, rows }));
            maps.len() - 1
        });
        let place = |key: &str, values: &[Json]| {
            entry.choice(key).and_then(|value| values.iter().position(|known| known == value))
        };
        if let (Some(column), Some(row)) = (place(x, across), place(y, up)) {
            maps[index].1.rows[row][column] = Some(entry.regret.mean);
        }
    }
    maps.into_iter().map(|(_, map)| map).collect()
}
