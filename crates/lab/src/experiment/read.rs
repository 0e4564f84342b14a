//! From the text of a file to an experiment whose every part has been checked.

use std::sync::Arc;

use cahoots_core::{ParamError, Setting};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::environment::Environment;
use cahoots_sim::run::{self, RunError, Scenario};
use cahoots_sim::world::objective::Aim;

use super::sections::{self, Block, Sections};
use super::source::{Complaint, Span};
use super::sweep::Cell;
use super::{Complaints, Entry, Experiment, Source, Stage, label};

/// Entries of one experiment, at most.
const MOST_ENTRIES: usize = 10_000;

/// Reads an experiment file that may name whatever is in the catalogue. `seeds`, where given, replaces what
/// the file says.
pub fn read(
    catalogue: &Arc<Catalogue>,
    source: Source,
    seeds: Option<u64>,
) -> Result<Experiment, Complaints> {
    let built =
        sections::read(catalogue, &source).and_then(|sections| assemble(catalogue, &source, sections));
    match built {
        Ok(mut experiment) => {
            if let Some(count) = seeds {
                experiment.seeds = (0..count).collect();
            }
            Ok(experiment)
        }
        Err(complaints) => Err(source.render(complaints)),
    }
}

fn assemble(
    catalogue: &Arc<Catalogue>,
    source: &Source,
    sections: Sections,
) -> Result<Experiment, Vec<Complaint>> {
    let mut complaints = Vec::new();
    let names = block_names(&sections.blocks, &mut complaints);
    let worlds = worlds(catalogue, &sections, &mut complaints);
    let blocks: Vec<Vec<Cell>> = sections.blocks.iter().map(|block| block.sweep.cells()).collect();
    let size = worlds.len().saturating_mul(blocks.iter().map(Vec::len).sum());
    if size > MOST_ENTRIES {
        let problem = format!("the sweeps of this file make {size} entries");
        complaints.push(Complaint::new(
            &(0..0),
            problem,
            format!("at most {MOST_ENTRIES} can be run at once"),
        ));
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    let mut entries = Vec::with_capacity(size);
    for (stage_index, (stage, Known { setting, aim })) in worlds.iter().enumerate() {
        for (index, (block, cells)) in sections.blocks.iter().zip(&blocks).enumerate() {
            let swept: Vec<_> = cells.iter().map(|cell| cell.swept.as_slice()).collect();
            for (cell, cell_label) in cells.iter().zip(label::cells(&swept)) {
                match checked(catalogue, block, cell, setting) {
                    Ok((params, pursued)) => {
                        let short_label = label::join(&names[index], &cell_label);
                        entries.push(Entry {
                            label: label::join(&short_label, &stage.label),
                            short_label,
                            block_label: names[index].clone(),
                            block: index,
                            stage_index,
                            stage: stage.clone(),
                            algorithm: block.kind.clone(),
                            params,
                            objective: aim.objective(pursued),
                            swept: cell.swept.clone(),
                        });
                    }
                    Err(complaint) => complaints.push(complaint),
                }
            }
        }
    }
    if !complaints.is_empty() {
        return Err(complaints);
    }
    Ok(Experiment {
        name: sections.name,
        title: sections.title,
        seeds: sections.seeds,
        stages: worlds.into_iter().map(|(stage, _)| stage).collect(),
        entries,
        source: source.clone(),
        catalogue: catalogue.clone(),
    })
}

fn block_names(blocks: &[Block], complaints: &mut Vec<Complaint>) -> Vec<String> {
    let named = |block: &'_ Block| {
        let steady = block.table.entries.iter().filter(|entry| !block.sweep.sweeps(&entry.key));
        steady.map(|entry| (entry.key.clone(), entry.item.plain())).collect::<Vec<_>>()
    };
    let keys: Vec<_> = blocks.iter().map(named).collect();
    let named: Vec<label::Named<'_>> = blocks
        .iter()
        .zip(&keys)
        .map(|(block, keys)| label::Named {
            label: block.label.as_deref(),
            kind: &block.kind,
            keys: keys.iter().map(|(key, value)| (key.as_str(), value.clone())).collect(),
            span: block.name_span.clone(),
        })
        .collect();
    label::blocks(&named, complaints)
}

/// What is known of a world before anyone acts in it.
struct Known {
    /// What algorithms are checked against.
    setting: Setting,
    /// What regret can be measured against.
    aim: Aim,
}

/// Every world of the file.
fn worlds(
    catalogue: &Catalogue,
    sections: &Sections,
    complaints: &mut Vec<Complaint>,
) -> Vec<(Arc<Stage>, Known)> {
    let mut cells = Vec::new();
    for top in sections.top.cells() {
        for environment in sections.environment.cells() {
            for network in sections.network.cells() {
                for rewards in sections.rewards.cells() {
                    if cells.len() < MOST_ENTRIES {
                        cells.push([top.clone(), environment.clone(), network.clone(), rewards]);
                    }
                }
            }
        }
    }
    let swept: Vec<Vec<_>> =
        cells.iter().map(|parts| parts.iter().flat_map(|cell| cell.swept.clone()).collect()).collect();
    let labels = label::cells(&swept.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut worlds = Vec::new();
    for (parts, label) in cells.iter().zip(labels) {
        match world(catalogue, parts, sections) {
            Ok((scenario, known, steps)) => {
                worlds.push((Arc::new(Stage { label, scenario, steps }), known));
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    worlds
}

fn world(
    catalogue: &Catalogue,
    parts: &[Cell; 4],
    sections: &Sections,
) -> Result<(Scenario, Known, u64), Complaint> {
    let [top, environment, network, rewards] = parts;
    let at =
        |span: &Span, error: toml::de::Error| Complaint::new(span, error.message().trim().to_string(), "");
    let horizon = top.table.get("horizon").and_then(toml::Value::as_integer).unwrap_or_default();
    let scenario = Scenario {
        horizon: u64::try_from(horizon).unwrap_or_default(),
        environment: Environment::new(&sections.environment_kind, environment.table.clone()),
        network: network.table.clone().try_into().map_err(|error| at(&sections.network_span, error))?,
        rewards: rewards.table.clone().try_into().map_err(|error| at(&sections.rewards_span, error))?,
    };
    let complain = |cell: &Cell, section: &Span, error: &ParamError| point(cell, section, &[], error);
    scenario.network.check().map_err(|error| complain(network, &sections.network_span, &error))?;
    scenario.rewards.check().map_err(|error| complain(rewards, &sections.rewards_span, &error))?;
    let worlds = &catalogue.worlds;
    let built = scenario.build(worlds, 0).and_then(|built| Ok((built, scenario.complete(worlds)?)));
    match built {
        Ok(((world, arrivals), scenario)) => {
            let steps = arrivals.steps(scenario.horizon);
            Ok((scenario, Known { setting: world.setting().clone(), aim: world.aim() }, steps))
        }
        Err(RunError::Environment(error)) => Err(complain(environment, &sections.environment_span, &error)),
        Err(other) => Err(Complaint::new(&sections.environment_span, other.to_string(), "")),
    }
}

/// The parameters of an entry, defaults filled in, and how much of what it pursues is the client's own reward.
fn checked(
    catalogue: &Catalogue,
    block: &Block,
    cell: &Cell,
    setting: &Setting,
) -> Result<(run::Params, Option<f64>), Complaint> {
    let checked = catalogue
        .pursues(&block.kind, &cell.table, setting)
        .and_then(|pursued| Ok((catalogue.complete(&block.kind, &cell.table)?, pursued)));
    checked.map_err(|error| match error {
        RunError::Algorithm(error) => point(cell, &block.span, &[("kind", &block.kind_span)], &error),
        other => Complaint::new(&block.span, other.to_string(), ""),
    })
}

/// Points at the key that a [`ParamError`] names, or at its section.
fn point(cell: &Cell, section: &Span, more: &[(&str, &Span)], error: &ParamError) -> Complaint {
    let also = || more.iter().find(|(key, _)| *key == error.key).map(|(_, span)| *span);
    let span = cell.span(&error.key).or_else(also).unwrap_or(section);
    Complaint::new(span, error.to_string(), "")
}
