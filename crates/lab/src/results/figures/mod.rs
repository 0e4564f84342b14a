//! The figures of a run: regret over time, against communication, and against whatever is swept.

mod against;
mod communication;
mod maps;
mod over_time;
mod shown;
mod swept;

use std::path::Path;

use cahoots_figure::{Axis, Figure, Panels, Picture, Scale, Size};
use cahoots_sim::catalogue::Catalogue;

use super::bounds::Theory;
use super::tables::curves::{self, SeedCurve};
use crate::error::LabError;
use crate::experiment::remedy;
use crate::files::{self, Format};
use crate::run::{Curve, Manifest, ManifestEntry, read_manifest};
pub(super) use shown::Drawn;
use shown::objectives_differ;
pub use shown::with_band;
use swept::Choice;

/// Panels in one figure, at most.
const MOST_PANELS: usize = 36;

/// From this ratio of largest to smallest on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// A figure and its name, which is that of its files without their ending.
pub type Named = (String, Box<dyn Picture>);

/// Which figures are drawn, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Entries whose label has one of these in it; all where there is none.
    pub only: Vec<String>,
    /// Only the figure against this key.
    pub against: Option<String>,
    /// Regret on a logarithmic axis.
    pub log_y: bool,
    /// Size of a figure, or of each panel.
    pub size: Option<Size>,
    /// In which forms; all where none is named.
    pub formats: Vec<Format>,
}

/// Everything that figures of a run are made from.
struct Material<'a> {
    manifest: &'a Manifest,
    theory: Theory,
    drawn: Vec<Drawn>,
    log_y: bool,
}

/// Draws the figures of a finished run again, into `out`. Gives their names, without endings.
pub fn redraw(
    catalogue: &Catalogue,
    folder: &Path,
    out: &Path,
    theory: Theory,
    wanted: &Wanted,
) -> Result<Vec<String>, LabError> {
    let (manifest, drawn) = read(folder)?;
    let figures = figures(&manifest, drawn, theory, wanted)?;
    let mut names = save(out, &figures, wanted)?;
    let all = wanted.only.is_empty() && wanted.against.is_none();
    if all && super::topologies::draw(catalogue, out, &manifest)? {
        names.push(super::topologies::FILE.into());
    }
    if all && out == folder {
        remove_figures(folder, &names)?;
    }
    Ok(names)
}

/// The manifest of a finished run, and its figures by name.
pub fn pictures(folder: &Path, theory: Theory) -> Result<(Manifest, Vec<Named>), LabError> {
    let (manifest, drawn) = read(folder)?;
    let figures = figures(&manifest, drawn, theory, &Wanted::default())?;
    Ok((manifest, figures))
}

/// What sets each world of a run apart, section included; empty where there is one.
pub fn world_names(manifest: &Manifest) -> Vec<String> {
    let choices = swept::of_stages(manifest);
    let name = |(stage, choices): (&serde_json::Value, &Vec<Choice>)| match swept::listed(choices) {
        none if none.is_empty() => stage["label"].as_str().unwrap_or_default().to_string(),
        some => some,
    };
    manifest.stages.iter().zip(&choices).map(name).collect()
}

/// The manifest of a finished run, and what figures show of its entries.
pub(super) fn read(folder: &Path) -> Result<(Manifest, Vec<Drawn>), LabError> {
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
    let path = folder.join(curves::FILE);
    let drawn =
        drawn.ok_or_else(|| LabError::Failed(format!("{} lacks some of its entries", path.display())))?;
    Ok((manifest, drawn))
}

/// Draws the figures of a run; what is not drawn any more is removed.
pub(super) fn draw(
    folder: &Path,
    manifest: &Manifest,
    drawn: Vec<Drawn>,
    theory: Theory,
) -> Result<Vec<String>, LabError> {
    let wanted = Wanted::default();
    let figures = figures(manifest, drawn, theory, &wanted)?;
    save(folder, &figures, &wanted)
}

/// Writes figures.
fn save(out: &Path, figures: &[Named], wanted: &Wanted) -> Result<Vec<String>, LabError> {
    for (name, picture) in figures {
        files::draw_as(&out.join(name), picture.as_ref(), wanted.size, &wanted.formats)?;
    }
    Ok(figures.iter().map(|(name, _)| name.clone()).collect())
}

/// The figures of a run. One that would show nothing is not among them.
pub(super) fn figures(
    manifest: &Manifest,
    drawn: Vec<Drawn>,
    theory: Theory,
    wanted: &Wanted,
) -> Result<Vec<Named>, LabError> {
    let stages = swept::of_stages(manifest);
    let drawn: Vec<Drawn> = chosen(drawn, &wanted.only)?
        .into_iter()
        .map(|entry| Drawn { choices: swept::of_entry(&entry.about, &stages), ..entry })
        .collect();
    let material = Material { manifest, theory, drawn, log_y: wanted.log_y };
    if let Some(key) = &wanted.against {
        return against::only(&material, key).map(|figure| vec![figure]);
    }
    let mut figures = vec![over_time::figure(&material)];
    figures.extend(communication::figure(&material));
    figures.extend(against::figures(&material));
    figures.extend(maps::figure(&material));
    Ok(figures)
}

/// The entries that are asked for.
fn chosen(drawn: Vec<Drawn>, only: &[String]) -> Result<Vec<Drawn>, LabError> {
    for wanted in only {
        if !drawn.iter().any(|entry| entry.about.label.contains(wanted.as_str())) {
            let labels: Vec<&str> = drawn.iter().map(|entry| entry.about.label.as_str()).collect();
            let remedy = remedy(wanted, labels.iter().copied());
            return Err(LabError::Input(format!(
                "--only {wanted}: no entry has this in its label; {remedy}"
            )));
        }
    }
    let wanted = |entry: &Drawn| only.is_empty() || only.iter().any(|text| entry.about.label.contains(text));
    Ok(drawn.into_iter().filter(wanted).collect())
}

impl Material<'_> {
    /// The line above a figure.
    fn title(&self) -> String {
        self.manifest.title.clone().unwrap_or_else(|| self.manifest.name.clone())
    }

    /// What sets a world apart, section included.
    fn stage_title(&self, stage: usize) -> String {
        world_names(self.manifest).swap_remove(stage)
    }

    /// The entries, world by world.
    fn by_stage(&self) -> Vec<(usize, Vec<&Drawn>)> {
        let of =
            |stage: usize| self.drawn.iter().filter(|entry| entry.about.stage == stage).collect::<Vec<_>>();
        let all = (0..self.manifest.stages.len()).map(|stage| (stage, of(stage)));
        all.filter(|(_, entries)| !entries.is_empty()).collect()
    }

    /// Whether regrets of this figure are measured against different things.
    fn objectives_differ(&self) -> bool {
        objectives_differ(&self.drawn.iter().collect::<Vec<_>>())
    }

    /// How many seeds, what a mark stands for, and what must not be compared.
    fn note(&self, mark: &str) -> String {
        let mut note = match self.manifest.seeds.len() {
            1 => "one seed".to_string(),
            n => format!("mean over {n} seeds, {mark}: 95% confidence"),
        };
        if self.objectives_differ() {
            note += "; regret is measured against what stands in brackets, and not comparable across them";
        }
        note
    }

    /// The axis of regret; logarithmic where asked for, or where the values at hand are far apart.
    fn regret_axis(&self, label: &str) -> Axis {
        let values: Vec<f64> = self.drawn.iter().map(|entry| entry.regret.mean).collect();
        if self.log_y { Axis::log(label) } else { axis(label, &values) }
    }

    /// One figure, or several on one scale.
    fn picture(&self, mut panels: Vec<Figure>) -> Box<dyn Picture> {
        let title = self.title();
        if panels.len() == 1 {
            let mut only = panels.remove(0);
            only.title = if only.title.is_empty() { title } else { format!("{title}: {}", only.title) };
            return Box::new(only);
        }
        let (all, shown) = (panels.len(), panels.len().min(MOST_PANELS));
        panels.truncate(shown);
        let title = match all > shown {
            true => {
                format!("{title} (the first {shown} of {all} panels; `cahoots plot --only` draws others)")
            }
            false => title,
        };
        // What is said below all of them is said once.
        let same = panels.iter().all(|panel| panel.note == panels[0].note);
        let last = panels.len() - 1;
        if same {
            panels[..last].iter_mut().for_each(|panel| panel.note = None);
        }
        let columns = if shown <= 4 { 2 } else { 3 };
        Box::new(Panels { title, columns, panels }.on_one_scale())
    }
}

/// An axis for these values: logarithmic where they are far apart.
fn axis(label: &str, values: &[f64]) -> Axis {
    Axis { scale: scale(values), ..Axis::linear(label) }
}

fn scale(values: &[f64]) -> Scale {
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
    if low > 0.0 && high / low >= WIDE { Scale::Log } else { Scale::Linear }
}

/// Removes the figures of an earlier time, but those whose names (without ending) are kept.
pub fn remove_figures(folder: &Path, kept: &[String]) -> Result<(), LabError> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let part = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let (stem, ending) = (part(path.file_stem()), part(path.extension()));
        let ours = stem == "regret" || stem.starts_with("regret-") || stem == super::topologies::FILE;
        if ours && Format::ALL.iter().any(|format| format.ending() == ending) && !kept.contains(&stem) {
            files::remove(&path)?;
        }
    }
    Ok(())
}
