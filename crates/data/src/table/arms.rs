//! The second file of a table: features of every arm.

use std::collections::HashMap;
use std::path::Path;

use cahoots_core::ParamError;

use super::features::Features;
use super::keys::{MOST_ARMS, MOST_FEATURES, Missing, TableParams};
use super::prepare::{MOST_LABELS, in_file, is_name, needed};
use super::profile::Profile;
use crate::rows::{Format, Row, RowError, Rows};

/// Arms by name and number.
pub(super) struct ArmTable {
    pub(super) names: Vec<String>,
    numbers: HashMap<String, u32>,
    pub(super) features: Vec<f64>,
}

impl ArmTable {
    pub(super) fn read(params: &TableParams, path: &Path) -> Result<ArmTable, ParamError> {
        let wrong = |error: RowError| ParamError::new("arms_file", error.to_string());
        // Both files mostly come from the same place, which tells how letters are written; what stands between cells, and
        // whether there is a header, is found for each.
        let format = Format { encoding: params.encoding, ragged: params.ragged, ..Format::default() };
        let id = params.arm_id.as_ref().or(params.arm.as_ref()).cloned().unwrap_or_default();
        let all = Rows::open(path, &format).map_err(wrong)?;
        all.column(&id).map_err(|error| {
            ParamError::new(
                "arm_id",
                format!("{error} (arm_id says which column of arms_file names the arm)"),
            )
        })?;
        let columns: Vec<&str> =
            all.columns().iter().map(String::as_str).filter(|name| *name != id).collect();
        let names: Vec<&str> = std::iter::once(id.as_str()).chain(columns.iter().copied()).collect();
        let open = || Rows::open(path, &format).and_then(|rows| rows.select(&names));
        let mut profiles: Vec<Profile> =
            columns.iter().map(|name| Profile::new(name, params.levels)).collect();
        let (mut arms, mut numbers) = (Vec::new(), HashMap::new());
        let mut rows = open().map_err(wrong)?;
        while let Some(row) = rows.next_row().map_err(wrong)? {
            let name = row.needed_text(0).map_err(wrong)?.into_owned();
            is_name(&row, &name).map_err(wrong)?;
            if arms.len() == MOST_LABELS {
                return Err(wrong(row.wrong(format!("more than {MOST_LABELS} arms: leave some out"))));
            }
            if numbers.insert(name.clone(), arms.len() as u32).is_some() {
                return Err(wrong(row.wrong(format!("arm `{name}` was there before: a row per arm"))));
            }
            arms.push(name);
            for (column, profile) in (1..).zip(&mut profiles) {
                profile.add(&row, column).map_err(wrong)?;
            }
        }
        if arms.len() < 2 {
            let problem =
                format!("{} has {} arms: two are needed to choose between", path.display(), arms.len());
            return Err(ParamError::new("arms_file", problem));
        }
        let filled = TableParams { missing: Missing::Fill, ..params.clone() };
        let layout = Features::new(&profiles, "arms_file", &filled)?;
        if layout.dim() > MOST_FEATURES {
            let problem = format!(
                "{} features of an arm, and at most {MOST_FEATURES} can be learned from: leave columns out",
                layout.dim()
            );
            return Err(ParamError::new("arms_file", problem));
        }
        let mut features = Vec::new();
        let mut rows = open().map_err(wrong)?;
        let places = layout.places(&rows).map_err(wrong)?;
        let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next_row().map_err(wrong)? {
            packed.clear();
            layout.pack(&row, &places, &mut packed).map_err(wrong)?;
            layout.unpack(&packed, &mut unpacked);
            features.extend_from_slice(&unpacked);
        }
        Ok(ArmTable { names: arms, numbers, features })
    }

    pub(super) fn number(&self, row: &Row<'_>, name: &str) -> Result<u32, ParamError> {
        self.numbers.get(name).copied().ok_or_else(|| {
            in_file(
                row.wrong(format!("arm `{name}` is not in arms_file, which must have a row for every arm")),
            )
        })
    }

    /// The arms that a row offers, of which its own must be one.
    pub(super) fn offered(&self, row: &Row<'_>, column: usize) -> Result<Vec<u32>, ParamError> {
        let list = row.needed_text(column).map_err(in_file)?;
        let names = list.split([' ', ';', '|']).filter(|name| !name.is_empty());
        let mut arms = names.map(|name| self.number(row, name)).collect::<Result<Vec<u32>, _>>()?;
        let own = self.number(row, &needed(row, 0)?)?;
        if !arms.contains(&own) {
            return Err(in_file(row.wrong("the arm that pays is not among those on offer")));
        }
        let count = arms.len();
        arms.sort_unstable();
        arms.dedup();
        if arms.len() < count || count > MOST_ARMS {
            let problem = format!("{count} arms on offer: each once, and at most {MOST_ARMS}");
            return Err(in_file(row.wrong(problem)));
        }
        Ok(arms)
    }
}
