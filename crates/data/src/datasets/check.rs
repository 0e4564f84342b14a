//! What a folder holds, against what is known of the set.

use serde::Serialize;

use super::error::DataError;
use super::folder::Folder;
use super::kind::Kind;
use super::{files, load, open_bandit, recognise};

/// A number that was counted, and the one that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Of what.
    pub what: String,
    /// How many there are here.
    pub found: u64,
    /// How many there should be, where that is known.
    pub known: Option<u64>,
}

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The set's name.
    pub dataset: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Counts, exact.
    pub counts: Vec<Count>,
    /// Hash of its content; none for logs.
    pub content: Option<String>,
    /// Files of the set that are not there, and that it works without.
    pub missing: Vec<String>,
    /// Its licence, in one line.
    pub licence: &'static str,
    /// Where to obtain the set.
    pub source: &'static str,
    /// What whoever uses it should know.
    pub notes: Vec<String>,
}

impl Report {
    /// The counts that are not as they should be.
    pub fn differing(&self) -> impl Iterator<Item = &Count> {
        self.counts.iter().filter(|count| count.known.is_some_and(|known| known != count.found))
    }
}

/// Reads a folder to its end.
pub fn check(folder: &Folder<'_>) -> Result<Report, DataError> {
    let kind = recognise(folder)?;
    if kind == Kind::OpenBandit {
        return logs(folder);
    }
    let set = load(folder, Some(kind))?;
    let known = |what: &str| set.kind.known().iter().find(|(name, _)| *name == what).map(|(_, known)| *known);
    let counts = set.counts.iter();
    let counts = counts
        .map(|(what, found)| Count { what: (*what).into(), found: *found, known: known(what) })
        .collect();
    let mut missing = Vec::new();
    for name in files(kind) {
        if !folder.has(name)? {
            missing.push((*name).to_string());
        }
    }
    let mut notes = Vec::new();
    match set.kind {
        Kind::DeliciousReduced => notes.push(
            "reduced: say so beside results. An event is a pair whose tags are there; the whole set has 104,799 pairs \
             with times"
                .into(),
        ),
        Kind::Movielens => {
            let sizes = [Kind::MlLatestSmall, Kind::Ml20m, Kind::Ml25m].map(Kind::name).join(", ");
            notes.push(format!("its counts are those of none of {sizes}: another set of the same files"));
        }
        _ => {}
    }
    Ok(Report {
        dataset: set.kind.name(),
        title: set.kind.title(),
        counts,
        content: Some(set.content.clone()),
        missing,
        licence: set.kind.licence(),
        source: set.kind.source(),
        notes,
    })
}

/// Every part of the Open Bandit Dataset that is there.
fn logs(folder: &Folder<'_>) -> Result<Report, DataError> {
    let parts = open_bandit::parts(folder)?;
    let (mut counts, mut sample) = (Vec::new(), true);
    for part in &parts {
        let mut rows = part.impressions()?;
        let (mut impressions, mut clicks) = (0, 0);
        while let Some(shown) = rows.next()? {
            impressions += 1;
            clicks += u64::from(shown.click);
        }
        sample &= impressions == open_bandit::SAMPLE;
        let is_sample = impressions == open_bandit::SAMPLE;
        let known = if is_sample { Some(open_bandit::SAMPLE) } else { part.known_impressions };
        let name = &part.name;
        counts.push(Count { what: format!("{name}: impressions"), found: impressions, known });
        counts.push(Count {
            what: format!("{name}: items"),
            found: part.items()?.into(),
            known: part.known_items,
        });
        counts.push(Count { what: format!("{name}: clicks"), found: clicks, known: None });
    }
    let there = |name: &String| parts.iter().any(|part| part.name == *name);
    let all = open_bandit::POLICIES
        .iter()
        .flat_map(|policy| open_bandit::CAMPAIGNS.iter().map(move |campaign| format!("{policy}/{campaign}")));
    let missing = all.filter(|name| !there(name)).map(|name| format!("{name}/")).collect();
    let mut notes = vec!["logged decisions: for `cahoots evaluate`".to_string()];
    if sample {
        notes.push("the sample of the package obp: too few clicks to rank algorithms".into());
    }
    Ok(Report {
        dataset: Kind::OpenBandit.name(),
        title: Kind::OpenBandit.title(),
        counts,
        content: None,
        missing,
        licence: Kind::OpenBandit.licence(),
        source: Kind::OpenBandit.source(),
        notes,
    })
}
