//! How far an item is, from what its folder holds.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use super::Item;

/// Written last.
pub(super) const REPORT: &str = "report.json";

/// How far an item is.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing is there.
    NotRun,
    /// Some runs are there.
    Begun,
    /// Done: claims that hold, claims in all.
    Done {
        /// Claims that hold.
        hold: usize,
        /// All claims.
        claims: usize,
    },
}

impl Item {
    /// How far it is in a folder of reproductions.
    pub fn state(&self, out: &Path) -> State {
        let folder = out.join(self.name);
        let report = fs::read_to_string(folder.join(REPORT)).ok();
        let report = report.and_then(|text| serde_json::from_str::<Json>(&text).ok());
        match report.as_ref().and_then(|report| report["claims"].as_array()) {
            Some(claims) => {
                let hold = claims.iter().filter(|claim| claim["verdict"] == "holds").count();
                State::Done { hold, claims: claims.len() }
            }
            None if folder.exists() => State::Begun,
            None => State::NotRun,
        }
    }
}

impl State {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            State::NotRun => "not run".into(),
            State::Begun => "begun".into(),
            State::Done { hold, claims } => format!("done: {hold} of {claims} claims hold"),
        }
    }
}
