//! A coordinator that begins from a prior: looked at before anything is made, taken with the first commit, and
//! remembered, so that a federation cannot begin twice.

use std::path::PathBuf;

use cahoots_core::Prior;
use serde::{Deserialize, Serialize};

use super::PriorFile;
use super::store::no_prior;
use crate::error::NodeError;
use crate::live::Known;
use crate::terms::Terms;

/// What a new federation is to begin from.
#[derive(Clone, Debug, PartialEq)]
pub struct WarmStart {
    /// The file, from `cahoots prior`.
    pub prior: PathBuf,
    /// For how much of an observation each of its observations counts: above 0, at most 1.
    pub weight: f64,
}

/// What a federation began from, as its store remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Began {
    /// Observations that it stands for, weighed.
    pub observations: u64,
    /// For how much of an observation each counted.
    pub weight: f64,
    /// Where they come from, in words.
    pub from: String,
    /// The hash of the file.
    pub hash: String,
}

impl Began {
    /// Its name in a store.
    pub(crate) const KEY: &'static str = "prior";

    /// To be kept in a store.
    pub(crate) fn save(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("words and numbers can be written")
    }

    /// As it was kept.
    pub(crate) fn restore(bytes: &[u8]) -> Result<Began, String> {
        serde_json::from_slice(bytes).map_err(|e| format!("what it began from cannot be read ({e})"))
    }

    /// In words: where from, and how much of it counts.
    pub fn words(&self) -> String {
        if self.weight == 1.0 {
            self.from.clone()
        } else {
            format!("{} at weight {}", self.from, self.weight)
        }
    }
}

/// What is taken with the first commit.
pub(crate) struct Beginning {
    pub(crate) prior: Prior,
    pub(crate) began: Began,
}

impl Beginning {
    /// Reads the file and asks a machine of these terms whether it takes it. Nothing is made.
    pub(crate) fn read(warm: &WarmStart, terms: &Terms, known: &Known) -> Result<Beginning, NodeError> {
        let live = terms.live(known)?;
        let expected = live.prior_kind(terms)?.map_err(|why| no_prior(&terms.algorithm, &why))?;
        if terms.lockstep.is_some() {
            return Err(NodeError::Config(
                "a run in lockstep begins from nothing: remove [warm_start]".into(),
            ));
        }
        let file = PriorFile::read(&warm.prior)?;
        let wrong = |what: String| NodeError::Config(format!("prior {}: {what}", warm.prior.display()));
        if file.kind != expected {
            return Err(wrong(format!(
                "its sums are of kind {:?}, and {} begins from {expected:?}: make it from a federation of that algorithm",
                file.kind, terms.algorithm
            )));
        }
        let hash = file.hash();
        let prior = file.prior.weighed(warm.weight);
        live.coordinator(terms, None)?.takes_prior(&prior).map_err(|why| {
            wrong(format!(
                "{why}. Make one of what has this federation's features and rewards ([setting] says dim, context_norm and \
                 reward_range), or remove [warm_start] to begin from nothing"
            ))
        })?;
        let observations = prior.observations();
        Ok(Beginning { prior, began: Began { observations, weight: warm.weight, from: file.from, hash } })
    }

    /// A federation that has begun goes on from where it is: whether the file still says what it began from. A file that
    /// is gone is no longer needed.
    pub(crate) fn compare(warm: &WarmStart, began: Option<&Began>, store: &str) -> Result<(), NodeError> {
        let Some(began) = began else {
            return Err(NodeError::Config(format!(
                "store {store}: this federation began without a prior, and [warm_start] holds for a new one alone: remove it, or \
                 begin a new federation (a new name and a new store) with it"
            )));
        };
        let same = match PriorFile::read(&warm.prior) {
            Err(_) if !warm.prior.exists() => true,
            Ok(file) => file.hash() == began.hash,
            Err(_) => false,
        };
        if same && warm.weight == began.weight {
            return Ok(());
        }
        Err(NodeError::Config(format!(
            "store {store}: this federation began from {} (hash {}), which cannot change: {} says something else now. Remove \
             [warm_start], which has done its work, or begin a new federation (a new name and a new store) with it",
            began.words(),
            began.hash,
            if same { "`weight`".into() } else { warm.prior.display().to_string() }
        )))
    }
}
