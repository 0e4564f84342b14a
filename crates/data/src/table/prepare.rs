//! From a file to rows of the same width, in two passes: what is there, then what it becomes.

use std::collections::HashMap;
use std::path::Path;

use cahoots_core::ParamError;
use cahoots_sim::files::Located;

use super::arms::ArmTable;
use super::cache::{Cached, Meta};
use super::features::Features;
use super::keys::{Context, Form, MOST_ARMS, MOST_CLIENTS, Missing, TableParams};
use super::profile::{LONGEST_NAME, Profile, in_order};
use crate::rows::{Row, RowError, Rows};

/// Different labels that are told apart before they are too many to be labels.
pub(super) const MOST_LABELS: usize = 100_000;

/// Reads what these keys ask for and writes it into `folder`, under this key.
pub(super) fn prepare(
    params: &TableParams,
    file: &Located,
    arms_file: Option<&Located>,
    folder: &Path,
    key: &str,
) -> Result<Cached, ParamError> {
    let roles = Roles::find(params, &file.path)?;
    let arms = match arms_file {
        Some(file) => Some(ArmTable::read(params, &file.path)?),
        None => None,
    };
    let first = First::pass(params, &roles, &file.path, arms.as_ref())?;
    let meta = first.meta(params, arms.as_ref())?;
    let failed = |error: std::io::Error| {
        ParamError::new(
            "file",
            format!(
                "cannot keep the table in {}: {error}; CAHOOTS_CACHE names another folder",
                folder.display()
            ),
        )
    };
    let mut writing = Cached::write(folder, key, meta.clone()).map_err(failed)?;
    let (mut packed, mut rows) = (Vec::new(), 0);
    let mut second = roles.open(params, &file.path)?;
    let places = meta.context.places(&second).map_err(in_file)?;
    while let Some(row) = second.next_row().map_err(in_file)? {
        if roles.is_skipped(params, &row).map_err(in_file)? {
            continue;
        }
        packed.clear();
        if first.pack(&roles, &row, arms.as_ref(), &meta, &places, &mut packed)? {
            writing.row(&packed).map_err(failed)?;
            rows += 1;
        }
    }
    if rows != meta.rows {
        return Err(ParamError::new("file", "it changes while it is read: run again when it is complete"));
    }
    writing.done().map_err(failed)
}

pub(super) fn in_file(error: RowError) -> ParamError {
    ParamError::new("file", error.to_string())
}

/// Which column is what. Roles come first among the columns that are read, features after them.
struct Roles {
    /// Label or arm.
    answer: String,
    others: Vec<String>,
    client: Option<usize>,
    reward: Option<usize>,
    offered: Option<usize>,
    context: Vec<String>,
}

impl Roles {
    fn find(params: &TableParams, path: &Path) -> Result<Roles, ParamError> {
        let rows = Rows::open(path, &params.format()).map_err(in_file)?;
        let known = |key: &str, name: &str| {
            rows.column(name).map(|_| ()).map_err(|error| ParamError::new(key, error.to_string()))
        };
        let key = if params.form == Form::Arms { "arm" } else { "label" };
        let answer = params.label.as_ref().or(params.arm.as_ref()).cloned().unwrap_or_default();
        known(key, &answer)?;
        let mut others = Vec::new();
        let mut role = |key: &str, name: &Option<String>| -> Result<Option<usize>, ParamError> {
            let Some(name) = name else { return Ok(None) };
            known(key, name)?;
            if *name == answer || others.contains(name) {
                return Err(ParamError::new(key, format!("column `{name}` has another role already")));
            }
            others.push(name.clone());
            Ok(Some(others.len()))
        };
        let client = role("client", &params.client)?;
        let reward = role("reward", &params.reward)?;
        let offered = role("offered", &params.offered)?;
        let taken = |name: &String| *name == answer || others.contains(name);
        let context = match &params.context {
            Context::Others(_) if params.form == Form::Arms => Vec::new(),
            Context::Others(_) => rows.columns().iter().filter(|name| !taken(name)).cloned().collect(),
            Context::Columns(columns) => {
                for (index, name) in columns.iter().enumerate() {
                    known("context", name)?;
                    if *name == answer || params.reward.as_ref() == Some(name) {
                        let problem =
                            format!("column `{name}` is what is to be found out: a context must not hold it");
                        return Err(ParamError::new("context", problem));
                    }
                    if columns[..index].contains(name) {
                        return Err(ParamError::new("context", format!("column `{name}` is named twice")));
                    }
                }
                columns.clone()
            }
        };
        for name in &params.categories {
            known("categories", name)
                .or_else(|error| if params.form == Form::Arms { Ok(()) } else { Err(error) })?;
        }
        Ok(Roles { answer, others, client, reward, offered, context })
    }

    /// Rows of the columns with a role and of the context.
    fn open(&self, params: &TableParams, path: &Path) -> Result<Rows, ParamError> {
        let names = std::iter::once(&self.answer).chain(&self.others).chain(&self.context);
        let names: Vec<&str> = names.map(String::as_str).collect();
        Rows::open(path, &params.format()).and_then(|rows| rows.select(&names)).map_err(in_file)
    }

    fn first_feature(&self) -> usize {
        1 + self.others.len()
    }

    /// Whether a row is left out for its empty cells.
    fn is_skipped(&self, params: &TableParams, row: &Row<'_>) -> Result<bool, RowError> {
        if params.missing == Missing::Fill {
            return Ok(false);
        }
        for column in 0..row.width() {
            if row.text(column)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What the first pass finds.
struct First {
    /// Names of the labels or arms, by how they are numbered.
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    clients: HashMap<String, u32>,
    profiles: Vec<Profile>,
    rows: u64,
    rewards: Option<(f64, f64)>,
    offered: Option<usize>,
    left_out: [u64; 3],
}

impl First {
    fn pass(
        params: &TableParams,
        roles: &Roles,
        path: &Path,
        arms: Option<&ArmTable>,
    ) -> Result<First, ParamError> {
        let mut rows = roles.open(params, path)?;
        let mut profiles: Vec<Profile> =
            roles.context.iter().map(|name| Profile::new(name, params.levels)).collect();
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut clients: HashMap<String, u32> = HashMap::new();
        let (mut left_out, mut rewards, mut offered) = ([0; 3], None, None);
        let first = roles.first_feature();
        while let Some(row) = rows.next_row().map_err(in_file)? {
            if roles.is_skipped(params, &row).map_err(in_file)? {
                left_out[1] += 1;
                continue;
            }
            let answer = needed(&row, 0)?;
            if let Some(arms) = arms {
                arms.number(&row, &answer)?;
            }
            if let Some(count) = counts.get_mut(answer.as_ref()) {
                *count += 1;
            } else if counts.len() == MOST_LABELS {
                let problem = format!(
                    "column `{}` has more than {MOST_LABELS} different values: a label is one of a few",
                    roles.answer
                );
                return Err(ParamError::new("label", problem));
            } else {
                counts.insert(answer.into_owned(), 1);
            }
            if let Some(column) = roles.client {
                let client = needed(&row, column)?;
                if !clients.contains_key(client.as_ref()) {
                    if clients.len() == MOST_CLIENTS {
                        return Err(ParamError::new(
                            "client",
                            format!(
                                "column `{}` has more than {MOST_CLIENTS} different values",
                                row_name(roles, column)
                            ),
                        ));
                    }
                    clients.insert(client.into_owned(), clients.len() as u32);
                }
            }
            if let Some(column) = roles.reward {
                let reward = row.needed_number(column).map_err(in_file)?;
                if reward.abs() > 1e100 {
                    return Err(in_file(row.wrong("a reward beyond 1e100")));
                }
                let (least, most) = rewards.unwrap_or((reward, reward));
                rewards = Some((reward.min(least), reward.max(most)));
            }
            if let (Some(column), Some(arms)) = (roles.offered, arms) {
                let list = arms.offered(&row, column)?;
                offered = Some(list.len().max(offered.unwrap_or(0)));
            }
            for (column, profile) in (first..).zip(&mut profiles) {
                profile.add(&row, column).map_err(in_file)?;
            }
        }
        left_out[0] = rows.skipped();
        let mut total: u64 = counts.values().sum();
        if total == 0 {
            let problem = match left_out {
                [0, 0, _] => "it has columns and no rows".to_owned(),
                [ragged, empty, _] => {
                    format!("no row is left: {empty} have empty cells, {ragged} are ragged")
                }
            };
            return Err(ParamError::new("file", problem));
        }
        let names = match arms {
            Some(arms) => arms.names.clone(),
            None => {
                let names = kept_labels(params, &roles.answer, counts.clone())?;
                let kept: u64 = names.iter().map(|name| counts[name]).sum();
                left_out[2] = total - kept;
                total = kept;
                names
            }
        };
        let numbers = (0..).zip(&names).map(|(number, name)| (name.clone(), number)).collect();
        Ok(First { numbers, names, clients, profiles, rows: total, rewards, offered, left_out })
    }

    fn meta(&self, params: &TableParams, arms: Option<&ArmTable>) -> Result<Meta, ParamError> {
        Ok(Meta {
            rows: self.rows,
            clients: params.client.is_some().then_some(self.clients.len()),
            arms: self.names.clone(),
            context: Features::new(&self.profiles, "context", params)?,
            arm_features: arms.map(|arms| arms.features.clone()),
            rewards: self.rewards,
            offered: self.offered,
            left_out: self.left_out,
        })
    }

    /// Packs a row; false where its label is none of those that are kept.
    fn pack(
        &self,
        roles: &Roles,
        row: &Row<'_>,
        arms: Option<&ArmTable>,
        meta: &Meta,
        places: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<bool, ParamError> {
        let answer = needed(row, 0)?;
        let Some(answer) = self.numbers.get(answer.as_ref()) else { return Ok(false) };
        let client = match roles.client {
            None => 0,
            Some(column) => self.clients.get(needed(row, column)?.as_ref()).copied().unwrap_or(0),
        };
        out.extend(client.to_le_bytes());
        out.extend(answer.to_le_bytes());
        if let Some(column) = roles.reward {
            out.extend(row.needed_number(column).map_err(in_file)?.to_le_bytes());
        }
        if let (Some(column), Some(arms), Some(most)) = (roles.offered, arms, meta.offered) {
            let list = arms.offered(row, column)?;
            let padded = list.into_iter().chain(std::iter::repeat(u32::MAX)).take(most);
            padded.for_each(|arm| out.extend(arm.to_le_bytes()));
        }
        meta.context.pack(row, places, out).map_err(in_file)?;
        Ok(true)
    }
}

fn row_name(roles: &Roles, column: usize) -> &str {
    &roles.others[column - 1]
}

pub(super) fn needed<'a>(row: &Row<'a>, column: usize) -> Result<std::borrow::Cow<'a, str>, ParamError> {
    let text = row.needed_text(column).map_err(|error| {
        let problem = format!("{error}; missing = \"skip\" leaves such rows out");
        ParamError::new("file", problem)
    })?;
    is_name(row, &text).map_err(in_file)?;
    Ok(text)
}

/// Refuses what is too long to be a name.
pub(super) fn is_name(row: &Row<'_>, text: &str) -> Result<(), RowError> {
    if text.len() > LONGEST_NAME {
        let problem = format!("{} letters are no name of a client, a label or an arm", text.chars().count());
        return Err(row.wrong(problem));
    }
    Ok(())
}

fn kept_labels(
    params: &TableParams,
    column: &str,
    counts: HashMap<String, u64>,
) -> Result<Vec<String>, ParamError> {
    let mut labels: Vec<(String, u64)> = counts.into_iter().collect();
    labels.sort_by(|(a, _), (b, _)| in_order(a, b));
    if let [(only, _)] = labels.as_slice() {
        let problem =
            format!("column `{column}` is {only:?} in every row: there is nothing to choose between");
        return Err(ParamError::new("label", problem));
    }
    if let Some(most) = params.labels {
        // Sorted by name before: of equally frequent ones the first stay.
        labels.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        labels.truncate(most);
        labels.sort_by(|(a, _), (b, _)| in_order(a, b));
    } else if labels.len() > MOST_ARMS {
        let problem = format!(
            "column `{column}` has {} different values, and at most {MOST_ARMS} can be arms: labels = 20 keeps the \
             most frequent; numbers on a scale are no labels",
            labels.len()
        );
        return Err(ParamError::new("label", problem));
    }
    Ok(labels.into_iter().map(|(label, _)| label).collect())
}
