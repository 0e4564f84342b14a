//! Folders of the Open Bandit Dataset (Saito et al. 2020): `{policy}/{campaign}` with `{campaign}.csv`.

use std::path::{Path, PathBuf};

use super::super::refusal::Refusal;
use super::Names;

/// The log in a folder, and what its columns are called. An item was shown in one of three positions, and `pscore` is
/// the probability of the item in that position: estimates go position by position.
pub(super) fn recognise(folder: &Path, names: &Names) -> Result<(PathBuf, Names), Refusal> {
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Refusal::Unreadable(format!("{}: {error}", folder.display())))?;
    let (mut logs, mut folders) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            folders.push(name);
        } else if (name.ends_with(".csv") || name.ends_with(".csv.gz")) && !name.starts_with("item_context") {
            logs.push(entry.path());
        }
    }
    folders.sort();
    logs.sort();
    match logs.as_slice() {
        [log] => Ok((log.clone(), filled(names))),
        [] if !folders.is_empty() => Err(Refusal::Question(format!(
            "{} is a folder of folders ({}): name the one with a log in it",
            folder.display(),
            folders.join(", ")
        ))),
        [] => Err(Refusal::Question(format!("{} has no log in it (a .csv or .csv.gz)", folder.display()))),
        _ => Err(Refusal::Question(format!("{} has several logs in it: name one", folder.display()))),
    }
}

/// The names of Open Bandit's columns, where others are not stated.
fn filled(names: &Names) -> Names {
    let or = |stated: &Option<String>, usual: &str| stated.clone().or(Some(usual.into()));
    let mut names = names.clone();
    names.arm = or(&names.arm, "item_id");
    names.reward = or(&names.reward, "click");
    names.position = or(&names.position, "position");
    if names.context.is_empty() {
        names.context = (0..4).map(|number| format!("user_feature_{number}")).collect();
    }
    names
}
