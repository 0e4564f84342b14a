//! What a folder of results is about: everything needed to run it again.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::shard::Shard;
use crate::error::LabError;
use crate::experiment::{Entry, Experiment, Input, to_json};

/// Version of the layout of a folder of results.
const FORMAT: u64 = 2;

/// The contents of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the folder's layout.
    pub format: u64,
    /// Version of the program.
    pub version: String,
    /// Which arithmetic gave these bits; see `cahoots_kernel::Profile`.
    pub arithmetic: String,
    /// Name of the experiment.
    pub name: String,
    /// A line for figures.
    pub title: Option<String>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// Worlds: label, horizon, environment, network, rewards.
    pub stages: Vec<Json>,
    /// What is run, defaults filled in.
    pub entries: Vec<ManifestEntry>,
    /// How the program was called.
    pub command: Vec<String>,
    /// Name of the experiment file.
    pub file: String,
    /// Text of the experiment file.
    pub source: String,
    /// The folder that paths in it are relative to; empty for the current one.
    pub folder: String,
    /// The files that it names: what was in them is what the results are about.
    pub inputs: Vec<Input>,
    /// Which part of it the folder holds; all of it where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// One entry of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Its label.
    pub label: String,
    /// Its label without what is said of the world.
    pub short_label: String,
    /// What all entries of its block are called.
    pub block_label: String,
    /// Number of its block.
    pub block: usize,
    /// Number of its stage.
    pub stage: usize,
    /// Algorithm.
    pub algorithm: String,
    /// Parameters.
    pub params: Json,
    /// What its regret is measured against: regrets under different objectives are not compared.
    pub objective: String,
    /// Keys that hold several values in the file, and this entry's.
    pub swept: Vec<(String, Json)>,
}

impl Manifest {
    /// The manifest of an experiment.
    pub fn new(experiment: &Experiment, command: &[String]) -> Manifest {
        let stage = |stage: &std::sync::Arc<crate::experiment::Stage>| {
            let mut value = match toml::Value::try_from(&stage.scenario) {
                Ok(value) => to_json(&value),
                Err(_) => json!(stage.scenario),
            };
            value["label"] = stage.label.clone().into();
            value
        };
        Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            arithmetic: format!("{:?}", cahoots_kernel::profile()).to_lowercase(),
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            seeds: experiment.seeds.clone(),
            stages: experiment.stages.iter().map(stage).collect(),
            entries: experiment.entries.iter().map(ManifestEntry::new).collect(),
            command: command.to_vec(),
            file: experiment.source.name.clone(),
            source: experiment.source.text.clone(),
            folder: experiment.folder.display().to_string(),
            inputs: experiment.inputs.clone(),
            shard: None,
        }
    }

    /// Reads a manifest of this version.
    pub fn parse(path: &Path, text: &str) -> Result<Manifest, LabError> {
        let wrong = |why: String| {
            LabError::Input(format!("{} is not a manifest of this version: {why}", path.display()))
        };
        let json: Json = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        match json["format"].as_u64() {
            Some(FORMAT) => serde_json::from_value(json).map_err(|error| wrong(error.to_string())),
            Some(other) => Err(wrong(format!(
                "it has format {other}, not {FORMAT}; run the experiment file again, into another folder"
            ))),
            None => Err(wrong("it has no format".into())),
        }
    }

    /// A file that is not what it was, if there is one.
    fn changed_input(&self, now: &Manifest) -> Option<String> {
        self.inputs.iter().find_map(|then| {
            let now = now.inputs.iter().find(|now| now.path == then.path && now.sha256 != then.sha256)?;
            let (then_hash, now_hash) = (then.short_hash(), now.short_hash());
            Some(format!("{} has changed: sha256 {then_hash} there, {now_hash} now", then.path))
        })
    }

    /// The first thing in which two manifests would give different results, if any.
    pub fn difference(&self, other: &Manifest) -> Option<String> {
        let all = |manifest: &Manifest| {
            let mut all = manifest.program();
            all["stages"] = manifest.stages.clone().into();
            all["entries"] = json!(manifest.entries);
            all["seeds"] = manifest.seeds.clone().into();
            all
        };
        self.changed_input(other).or_else(|| difference("", &all(self), &all(other)))
    }

    /// Why the other is not this one with more seeds or more entries, if it is not.
    pub fn not_extended_by(&self, other: &Manifest) -> Option<String> {
        let keys = |manifest: &Manifest| -> Vec<String> {
            (0..manifest.entries.len()).map(|entry| manifest.key(entry)).collect()
        };
        let (mine, others) = (keys(self), keys(other));
        let lost = || {
            let lost = mine.iter().position(|key| !others.contains(key))?;
            if self.entries.len() == other.entries.len() {
                return self.difference(other);
            }
            Some(format!("{:?} is there, not here", self.entries[lost].label))
        };
        let fewer = || {
            let seed = self.seeds.iter().find(|seed| !other.seeds.contains(seed))?;
            Some(format!("seed {seed} is there, not here"))
        };
        self.changed_input(other)
            .or_else(|| difference("", &self.program(), &other.program()))
            .or_else(lost)
            .or_else(fewer)
    }

    /// What gave the results, whatever they are about.
    fn program(&self) -> Json {
        json!({
            "format": self.format,
            "version": self.version,
            "arithmetic": self.arithmetic,
            "name": self.name,
            "shard": self.shard,
        })
    }

    /// A short text that changes whenever the result of the entry could.
    pub fn key(&self, index: usize) -> String {
        let entry = &self.entries[index];
        let mut stage = self.stages[entry.stage].clone();
        if let Some(stage) = stage.as_object_mut() {
            // What a world is called depends on which others there are.
            stage.remove("label");
        }
        let all = json!([self.version, self.arithmetic, entry.algorithm, entry.params, stage]);
        format!("{:016x}", cahoots_core::fingerprint(all.to_string().as_bytes()))
    }
}

impl ManifestEntry {
    fn new(entry: &Entry) -> ManifestEntry {
        ManifestEntry {
            label: entry.label.clone(),
            short_label: entry.short_label.clone(),
            block_label: entry.block_label.clone(),
            block: entry.block,
            stage: entry.stage_index,
            algorithm: entry.algorithm.clone(),
            params: to_json(&toml::Value::Table(entry.params.clone())),
            objective: entry.objective.to_string(),
            swept: entry.swept.iter().map(|(key, value)| (key.clone(), to_json(value))).collect(),
        }
    }
}

/// "path: there, here" for the first place where two values differ.
fn difference(path: &str, there: &Json, here: &Json) -> Option<String> {
    match (there, here) {
        (Json::Object(a), Json::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.filter_map(|key| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                difference(&path, a.get(key).unwrap_or(&Json::Null), b.get(key).unwrap_or(&Json::Null))
            })
            .next()
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| difference(&format!("{path}[{index}]"), a, b))
        }
        (a, b) if a == b => None,
        (Json::Array(a), Json::Array(b)) => {
            Some(format!("{path} has {} values there, {} here", a.len(), b.len()))
        }
        (a, b) => Some(format!("{path} is {} there, {} here", said(a), said(b))),
    }
}

fn said(value: &Json) -> String {
    match value {
        Json::Null => "absent".into(),
        Json::Object(_) | Json::Array(_) => "another value".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let told = |a: Json, b: Json| difference("", &a, &b);
        assert_eq!(told(json!({"a": [1, {"b": 2}]}), json!({"a": [1, {"b": 2}]})), None);
        assert_eq!(
            told(json!({"a": [1, {"b": 2}]}), json!({"a": [1, {"b": 3}]})).unwrap(),
            "a[1].b is 2 there, 3 here"
        );
        assert_eq!(told(json!({"a": [1]}), json!({"a": [1, 2]})).unwrap(), "a has 1 values there, 2 here");
        assert_eq!(told(json!({}), json!({"x": "y"})).unwrap(), "x is absent there, \"y\" here");
    }
}
