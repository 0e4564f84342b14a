//! `columns.md`: what each column of each table is, written beside the tables.

use std::fmt::Write as _;

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use serde_json::Value as Json;

use super::sheet::{Kind, Sheet};
use super::{clients, curves, timing};
use crate::run::Manifest;

/// Name of the file in a folder of results.
pub(in crate::results) const FILE: &str = "columns.md";

/// What columns mean that do not come from an experiment file.
const MEANINGS: [(&str, &str); 65] = [
    ("entry", "Number of the entry, from 0, in the order of the experiment file."),
    ("algorithm", "The algorithm's name."),
    ("label", "What the entry is called in tables and figures; no two entries share a label."),
    (
        "objective",
        "What the entry's regret is measured against; only entries with the same one can be compared.",
    ),
    ("seed", "The seed of the run. All entries meet the same contexts and the same noise under one seed."),
    ("seeds", "How many runs the row is the mean of."),
    ("horizon", "Ticks of a run."),
    ("tick", "The point in time of the row, in ticks."),
    ("steps", "Interactions: decisions that were made (in the summary: mean over the seeds)."),
    ("decisions", "Decisions that were made, mean over the seeds."),
    ("client", "Number of the client, from 0."),
    (
        "regret",
        "Pseudo-regret so far: best expected reward on offer minus that of the chosen arm, summed; in curves and summary with the loss for communication where the algorithm's paper counts one, client by client without.",
    ),
    ("regret_mean", "Pseudo-regret at the horizon, mean over the seeds."),
    ("regret_sd", "Its sample standard deviation over the seeds; empty for one seed."),
    (
        "regret_ci95",
        "Half the width of the 95% confidence interval of `regret_mean` (Student's t); empty for one seed.",
    ),
    (
        "regret_vs_first_mean",
        "Difference in regret to the first entry in the same world, seed by seed, mean.",
    ),
    ("regret_vs_first_ci95", "Half the width of the 95% confidence interval of that difference."),
    ("reward", "Realised reward so far, summed."),
    ("reward_mean", "Realised reward at the horizon, mean over the seeds."),
    ("reward_ci95", "Half the width of its 95% confidence interval."),
    (
        "normalised_reward_mean",
        "Reward divided by what arms drawn uniformly from the same offers earn in expectation, run by run, mean over the seeds; only where the world says what that is.",
    ),
    ("normalised_reward_sd", "Its sample standard deviation over the seeds; empty for one seed."),
    ("normalised_reward_ci95", "Half the width of its 95% confidence interval (Student's t)."),
    ("uploads_mean", "Messages with statistics from clients to the server, mean over the seeds."),
    ("downloads_mean", "Messages with statistics from the server to clients, mean over the seeds."),
    ("peer_messages_mean", "Messages with statistics between clients, mean over the seeds."),
    ("transfers", "Charged messages so far: uploads, downloads and those between clients."),
    (
        "transfers_mean",
        "Charged messages at the horizon: uploads, downloads and those between clients, mean over the seeds.",
    ),
    ("transfers_ci95", "Half the width of its 95% confidence interval."),
    ("scalars_mean", "Numbers in charged messages, mean over the seeds."),
    ("bytes", "Encoded bytes of charged messages so far."),
    ("bytes_mean", "Encoded bytes of charged messages, mean over the seeds."),
    ("cost_mean", "Communication in the unit of the algorithm's paper, mean over the seeds."),
    ("rounds_mean", "Synchronous rounds, mean over the seeds."),
    ("control_messages_mean", "Signals without statistics, which are never charged; mean over the seeds."),
    (
        "duplicates_dropped_mean",
        "Copies that receivers dropped because they had seen them, mean over the seeds.",
    ),
    ("refused_mean", "Messages that receivers refused, mean over the seeds."),
    ("abandoned_mean", "Decisions whose reward was given up, mean over the seeds."),
    ("late_rewards_mean", "Rewards that came after they were given up, mean over the seeds."),
    ("clipped_rewards_mean", "Rewards outside what the algorithm clips to, mean over the seeds."),
    (
        "clusters_mean",
        "Clusters of clients in the end, mean over the seeds; empty where the algorithm has none.",
    ),
    (
        "stage",
        "What sets the world of the entry apart from the others of the experiment; empty where there is one.",
    ),
    ("privacy", "What is promised about a user's data; empty where nothing is."),
    (
        "privacy.epsilon",
        "Privacy loss as accounted for, in the run in which most was lost; empty where there is no bound.",
    ),
    ("privacy.delta", "Probability that the loss is larger."),
    ("privacy.unit", "What is protected: one observation, or all of one user's."),
    ("privacy.observer", "From whom it is protected."),
    ("privacy.calibration", "How noise and guarantee belong together."),
    ("privacy.asked_epsilon", "The epsilon that was asked for; empty where no noise was."),
    ("privacy.spending", "Releases that added to the loss: the first one, renewals, doublings."),
    ("privacy.not_protected", "What the guarantee leaves out (a JSON list)."),
    ("privacy.in_words", "The whole statement in plain words."),
    ("nanoseconds", "Time inside the run, from its first tick to its last."),
    ("ns_per_step", "That, divided by `steps`."),
    (
        "peak_rss_bytes",
        "Largest memory of the whole process by the end of the run, all threads together; 0 where the system does not say.",
    ),
    ("key", "Identifies algorithm, parameters and world; names the run's file in `seeds/`."),
    ("sent", "Charged messages that the client sent."),
    ("received", "Charged messages that were sent to the client."),
    ("sent_bytes", "Encoded bytes of those that it sent."),
    ("received_bytes", "Encoded bytes of those that were sent to it."),
    ("metrics.communication_loss", "The part of the regret that is a loss for communication."),
    ("metrics.waiting_regret", "The part of the regret that comes from pulls made while waiting for others."),
    ("metrics.waiting_pulls", "Pulls that were made while waiting for others."),
    ("metrics.clipped", "Rewards that were clipped to the range the algorithm takes."),
    ("metrics.clipped_rewards", "Rewards that were clipped to the range the algorithm takes."),
];

/// What the columns of a run's tables are, in Markdown.
pub(in crate::results) fn markdown(
    catalogue: &Catalogue,
    manifest: &Manifest,
    summary: &Sheet,
    parameters: &Sheet,
    with_clients: bool,
) -> String {
    let mut text = format!(
        "# The columns of {}\n\nWritten by `cahoots run`. Keys of the experiment file are columns of their own: \
         `params.` is the algorithm's, `environment.` the world's, `network.` and `rewards.` those of the sections \
         of that name. A column is empty where an entry has no such key; \"inf\" is infinity.\n",
        manifest.name
    );
    let typed = |sheet: &Sheet| -> Vec<(String, &'static str)> {
        sheet.columns.iter().map(|column| (column.name.clone(), kind(column.kind))).collect()
    };
    let plain = |names: &[&str]| -> Vec<(String, &'static str)> {
        names.iter().map(|name| (name.to_string(), plain_kind(name))).collect()
    };
    let mut tables = vec![
        ("summary.csv and summary.parquet: a row per entry, means over the seeds", typed(summary)),
        ("curves.parquet: a row per point in time of each run", {
            let mut columns = plain(&curves::MEASURED);
            columns.extend(typed(parameters));
            columns
        }),
        ("timing.csv: a row per run; differs from one time to the next", plain(&timing::COLUMNS)),
    ];
    if with_clients {
        tables.push((
            "clients.csv and clients.parquet: a row per client of each run",
            plain(&clients::COLUMNS),
        ));
    }
    for (title, columns) in tables {
        let _ = write!(text, "\n## {title}\n\n| column | type | what it is |\n|---|---|---|\n");
        for (name, kind) in columns {
            let meaning = meaning(catalogue, manifest, &name);
            let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            let _ = writeln!(text, "| `{name}` | {kind} | {meaning} |");
        }
    }
    text
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Whole => "whole number",
        Kind::Real => "number",
        Kind::Flag => "true or false",
        Kind::Text => "text",
    }
}

fn plain_kind(name: &str) -> &'static str {
    match name {
        "algorithm" | "label" | "key" => "text",
        "regret" | "reward" | "ns_per_step" => "number",
        _ => "whole number",
    }
}

/// What a column is.
fn meaning(catalogue: &Catalogue, manifest: &Manifest, name: &str) -> String {
    if let Some((_, meaning)) = MEANINGS.iter().find(|(known, _)| *known == name) {
        return (*meaning).to_string();
    }
    let Some((section, key)) = name.split_once('.') else { return String::new() };
    match section {
        "params" => of_algorithms(catalogue, manifest, key),
        "environment" => of_worlds(catalogue, manifest, key),
        "network" => of_schema(&schemars::schema_for!(Network).to_value(), key),
        "rewards" => of_schema(&schemars::schema_for!(Rewards).to_value(), key),
        "metrics" => {
            format!("`{key}` as the algorithm or its theory reports it: last value, mean over the seeds.")
        }
        _ => String::new(),
    }
}

fn of_algorithms(catalogue: &Catalogue, manifest: &Manifest, key: &str) -> String {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for entry in &manifest.entries {
        let Ok(algorithm) = catalogue.find(&entry.algorithm) else { continue };
        if !has(&entry.params, key) {
            continue;
        }
        let text = of_schema(&algorithm.schema().to_value(), key);
        let name = entry.algorithm.as_str();
        match said.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => said.push((text, vec![name])),
        }
    }
    match said.as_slice() {
        [(text, _)] => text.clone(),
        several => {
            let each = several.iter().map(|(text, names)| format!("{}: {text}", names.join(", ")));
            each.collect::<Vec<_>>().join(" ")
        }
    }
}

fn of_worlds(catalogue: &Catalogue, manifest: &Manifest, key: &str) -> String {
    if key == "kind" {
        return "The kind of world.".into();
    }
    let kinds = manifest.stages.iter().filter_map(|stage| stage["environment"]["kind"].as_str());
    let mut said: Vec<String> = Vec::new();
    for kind in kinds {
        let Some(world) = catalogue.worlds.get(kind) else { continue };
        let text = of_schema(&world.schema().to_value(), key);
        if !text.is_empty() && !said.contains(&text) {
            said.push(text);
        }
    }
    said.join(" ")
}

fn has(params: &Json, key: &str) -> bool {
    key.split('.').try_fold(params, |value, part| value.get(part)).is_some()
}

/// The purpose of a key by its schema, outermost part first.
fn of_schema(schema: &Json, key: &str) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut say = |text: &Json| {
        if let Some(text) =
            text.as_str().filter(|text| !text.is_empty() && !said.iter().any(|known| known == text))
        {
            said.push(text.to_string());
        }
    };
    let mut inner = schema;
    for (depth, part) in key.split('.').enumerate() {
        // Of several forms, the one that has the key; what that form is for is said of it.
        let Some(form) = forms(schema, inner).into_iter().find(|form| form["properties"][part].is_object())
        else {
            break;
        };
        if depth > 0 {
            say(&form["description"]);
        }
        inner = &form["properties"][part];
        say(&inner["description"]);
    }
    said.join(" ")
}

/// A schema and all that it may stand for.
fn forms<'a>(root: &'a Json, schema: &'a Json) -> Vec<&'a Json> {
    let mut all = vec![schema];
    let named = schema["$ref"].as_str().and_then(|name| root.pointer(name.trim_start_matches('#')));
    let parts = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
    for part in named.into_iter().chain(parts) {
        all.extend(forms(root, part));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Record;

    #[test]
    fn every_key_of_every_algorithm_and_world_is_explained() {
        let catalogue = crate::catalogue();
        let mut schemas: Vec<(String, Json)> = catalogue
            .worlds
            .iter()
            .map(|world| (world.name.to_string(), world.schema().to_value()))
            .collect();
        for name in catalogue.algorithms.names() {
            schemas.push((name.to_string(), catalogue.find(name).unwrap().schema().to_value()));
        }
        schemas.push(("network".into(), schemars::schema_for!(Network).to_value()));
        schemas.push(("rewards".into(), schemars::schema_for!(Rewards).to_value()));
        assert!(schemas.len() > 25);
        for (name, schema) in schemas {
            for key in Record::from_schema(&schema).keys() {
                assert!(of_schema(&schema, key).len() > 5, "{name}: {key}");
            }
        }
    }

    #[test]
    fn a_key_within_a_key_is_explained_by_both() {
        let schema = crate::catalogue().worlds.get("linear").unwrap().schema().to_value();
        let (outer, inner) = (of_schema(&schema, "arrivals"), of_schema(&schema, "arrivals.zipf"));
        assert!(inner.starts_with(&outer) && inner.len() > outer.len(), "{inner}");
    }
}
