//! What can go wrong with a store, and how to go on.

use std::path::{Path, PathBuf};

/// What a store that is too old is still good for.
fn handed_on(path: &Path, found: u32) -> String {
    if found < super::look::OLDEST {
        return String::new();
    }
    format!(
        ": what a coordinator had merged goes along by `cahoots prior {} --out FILE` and `[warm_start] prior = \"FILE\"`",
        path.display()
    )
}

/// A store that cannot be used. Nothing in it has been changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be reached.
    #[error("store {}: {source}; check that the folder exists and that this user may write to it", path.display())]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// Another process has it.
    #[error("store {} is in use by another process: stop that one first, or give this node a store of its own", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Not what was written.
    #[error(
        "store {} is damaged: {what}. It was left as it is. To recover, put back copies of all its files (PATH and every \
         PATH.*) that were made together before the damage; without them, move them aside and start with an empty store under a client number that was never used (a coordinator: \
         under a new federation name). Whatever a client had uploaded is safe with its coordinator",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// Written by a newer version.
    #[error("store {} has format {found}, this build reads format {}: use the version that wrote it", path.display(), super::FORMAT)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Written by an older version, whose log this one cannot replay.
    #[error(
        "store {} has format {found} or an older one, this build reads format {}. It was left as it is: go on with the version that wrote it, or, to \
         upgrade, let every client upload what it has with that version (`cahoots drain`) and stop, then begin a new federation (a new name and new stores) \
         with this one{}",
        path.display(), super::FORMAT, handed_on(path, *found)
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Nothing is copied over a store.
    #[error("store {} is there already: copy to another path, or move it aside with all its files (PATH and PATH.*)", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else's.
    #[error("store {} belongs to {found}, but this node is {expected}: point `store` to another file, or correct the configuration", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: String,
        /// Who we are.
        expected: String,
    },
    /// The disk is full.
    #[error("no space left for store {}: nothing that was acknowledged is lost, and nothing more is taken; free some space and restart", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The disk refused.
    #[error("store {} could not be written ({what}): nothing that was acknowledged is lost, and nothing more is taken; check the disk and restart", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's word.
        what: String,
    },
    /// Other machines keep the log, and they do not answer.
    #[error("the log {} does not answer: {what}. Nothing that was acknowledged is lost; it is asked again", path.display())]
    Unanswered {
        /// What it is called.
        path: PathBuf,
        /// What was heard last.
        what: String,
    },
    /// Another coordinator writes the log now.
    #[error("another coordinator leads: what this one wrote last was not taken into the log {}, and nobody was told of it", path.display())]
    Fenced {
        /// What it is called.
        path: PathBuf,
    },
    /// What keeps the log has lost what it had acknowledged.
    #[error(
        "the log {} has lost what it had acknowledged: {what}. Nothing more is taken. Look at the servers that keep it: one may run on an old \
         copy of its data. Bring back what they had; where that is not to be had, start with `--accept-rollback`: clients send again what is lost",
        path.display()
    )]
    WentBack {
        /// What it is called.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// What was read of the log is not what was written.
    #[error(
        "the log {} is not what was written: {what}. This coordinator stops before it leads anyone astray. One of the servers that keep it may \
         have a damaged or an old copy: rebuild that one from empty while the others are well, and start this coordinator again",
        path.display()
    )]
    Broken {
        /// What it is called.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// Nothing of the log can be opened with the key that is here.
    #[error(
        "the log {} is sealed under another key than the one here ({what}). Copy the file that `key` in [nats] names from a coordinator that \
         has read this log; a new federation needs a name that no other has on these servers",
        path.display()
    )]
    OtherKey {
        /// What it is called.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// What would have to be read next is trimmed.
    #[error("the log {} begins later than where this coordinator was: it reads on from a snapshot", path.display())]
    Behind {
        /// What it is called.
        path: PathBuf,
    },
}
