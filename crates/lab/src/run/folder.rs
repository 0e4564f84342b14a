//! The folder of a run: who may write there, and which runs it already holds.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::record::Record;
use super::shard::Shard;
use crate::error::LabError;
use crate::files;
use crate::results;

const MANIFEST: &str = "manifest.json";
const SUMMARY: &str = "summary.json";
const SEEDS: &str = "seeds";

/// How long runs took; kept as long as they are.
const TIMING: &str = "timing.csv";

/// Everything a run puts in its folder once it is finished, beside its figures.
const OUTPUTS: [&str; 9] = [
    SUMMARY,
    "summary.csv",
    "summary.parquet",
    "curves.parquet",
    "clients.csv",
    "clients.parquet",
    "columns.md",
    "report.html",
    results::WARNINGS,
];

/// What to do with a folder that already holds something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Leave it alone and say so.
    #[default]
    Fresh,
    /// Continue the run it holds.
    Resume,
    /// Replace the run it holds.
    Force,
}

/// The folder of a run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    manifest: Manifest,
    /// Held as long as this run writes here.
    _lock: Option<File>,
}

impl Folder {
    /// Takes possession of a folder for a run. `again` is how to call the program once more.
    pub fn claim(path: &Path, manifest: Manifest, start: Start) -> Result<Folder, LabError> {
        let created = create(path)?;
        let lock = lock(path)?;
        let folder = Folder { path: path.to_path_buf(), manifest, _lock: lock };
        let prepared = folder.prepare(start);
        if prepared.is_err() && created {
            // Only what is empty is removed.
            let _ = fs::remove_dir(path.join(SEEDS));
            let _ = fs::remove_dir(path);
        }
        prepared.map(|()| folder)
    }

    fn prepare(&self, start: Start) -> Result<(), LabError> {
        let shown = self.path.display();
        if start != Start::Force && !is_empty(&self.path)? {
            let Some(there) = read_manifest(&self.path)? else {
                return Err(LabError::Input(format!(
                    "{shown} is not empty and holds no run: choose another --out, or --force to write there anyway"
                )));
            };
            let resumable = there.not_extended_by(&self.manifest);
            match (start, there.difference(&self.manifest)) {
                (Start::Resume, None) => {}
                // More seeds or more entries: what was drawn of fewer is drawn anew.
                (Start::Resume, Some(_)) if resumable.is_none() => self.remove_outputs()?,
                (Start::Resume, Some(difference)) => {
                    let difference = resumable.unwrap_or(difference);
                    return Err(LabError::Input(format!(
                        "cannot resume {shown}, it holds another run: {difference}\n\
                         choose another --out, or --force to replace it"
                    )));
                }
                (_, None) => {
                    let state =
                        if self.path.join(SUMMARY).exists() { "the finished run" } else { "part of the run" };
                    return Err(LabError::Input(format!(
                        "{shown} already holds {state} of this experiment: \
                         add --resume to use what is there, or --force to start over"
                    )));
                }
                (_, Some(_)) if resumable.is_none() => {
                    return Err(LabError::Input(format!(
                        "{shown} already holds a part of this experiment: add --resume to run what is new, or --force to start over"
                    )));
                }
                (_, Some(difference)) => {
                    return Err(LabError::Input(format!(
                        "{shown} holds another run: {difference}\nchoose another --out, or --force to replace it"
                    )));
                }
            }
        }
        if start == Start::Force {
            self.clear()?;
        }
        let seeds = self.path.join(SEEDS);
        fs::create_dir_all(&seeds).map_err(|error| LabError::io("create", &seeds, &error))?;
        files::remove_unfinished(&self.path);
        files::remove_unfinished(&seeds);
        let text = serde_json::to_string_pretty(&self.manifest).unwrap_or_default() + "\n";
        files::write(&self.path.join(MANIFEST), text.as_bytes())
    }

    /// Removes what was made of finished runs, and not the runs.
    fn remove_outputs(&self) -> Result<(), LabError> {
        results::remove_figures(&self.path, &[])?;
        OUTPUTS.iter().try_for_each(|name| files::remove(&self.path.join(name)))
    }

    /// Removes an earlier run, and nothing else.
    fn clear(&self) -> Result<(), LabError> {
        self.remove_outputs()?;
        files::remove(&self.path.join(MANIFEST))?;
        files::remove(&self.path.join(TIMING))?;
        for entry in fs::read_dir(self.path.join(SEEDS)).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "json") {
                files::remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is about.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The record of a run, if it is there and whole.
    pub fn record(&self, key: &str, seed: u64) -> Option<Record> {
        record(&self.path, key, seed)
    }

    /// Keeps the record of a run.
    pub fn keep(&self, entry: usize, record: &Record) -> Result<(), LabError> {
        results::note_timing(&self.path, &self.manifest, entry, record)?;
        let text = serde_json::to_string(record).unwrap_or_default();
        files::write(&record_path(&self.path, &record.entry, record.seed), text.as_bytes())
    }
}

/// The record of a run in a folder, if it is there and whole.
pub(super) fn record(folder: &Path, key: &str, seed: u64) -> Option<Record> {
    let text = fs::read_to_string(record_path(folder, key, seed)).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    (record.entry == key && record.seed == seed).then_some(record)
}

/// By what a run is about, not by its place among others: those may become more.
fn record_path(folder: &Path, key: &str, seed: u64) -> PathBuf {
    folder.join(SEEDS).join(format!("{key}-{seed}.json"))
}

/// The manifest of a folder of results.
pub fn read_manifest(path: &Path) -> Result<Option<Manifest>, LabError> {
    let path = path.join(MANIFEST);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::io("read", &path, &error)),
    };
    Manifest::parse(&path, &text).map(Some)
}

/// Creates a folder; says whether it was not there before.
fn create(path: &Path) -> Result<bool, LabError> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Ok(false),
        Ok(_) => {
            let problem = format!("--out {} is a file: name a folder", path.display());
            return Err(LabError::Input(problem));
        }
        Err(_) => {}
    }
    match fs::create_dir_all(path) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists) => {
            Err(LabError::Input(format!(
                "--out {}: a part of this path is a file, not a folder",
                path.display()
            )))
        }
        Err(error) => Err(LabError::io("create", path, &error)),
    }
}

fn is_empty(path: &Path) -> Result<bool, LabError> {
    let entries = fs::read_dir(path).map_err(|error| LabError::io("read", path, &error))?;
    // Parts that were run apart are no run.
    Ok(entries.flatten().all(|entry| Shard::is_folder(&entry.path())))
}

/// Two runs must not write to one folder. Systems that cannot lock a folder go without.
fn lock(path: &Path) -> Result<Option<File>, LabError> {
    let Ok(folder) = File::open(path) else { return Ok(None) };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(LabError::Input(format!(
            "another run is writing to {}: choose another --out",
            path.display()
        ))),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}
