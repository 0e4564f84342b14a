//! A part of an experiment: every N-th run of it, for one machine of several.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the names of folders begin that hold a part.
const PREFIX: &str = "shard-";

/// The K-th of N parts. Written "K/N".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Which one, from 1.
    number: u32,
    /// Of how many.
    of: u32,
}

impl Shard {
    /// The `number`-th part, from 1, of so many.
    pub fn new(number: u32, of: u32) -> Result<Shard, String> {
        if number >= 1 && number <= of {
            Ok(Shard { number, of })
        } else {
            Err(format!(
                "{number}/{of} is no part: of {of} parts, the first is 1/{of} and the last {of}/{of}"
            ))
        }
    }

    /// The part that a task of a Slurm array is to run; `variable` gives what the environment says.
    pub fn of_slurm(variable: impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
        let number = |name: &str| -> Result<u32, String> {
            let text = variable(name).ok_or_else(|| {
                format!("{name} is not set: `--shard slurm` is for tasks of an array (sbatch --array=1-16)")
            })?;
            text.trim().parse().map_err(|_| format!("{name} is {text:?}, not a whole number"))
        };
        let (task, count) = (number("SLURM_ARRAY_TASK_ID")?, number("SLURM_ARRAY_TASK_COUNT")?);
        let first = number("SLURM_ARRAY_TASK_MIN")?;
        let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
        let after = task.checked_sub(first).filter(|after| after.is_multiple_of(step));
        let place =
            after.ok_or_else(|| format!("task {task} is not one of {first}, {}, ...", first + step))?;
        Shard::new(place / step + 1, count)
            .map_err(|_| "the tasks of the array must be numbered evenly, such as 1-16 or 0-30:2".into())
    }

    /// Whether the run in this place of all belongs to it.
    pub(super) fn has(self, place: usize) -> bool {
        place % self.of as usize == self.number as usize - 1
    }

    /// Of how many parts it is one.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Which of them, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Its folder, within that of the whole.
    pub fn folder(self, whole: &Path) -> PathBuf {
        let width = self.of.to_string().len();
        whole.join(format!("{PREFIX}{:0width$}-of-{}", self.number, self.of))
    }

    /// Whether this may be the folder of a part.
    pub(super) fn is_folder(path: &Path) -> bool {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX)) && path.is_dir()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts =
            text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let (number, of) = parts.ok_or_else(|| format!("{text:?} is no part: write 3/16, or slurm"))?;
        Shard::new(number, of)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_all_there_is() {
        for of in [1, 3, 7, 40] {
            let owners = (0..18)
                .map(|place| (1..=of).filter(|number| Shard::new(*number, of).unwrap().has(place)).count());
            assert!(owners.into_iter().all(|owners| owners == 1), "{of}");
        }
        for wrong in ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let shard: Shard = "3/16".parse().unwrap();
        assert_eq!(shard.folder(Path::new("x")), Path::new("x/shard-03-of-16"));
        assert_eq!(shard.to_string(), "3/16");
    }

    #[test]
    fn an_array_of_slurm_numbers_its_tasks_as_it_likes() {
        let slurm = |task: &str, first: &str, count: &str, step: Option<&str>| {
            Shard::of_slurm(|name| match name {
                "SLURM_ARRAY_TASK_ID" => Some(task.into()),
                "SLURM_ARRAY_TASK_MIN" => Some(first.into()),
                "SLURM_ARRAY_TASK_COUNT" => Some(count.into()),
                "SLURM_ARRAY_TASK_STEP" => step.map(String::from),
                _ => None,
            })
        };
        assert_eq!(slurm("3", "1", "16", None).unwrap().to_string(), "3/16");
        assert_eq!(slurm("0", "0", "16", Some("1")).unwrap().to_string(), "1/16");
        assert_eq!(slurm("30", "0", "16", Some("2")).unwrap().to_string(), "16/16");
        assert!(slurm("7", "0", "3", None).unwrap_err().contains("numbered evenly"));
        assert!(Shard::of_slurm(|_| None).unwrap_err().contains("SLURM_ARRAY_TASK_ID is not set"));
    }
}
