//! One entry, over all its seeds.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value as Json;

use super::bounds::Theory;
use super::statistics::Estimate;
use crate::experiment::Entry;
use crate::run::{ManifestEntry, Privacy, Record};

/// What `--json` prints and `summary.json` holds, one per entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Algorithm.
    pub algorithm: String,
    /// Label.
    pub label: String,
    /// Number of seeds.
    pub seeds: usize,
    /// Ticks.
    pub horizon: u64,
    /// Interactions of a run.
    pub steps: u64,
    /// Mean pseudo-regret.
    pub regret_mean: f64,
    /// Its sample standard deviation; absent for one seed.
    pub regret_sd: Option<f64>,
    /// Half the width of its 95% confidence interval.
    pub regret_ci95: Option<f64>,
    /// Mean difference in regret to the first entry in the same world, paired by seed.
    pub regret_vs_first_mean: f64,
    /// Half the width of the 95% confidence interval of that difference.
    pub regret_vs_first_ci95: Option<f64>,
    /// Mean realised reward.
    pub reward_mean: f64,
    /// Half the width of its 95% confidence interval.
    pub reward_ci95: Option<f64>,
    /// Statistics from clients to the server.
    pub uploads_mean: f64,
    /// Statistics from the server to clients.
    pub downloads_mean: f64,
    /// Statistics between clients.
    pub peer_messages_mean: f64,
    /// All charged messages.
    pub transfers_mean: f64,
    /// Half the width of the 95% confidence interval of the transfers.
    pub transfers_ci95: Option<f64>,
    /// Numbers in charged messages.
    pub scalars_mean: f64,
    /// Encoded bytes of charged messages.
    pub bytes_mean: f64,
    /// Communication in the unit of the algorithm's paper.
    pub cost_mean: f64,
    /// Synchronous rounds.
    pub rounds_mean: f64,
    /// Signals, which are never charged.
    pub control_messages_mean: f64,
    /// Copies of messages that receivers dropped.
    pub duplicates_dropped_mean: f64,
    /// Messages that receivers refused.
    pub refused_mean: f64,
    /// Decisions whose reward never came.
    pub abandoned_mean: f64,
    /// Clusters in the end, where there are any.
    pub clusters_mean: Option<f64>,
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
    /// Sums up an entry. `first` are the records of the first entry in the same world.
    pub fn new(
        entry: &Entry,
        about: &ManifestEntry,
        records: &[Record],
        first: &[Record],
        theory: Theory,
    ) -> Summary {
        let over = |value: fn(&Record) -> f64| Estimate::new(records.iter().map(value));
        let mean = |value: fn(&Record) -> f64| over(value).mean;
        let (regret, reward) = (over(|record| record.regret), over(|record| record.reward));
        let transfers = over(|record| record.traffic.transfers() as f64);
        let paired = Estimate::new(records.iter().zip(first).map(|(own, first)| own.regret - first.regret));
        let mut metrics = metrics(records);
        if let Some(bounds) = theory(&entry.stage.scenario, &about.params) {
            let horizon = entry.stage.scenario.horizon as f64;
            metrics.extend(bounds.at(horizon).map(|(name, value)| (name.to_string(), value)));
        }
        Summary {
            algorithm: entry.algorithm.clone(),
            label: entry.label.clone(),
            seeds: records.len(),
            horizon: entry.stage.scenario.horizon,
            steps: mean(|record| record.steps as f64).round() as u64,
            regret_mean: regret.mean,
            regret_sd: regret.sd,
            regret_ci95: regret.ci95,
            regret_vs_first_mean: paired.mean,
            regret_vs_first_ci95: paired.ci95,
            reward_mean: reward.mean,
            reward_ci95: reward.ci95,
            uploads_mean: mean(|record| record.traffic.uploads as f64),
            downloads_mean: mean(|record| record.traffic.downloads as f64),
            peer_messages_mean: mean(|record| record.traffic.peer_messages as f64),
            transfers_mean: transfers.mean,
            transfers_ci95: transfers.ci95,
            scalars_mean: mean(|record| record.traffic.scalars as f64),
            bytes_mean: mean(|record| record.traffic.bytes as f64),
            cost_mean: mean(|record| record.cost),
            rounds_mean: mean(|record| record.traffic.rounds as f64),
            control_messages_mean: mean(|record| record.traffic.control_messages as f64),
            duplicates_dropped_mean: mean(|record| record.duplicates_dropped as f64),
            refused_mean: mean(|record| record.refused as f64),
            abandoned_mean: mean(|record| record.abandoned as f64),
            clusters_mean: metrics.remove("clusters"),
            privacy: worst_privacy(records),
            metrics,
            params: about.params.clone(),
            stage: entry.stage.label.clone(),
            ns_per_step: mean(|record| record.effort.nanoseconds as f64 / record.steps.max(1) as f64),
            peak_rss_bytes: records
                .iter()
                .map(|record| record.effort.peak_rss_bytes)
                .max()
                .unwrap_or_default(),
        }
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
