//! An algorithm as a deployment needs it: without its type, to be looked up by the name that terms give.

use std::sync::Arc;

use cahoots_algorithms::registry;
use cahoots_core::host::{Host, LearnerHost};
use cahoots_core::{Algorithm, Erase, NodeId, Seating, snapshot};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::run;
use cahoots_sim::simulated::Simulated;
use cahoots_sim::worlds::Worlds;

use crate::coordinator::States;
use crate::error::NodeError;
use crate::machinery::{Coordinating, Deciding, Seated};
use crate::terms::Terms;

/// Rewards of this many closed decisions are remembered, for repeated ones.
const REMEMBER: usize = 4096;

/// An algorithm that can be deployed.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    pub(crate) simulated: Simulated,
    seating: fn(&Terms) -> Result<Seating, NodeError>,
    coordinator: NewCoordinator,
    client: NewClient,
    final_states: fn(&Terms, &Worlds) -> Result<States, NodeError>,
}

type NewCoordinator = fn(&Terms, Option<&[u8]>) -> Result<Box<dyn Coordinating>, NodeError>;
type NewClient = fn(&Terms, NodeId, Option<&[u8]>) -> Result<Box<dyn Deciding>, NodeError>;

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
            seating: |terms| Ok(A::seats(&terms.valid::<A>()?, &terms.setting)),
            coordinator: coordinator::<A>,
            client: client::<A>,
            final_states: final_states::<A>,
        }
    }
}

impl Live {
    /// Who sits where under these terms.
    pub fn seating(&self, terms: &Terms) -> Result<Seating, NodeError> {
        (self.seating)(terms)
    }

    /// A new coordinator, or the one that was saved.
    pub fn coordinator(
        &self,
        terms: &Terms,
        saved: Option<&[u8]>,
    ) -> Result<Box<dyn Coordinating>, NodeError> {
        (self.coordinator)(terms, saved)
    }

    /// A new client, or the one that was saved.
    pub fn client(
        &self,
        terms: &Terms,
        me: NodeId,
        saved: Option<&[u8]>,
    ) -> Result<Box<dyn Deciding>, NodeError> {
        (self.client)(terms, me, saved)
    }

    /// The final states of a lockstep run in the simulator, in single steps: server first, then every client.
    pub fn final_states(&self, terms: &Terms, worlds: &Worlds) -> Result<States, NodeError> {
        (self.final_states)(terms, worlds)
    }
}

fn coordinator<A: Algorithm>(
    terms: &Terms,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Coordinating>, NodeError> {
    if let Some(bytes) = saved {
        let host: Host<A::Server> = snapshot::restore(bytes).map_err(|e| NodeError::Config(e.to_string()))?;
        return Ok(Box::new(host));
    }
    let valid = terms.valid::<A>()?;
    let seat = A::seats(&valid, &terms.setting).seat(&terms.setting, NodeId::SERVER);
    Ok(Box::new(Host::new(NodeId::SERVER, A::server(&valid, &seat))))
}

fn client<A: Algorithm>(
    terms: &Terms,
    me: NodeId,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Deciding>, NodeError> {
    let valid = terms.valid::<A>()?;
    let seat = A::seats(&valid, &terms.setting).seat(&terms.setting, me);
    let host: LearnerHost<A::Client> = match saved {
        Some(bytes) => snapshot::restore(bytes).map_err(|e| NodeError::Config(e.to_string()))?,
        None => LearnerHost::new(me, A::client(&valid, &seat), REMEMBER),
    };
    Ok(Box::new(Seated { host, seat }))
}

fn final_states<A: Algorithm>(terms: &Terms, worlds: &Worlds) -> Result<States, NodeError> {
    let options = Options { single_steps: true, ..Options::default() };
    let scenario = terms.lockstep.as_ref().ok_or_else(|| NodeError::Config("no lockstep".into()))?;
    let mut simulation = run::prepare::<A>(worlds, &terms.params, scenario, terms.seed, options)
        .map_err(|e| NodeError::Config(e.to_string()))?;
    simulation.run(&mut |_| true);
    Ok(simulation.states())
}
