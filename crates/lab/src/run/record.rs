//! One finished run, as it is kept on disk.

use std::collections::BTreeMap;
use std::ops::Deref;

use cahoots_privacy::Statement;
use cahoots_sim::ledger::{ClientTotals, CurvePoint, Totals};
use serde::{Deserialize, Serialize};

/// What one run gave: its [`Totals`], which it can be read as, and what belongs to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Identifies algorithm, parameters and world.
    pub entry: String,
    /// The seed.
    pub seed: u64,
    /// What it comes to.
    #[serde(flatten)]
    pub totals: Totals,
    /// Communication in the unit of the algorithm's paper.
    pub cost: f64,
    /// Last value of each metric.
    pub metrics: BTreeMap<String, f64>,
    /// What is promised about the data of a client.
    pub privacy: Option<Privacy>,
    /// The run over time.
    pub curve: Curve,
    /// Client by client, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<ClientTotals>>,
    /// What it took: differs from one time to the next, and so is kept in a file of its own (`timing.csv`).
    #[serde(default, skip_serializing)]
    pub effort: Effort,
}

/// A privacy guarantee, as it was accounted for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Privacy {
    /// Privacy loss; absent where there is no bound.
    pub epsilon: Option<f64>,
    /// Probability that the loss is larger.
    pub delta: f64,
    /// What is protected.
    pub unit: String,
    /// From whom.
    pub observer: String,
    /// How noise and guarantee belong together.
    pub calibration: String,
    /// The epsilon that was asked for; absent where no noise was.
    pub asked_epsilon: Option<f64>,
    /// Releases that added to the loss: the first one, renewals, doublings.
    pub spending: u64,
    /// What the guarantee leaves out.
    pub not_protected: Vec<String>,
    /// All of it in plain words.
    pub in_words: String,
}

impl From<&Statement> for Privacy {
    fn from(statement: &Statement) -> Privacy {
        let finite = |value: f64| value.is_finite().then_some(value);
        Privacy {
            epsilon: finite(statement.epsilon),
            delta: statement.delta,
            unit: statement.unit.clone(),
            observer: statement.observer.clone(),
            calibration: statement.calibration.clone(),
            asked_epsilon: finite(statement.asked),
            spending: statement.spending,
            not_protected: statement.not_protected.clone(),
            in_words: statement.in_words(),
        }
    }
}

/// A run over time, column by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// When.
    pub tick: Vec<u64>,
    /// Pseudo-regret so far.
    pub regret: Vec<f64>,
    /// Realised reward so far.
    pub reward: Vec<f64>,
    /// Charged messages so far.
    pub transfers: Vec<u64>,
    /// Their bytes so far.
    pub bytes: Vec<u64>,
}

/// Time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// Nanoseconds inside the run.
    pub nanoseconds: u64,
    /// Largest memory of the process so far, in bytes; 0 where the system does not say.
    pub peak_rss_bytes: u64,
}

impl Deref for Record {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

impl Curve {
    /// From the points of a ledger.
    pub fn new(points: &[CurvePoint]) -> Curve {
        Curve {
            tick: points.iter().map(|point| point.tick).collect(),
            regret: points.iter().map(|point| point.regret).collect(),
            reward: points.iter().map(|point| point.reward).collect(),
            transfers: points.iter().map(|point| point.transfers).collect(),
            bytes: points.iter().map(|point| point.bytes).collect(),
        }
    }
}
