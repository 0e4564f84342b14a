//! The keys of the environment `table`.

use cahoots_core::ParamError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rows::{Delimiter, Encoding, Format, Ragged};

/// The longest features that are made: a model holds the square of their number.
pub const MOST_FEATURES: usize = 2048;
/// The most arms that are offered at once.
pub const MOST_ARMS: usize = 1000;
/// The most clients.
pub const MOST_CLIENTS: usize = 1_000_000;

/// A table of one's own, from CSV or Parquet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TableParams {
    /// The file: CSV (commas, semicolons, tabs or pipes; plain or gzipped) or Parquet.
    pub file: String,
    /// What a row means.
    pub form: Form,
    /// Column whose every value is a client; absent: rows are dealt out to `clients`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// How many clients rows are dealt out to in turn, where no column says; 10 when absent.
    #[schemars(range(min = 1, max = 1_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<usize>,
    /// Columns that a client sees before it decides: a list, or "others" for all that have no other role (with
    /// `form = "arms"`: none).
    pub context: Context,
    /// Column of the right answer; with `form = "classification"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Keeps the rows of this many labels only, the most frequent ones.
    #[schemars(range(min = 2, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<usize>,
    /// Column of the arm that pays; with `form = "arms"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Column of what that arm pays; absent: 1. What a row does not name pays 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<String>,
    /// A second file with a row of features per arm; with `form = "arms"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arms_file: Option<String>,
    /// Column of `arms_file` that names the arm; absent: the one that is called like `arm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm_id: Option<String>,
    /// Column that lists the arms on offer, with blanks, `;` or `|` between them; absent: all, or a `pool` of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered: Option<String>,
    /// How many arms are on offer: the one that pays among others, drawn at random; absent: all.
    #[schemars(range(min = 2, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<usize>,
    /// How the features of an arm are made of the context; with `form = "classification"`.
    pub arm_features: ArmFeatures,
    /// How columns of numbers are scaled.
    pub scale: Scale,
    /// Columns of numbers that are names all the same, such as postcodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The most values that a column of texts may have; each becomes a feature that is 0 or 1.
    #[schemars(range(min = 2, max = 1000))]
    pub levels: usize,
    /// What becomes of rows with empty cells.
    pub missing: Missing,
    /// In which order rows come.
    pub order: Order,
    /// Sub-Gaussian scale of the noise that algorithms are told; rewards are what the table says whatever it is.
    #[schemars(range(min = 0.0, max = 1e100))]
    pub reward_noise: f64,
    /// What stands between cells; found when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<Delimiter>,
    /// How letters are written; found when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// Whether the first line names the columns; found when absent. Columns without names are `c1`, `c2` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// What becomes of rows with more or fewer cells than the first.
    pub ragged: Ragged,
    /// Hash of the file, filled in when it is read; where it is given, another file is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The same of `arms_file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arms_sha256: Option<String>,
}

/// What a row means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A context with its right answer: every label is an arm, the right one pays 1 and all others 0.
    #[default]
    Classification,
    /// An arm that was liked or bought, among arms whose features are in a second file.
    Arms,
    /// Decisions that some policy logged with their rewards. What another would have earned, only `cahoots evaluate`
    /// can say: a run refuses them.
    Logged,
}

/// Columns that a client sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "context must be a list of columns, or \"others\"")]
pub enum Context {
    /// These.
    Columns(Vec<String>),
    /// All that have no other role.
    Others(Others),
}

/// The word for all other columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Others {
    /// All that have no other role.
    #[default]
    Others,
}

/// How the features of an arm are made of the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArmFeatures {
    /// The context in a block of the arm's own, zeros elsewhere: for linear learners, which have one model for all
    /// arms. As many features as context times labels.
    #[default]
    Disjoint,
    /// The context as it is, the same for every arm: for learners with a model per arm (`disjoint-linucb`). Others
    /// cannot tell arms apart.
    Shared,
    /// None: for learners of plain arms, which do not look at the context.
    None,
}

/// How columns of numbers are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// From -1 to 1 each, and all together divided by the root of how many there are: no arm is longer than 1.
    #[default]
    Unit,
    /// Mean 0 and deviation 1 each, divided likewise: arms are about 1 long.
    Standard,
    /// As they are.
    None,
}

/// What becomes of rows with empty cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// A number is taken to be the mean of its column, a text has a value of its own; clients, labels, arms and
    /// rewards must be there.
    #[default]
    Fill,
    /// They are left out.
    Skip,
}

/// In which order rows come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// In an order of each seed's own.
    #[default]
    Shuffled,
    /// As they stand, the same for every seed: for tables that are sorted by time.
    File,
}

impl Default for TableParams {
    fn default() -> TableParams {
        TableParams {
            file: String::new(),
            form: Form::default(),
            client: None,
            clients: None,
            context: Context::Others(Others::Others),
            label: None,
            labels: None,
            arm: None,
            reward: None,
            arms_file: None,
            arm_id: None,
            offered: None,
            pool: None,
            arm_features: ArmFeatures::default(),
            scale: Scale::default(),
            categories: Vec::new(),
            levels: 32,
            missing: Missing::default(),
            order: Order::default(),
            // Hoeffding's lemma: what lies in [0, 1] is 1/2-sub-Gaussian.
            reward_noise: 0.5,
            delimiter: None,
            encoding: None,
            header: None,
            ragged: Ragged::default(),
            sha256: None,
            arms_sha256: None,
        }
    }
}

impl TableParams {
    /// How the file is to be read.
    pub fn format(&self) -> Format {
        Format {
            delimiter: self.delimiter,
            encoding: self.encoding,
            header: self.header,
            quotes: true,
            ragged: self.ragged,
        }
    }

    /// How many clients rows are dealt out to, where no column says.
    pub(super) fn dealt(&self) -> usize {
        self.clients.unwrap_or(10)
    }

    /// Refuses numbers that are out of range, whatever is in the file.
    pub(super) fn check_numbers(&self) -> Result<(), ParamError> {
        let between = |key: &str, value: Option<usize>, least: usize, most: usize| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(ParamError::new(key, format!("must lie between {least} and {most}, not {value}")))
            }
            _ => Ok(()),
        };
        between("clients", self.clients, 1, MOST_CLIENTS)?;
        between("labels", self.labels, 2, MOST_ARMS)?;
        between("pool", self.pool, 2, MOST_ARMS)?;
        between("levels", Some(self.levels), 2, 1000)?;
        ParamError::not_negative("reward_noise", self.reward_noise)?;
        if self.reward_noise > 1e100 {
            return Err(ParamError::new("reward_noise", "must be at most 1e100"));
        }
        Ok(())
    }

    /// Refuses keys that do not go together.
    pub(super) fn check_roles(&self) -> Result<(), ParamError> {
        let wrong = |key: &str, problem: &str| Err(ParamError::new(key, problem));
        if self.file.is_empty() {
            return wrong(
                "file",
                "must name a CSV or Parquet file; `cahoots data describe FILE` writes an experiment for one",
            );
        }
        if self.client.is_some() && self.clients.is_some() {
            return wrong("clients", "is for tables without a column of clients: leave one of the two out");
        }
        let form = match self.form {
            Form::Logged => {
                return wrong(
                    "form",
                    "logged decisions show the reward of the arm that was taken and of no other, so a run with another \
                     policy would have to invent the rest: `cahoots evaluate` says what it would have earned",
                );
            }
            Form::Classification if self.label.is_none() => {
                return wrong(
                    "label",
                    "must name the column of the right answer (form = \"classification\")",
                );
            }
            Form::Arms if self.arm.is_none() => {
                return wrong("arm", "must name the column of the arm that pays (form = \"arms\")");
            }
            Form::Arms if self.arms_file.is_none() => {
                return wrong("arms_file", "must name the file of the arms' features (form = \"arms\")");
            }
            form => form,
        };
        let strangers = [
            ("label", self.label.is_some(), Form::Classification),
            ("labels", self.labels.is_some(), Form::Classification),
            ("arm_features", self.arm_features != ArmFeatures::Disjoint, Form::Classification),
            ("arm", self.arm.is_some(), Form::Arms),
            ("reward", self.reward.is_some(), Form::Arms),
            ("arms_file", self.arms_file.is_some(), Form::Arms),
            ("arm_id", self.arm_id.is_some(), Form::Arms),
            ("offered", self.offered.is_some(), Form::Arms),
            ("pool", self.pool.is_some(), Form::Arms),
        ];
        for (key, stated, belongs) in strangers {
            if stated && belongs != form {
                let name = if belongs == Form::Arms { "arms" } else { "classification" };
                return wrong(key, &format!("is for form = \"{name}\": leave it out, or change form"));
            }
        }
        if self.offered.is_some() && self.pool.is_some() {
            return wrong("pool", "the column `offered` says what is on offer: leave one of the two out");
        }
        Ok(())
    }
}
