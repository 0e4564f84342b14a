//! A log in a file: read again from its beginning for every pass, and never held.

mod context;
mod decisions;
mod open_bandit;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::context::{Encoder, Sniffer};
use super::columns::{check, widen};
use super::log::{Event, Log, MOST_ARMS, MOST_CLIENTS, MOST_POSITIONS, Shape};
use super::refusal::Refusal;
use crate::rows::{Format, Row, RowError, Rows};

/// What the columns of a log are called. Where a name is not given, the usual ones are looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The arm that was taken.
    pub arm: Option<String>,
    /// What it paid.
    pub reward: Option<String>,
    /// How likely it was.
    pub propensity: Option<String>,
    /// Whose decision it was.
    pub client: Option<String>,
    /// Whether clients matter; where not, they are not looked at.
    pub with_clients: bool,
    /// Where it was shown.
    pub position: Option<String>,
    /// The arms that could be taken, with `|` between them; all, where there is no such column.
    pub offered: Option<String>,
    /// What was known: columns of numbers, or of words, each of which becomes a feature that is 0 or 1.
    pub context: Vec<String>,
    /// What stands before the arm in the names of columns with the probabilities of the policy in question.
    pub target: Option<String>,
    /// Every arm was as likely as every other.
    pub uniform_logging: bool,
}

const ARM: [&str; 4] = ["arm", "action", "item_id", "item"];
const REWARD: [&str; 3] = ["reward", "click", "outcome"];
const PROPENSITY: [&str; 5] = ["propensity", "probability", "pscore", "propensity_score", "action_prob"];
const CLIENT: [&str; 3] = ["client", "client_id", "user_id"];

impl Names {
    /// The names that are looked for where none is given: of the arm, the reward, the propensity and the client, the first
    /// that is there.
    pub fn usual() -> [&'static [&'static str]; 4] {
        [&ARM, &REWARD, &PROPENSITY, &CLIENT]
    }
}

/// A log in a file, surveyed.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: PathBuf,
    /// What is read, one after the other.
    files: Vec<PathBuf>,
    shape: Shape,
    columns: Vec<String>,
    places: Places,
    arms: HashMap<String, u32>,
    positions: HashMap<String, u32>,
    clients: HashMap<String, u32>,
    context: Vec<Encoder>,
    /// Where each arm's probability stands, if the policy in question is in the log.
    targets: Vec<Option<usize>>,
}

/// Where things stand among the columns that are read.
#[derive(Clone, Debug)]
struct Places {
    arm: usize,
    reward: usize,
    propensity: Option<usize>,
    position: Option<usize>,
    client: Option<usize>,
    offered: Option<usize>,
    context: Vec<usize>,
    /// How a decision ended, in the record of a live client.
    outcome: Option<usize>,
}

impl LogFile {
    /// Opens a file, or a folder of the Open Bandit Dataset, and reads it once for what is in it.
    pub fn open(path: &Path, names: &Names) -> Result<LogFile, Refusal> {
        let recorded = if path.is_dir() { decisions::tables(path)? } else { None };
        let (path, files, names) = match (recorded, path.is_dir()) {
            (Some(tables), _) => (path.to_path_buf(), tables, names.clone()),
            (None, true) => {
                let (log, names) = open_bandit::recognise(path, names)?;
                (log.clone(), vec![log], names)
            }
            (None, false) => (path.to_path_buf(), vec![path.to_path_buf()], names.clone()),
        };
        let (mut columns, places, prefixed) = {
            let rows = Rows::open(&files[0], &Format::default()).map_err(unreadable)?;
            choose(&rows, &names)?
        };
        let mut found = Survey::new(places.context.len());
        let unrewarded = read(&files, &columns, &places, &mut |row| found.see(row, &places))?;
        if found.rows == 0 {
            return Err(Refusal::Empty);
        }
        // Arms that the policy in question knows and the log does not are arms, too.
        found.arms.extend(prefixed.iter().map(|(arm, _)| (arm.clone(), 0)));
        let mut shape = Shape {
            rows: found.rows,
            rewards: found.rewards,
            propensities: found.propensities,
            has_target: names.target.is_some(),
            unrewarded,
            ..Shape::default()
        };
        let arms = numbered(found.arms, &mut shape.arms);
        let positions = numbered(found.positions, &mut shape.positions);
        let clients = numbered(found.clients, &mut shape.clients);
        shape.has_offers = places.offered.is_some();
        shape.least_offered = if shape.has_offers { found.offered.0 } else { shape.arms.len() };
        if places.propensity.is_none() {
            let most = if shape.has_offers { found.offered.1 } else { shape.arms.len() };
            shape.propensities = (1.0 / most as f64, 1.0 / shape.least_offered as f64);
        }
        let mut context = Vec::new();
        for (sniffer, place) in found.context.into_iter().zip(&places.context) {
            let encoder = sniffer.finish(&columns[*place])?;
            shape.features.extend(encoder.names(&columns[*place]));
            context.push(encoder);
        }
        let mut targets = Vec::new();
        for arm in &shape.arms {
            let column = prefixed.iter().find(|(name, _)| name == arm);
            targets.push(column.map(|(_, column)| {
                columns.push(column.clone());
                columns.len() - 1
            }));
        }
        Ok(LogFile { path, files, shape, columns, places, arms, positions, clients, context, targets })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Log for LogFile {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn each(&self, see: &mut dyn FnMut(Event<'_>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let Places { arm, reward, propensity, position, client, offered, ref context, .. } = self.places;
        let (mut features, mut target, mut offers, mut number) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let seen = read(&self.files, &self.columns, &self.places, &mut |row| {
            features.clear();
            for (encoder, place) in self.context.iter().zip(context) {
                encoder.encode(row, *place, &mut features)?;
            }
            target.clear();
            if self.shape.has_target {
                for place in &self.targets {
                    target.push(place.map_or(Ok(0.0), |place| row.needed_number(place)).map_err(unreadable)?);
                }
            }
            let named = |place: Option<usize>, numbers: &HashMap<String, u32>| match place {
                None => Ok(0),
                Some(place) => {
                    let name = row.needed_text(place).map_err(unreadable)?;
                    let changed = || unreadable(row.wrong("the file has changed while it was read"));
                    numbers.get(name.as_ref()).copied().ok_or_else(changed)
                }
            };
            offers.clear();
            if let Some(place) = offered {
                let names = row.needed_text(place).map_err(unreadable)?;
                for name in listed(&names) {
                    let changed = || unreadable(row.wrong("the file has changed while it was read"));
                    offers.push(self.arms.get(name).copied().ok_or_else(changed)?);
                }
                offers.sort_unstable();
                offers.dedup();
                if offers.is_empty() {
                    // An empty list would mean all.
                    return Err(unreadable(row.wrong("the file has changed while it was read")));
                }
            }
            let event = Event {
                row: number,
                client: named(client, &self.clients)?,
                arm: named(Some(arm), &self.arms)?,
                position: named(position, &self.positions)?,
                reward: row.needed_number(reward).map_err(unreadable)?,
                propensity: match propensity {
                    Some(place) => row.needed_number(place).map_err(unreadable)?,
                    None if offers.is_empty() => self.shape.propensities.0,
                    None => 1.0 / offers.len() as f64,
                },
                context: &features,
                offered: &offers,
                target: &target,
            };
            check(&event, || row.wrong("").to_string().trim_end_matches(": ").to_string())?;
            number += 1;
            see(event)
        });
        seen.map(drop)
    }
}

/// What a first reading finds.
struct Survey {
    rows: u64,
    rewards: (f64, f64),
    propensities: (f64, f64),
    arms: HashMap<String, u32>,
    positions: HashMap<String, u32>,
    clients: HashMap<String, u32>,
    /// The smallest and the largest number of arms on offer.
    offered: (usize, usize),
    context: Vec<Sniffer>,
}

impl Survey {
    fn new(context: usize) -> Survey {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        Survey {
            rows: 0,
            rewards: nothing,
            propensities: nothing,
            arms: HashMap::new(),
            positions: HashMap::new(),
            clients: HashMap::new(),
            offered: (usize::MAX, 0),
            context: vec![Sniffer::default(); context],
        }
    }

    fn see(&mut self, row: &Row<'_>, places: &Places) -> Result<(), Refusal> {
        self.rows += 1;
        widen(&mut self.rewards, row.needed_number(places.reward).map_err(unreadable)?);
        if let Some(place) = places.propensity {
            let missing = || {
                let fix = "is missing: how likely this decision was is not known. Leave such rows out, or mend them";
                unreadable(row.wrong(format!("the propensity {fix}")))
            };
            let value = row.number(place).map_err(unreadable)?.ok_or_else(missing)?;
            if !(value > 0.0 && value <= 1.0) {
                let place = row.wrong("").to_string().trim_end_matches(": ").to_string();
                return Err(Refusal::Propensity { place, value: value.to_string() });
            }
            widen(&mut self.propensities, value);
        }
        let named = [
            ("arms", MOST_ARMS, Some(places.arm), &mut self.arms),
            ("positions", MOST_POSITIONS, places.position, &mut self.positions),
            ("clients", MOST_CLIENTS, places.client, &mut self.clients),
        ];
        for (what, most, place, names) in named {
            let Some(place) = place else { continue };
            let name = row.needed_text(place).map_err(unreadable)?;
            note(names, &name, what, most)?;
        }
        if let Some(place) = places.offered {
            let names = row.needed_text(place).map_err(unreadable)?;
            let mut arms: Vec<&str> = listed(&names).collect();
            arms.sort_unstable();
            arms.dedup();
            // Arms that were offered and never taken are arms, too.
            for name in &arms {
                note(&mut self.arms, name, "arms", MOST_ARMS)?;
            }
            if arms.is_empty() {
                return Err(unreadable(row.wrong("no arm is on offer: at least the one that was taken is")));
            }
            self.offered = (self.offered.0.min(arms.len()), self.offered.1.max(arms.len()));
        }
        for (sniffer, place) in self.context.iter_mut().zip(&places.context) {
            sniffer.see(row, *place)?;
        }
        Ok(())
    }
}

/// One more name, unless there are too many.
fn note(
    names: &mut HashMap<String, u32>,
    name: &str,
    what: &'static str,
    most: usize,
) -> Result<(), Refusal> {
    if !names.contains_key(name) {
        if names.len() == most {
            return Err(Refusal::TooMany { what, most });
        }
        names.insert(name.into(), 0);
    }
    Ok(())
}

/// The columns that are read, where they stand, and the columns of the policy in question by arm.
type Chosen = (Vec<String>, Places, Vec<(String, String)>);

fn choose(rows: &Rows, names: &Names) -> Result<Chosen, Refusal> {
    let recorded = decisions::are_ours(rows.columns());
    let names = &if recorded { decisions::filled(names) } else { names.clone() };
    let mut columns: Vec<String> = Vec::new();
    let mut take = |name: &str| {
        columns.push(name.to_string());
        columns.len() - 1
    };
    let find = |stated: &Option<String>, usual: &[&str]| match stated {
        Some(name) => rows.column(name).map(|_| Some(name.clone())).map_err(unreadable),
        None => Ok(usual.iter().find(|name| rows.columns().iter().any(|column| column == *name)))
            .map(|found| found.map(ToString::to_string)),
    };
    let needed = |what: &str, flag: &str, found: Option<String>| {
        let missing = || {
            let all = rows.columns().join(", ");
            Refusal::Question(format!("which column is the {what}? Name it with {flag}; there are: {all}"))
        };
        found.ok_or_else(missing)
    };
    let arm = take(&needed("arm", "--arm", find(&names.arm, &ARM)?)?);
    let reward = take(&needed("reward", "--reward", find(&names.reward, &REWARD)?)?);
    let propensity = match (&names.propensity, names.uniform_logging) {
        (Some(_), true) => {
            let both = "--propensity and --uniform-logging say two things: leave one out";
            return Err(Refusal::Question(both.into()));
        }
        (None, true) => None,
        (stated, false) => Some(take(&find(stated, &PROPENSITY)?.ok_or(Refusal::NoPropensities)?)),
    };
    let position = find(&names.position, &[])?.map(|name| take(&name));
    let client = match names.with_clients {
        true => find(&names.client, &CLIENT)?.map(|name| take(&name)),
        false => None,
    };
    let offered = find(&names.offered, &[])?.map(|name| take(&name));
    let roles = [
        ("arm", Some(arm)),
        ("reward", Some(reward)),
        ("propensity", propensity),
        ("position", position),
        ("client", client),
        ("list of arms on offer", offered),
    ];
    let mut context = Vec::new();
    for (index, name) in names.context.iter().enumerate() {
        rows.column(name).map_err(unreadable)?;
        if let Some((role, _)) = roles.iter().find(|(_, at)| at.is_some_and(|at| columns[at] == *name)) {
            let problem = format!("--context: column `{name}` is the {role}: a context must not hold it");
            return Err(Refusal::Question(problem));
        }
        if names.context[..index].contains(name) {
            return Err(Refusal::Question(format!("--context: column `{name}` is named twice")));
        }
        columns.push(name.clone());
        context.push(columns.len() - 1);
    }
    let outcome = recorded.then(|| {
        columns.push("outcome".into());
        columns.len() - 1
    });
    let mut prefixed = Vec::new();
    if let Some(prefix) = &names.target {
        let arms = rows.columns().iter().filter_map(|column| Some((column.strip_prefix(prefix)?, column)));
        prefixed = arms.map(|(arm, column)| (arm.to_string(), column.clone())).collect();
        if prefixed.is_empty() {
            let all = rows.columns().join(", ");
            let none = format!("columns:{prefix}: no column begins like that; there are: {all}");
            return Err(Refusal::Question(none));
        }
    }
    Ok((columns, Places { arm, reward, propensity, position, client, offered, context, outcome }, prefixed))
}

/// Reads all rows, and gives how many decisions had no reward: those are left out.
fn read(
    files: &[PathBuf],
    columns: &[String],
    places: &Places,
    see: &mut dyn FnMut(&Row<'_>) -> Result<(), Refusal>,
) -> Result<u64, Refusal> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut unrewarded = 0;
    for file in files {
        let opened = Rows::open(file, &Format::default()).and_then(|rows| rows.select(&columns));
        let mut rows = opened.map_err(unreadable)?;
        while let Some(row) = rows.next_row().map_err(unreadable)? {
            let outcome =
                places.outcome.map(|place| row.needed_text(place).map_err(unreadable)).transpose()?;
            match outcome.as_deref() {
                Some(decisions::ABANDONED) => unrewarded += 1,
                _ => see(&row)?,
            }
        }
    }
    Ok(unrewarded)
}

/// Numbers for names: in the order of numbers where all are some, else of letters. At least one.
fn numbered(found: HashMap<String, u32>, names: &mut Vec<String>) -> HashMap<String, u32> {
    *names = found.into_keys().collect();
    let number = |name: &String| name.parse::<f64>().ok().filter(|number| number.is_finite());
    if names.iter().all(|name| number(name).is_some()) {
        names.sort_by(|a, b| {
            let (x, y) = (number(a).unwrap_or_default(), number(b).unwrap_or_default());
            x.total_cmp(&y).then_with(|| a.cmp(b))
        });
    } else {
        names.sort();
    }
    let numbers = names.iter().enumerate().map(|(number, name)| (name.clone(), number as u32)).collect();
    if names.is_empty() {
        names.push(String::new());
    }
    numbers
}

/// The arms in a cell.
fn listed(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('|').map(str::trim).filter(|name| !name.is_empty())
}

fn unreadable(error: RowError) -> Refusal {
    Refusal::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests;
