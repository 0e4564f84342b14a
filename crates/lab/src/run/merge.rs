//! Parts of an experiment, put together: what one machine would have written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_sim::catalogue::Catalogue;

use super::folder::{Folder, Start, read_manifest, record};
use super::manifest::Manifest;
use super::shard::Shard;
use super::{Outcome, jobs, keys, results_of};
use crate::error::LabError;
use crate::load::rerun;
use crate::results::{Theory, Timings};

/// A folder that holds a part.
struct Part {
    path: PathBuf,
    manifest: Manifest,
    shard: Shard,
}

/// Puts parts together: folders of parts, or folders that hold such folders. The whole goes to `out`; where nothing is
/// said, to the folder that all parts are in.
pub fn merge(
    catalogue: &Arc<Catalogue>,
    folders: &[PathBuf],
    out: Option<&Path>,
    theory: Theory,
) -> Result<Outcome, LabError> {
    let parts = parts(folders)?;
    let first = &parts[0];
    let out = match out {
        Some(out) => out.to_path_buf(),
        None => common_parent(&parts)?,
    };
    for part in &parts[1..] {
        let one = Manifest { shard: part.manifest.shard, ..first.manifest.clone() };
        if let Some(difference) = one.difference(&part.manifest) {
            let (one, other) = (first.path.display(), part.path.display());
            return Err(LabError::Input(format!(
                "{one} and {other} are parts of different runs: {difference}"
            )));
        }
    }
    let whole = Manifest { shard: None, ..first.manifest.clone() };
    let experiment = rerun(catalogue, whole.clone())?;
    // What this program makes of the experiment must be what the parts are about.
    if let Some(difference) = whole.difference(&Manifest::new(&experiment, &[])) {
        return Err(LabError::Input(format!("{} is of another program: {difference}", first.path.display())));
    }
    let keys = keys(&whole);
    let all = jobs(&experiment, &keys);
    let mut found = Vec::with_capacity(all.len());
    let of = first.shard.of() as usize;
    let mut missing = vec![0usize; of];
    let timings: Vec<Timings> = parts.iter().map(|part| Timings::read(&part.path)).collect();
    for (place, job) in all.iter().enumerate() {
        let in_part = |(part, timings): (&Part, &Timings)| {
            let mut record = record(&part.path, &job.key, job.seed)?;
            timings.fill(std::slice::from_mut(&mut record));
            Some(record)
        };
        match parts.iter().zip(&timings).find_map(in_part) {
            Some(record) => found.push((job.entry, record)),
            None => missing[place % of] += 1,
        }
    }
    if found.len() < all.len() {
        return Err(LabError::Input(incomplete(&parts, &missing, all.len() - found.len())));
    }
    let folder = Folder::claim(&out, whole, Start::Resume)?;
    found.iter().try_for_each(|(entry, record)| folder.keep(*entry, record))?;
    results_of(&experiment, &folder, &keys, theory)
}

fn parts(folders: &[PathBuf]) -> Result<Vec<Part>, LabError> {
    let mut parts = Vec::new();
    for folder in folders {
        let mut paths = vec![folder.clone()];
        if let Ok(entries) = fs::read_dir(folder) {
            paths.extend(entries.flatten().map(|entry| entry.path()).filter(|path| Shard::is_folder(path)));
        }
        paths.sort();
        let before = parts.len();
        for path in paths {
            if let Some(manifest) = read_manifest(&path)?
                && let Some(shard) = manifest.shard
            {
                parts.push(Part { path, manifest, shard });
            }
        }
        if parts.len() == before {
            let shown = folder.display();
            if !folder.is_dir() {
                return Err(LabError::Input(format!("there is no folder {shown}")));
            }
            return Err(LabError::Input(format!(
                "{shown} holds no part of a run: `cahoots run --shard K/N` makes them"
            )));
        }
    }
    parts.sort_by_key(|part| part.shard);
    match parts.iter().find(|part| part.shard.of() != parts[0].shard.of()) {
        Some(other) => Err(LabError::Input(format!(
            "{} is part {}, {} is part {}: all must be of equally many",
            parts[0].path.display(),
            parts[0].shard,
            other.path.display(),
            other.shard
        ))),
        None if parts.is_empty() => Err(LabError::Input("name the folders of the parts".into())),
        None => Ok(parts),
    }
}

fn common_parent(parts: &[Part]) -> Result<PathBuf, LabError> {
    let parent = |part: &Part| part.path.parent().map(Path::to_path_buf).unwrap_or_default();
    let first = parent(&parts[0]);
    if parts.iter().any(|part| parent(part) != first) {
        return Err(LabError::Input(
            "these parts are in different folders: say where the whole goes with --out".into(),
        ));
    }
    Ok(if first.as_os_str().is_empty() { PathBuf::from(".") } else { first })
}

/// Which parts are not there, or not finished.
fn incomplete(parts: &[Part], missing: &[usize], count: usize) -> String {
    let mut text = format!("{count} runs are missing:");
    for (place, missing) in missing.iter().enumerate().filter(|(_, missing)| **missing > 0) {
        let number = place as u32 + 1;
        let shard = format!("{number}/{}", parts[0].shard.of());
        text += &match parts.iter().find(|part| part.shard.number() == number) {
            Some(part) => format!(
                "\n  part {shard} in {} lacks {missing}: run it again with --shard {shard} --resume",
                part.path.display()
            ),
            None => format!("\n  part {shard} is not among these ({missing} runs)"),
        };
    }
    text
}
