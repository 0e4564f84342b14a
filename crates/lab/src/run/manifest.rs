//! What a folder of results is about: everything needed to run it again.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::experiment::{Entry, Experiment, to_json};

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
        }
    }

    /// The first thing in which two manifests would give different results, if any.
    pub fn difference(&self, other: &Manifest) -> Option<String> {
        let decisive = |manifest: &Manifest| {
            json!({
                "format": manifest.format,
                "version": manifest.version,
                "arithmetic": manifest.arithmetic,
                "name": manifest.name,
                "stages": manifest.stages,
                "entries": manifest.entries,
                "seeds": manifest.seeds,
            })
        };
        difference("", &decisive(self), &decisive(other))
    }

    /// A short text that changes whenever the result of the entry could.
    pub fn key(&self, index: usize) -> String {
        let entry = &self.entries[index];
        let all =
            json!([self.version, self.arithmetic, entry.algorithm, entry.params, self.stages[entry.stage]]);
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
