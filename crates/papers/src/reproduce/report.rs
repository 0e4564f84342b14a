//! What is left of an item: `report.md` for people, `report.json` for programs, figures.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cahoots_figure::Picture;
use cahoots_lab::LabError;
use cahoots_lab::files;
use cahoots_lab::report::Values;
use serde::Serialize;

use super::builder::ReportBuilder;
use super::claim::Claim;
use super::index::VALUES;
use super::measured::Measured;
use super::{Item, state};

/// The outcome of an item.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Paper and number.
    pub item: String,
    /// What it shows.
    pub title: String,
    /// Version of the program.
    pub version: String,
    /// Whether only few seeds were run.
    pub quick: bool,
    /// Seeds of each experiment.
    pub seeds: Vec<(String, usize)>,
    /// Seconds this took, without what was there already.
    pub seconds: f64,
    /// Claims and verdicts.
    pub claims: Vec<Claim>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Names of the figures.
    pub figures: Vec<String>,
    /// Where everything is.
    pub folder: PathBuf,
    #[serde(skip)]
    pictures: Vec<(String, Box<dyn Picture>)>,
}

impl Report {
    pub(super) fn new(
        item: &Item,
        quick: bool,
        measured: &Measured,
        builder: ReportBuilder,
        seconds: f64,
    ) -> Report {
        let seeds = measured
            .experiments()
            .iter()
            .map(|own| (own.name.to_string(), own.experiment.seeds.len()))
            .collect();
        Report {
            item: item.name.into(),
            title: item.title.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            quick,
            seeds,
            seconds,
            claims: builder.claims,
            notes: builder.notes,
            figures: builder.figures.iter().map(|(name, _)| name.clone()).collect(),
            folder: PathBuf::new(),
            pictures: builder.figures,
        }
    }

    /// Writes it to the item's folder.
    pub(super) fn write(&mut self, folder: &Path) -> Result<(), LabError> {
        self.folder = folder.to_path_buf();
        for (name, picture) in &self.pictures {
            files::draw(&folder.join(name), picture.as_ref())?;
            let values = Values::of(&picture.scene()?).0.to_string();
            files::write(&folder.join(format!("{name}{VALUES}")), values.as_bytes())?;
        }
        files::write(&folder.join("report.md"), self.markdown().as_bytes())?;
        // Last, so that a folder with it is a folder with everything.
        files::write(&folder.join(state::REPORT), self.lasting().as_bytes())
    }

    /// What is the same whenever and wherever it is run.
    fn lasting(&self) -> String {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        if let Some(keys) = json.as_object_mut() {
            keys.retain(|key, _| key != "seconds" && key != "folder");
        }
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    }

    /// The claims as rows of text, the first row with the titles.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let sources = self.claims.iter().any(|claim| claim.source != "paper");
        let mut rows = vec![["claim", "paper", "ours (± 95%)", "verdict"].map(String::from).to_vec()];
        for claim in &self.claims {
            let reference = if sources && claim.source != "paper" {
                format!("{} [{}]", claim.paper, claim.source)
            } else {
                claim.paper.clone()
            };
            rows.push(vec![claim.what.clone(), reference, claim.ours.clone(), claim.verdict.text().into()]);
        }
        rows
    }

    /// How many seeds, in words.
    pub fn seeds_text(&self) -> String {
        let mut counts: Vec<usize> = self.seeds.iter().map(|(_, seeds)| *seeds).collect();
        counts.dedup();
        let text = match counts.as_slice() {
            [1] => "one seed".to_string(),
            [one] => format!("{one} seeds"),
            _ => {
                let each = self.seeds.iter().map(|(name, seeds)| format!("{name}: {seeds} seeds"));
                each.collect::<Vec<_>>().join(", ")
            }
        };
        if self.quick { format!("{text}, a quick look") } else { text }
    }

    fn markdown(&self) -> String {
        let mut text = format!("# {}: {}\n\n{}.\n\n", self.item, self.title, self.seeds_text());
        let rows = self.rows();
        for (number, row) in rows.iter().enumerate() {
            let cells = row.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
            if number == 0 {
                text += "|---|---|---|---|\n";
            }
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {note}");
        }
        for figure in &self.figures {
            let _ = write!(text, "\n![{figure}]({figure}.png)\n");
        }
        text
    }
}
