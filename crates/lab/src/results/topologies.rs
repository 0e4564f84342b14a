//! Who can talk to whom in the entries of a run: drawn where there is something to draw.

use std::path::Path;

use cahoots_core::{NodeId, Setting, Topology};
use cahoots_figure::{Graph, Graphs};
use serde::Serialize;

use crate::error::LabError;
use crate::run::Manifest;

/// Graphs in one picture, at most.
const MOST_GRAPHS: usize = 12;

/// The name of the picture, without its ending.
pub const FILE: &str = "topology";

/// A graph as a picture shows it.
pub fn picture(title: impl Into<String>, topology: &Topology, sinks: &[NodeId]) -> Graph {
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
    Graph {
        title: title.into(),
        components: topology.components().iter().map(|members| numbers(members)).collect(),
        edges: topology.edge_list().map(|(a, b)| (a.0, b.0)).collect(),
        sinks: numbers(sinks),
    }
}

/// The topology of an algorithm with these parameters, and its sinks.
pub fn topology_of(
    algorithm: &str,
    params: &impl Serialize,
    setting: &Setting,
) -> Result<Option<(Topology, Vec<NodeId>)>, LabError> {
    cahoots_sim::run::topology(algorithm, params, setting)
        .map_err(|error| LabError::Failed(error.to_string()))
}

/// Draws the topologies of a run's entries, each once; `false` where there are none.
pub fn draw(folder: &Path, manifest: &Manifest) -> Result<bool, LabError> {
    let mut graphs: Vec<Graph> = Vec::new();
    for entry in &manifest.entries {
        let Ok(scenario) = serde_json::from_value::<cahoots_sim::run::Scenario>(without_label(
            &manifest.stages[entry.stage],
        )) else {
            continue;
        };
        let Ok(world) = scenario.check() else { continue };
        let Ok(Some((topology, sinks))) = topology_of(&entry.algorithm, &entry.params, world.setting())
        else {
            continue;
        };
        let graph = picture(entry.short_label.clone(), &topology, &sinks);
        let same = |known: &Graph| known.edges == graph.edges && known.sinks == graph.sinks;
        if !graphs.iter().any(same) && graphs.len() < MOST_GRAPHS {
            graphs.push(graph);
        }
    }
    if graphs.is_empty() {
        return Ok(false);
    }
    let title = manifest.title.clone().unwrap_or_else(|| manifest.name.clone());
    let columns = if graphs.len() <= 4 { 2 } else { 3 };
    Graphs { title, columns, graphs }.save(&folder.join(FILE))?;
    Ok(true)
}

fn without_label(stage: &serde_json::Value) -> serde_json::Value {
    let mut stage = stage.clone();
    if let Some(table) = stage.as_object_mut() {
        table.remove("label");
    }
    stage
}
