//! An algorithm as a deployment needs it: without its type, to be looked up by the name that terms give.

use std::sync::Arc;

use cahoots_algorithms::registry;
use cahoots_core::drive::{Blueprint, ClientNode, Saved, ServerNode};
use cahoots_core::{Algorithm, Erase, NodeId, Seats};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::run;
use cahoots_sim::simulated::Simulated;
use cahoots_sim::worlds::Worlds;

use crate::coordinator::States;
use crate::error::NodeError;
use crate::terms::Terms;

/// An algorithm that can be deployed.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub(crate) simulated: Simulated,
    seats: fn(&Terms) -> Result<Seats, NodeError>,
    coordinator: fn(&Terms, Option<Saved<'_>>) -> Result<Box<dyn ServerNode>, NodeError>,
    client: fn(&Terms, NodeId, Option<Saved<'_>>) -> Result<Box<dyn ClientNode>, NodeError>,
    final_states: fn(&Terms, &Worlds) -> Result<States, NodeError>,
}

/// The algorithms that a node can run, and the worlds that a lockstep run can be in.
pub type Known = Catalogue<Live>;

/// Our algorithms and our worlds.
pub fn known() -> Arc<Known> {
    Arc::new(Catalogue::new(registry::ours()))
}

impl Erase for Live {
    fn of<A: Algorithm>() -> Live {
        Live {
            simulated: Simulated::of::<A>(),
            seats: |terms| Ok(Seats::of::<A>(&terms.valid::<A>()?, &terms.setting)),
            coordinator: coordinator::<A>,
            client: client::<A>,
            final_states: final_states::<A>,
        }
    }
}

impl Live {
    /// Who sits where under these terms, and who hears whom.
    pub fn seats(&self, terms: &Terms) -> Result<Seats, NodeError> {
        (self.seats)(terms)
    }

    /// A new coordinator, or the one that was saved.
    pub fn coordinator(
        &self,
        terms: &Terms,
        saved: Option<Saved<'_>>,
    ) -> Result<Box<dyn ServerNode>, NodeError> {
        (self.coordinator)(terms, saved)
    }

    /// A new client, or the one that was saved.
    pub fn client(
        &self,
        terms: &Terms,
        me: NodeId,
        saved: Option<Saved<'_>>,
    ) -> Result<Box<dyn ClientNode>, NodeError> {
        (self.client)(terms, me, saved)
    }

    /// The final states of a lockstep run in the simulator, in single steps: server first, then every client.
    pub fn final_states(&self, terms: &Terms, worlds: &Worlds) -> Result<States, NodeError> {
        (self.final_states)(terms, worlds)
    }
}

fn coordinator<A: Algorithm>(
    terms: &Terms,
    saved: Option<Saved<'_>>,
) -> Result<Box<dyn ServerNode>, NodeError> {
    blueprint::<A>(terms)?.server(saved).map_err(|e| NodeError::Config(e.to_string()))
}

fn client<A: Algorithm>(
    terms: &Terms,
    me: NodeId,
    saved: Option<Saved<'_>>,
) -> Result<Box<dyn ClientNode>, NodeError> {
    blueprint::<A>(terms)?.client(me, saved).map_err(|e| NodeError::Config(e.to_string()))
}

fn blueprint<A: Algorithm>(terms: &Terms) -> Result<Blueprint<A>, NodeError> {
    let params = toml::to_string(&terms.params).expect("parameters that were read from a table");
    Ok(Blueprint { params, valid: terms.valid::<A>()?, setting: terms.setting.clone().into() })
}

fn final_states<A: Algorithm>(terms: &Terms, worlds: &Worlds) -> Result<States, NodeError> {
    let options = Options { single_steps: true, ..Options::default() };
    let scenario = terms.lockstep.as_ref().ok_or_else(|| NodeError::Config("no lockstep".into()))?;
    let mut simulation = run::prepare::<A>(worlds, &terms.params, scenario, terms.seed, options)
        .map_err(|e| NodeError::Config(e.to_string()))?;
    simulation.run(&mut |_| true);
    Ok(simulation.states())
}
