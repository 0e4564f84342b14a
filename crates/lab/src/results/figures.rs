//! The figures of a run: regret over time, and regret against communication.

use std::path::Path;

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_sim::catalogue::Catalogue;

use super::bounds::{LowerBounds, Theory};
use super::statistics::Estimate;
use super::tables::curves::{self, SeedCurve};
use crate::error::LabError;
use crate::files;
use crate::run::{Curve, Manifest, ManifestEntry, read_manifest};

/// Lines in one panel, at most.
const MOST_LINES: usize = 16;

/// Panels in one figure, at most.
const MOST_PANELS: usize = 12;

/// From this ratio of largest to smallest on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// What figures show of one entry.
pub(super) struct Drawn {
    about: ManifestEntry,
    over_time: Vec<Point>,
    regret: Estimate,
    transfers: Estimate,
}

impl Drawn {
    /// Means and intervals over the curves of an entry.
    pub(super) fn new(about: &ManifestEntry, curves: &[&Curve]) -> Drawn {
        let points = curves.iter().map(|curve| curve.tick.len()).min().unwrap_or_default();
        let mut over_time = vec![Point::new(0.0, 0.0)];
        over_time.extend((0..points).map(|point| {
            let regret = Estimate::new(curves.iter().map(|curve| curve.regret[point]));
            with_band(Point::new(curves[0].tick[point] as f64, regret.mean), &regret)
        }));
        let last = |value: fn(&Curve) -> f64| Estimate::new(curves.iter().map(|curve| value(curve)));
        Drawn {
            about: about.clone(),
            over_time,
            regret: last(|curve| curve.regret.last().copied().unwrap_or_default()),
            transfers: last(|curve| curve.transfers.last().copied().unwrap_or_default() as f64),
        }
    }
}

/// Draws the figures of a finished run again.
///
/// Says whether there is a picture of who can talk to whom, too.
pub fn redraw(catalogue: &Catalogue, folder: &Path, theory: Theory) -> Result<bool, LabError> {
    let manifest = read_manifest(folder)?.ok_or_else(|| {
        LabError::Input(format!("{} holds no run: there is no manifest.json", folder.display()))
    })?;
    let curves = curves::read(folder)?;
    let of_entry = |(number, about): (usize, &ManifestEntry)| {
        let own: Vec<&Curve> =
            curves.iter().filter(|one| one.entry == number).map(|SeedCurve { curve, .. }| curve).collect();
        (!own.is_empty()).then(|| Drawn::new(about, &own))
    };
    let drawn: Option<Vec<Drawn>> = manifest.entries.iter().enumerate().map(of_entry).collect();
    let Some(drawn) = drawn else {
        return Err(LabError::Failed(format!(
            "{} lacks some of its entries",
            folder.join(curves::FILE).display()
        )));
    };
    draw(folder, &manifest, &drawn, theory)?;
    super::topologies::draw(catalogue, folder, &manifest)
}

/// Draws the figures of a run.
pub(super) fn draw(
    folder: &Path,
    manifest: &Manifest,
    drawn: &[Drawn],
    theory: Theory,
) -> Result<(), LabError> {
    let over_time = |entries: &[&Drawn]| over_time(manifest, entries, theory);
    save(manifest, drawn, &over_time, &folder.join("regret"))?;
    let against_communication = |entries: &[&Drawn]| against_communication(manifest, entries);
    save(manifest, drawn, &against_communication, &folder.join("regret-vs-communication"))
}

type Draw<'a> = &'a dyn Fn(&[&Drawn]) -> Figure;

/// One panel per world.
fn save(manifest: &Manifest, drawn: &[Drawn], one: Draw<'_>, stem: &Path) -> Result<(), LabError> {
    let title = manifest.title.clone().unwrap_or_else(|| manifest.name.clone());
    let of_stage = |stage: usize| drawn.iter().filter(|entry| entry.about.stage == stage).collect::<Vec<_>>();
    let stages = manifest.stages.len();
    if stages == 1 {
        let figure = Figure { title, ..one(&of_stage(0)) };
        return files::draw(stem, &figure);
    }
    let panel = |stage: usize| Figure {
        title: manifest.stages[stage]["label"].as_str().unwrap_or_default().to_string(),
        ..one(&of_stage(stage))
    };
    let shown = stages.min(MOST_PANELS);
    let title =
        if shown < stages { format!("{title} (the first {shown} of {stages} worlds)") } else { title };
    let columns = if shown <= 4 { 2 } else { 3 };
    files::draw(stem, &Panels { title, columns, panels: (0..shown).map(panel).collect() })
}

fn over_time(manifest: &Manifest, drawn: &[&Drawn], theory: Theory) -> Figure {
    let line = |entry: &&Drawn| Series::line(entry.about.short_label.clone(), entry.over_time.clone());
    let mut note = seeds(manifest, "band");
    if drawn.len() > MOST_LINES {
        note = format!("the first {MOST_LINES} of {} entries; {note}", drawn.len());
    }
    let mut series: Vec<Series> = drawn.iter().take(MOST_LINES).map(line).collect();
    if let Some(bounds) = common_bounds(manifest, drawn, theory) {
        let ticks = drawn[0].over_time.iter().map(|point| point.x);
        series.extend(bounds.lines(&ticks.collect::<Vec<_>>()));
        note += &format!("; bounds: {}", bounds.holds);
    }
    Figure {
        title: String::new(),
        x: Axis::linear("Tick"),
        y: Axis::linear("Cumulative regret"),
        series,
        note: Some(note),
    }
}

/// The lower bounds of a world, where all that is drawn has the same.
fn common_bounds(manifest: &Manifest, drawn: &[&Drawn], theory: Theory) -> Option<LowerBounds> {
    let mut stage = manifest.stages.get(drawn.first()?.about.stage)?.clone();
    stage.as_object_mut()?.remove("label");
    let scenario = serde_json::from_value(stage).ok()?;
    let of = |entry: &&Drawn| theory(&scenario, &entry.about.params);
    let bounds = of(&drawn[0])?;
    drawn.iter().all(|entry| of(entry).as_ref() == Some(&bounds)).then_some(bounds)
}

fn against_communication(manifest: &Manifest, drawn: &[&Drawn]) -> Figure {
    let (silent, talking): (Vec<&&Drawn>, Vec<&&Drawn>) =
        drawn.iter().partition(|entry| entry.transfers.mean == 0.0);
    let mut blocks: Vec<usize> = talking.iter().map(|entry| entry.about.block).collect();
    blocks.dedup();
    let mut series: Vec<Series> = blocks
        .into_iter()
        .map(|block| {
            trade_off(
                talking.iter().filter(|entry| entry.about.block == block).map(|entry| **entry).collect(),
            )
        })
        .collect();
    let reference = |entry: &&&Drawn| Series::horizontal(entry.about.short_label.clone(), entry.regret.mean);
    series.extend(silent.iter().take(MOST_LINES).map(reference));
    let mut note = seeds(manifest, "bars");
    if !silent.is_empty() {
        note += "; lines across: entries that send nothing";
    }
    let axis = |label: &str, values: Vec<f64>| {
        let (low, high) =
            values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        if low > 0.0 && high / low >= WIDE { Axis::log(label) } else { Axis::linear(label) }
    };
    Figure {
        title: String::new(),
        x: axis("Messages with statistics", talking.iter().map(|entry| entry.transfers.mean).collect()),
        y: axis("Regret at the horizon", drawn.iter().map(|entry| entry.regret.mean).collect()),
        series,
        note: Some(note),
    }
}

/// The entries of one block: joined where one key is swept, and labelled with its values.
fn trade_off(entries: Vec<&Drawn>) -> Series {
    let first = &entries[0].about;
    let single = entries.len() == 1;
    let one_key = entries.iter().all(|entry| entry.about.swept.len() == 1);
    let label = |entry: &Drawn| match entry.about.short_label.strip_prefix(&first.block_label) {
        Some(rest) if !single => rest
            .trim()
            .split_once('=')
            .filter(|_| one_key)
            .map_or(rest.trim(), |(_, value)| value)
            .to_string(),
        _ => entry.about.short_label.clone(),
    };
    let points = entries
        .iter()
        .map(|entry| {
            let point = with_band(Point::new(entry.transfers.mean, entry.regret.mean), &entry.regret);
            let point = match entry.transfers.ci95 {
                Some(half) => point.with_x_range(entry.transfers.mean - half, entry.transfers.mean + half),
                None => point,
            };
            point.with_label(label(entry))
        })
        .collect();
    match first.swept.first() {
        Some((key, _)) if one_key && !single => {
            Series::connected_dots(format!("{} ({key})", first.block_label), points)
        }
        _ => Series::dots(first.block_label.clone(), points),
    }
}

/// A point with the interval of its height.
pub fn with_band(point: Point, estimate: &Estimate) -> Point {
    match estimate.ci95 {
        Some(half) => point.with_y_range(estimate.mean - half, estimate.mean + half),
        None => point,
    }
}

fn seeds(manifest: &Manifest, mark: &str) -> String {
    match manifest.seeds.len() {
        1 => "one seed".into(),
        n => format!("mean over {n} seeds, {mark}: 95% confidence"),
    }
}

/// Endings of pictures.
const ENDINGS: [&str; 3] = ["svg", "png", "pdf"];

/// Removes the figures of an earlier time, but those whose names (without ending) are kept.
pub fn remove_figures(folder: &Path, kept: &[String]) -> Result<(), LabError> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (stem, ending) = (part(path.file_stem()), part(path.extension()));
        let ours = stem == "regret" || stem.starts_with("regret-") || stem == super::topologies::FILE;
        if ours && ENDINGS.contains(&ending.as_str()) && !kept.contains(&stem) {
            files::remove(&path)?;
        }
    }
    Ok(())
}
