//! Deployed federations in the simulator's order: a conductor that goes through the simulator's loop, and
//! worlds that stand in for the clients' apps. No data ever travels: every node builds the world itself.

mod run;
mod stand_in;

use std::sync::Arc;

use cahoots_algorithms::registry;
use cahoots_core::{Algorithm, Erase, Registry, Seats};
use cahoots_node::coordinator::States;
use cahoots_node::lockstep::{Conductor, Lockstep, StandIn};
use cahoots_node::{Known, Live, NodeError, Terms};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::run::{RunError, Scenario, prepare};
use cahoots_sim::worlds::Worlds;
use serde::Serialize;
use toml::Table;

use run::Run;
use stand_in::Simulated;

/// An algorithm that can be deployed and simulated.
#[derive(Clone, Copy, Debug)]
pub struct Deployed {
    live: Live,
    simulate: Simulate,
}

/// Runs an algorithm in the simulator, in single steps, to its final states: server first, then every client.
type Simulate = fn(&Terms, &Scenario, &Worlds) -> Result<States, RunError>;

impl Erase for Deployed {
    fn of<A: Algorithm>() -> Deployed {
        Deployed { live: Live::of::<A>(), simulate: simulate::<A> }
    }
}

fn simulate<A: Algorithm>(terms: &Terms, scenario: &Scenario, worlds: &Worlds) -> Result<States, RunError> {
    let options = Options { single_steps: true, ..Options::default() };
    let mut simulation = prepare::<A>(worlds, &terms.params, scenario, terms.seed, options)?;
    simulation.run(&mut |_| true);
    Ok(simulation.states())
}

/// Our algorithms and our worlds, running free or in lockstep.
pub fn ours() -> Arc<Known> {
    known(catalogue())
}

/// Our algorithms and our worlds, to be added to. Compiled here, once for all tests.
pub fn catalogue() -> Catalogue<Deployed> {
    Catalogue::new(registry::ours())
}

/// These algorithms and worlds, running free or in lockstep.
pub fn known(catalogue: Catalogue<Deployed>) -> Arc<Known> {
    let mut live = Registry::default();
    let mut simulators = Registry::default();
    for (name, deployed) in catalogue.algorithms.names().zip(catalogue.algorithms.iter()) {
        live.insert(name, deployed.live);
        simulators.insert(name, deployed.simulate);
    }
    Arc::new(Known::new(live).with_lockstep(InSimulatorsOrder { simulators, worlds: catalogue.worlds }))
}

/// Checked terms of a run in lockstep.
pub fn terms(
    known: &Known,
    algorithm: &str,
    params: &Table,
    scenario: &impl Serialize,
    seed: u64,
) -> Result<Terms, NodeError> {
    known.lockstep()?.terms(known, algorithm, params, &Table::try_from(scenario).map_err(wrong)?, seed)
}

/// The simulator's loop around deployed machines.
#[derive(Debug)]
struct InSimulatorsOrder {
    simulators: Registry<Simulate>,
    worlds: Worlds,
}

impl InSimulatorsOrder {
    fn scenario(terms: &Terms) -> Result<Scenario, NodeError> {
        let scenario =
            terms.lockstep.clone().ok_or_else(|| wrong("these terms are not of a run in lockstep"))?;
        scenario.try_into().map_err(|e: toml::de::Error| wrong(format!("lockstep.scenario: {}", e.message())))
    }
}

impl Lockstep for InSimulatorsOrder {
    fn terms(
        &self,
        known: &Known,
        algorithm: &str,
        params: &Table,
        scenario: &Table,
        seed: u64,
    ) -> Result<Terms, NodeError> {
        let read = scenario.clone().try_into();
        let scenario: Scenario =
            read.map_err(|e: toml::de::Error| wrong(format!("lockstep.scenario: {}", e.message())))?;
        if !scenario.network.is_perfect() || scenario.rewards != Default::default() {
            let why = "lockstep: a scenario with faults of its own cannot be run in lockstep; remove [lockstep.scenario.network] and [lockstep.scenario.rewards] (the real network has faults enough)";
            return Err(wrong(why));
        }
        // Who sits where, and what an oracle knows, may depend on the seed.
        let (world, _) = scenario.build(&self.worlds, seed).map_err(wrong)?;
        let scenario = scenario.complete(&self.worlds).map_err(wrong)?;
        let terms = Terms::new(known, algorithm, params, world.setting().clone(), seed)?;
        Ok(Terms { lockstep: Some(Table::try_from(&scenario).map_err(wrong)?), ..terms })
    }

    fn conductor(
        &self,
        terms: &Terms,
        seats: Seats,
        progress: Option<Vec<u8>>,
    ) -> Result<Box<dyn Conductor>, NodeError> {
        let (_, arrivals) = Self::scenario(terms)?.build(&self.worlds, terms.seed).map_err(wrong)?;
        Ok(Box::new(Run::new(arrivals, seats, terms.setting.horizon, progress)?))
    }

    fn stand_in(&self, terms: &Terms, progress: Option<&[u8]>) -> Result<Box<dyn StandIn>, NodeError> {
        let (world, _) = Self::scenario(terms)?.build(&self.worlds, terms.seed).map_err(wrong)?;
        Ok(Box::new(Simulated::new(world, progress)?))
    }

    fn final_states(&self, terms: &Terms) -> Result<States, NodeError> {
        let simulate = self.simulators.get(&terms.algorithm);
        let simulate =
            simulate.ok_or_else(|| wrong(format!("there is no algorithm {:?}", terms.algorithm)))?;
        simulate(terms, &Self::scenario(terms)?, &self.worlds).map_err(wrong)
    }
}

fn wrong(why: impl ToString) -> NodeError {
    NodeError::Config(why.to_string())
}
