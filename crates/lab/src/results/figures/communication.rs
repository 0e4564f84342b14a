//! Regret against communication: a dot per entry, joined where one key is swept.

use cahoots_figure::{Axis, Figure, Series};

use super::shown::{Drawn, MOST_LINES, label, possible};
use super::swept::{self, Choice};
use super::{Material, Named, axis};

/// Name of the figure.
const NAME: &str = "regret-vs-communication";

/// The figure; none where nobody sends anything.
pub(super) fn figure(material: &Material<'_>) -> Option<Named> {
    let talks = |entry: &&Drawn| entry.transfers.mean > 0.0;
    let talking: Vec<&Drawn> = material.drawn.iter().filter(talks).collect();
    if talking.is_empty() {
        return None;
    }
    let x = axis(
        "Messages with statistics",
        &talking.iter().map(|entry| entry.transfers.mean).collect::<Vec<_>>(),
    );
    let y = material.regret_axis("Regret at the horizon");
    let stages: Vec<(usize, Vec<&Drawn>)> = material.by_stage();
    let several = stages.len() > 1;
    let mut panels = Vec::new();
    // A world in which nobody sends anything has no panel.
    for (stage, entries) in stages.into_iter().filter(|(_, entries)| entries.iter().any(talks)) {
        let world = if several { material.stage_title(stage) } else { String::new() };
        for (name, series) in parts(material, &entries) {
            let title = [name, world.clone()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
            panels.push(panel(material, title.join(", "), series, &entries, (&x, &y)));
        }
    }
    Some((NAME.into(), material.picture(panels)))
}

/// The dots of one world: in one panel, or in one per block where there are too many.
fn parts(material: &Material<'_>, entries: &[&Drawn]) -> Vec<(String, Vec<Series>)> {
    let talking = entries.iter().filter(|entry| entry.transfers.mean > 0.0);
    let mut blocks: Vec<Vec<&Drawn>> = Vec::new();
    for entry in talking {
        match blocks.iter_mut().find(|block| block[0].about.block == entry.about.block) {
            Some(block) => block.push(entry),
            None => blocks.push(vec![entry]),
        }
    }
    let objectives = material.objectives_differ();
    let each: Vec<(String, Vec<Series>)> = blocks
        .iter()
        .map(|block| (block[0].about.block_label.clone(), trade_offs(block, objectives)))
        .collect();
    if each.iter().map(|(_, series)| series.len()).sum::<usize>() <= MOST_LINES {
        return vec![(String::new(), each.into_iter().flat_map(|(_, series)| series).collect())];
    }
    // Blocks with a single dot stay together.
    let (single, several): (Vec<_>, Vec<_>) = each.into_iter().partition(|(_, series)| series.len() == 1);
    let mut parts = several;
    let single: Vec<Series> = single.into_iter().flat_map(|(_, series)| series).collect();
    parts.extend(single.chunks(MOST_LINES).map(|part| (String::new(), part.to_vec())));
    parts
}

fn panel(
    material: &Material<'_>,
    title: String,
    mut series: Vec<Series>,
    entries: &[&Drawn],
    (x, y): (&Axis, &Axis),
) -> Figure {
    let objectives = material.objectives_differ();
    let silent = |entry: &&&Drawn| entry.transfers.mean == 0.0;
    // A setting of a sweep that sends nothing is no baseline, and has no place on this axis.
    let (across, beyond): (Vec<&&Drawn>, Vec<&&Drawn>) =
        entries.iter().filter(silent).partition(|entry| entry.about.swept.is_empty());
    series.extend(across.iter().map(|entry| Series::horizontal(label(entry, objectives), entry.regret.mean)));
    let mut note = material.note("bars");
    if !across.is_empty() {
        note += "; lines across: entries that send nothing";
    }
    if !beyond.is_empty() {
        note += &format!("; {} swept settings send nothing and are not shown", beyond.len());
    }
    Figure { title, x: x.clone(), y: y.clone(), series, note: Some(note) }
}

/// The entries of one block: joined along the key that has most values, and labelled with them.
fn trade_offs(block: &[&Drawn], objectives: bool) -> Vec<Series> {
    let first = block[0];
    let values = |key: &str| swept::distinct(block.iter().filter_map(|entry| entry.choice(key))).len();
    let along = first.about.swept.iter().map(|(key, _)| key.clone()).rev().max_by_key(|key| values(key));
    let Some(along) = along.filter(|_| block.len() > 1) else {
        let dots = block.iter().map(|entry| dot(entry, String::new())).collect();
        return vec![Series::dots(label(first, objectives), dots)];
    };
    let mut lines: Vec<(Vec<Choice>, Vec<&Drawn>)> = Vec::new();
    for entry in block {
        let others = entry.own_but(&along);
        // Regrets against different objectives are not joined.
        let same = |own: &[&Drawn]| own[0].about.objective == entry.about.objective;
        match lines.iter_mut().find(|(known, own)| *known == others && same(own)) {
            Some((_, own)) => own.push(entry),
            None => lines.push((others, vec![entry])),
        }
    }
    let line = |(others, own): (Vec<Choice>, Vec<&Drawn>)| {
        let dots = own
            .iter()
            .map(|entry| dot(entry, entry.choice(&along).map(swept::text).unwrap_or_default()))
            .collect();
        let objective = if objectives { format!(" [{}]", own[0].about.objective) } else { String::new() };
        let name = [first.about.block_label.clone(), swept::listed(&others)];
        let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        Series::connected_dots(format!("{name}{objective} ({along})"), dots)
    };
    lines.into_iter().map(line).collect()
}

fn dot(entry: &Drawn, name: String) -> cahoots_figure::Point {
    let point = entry.point(entry.transfers.mean);
    let point = match entry.transfers.ci95 {
        Some(half) => {
            let mean = entry.transfers.mean;
            point.with_x_range(possible(mean, mean - half), mean + half)
        }
        None => point,
    };
    point.with_label(if name.is_empty() { entry.about.short_label.clone() } else { name })
}
