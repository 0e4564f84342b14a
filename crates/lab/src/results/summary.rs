//! One entry, over all its seeds.

use std::collections::BTreeMap;

use cahoots_sim::ledger::Totals;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::bounds::Theory;
use super::statistics::Estimate;
use crate::experiment::Entry;
use crate::run::{ManifestEntry, Privacy, Record};

/// What is known of one entry when all its runs are over. `--json` prints it and `summary.json` holds it, as
/// means over the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Algorithm.
    pub algorithm: String,
    /// Label.
    pub label: String,
    /// Ticks.
    pub horizon: u64,
    /// What each run came to, seed by seed.
    pub runs: Vec<Totals>,
    /// What the regret is measured against.
    pub objective: String,
    /// Difference in regret to the first entry in the same world, paired by seed; none where that one's regret is
    /// measured against something else.
    pub regret_vs_first: Option<Estimate>,
    /// Communication in the unit of the algorithm's paper.
    pub cost: Estimate,
    /// Clusters in the end, where there are any.
    pub clusters: Option<f64>,
    /// What is promised about a client's data.
    pub privacy: Option<Privacy>,
    /// Other things the algorithm reported, last values.
    pub metrics: BTreeMap<String, f64>,
    /// Parameters, defaults filled in.
    pub params: Json,
    /// What sets its world apart, where there are several.
    pub stage: String,
    /// Nanoseconds per interaction.
    pub ns_per_step: f64,
    /// Largest memory of the process at the end of a run.
    pub peak_rss_bytes: u64,
}

impl Summary {
    /// Sums up an entry. `first` are the records of the first entry in the same world, if both pursue the same.
    pub fn new(
        entry: &Entry,
        about: &ManifestEntry,
        records: &[Record],
        first: Option<&[Record]>,
        theory: Theory,
    ) -> Summary {
        let over = |value: fn(&Record) -> f64| Estimate::new(records.iter().map(value));
        let mut metrics = metrics(records);
        if let Some(bounds) = theory(&entry.stage.scenario, &about.params) {
            let horizon = entry.stage.scenario.horizon as f64;
            metrics.extend(bounds.at(horizon).map(|(name, value)| (name.to_string(), value)));
        }
        Summary {
            algorithm: entry.algorithm.clone(),
            label: entry.label.clone(),
            horizon: entry.stage.scenario.horizon,
            runs: records.iter().map(|record| record.totals).collect(),
            objective: about.objective.clone(),
            regret_vs_first: first.map(|first| {
                Estimate::new(records.iter().zip(first).map(|(own, first)| own.regret - first.regret))
            }),
            cost: over(|record| record.cost),
            clusters: metrics.remove("clusters"),
            privacy: worst_privacy(records),
            metrics,
            params: about.params.clone(),
            stage: entry.stage.label.clone(),
            ns_per_step: {
                // A run whose time is not known has none.
                let timed = records.iter().filter(|record| record.effort.nanoseconds > 0);
                let each = timed.map(|record| record.effort.nanoseconds as f64 / record.steps.max(1) as f64);
                Estimate::new(each).mean
            },
            peak_rss_bytes: records
                .iter()
                .map(|record| record.effort.peak_rss_bytes)
                .max()
                .unwrap_or_default(),
        }
    }

    /// What files of results hold: all but time and memory, which differ from one time to the next.
    pub fn results(&self) -> Json {
        let mut results = serde_json::to_value(self).unwrap_or_default();
        if let Some(row) = results.as_object_mut() {
            row.shift_remove("ns_per_step");
            row.shift_remove("peak_rss_bytes");
        }
        results
    }

    /// Any number of a run, over the seeds.
    pub fn over(&self, value: impl Fn(&Totals) -> f64) -> Estimate {
        Estimate::new(self.runs.iter().map(value))
    }

    /// Pseudo-regret.
    pub fn regret(&self) -> Estimate {
        self.over(|run| run.regret)
    }

    /// Realised reward.
    pub fn reward(&self) -> Estimate {
        self.over(|run| run.reward)
    }

    /// Reward, as many times what a random choice earns; none where the world does not say that.
    pub fn normalised_reward(&self) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.runs.iter().map(Totals::normalised_reward).collect();
        values.filter(|values| !values.is_empty()).map(Estimate::new)
    }

    /// All charged messages.
    pub fn transfers(&self) -> Estimate {
        self.over(|run| run.traffic.transfers() as f64)
    }
}

/// The one place where a run's numbers get the names that scripts know, and their order.
impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (regret, reward, transfers) = (self.regret(), self.reward(), self.transfers());
        let mean = |value: fn(&Totals) -> u64| self.over(|run| value(run) as f64).mean;
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("algorithm", &self.algorithm)?;
        row.serialize_entry("label", &self.label)?;
        row.serialize_entry("seeds", &self.runs.len())?;
        row.serialize_entry("horizon", &self.horizon)?;
        row.serialize_entry("steps", &(mean(|run| run.steps).round() as u64))?;
        row.serialize_entry("objective", &self.objective)?;
        row.serialize_entry("regret_mean", &regret.mean)?;
        row.serialize_entry("regret_sd", &regret.sd)?;
        row.serialize_entry("regret_ci95", &regret.ci95)?;
        let difference = self.regret_vs_first.as_ref();
        row.serialize_entry("regret_vs_first_mean", &difference.map(|difference| difference.mean))?;
        row.serialize_entry("regret_vs_first_ci95", &difference.and_then(|difference| difference.ci95))?;
        row.serialize_entry("reward_mean", &reward.mean)?;
        row.serialize_entry("reward_ci95", &reward.ci95)?;
        if let Some(normalised) = self.normalised_reward() {
            row.serialize_entry("normalised_reward_mean", &normalised.mean)?;
            row.serialize_entry("normalised_reward_sd", &normalised.sd)?;
            row.serialize_entry("normalised_reward_ci95", &normalised.ci95)?;
        }
        row.serialize_entry("uploads_mean", &mean(|run| run.traffic.uploads))?;
        row.serialize_entry("downloads_mean", &mean(|run| run.traffic.downloads))?;
        row.serialize_entry("peer_messages_mean", &mean(|run| run.traffic.peer_messages))?;
        row.serialize_entry("transfers_mean", &transfers.mean)?;
        row.serialize_entry("transfers_ci95", &transfers.ci95)?;
        row.serialize_entry("scalars_mean", &mean(|run| run.traffic.scalars))?;
        row.serialize_entry("bytes_mean", &mean(|run| run.traffic.bytes))?;
        row.serialize_entry("cost_mean", &self.cost.mean)?;
        row.serialize_entry("rounds_mean", &mean(|run| run.traffic.rounds))?;
        row.serialize_entry("control_messages_mean", &mean(|run| run.traffic.control_messages))?;
        row.serialize_entry("duplicates_dropped_mean", &mean(|run| run.duplicates_dropped))?;
        row.serialize_entry("refused_mean", &mean(|run| run.refused))?;
        row.serialize_entry("abandoned_mean", &mean(|run| run.abandoned))?;
        row.serialize_entry("late_rewards_mean", &mean(|run| run.late_rewards))?;
        row.serialize_entry("clipped_rewards_mean", &mean(|run| run.clipped_rewards))?;
        row.serialize_entry("clusters_mean", &self.clusters)?;
        row.serialize_entry("privacy", &self.privacy)?;
        row.serialize_entry("metrics", &self.metrics)?;
        row.serialize_entry("params", &self.params)?;
        row.serialize_entry("stage", &self.stage)?;
        row.serialize_entry("ns_per_step", &self.ns_per_step)?;
        row.serialize_entry("peak_rss_bytes", &self.peak_rss_bytes)?;
        row.end()
    }
}

/// The guarantee of the run in which most was lost.
fn worst_privacy(records: &[Record]) -> Option<Privacy> {
    let loss = |privacy: &Privacy| privacy.epsilon.unwrap_or(f64::INFINITY);
    let all = records.iter().filter_map(|record| record.privacy.as_ref());
    all.max_by(|a, b| loss(a).total_cmp(&loss(b))).cloned()
}

/// Means of the metrics over the seeds that reported them.
fn metrics(records: &[Record]) -> BTreeMap<String, f64> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in
        records.iter().flat_map(|record| &record.metrics).filter(|(name, _)| *name != "rounds")
    {
        values.entry(name).or_default().push(*value);
    }
    values.into_iter().map(|(name, values)| (name.to_string(), Estimate::new(values).mean)).collect()
}
