//! The Open Bandit Dataset: what a shop showed, with which probability, and whether it was clicked.
//!
//! A folder holds `POLICY/CAMPAIGN/CAMPAIGN.csv` with `item_context.csv` beside it, for the policies `random` and `bts` and
//! the campaigns `all`, `men` and `women`; or the two files of one of them.

use std::path::PathBuf;

use super::error::DataError;
use super::folder::Folder;
use super::records::{Dialect, Records, Row};

/// Who decided.
pub const POLICIES: [&str; 2] = ["random", "bts"];
/// What was on show.
pub const CAMPAIGNS: [&str; 3] = ["all", "men", "women"];

/// Impressions of the whole set, as its authors say. Of `bts/all` their paper says 12,168,084, and those who counted the
/// file 12,357,200: none is held against it.
const IMPRESSIONS: [[Option<u64>; 3]; 2] =
    [[Some(1_374_327), Some(452_949), Some(864_585)], [None, Some(4_077_727), Some(7_765_497)]];
/// Items of each campaign.
const ITEMS: [u64; 3] = [80, 34, 46];
/// Impressions of each part of the sample.
pub(super) const SAMPLE: u64 = 10_000;

/// The log of one policy in one campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Such as `random/all`.
    pub name: String,
    /// Its decisions.
    pub log: PathBuf,
    /// Its items.
    pub items: PathBuf,
    /// How many impressions the whole set has, where that is known.
    pub known_impressions: Option<u64>,
    /// How many items its campaign has, where that is known.
    pub known_items: Option<u64>,
}

/// What is in a folder, part by part.
pub fn parts(folder: &Folder<'_>) -> Result<Vec<Part>, DataError> {
    let mut parts = Vec::new();
    let mut look =
        |name: String, before: &str, campaign: &str, known: [Option<u64>; 2]| -> Result<(), DataError> {
            let items = folder.find(&format!("{before}item_context.csv"))?;
            let log = folder.find(&format!("{before}{campaign}.csv"))?;
            match (log, items) {
                (Some(log), Some(items)) => {
                    let [known_impressions, known_items] = known;
                    parts.push(Part { name, log, items, known_impressions, known_items });
                }
                (Some(_), None) => {
                    folder.need(&format!("{before}item_context.csv"))?;
                }
                (None, Some(_)) if !before.is_empty() => {
                    folder.need(&format!("{before}{campaign}.csv"))?;
                }
                _ => {}
            }
            Ok(())
        };
    for (policy, impressions) in POLICIES.iter().zip(IMPRESSIONS) {
        for ((campaign, impressions), items) in CAMPAIGNS.iter().zip(impressions).zip(ITEMS) {
            let name = format!("{policy}/{campaign}");
            look(name.clone(), &format!("{name}/"), campaign, [impressions, Some(items)])?;
        }
    }
    for campaign in CAMPAIGNS {
        look(campaign.into(), "", campaign, [None, None])?;
    }
    if parts.is_empty() {
        let names = CAMPAIGNS.map(|name| format!("{name}.csv")).join(", ");
        let problem = format!("none of {names} is beside item_context.csv in {}", folder.path());
        return Err(DataError::plain(problem));
    }
    Ok(parts)
}

/// Something was shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Impression {
    /// When, as the file says it.
    pub timestamp: String,
    /// What.
    pub item: u32,
    /// Where on the page, from 1 to 3.
    pub position: u32,
    /// Whether it was clicked.
    pub click: bool,
    /// With which probability it was shown there.
    pub propensity: f64,
    /// What is known of the user, hashed.
    pub user: Vec<String>,
    /// How often the user clicked each item before.
    pub affinity: Vec<f64>,
}

/// The impressions of a part, one after the other.
pub struct Impressions {
    records: Records,
    items: u32,
    columns: [usize; 5],
    user: Vec<usize>,
    affinity: Vec<usize>,
}

impl Part {
    /// How many items it has; they must be numbered from 0.
    pub fn items(&self) -> Result<u32, DataError> {
        let mut rows = Records::open(&self.items, Dialect::Commas)?;
        let [item] = columns(&rows, ["item_id"])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let id = row.id(item)?;
            if id != count {
                return Err(row.complain(format!("item_id: {count} was expected, not {id}")));
            }
            count += 1;
        }
        Ok(count)
    }

    /// Its impressions.
    pub fn impressions(&self) -> Result<Impressions, DataError> {
        let items = self.items()?;
        let records = Records::open(&self.log, Dialect::Commas)?;
        let columns = columns(&records, ["timestamp", "item_id", "position", "click", "propensity_score"])?;
        let all = |prefix: &str| -> Vec<usize> {
            let named = |name: &String| name.starts_with(prefix);
            records.header().iter().enumerate().filter(|(_, name)| named(name)).map(|(at, _)| at).collect()
        };
        let (user, affinity) = (all("user_feature_"), all("user-item_affinity_"));
        Ok(Impressions { records, items, columns, user, affinity })
    }
}

/// Where columns are.
fn columns<const N: usize>(records: &Records, names: [&str; N]) -> Result<[usize; N], DataError> {
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        *place = records.header().iter().position(|column| column == name).ok_or_else(|| {
            DataError::at(records.file(), 1, format!("a column {name} was expected in the header"))
        })?;
    }
    Ok(places)
}

impl Impressions {
    /// The next one.
    #[expect(clippy::should_implement_trait, reason = "as rows are read")]
    pub fn next(&mut self) -> Result<Option<Impression>, DataError> {
        let [time, item, position, click, propensity] = self.columns;
        let Some(row) = self.records.next()? else { return Ok(None) };
        let shown = Impression {
            timestamp: row.text(time).into_owned(),
            item: row.id(item)?,
            position: row.id(position)?,
            click: row.id(click)? == 1,
            propensity: row.number(propensity, "a probability")?,
            user: self.user.iter().map(|column| row.text(*column).into_owned()).collect(),
            affinity: self
                .affinity
                .iter()
                .map(|column| row.number(*column, "a number"))
                .collect::<Result<_, _>>()?,
        };
        let within = |right: bool, what: &str, row: &Row<'_>| {
            if right { Ok(()) } else { Err(row.complain(what.to_string())) }
        };
        let items = self.items;
        within(shown.item < items, &format!("item_id: {} is not in item_context.csv", shown.item), &row)?;
        within((1..=3).contains(&shown.position), "position: 1, 2 or 3 was expected", &row)?;
        within(row.id(click)? <= 1, "click: 0 or 1 was expected", &row)?;
        let chance = shown.propensity > 0.0 && shown.propensity <= 1.0;
        within(chance, "propensity_score: a probability above 0 was expected", &row)?;
        Ok(Some(shown))
    }
}
