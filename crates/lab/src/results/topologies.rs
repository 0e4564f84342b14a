//! Who can talk to whom in the entries of a run: drawn where there is something to draw.

use std::path::Path;

use cahoots_core::{NodeId, Topology};
use cahoots_figure::{Diagram, Diagrams};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::run::Scenario;

use crate::error::LabError;
use crate::files;
use crate::run::Manifest;

/// Diagrams in one picture, at most.
const MOST_DIAGRAMS: usize = 12;

/// The name of the picture, without its ending.
pub(super) const FILE: &str = "topology";

/// A graph as a picture shows it.
pub fn picture(title: impl Into<String>, topology: &Topology, sinks: &[NodeId]) -> Diagram {
    let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
    Diagram {
        title: title.into(),
        components: topology.components().iter().map(|members| numbers(members)).collect(),
        edges: topology.edge_list().map(|(a, b)| (a.0, b.0)).collect(),
        sinks: numbers(sinks),
    }
}

/// Draws the topologies of a run's entries, each once; `false` where there are none.
pub fn draw(catalogue: &Catalogue, folder: &Path, manifest: &Manifest) -> Result<bool, LabError> {
    match diagrams(catalogue, manifest) {
        Some(diagrams) => files::draw(&folder.join(FILE), &diagrams).map(|()| true),
        None => Ok(false),
    }
}

/// The topologies of a run's entries, each once; none where there are none.
pub fn diagrams(catalogue: &Catalogue, manifest: &Manifest) -> Option<Diagrams> {
    let mut diagrams: Vec<Diagram> = Vec::new();
    for entry in &manifest.entries {
        let Ok(scenario) = serde_json::from_value::<Scenario>(without_label(&manifest.stages[entry.stage]))
        else {
            continue;
        };
        let Ok(world) = scenario.check(&catalogue.worlds) else { continue };
        let Ok(Some((topology, sinks))) =
            catalogue.topology(&entry.algorithm, &entry.params, world.setting())
        else {
            continue;
        };
        let diagram = picture(entry.short_label.clone(), &topology, &sinks);
        let same = |known: &Diagram| known.edges == diagram.edges && known.sinks == diagram.sinks;
        if !diagrams.iter().any(same) && diagrams.len() < MOST_DIAGRAMS {
            diagrams.push(diagram);
        }
    }
    let title = manifest.title.clone().unwrap_or_else(|| manifest.name.clone());
    let columns = if diagrams.len() <= 4 { 2 } else { 3 };
    (!diagrams.is_empty()).then_some(Diagrams { title, columns, diagrams })
}

fn without_label(stage: &serde_json::Value) -> serde_json::Value {
    let mut stage = stage.clone();
    if let Some(table) = stage.as_object_mut() {
        table.remove("label");
    }
    stage
}
