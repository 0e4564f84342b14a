//! The papers' datasets: what is in their files, whatever these are packed in.
//!
//! A folder is recognised by its files ([`recognise`]); a set is parsed once per process ([`load`]) and known by the hash
//! of its content. Licences do not allow any of it in this repository.

mod check;
mod dataset;
mod error;
mod folder;
mod hetrec;
mod kind;
mod movielens;
pub mod open_bandit;
mod records;
pub mod synthetic;
#[cfg(test)]
mod tests;
mod time;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use check::{Count, Report, check};
pub use dataset::{Dataset, Documents, Event, words};
pub use error::DataError;
pub use folder::Folder;
pub use kind::Kind;
pub use records::{Dialect, Records, Row};

/// The files by which sets are told apart.
const SIGNS: [(Kind, &[&str]); 6] = [
    (Kind::Lastfm, &["user_taggedartists.dat", "user_taggedartists-timestamps.dat"]),
    (Kind::Delicious, &["user_taggedbookmarks.dat", "user_taggedbookmarks-timestamps.dat"]),
    (Kind::DeliciousReduced, &["user_taggedbookmarks_reduced.tsv"]),
    (Kind::HetrecMovielens, &["user_ratedmovies.dat", "user_ratedmovies-timestamps.dat"]),
    (Kind::Movielens, &["ratings.csv"]),
    (
        Kind::OpenBandit,
        &[
            "item_context.csv",
            "random/all/item_context.csv",
            "random/men/item_context.csv",
            "random/women/item_context.csv",
            "bts/all/item_context.csv",
            "bts/men/item_context.csv",
            "bts/women/item_context.csv",
        ],
    ),
];

/// Which set a folder holds. Those of MovieLens that differ in size alone are [`Kind::Movielens`] here.
pub fn recognise(folder: &Folder<'_>) -> Result<Kind, DataError> {
    let mut found: Vec<(Kind, &str)> = Vec::new();
    for (kind, names) in SIGNS {
        for name in names {
            if folder.has(name)? {
                found.push((kind, name));
                break;
            }
        }
    }
    match found.as_slice() {
        [(kind, _)] => Ok(*kind),
        [] => {
            let signs: Vec<&str> = SIGNS.iter().map(|(_, names)| names[0]).collect();
            if !folder.is_there() {
                return Err(DataError::plain(format!(
                    "there is no folder {}; in an experiment, paths are relative to its file",
                    folder.path()
                )));
            }
            Err(DataError::plain(format!(
                "{} is no dataset that is known: none of {} is there, plain or gzipped: name the folder that holds such files",
                folder.path(),
                signs.join(", ")
            )))
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|(kind, name)| format!("{} ({name})", kind.name())).collect();
            Err(DataError::plain(format!(
                "{} holds more than one set: {}: give each a folder of its own",
                folder.path(),
                names.join(" and ")
            )))
        }
    }
}

/// Sets that were parsed, by what their files are known by and by the hash of their content.
#[derive(Default)]
struct Memory {
    by_files: BTreeMap<(Kind, String), Arc<Dataset>>,
    by_content: BTreeMap<String, Arc<Dataset>>,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory { by_files: BTreeMap::new(), by_content: BTreeMap::new() });

/// The set in a folder: the one that is wanted, or the one that it is recognised as.
pub fn load(folder: &Folder<'_>, wanted: Option<Kind>) -> Result<Arc<Dataset>, DataError> {
    let kind = match wanted {
        None => recognise(folder)?,
        Some(Kind::MlLatestSmall | Kind::Ml20m | Kind::Ml25m) => Kind::Movielens,
        Some(kind) => kind,
    };
    let key = |folder: &Folder<'_>| (kind, folder.key());
    // The files that a loader reads have been found when it is done; before, only those that were read last time.
    for name in files(kind) {
        folder.find(name)?;
    }
    let memory = || MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    let known = memory().by_files.get(&key(folder)).cloned();
    let set = match known {
        Some(set) => set,
        None => {
            let set = Arc::new(match kind {
                Kind::Lastfm => hetrec::lastfm(folder)?,
                Kind::Delicious => hetrec::delicious(folder)?,
                Kind::DeliciousReduced => hetrec::delicious_reduced(folder)?,
                Kind::HetrecMovielens => hetrec::movielens(folder)?,
                Kind::MlLatestSmall | Kind::Ml20m | Kind::Ml25m | Kind::Movielens => movielens::load(folder)?,
                Kind::OpenBandit => {
                    return Err(DataError::plain(
                        "the Open Bandit Dataset is a log of decisions, not events to replay: see \
                         `cahoots evaluate`",
                    ));
                }
            });
            let mut memory = memory();
            memory.by_files.insert(key(folder), set.clone());
            memory.by_content.insert(set.content.clone(), set.clone());
            set
        }
    };
    match wanted {
        Some(wanted) if wanted != set.kind && wanted != Kind::Movielens => Err(DataError::plain(format!(
            "{} holds {} events of {} users: that is not {}, which has {}",
            folder.path(),
            set.events.len(),
            set.users.len(),
            wanted.name(),
            wanted.known().iter().find(|(what, _)| *what == "events").map_or(0, |(_, count)| *count)
        ))),
        _ => Ok(set),
    }
}

/// A set that was loaded before, by the hash of its content.
pub fn loaded(content: &str) -> Option<Arc<Dataset>> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner).by_content.get(content).cloned()
}

/// The files that a set is made of, those that may be missing among them.
pub fn files(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Lastfm => {
            &["user_taggedartists.dat", "tags.dat", "artists.dat", "user_artists.dat", "user_friends.dat"]
        }
        Kind::Delicious => &["user_taggedbookmarks.dat", "tags.dat", "user_contacts-timestamps.dat"],
        Kind::DeliciousReduced => &[
            "user_bookmarks_pairs.tsv",
            "user_taggedbookmarks_reduced.tsv",
            "tags.dat",
            "user_contacts-timestamps.dat",
        ],
        Kind::HetrecMovielens => {
            &["user_ratedmovies.dat", "user_taggedmovies.dat", "movies.dat", "movie_genres.dat", "tags.dat"]
        }
        Kind::MlLatestSmall | Kind::Ml20m | Kind::Ml25m | Kind::Movielens => {
            &["ratings.csv", "movies.csv", "tags.csv"]
        }
        Kind::OpenBandit => &[],
    }
}
