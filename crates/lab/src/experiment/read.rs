//! From the text of a file to an experiment whose every part has been checked.

use std::sync::Arc;

use cahoots_core::{ParamError, Setting};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::environment::Environment;
use cahoots_sim::memory::available_bytes;
use cahoots_sim::run::{self, RunError, Scenario};
use cahoots_sim::simulated::Outline;
use cahoots_sim::world::objective::Aim;

use super::sections::{self, Block, Sections};
use super::source::{Complaint, Span};
use super::sweep::{Cell, Sweep};
use super::{Complaints, Entry, Experiment, Inputs, Memory, Record, Source, Stage, label, memory};
use crate::results;

/// Entries of one experiment, at most.
const MOST_ENTRIES: usize = 10_000;

/// Reads an experiment file that may name whatever is in the catalogue. `seeds`, where given, replaces what
/// the file says.
pub fn read(
    catalogue: &Arc<Catalogue>,
    source: Source,
    inputs: Inputs,
    seeds: Option<u64>,
) -> Result<Experiment, Complaints> {
    let built = sections::read(catalogue, &source)
        .and_then(|sections| assemble(catalogue, &source, sections, inputs));
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
    inputs: Inputs,
) -> Result<Experiment, Vec<Complaint>> {
    let mut complaints = Vec::new();
    let names = block_names(&sections.blocks, &mut complaints);
    let worlds = worlds(catalogue, &sections, &inputs, &mut complaints);
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
    let network = sections.network.cells();
    let offline = network.first().and_then(|cell| cell.span("offline")).unwrap_or(&sections.network_span);
    let free = available_bytes().map(|free| free as f64);
    for (stage_index, (stage, Known { setting, aim, bytes })) in worlds.iter().enumerate() {
        for (index, (block, cells)) in sections.blocks.iter().zip(&blocks).enumerate() {
            let swept: Vec<_> = cells.iter().map(|cell| cell.swept.as_slice()).collect();
            for (cell, cell_label) in cells.iter().zip(label::cells(&swept)) {
                if let Some(complaint) =
                    free.and_then(|free| too_large(catalogue, block, cell, setting, free))
                {
                    complaints.push(complaint);
                    continue;
                }
                match checked(catalogue, block, cell, setting, &inputs) {
                    Ok((params, outline)) => {
                        complaints.extend(strangers(stage, outline.clients, setting.users, offline));
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
                            objective: aim.objective(outline.pursues),
                            clips: outline.clips,
                            memory: Memory::new(*bytes, setting, stage, &outline),
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
        folder: inputs.folder().to_path_buf(),
        inputs: inputs.into_inputs(),
        catalogue: catalogue.clone(),
    })
}

/// What cannot even be checked: a single model, or a graph in which everyone talks to everyone.
fn too_large(
    catalogue: &Catalogue,
    block: &Block,
    cell: &Cell,
    setting: &Setting,
    free: f64,
) -> Option<Complaint> {
    let model = memory::model(setting);
    let problem = if model > free {
        format!("a model of {} features takes {}", setting.dim, results::bytes(model))
    } else {
        let schema = catalogue.find(&block.kind).ok()?.schema();
        Record::from_schema(schema.as_value()).field("topology")?;
        let complete = cell.table.get("topology").is_none_or(|graph| graph.as_str() == Some("complete"));
        let links = 8.0 * setting.users as f64 * setting.users as f64;
        if !(complete && links > free) {
            return None;
        }
        format!("a complete topology of {} clients takes {}", setting.users, results::bytes(links))
    };
    Some(Complaint::new(&block.kind_span, problem, format!("{} are free", results::bytes(free))))
}

/// Whoever is offline must be there.
fn strangers(stage: &Stage, clients: usize, users: usize, span: &Span) -> Option<Complaint> {
    let error = stage.scenario.network.check_clients(clients, users).err()?;
    Some(Complaint::new(span, error.to_string(), "name one of those"))
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
    /// The memory that it takes, at least.
    bytes: f64,
}

/// Every world of the file.
fn worlds(
    catalogue: &Catalogue,
    sections: &Sections,
    inputs: &Inputs,
    complaints: &mut Vec<Complaint>,
) -> Vec<(Arc<Stage>, Known)> {
    let mut cells = Vec::new();
    for top in sections.top.cells() {
        for (kind, environment) in environments(sections) {
            for network in sections.network.cells() {
                for rewards in sections.rewards.cells() {
                    if cells.len() < MOST_ENTRIES {
                        let parts = [top.clone(), environment.clone(), network.clone(), rewards];
                        cells.push((kind, parts));
                    }
                }
            }
        }
    }
    let swept: Vec<Vec<_>> =
        cells.iter().map(|(_, parts)| parts.iter().flat_map(|cell| cell.swept.clone()).collect()).collect();
    let labels = label::cells(&swept.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut worlds = Vec::new();
    for ((kind, parts), label) in cells.iter().zip(labels) {
        match world(catalogue, kind, parts, sections, inputs) {
            Ok((scenario, known, steps)) => {
                worlds.push((Arc::new(Stage { label, scenario, steps }), known));
            }
            Err(complaint) => complaints.push(complaint),
        }
    }
    worlds
}

/// Every cell of the environment, kind by kind; where there are several, the kind is one of the swept keys.
fn environments(sections: &Sections) -> Vec<(&str, Cell)> {
    let several = sections.environments.len() > 1;
    let cells = |(kind, sweep): &'_ (String, Sweep)| {
        let mut cells = sweep.cells();
        if several {
            let swept = ("kind".to_string(), toml::Value::from(kind.as_str()));
            cells.iter_mut().for_each(|cell| cell.swept.insert(0, swept.clone()));
        }
        cells
    };
    sections
        .environments
        .iter()
        .flat_map(|known| cells(known).into_iter().map(|cell| (known.0.as_str(), cell)))
        .collect()
}

fn world(
    catalogue: &Catalogue,
    kind: &str,
    parts: &[Cell; 4],
    sections: &Sections,
    inputs: &Inputs,
) -> Result<(Scenario, Known, u64), Complaint> {
    let [top, environment, network, rewards] = parts;
    let at =
        |span: &Span, error: toml::de::Error| Complaint::new(span, error.message().trim().to_string(), "");
    let complain = |cell: &Cell, section: &Span, error: &ParamError| point(cell, section, &[], error);
    let named = Environment::new(kind, environment.table.clone());
    let filled = catalogue
        .worlds
        .read_files(&named, inputs)
        .map_err(|error| complain(environment, &sections.environment_span, &error))?;
    let horizon = match top.table.get("horizon").and_then(toml::Value::as_integer) {
        Some(horizon) => u64::try_from(horizon).unwrap_or_default(),
        None => catalogue
            .worlds
            .ticks(&filled)
            .map_err(|error| complain(environment, &sections.environment_span, &error))?
            .ok_or_else(|| {
                let help = "add `horizon = ...`: a whole number of at least 1";
                Complaint::new(&sections.top_span, "`horizon` is missing", help)
            })?,
    };
    let scenario = Scenario {
        horizon,
        environment: filled,
        network: network.table.clone().try_into().map_err(|error| at(&sections.network_span, error))?,
        rewards: rewards.table.clone().try_into().map_err(|error| at(&sections.rewards_span, error))?,
    };
    scenario.network.check().map_err(|error| complain(network, &sections.network_span, &error))?;
    scenario.rewards.check().map_err(|error| complain(rewards, &sections.rewards_span, &error))?;
    let worlds = &catalogue.worlds;
    let bytes = worlds
        .bytes(&scenario.environment)
        .map_err(|error| complain(environment, &sections.environment_span, &error))?;
    if let Some(free) = available_bytes().filter(|free| bytes > *free as f64) {
        let problem = format!("this world takes at least {}", results::bytes(bytes));
        let help = format!("{} are free: lower clients, arms, dim or pool_size", results::bytes(free as f64));
        return Err(Complaint::new(&sections.environment_span, problem, help));
    }
    let built = scenario.build(worlds, 0).and_then(|built| Ok((built, scenario.complete(worlds)?)));
    match built {
        Ok(((world, arrivals), scenario)) => {
            let steps = arrivals.steps(scenario.horizon);
            Ok((scenario, Known { setting: world.setting().clone(), aim: world.aim(), bytes }, steps))
        }
        Err(RunError::Environment(error)) => {
            let horizon = top.span("horizon").map(|span| ("horizon", span));
            Err(point(environment, &sections.environment_span, horizon.as_slice(), &error))
        }
        Err(other) => Err(Complaint::new(&sections.environment_span, other.to_string(), "")),
    }
}

/// The parameters of an entry, defaults filled in, and what is known of it with them.
fn checked(
    catalogue: &Catalogue,
    block: &Block,
    cell: &Cell,
    setting: &Setting,
    inputs: &Inputs,
) -> Result<(run::Params, Outline), Complaint> {
    let checked = catalogue
        .complete_with(&block.kind, &cell.table, &|path| inputs.read(path))
        .and_then(|params| Ok((catalogue.outline(&block.kind, &params, setting)?, params)))
        .map(|(outline, params)| (params, outline));
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
