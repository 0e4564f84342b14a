//! `timing.csv`: how long runs took and how much memory there was, apart from all results. The only file of a
//! finished run that differs from one time to the next.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::csv::{cells, line};
use crate::error::LabError;
use crate::files;
use crate::run::{Effort, Manifest, Record};

/// Name of the file in a folder of results.
pub(in crate::results) const FILE: &str = "timing.csv";

pub(super) const COLUMNS: [&str; 9] =
    ["entry", "algorithm", "label", "seed", "steps", "nanoseconds", "ns_per_step", "peak_rss_bytes", "key"];

/// What runs took, by the key of their entry and their seed.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    known: BTreeMap<(String, u64), (u64, Effort)>,
}

impl Timings {
    /// Reads what is there. A line that is cut short is no line.
    pub fn read(folder: &Path) -> Timings {
        let mut known = BTreeMap::new();
        for line in fs::read_to_string(folder.join(FILE)).unwrap_or_default().lines().skip(1) {
            let cells = cells(line);
            let whole = |column: usize| cells[column].parse::<u64>().ok();
            if cells.len() != COLUMNS.len() {
                continue;
            }
            if let (Some(seed), Some(steps), Some(nanoseconds), Some(peak_rss_bytes)) =
                (whole(3), whole(4), whole(5), whole(7))
            {
                let effort = Effort { nanoseconds, peak_rss_bytes };
                known.insert((cells[8].clone(), seed), (steps, effort));
            }
        }
        Timings { known }
    }

    /// Gives records back what they took.
    pub fn fill(&self, records: &mut [Record]) {
        for record in records {
            if let Some((_, effort)) = self.known.get(&(record.entry.clone(), record.seed)) {
                record.effort = *effort;
            }
        }
    }

    /// Writes the file anew, in the order of entries and seeds.
    pub(in crate::results) fn write(&self, folder: &Path, manifest: &Manifest) -> Result<(), LabError> {
        let mut text = line(COLUMNS.into_iter());
        for entry in 0..manifest.entries.len() {
            let key = manifest.key(entry);
            for &seed in &manifest.seeds {
                if let Some((steps, effort)) = self.known.get(&(key.clone(), seed)) {
                    text += &row(manifest, entry, &key, seed, *steps, *effort);
                }
            }
        }
        files::write(&folder.join(FILE), text.as_bytes())
    }
}

/// Notes what a run took; before its record is kept, so that no record is without.
pub fn note(folder: &Path, manifest: &Manifest, entry: usize, record: &Record) -> Result<(), LabError> {
    let path = folder.join(FILE);
    let append = || -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let mut text = String::new();
        if file.metadata()?.len() == 0 {
            text += &line(COLUMNS.into_iter());
        }
        text += &row(manifest, entry, &record.entry, record.seed, record.steps, record.effort);
        file.write_all(text.as_bytes())
    };
    append().map_err(|error| LabError::io("write", &path, &error))
}

fn row(manifest: &Manifest, entry: usize, key: &str, seed: u64, steps: u64, effort: Effort) -> String {
    let about = &manifest.entries[entry];
    let numbers = [seed, steps, effort.nanoseconds].map(|number| number.to_string());
    let per_step = format!("{:.1}", effort.nanoseconds as f64 / steps.max(1) as f64);
    let (entry, memory) = (entry.to_string(), effort.peak_rss_bytes.to_string());
    let [seed, steps, nanoseconds] = &numbers;
    // One line per run, whatever a label holds.
    let label = about.label.replace(['\n', '\r'], " ");
    line([&entry, &about.algorithm, &label, seed, steps, nanoseconds, &per_step, &memory, key].into_iter())
}
