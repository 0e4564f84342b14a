//! Regret over time: a panel per world, and several of them where there are many entries.

use cahoots_figure::{Axis, Figure, Point, Scale, Series};

use super::shown::{Drawn, Group, groups, label};
use super::{Material, Named};
use crate::results::bounds::LowerBounds;

/// Name of the figure.
const NAME: &str = "regret";

pub(super) fn figure(material: &Material<'_>) -> Named {
    let stages = material.by_stage();
    let several = stages.len() > 1;
    let mut panels = Vec::new();
    for (stage, entries) in stages {
        for group in groups(&entries) {
            let world = if several { material.stage_title(stage) } else { String::new() };
            let parts = [group.title.clone(), world];
            let title = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            panels.push(Figure { title, ..panel(material, &group) });
        }
    }
    (NAME.into(), material.picture(panels))
}

fn panel(material: &Material<'_>, group: &Group<'_>) -> Figure {
    let (objectives, log) = (material.objectives_differ(), material.log_y);
    let line = |entry: &&Drawn| {
        // At the very beginning nothing is lost yet, which no logarithm can show.
        let points = entry.over_time.iter().filter(|point| !log || point.y > 0.0).cloned();
        Series::line(within(entry, group, objectives), points.collect::<Vec<Point>>())
    };
    let shown: Vec<&Drawn> = group.entries.iter().chain(&group.baselines).copied().collect();
    let mut series: Vec<Series> = shown.iter().map(line).collect();
    let mut note = material.note("band");
    if let Some(bounds) = common_bounds(material, &shown) {
        let ticks = shown[0].over_time.iter().map(|point| point.x);
        series.extend(bounds.lines(&ticks.collect::<Vec<_>>()));
        note += &format!("; bounds: {}", bounds.holds);
    }
    let scale = if log { Scale::Log } else { Scale::Linear };
    Figure {
        title: String::new(),
        x: Axis::linear("Tick"),
        y: Axis { scale, ..Axis::linear("Cumulative regret") },
        series,
        note: Some(note),
    }
}

/// What an entry is called beside the others of its group: what the title says is not said again, so that the same
/// setting has the same name, and the same colour, in every panel.
fn within(entry: &Drawn, group: &Group<'_>, objectives: bool) -> String {
    let full = label(entry, objectives);
    let common = group.title.split_whitespace().collect::<Vec<_>>();
    if common.is_empty() || group.baselines.iter().any(|other| other.about.label == entry.about.label) {
        return full;
    }
    let kept: Vec<&str> = full.split_whitespace().filter(|word| !common.contains(word)).collect();
    if kept.is_empty() { full } else { kept.join(" ") }
}

/// The lower bounds of a world, where all that is drawn has the same.
fn common_bounds(material: &Material<'_>, drawn: &[&Drawn]) -> Option<LowerBounds> {
    let mut stage = material.manifest.stages.get(drawn.first()?.about.stage)?.clone();
    stage.as_object_mut()?.remove("label");
    let scenario = serde_json::from_value(stage).ok()?;
    let of = |entry: &&Drawn| (material.theory)(&scenario, &entry.about.params);
    let bounds = of(&drawn[0])?;
    drawn.iter().all(|entry| of(entry).as_ref() == Some(&bounds)).then_some(bounds)
}
