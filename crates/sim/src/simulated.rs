//! An algorithm as the simulator needs it: without its type.

use cahoots_core::{Algorithm, Erase, NodeId, Setting, Tick, Topology};
use schemars::{Schema, schema_for};

use crate::driver::Options;
use crate::run::{Params, Report, RunError, Scenario, checked, prepare, table, typed};
use crate::worlds::Worlds;

/// An algorithm that can be simulated.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    /// Its name in experiment files.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it does when a client is late, leaves, or comes back.
    pub membership: &'static str,
    schema: fn() -> Schema,
    complete: fn(Params) -> Result<Params, RunError>,
    check: fn(Params, &Setting) -> Result<(), RunError>,
    topology: fn(Params, &Setting) -> Result<Option<Graph>, RunError>,
    pursues: fn(Params, &Setting) -> Result<Option<f64>, RunError>,
    simulate: fn(Request<'_>) -> Result<Report, RunError>,
}

/// Who can talk to whom, and who of them collects for others.
pub type Graph = (Topology, Vec<NodeId>);

/// What to run.
pub struct Request<'a> {
    /// The algorithm's parameters.
    pub params: Params,
    /// Where and for how long.
    pub scenario: &'a Scenario,
    /// The worlds there are.
    pub worlds: &'a Worlds,
    /// Of the world and of the decisions.
    pub seed: u64,
    /// How it is driven.
    pub options: Options,
    /// Sees the tick now and then; its `false` stops the run.
    pub progress: &'a mut dyn FnMut(Tick) -> bool,
}

impl Erase for Simulated {
    fn of<A: Algorithm>() -> Simulated {
        Simulated {
            name: A::NAME,
            summary: A::SUMMARY,
            membership: A::MEMBERSHIP,
            schema: || schema_for!(A::Params),
            complete: |params| table(&typed::<A>(params)?),
            check: |params, setting| checked::<A>(params, setting).map(|_| ()),
            topology: |params, setting| Ok(A::topology(&checked::<A>(params, setting)?)),
            pursues: |params, setting| Ok(A::personalization(&checked::<A>(params, setting)?)),
            simulate: simulate::<A>,
        }
    }
}

fn simulate<A: Algorithm>(request: Request<'_>) -> Result<Report, RunError> {
    let Request { params, scenario, worlds, seed, options, progress } = request;
    let mut simulation = prepare::<A>(worlds, &params, scenario, seed, options)?;
    let ledger = simulation.run(progress).ok_or(RunError::Stopped)?.clone();
    Ok(Report { ledger, cost: simulation.cost(), privacy: simulation.privacy() })
}

impl Simulated {
    /// JSON schema of its parameters.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// Parameters with every default filled in.
    pub fn complete(&self, params: Params) -> Result<Params, RunError> {
        (self.complete)(params)
    }

    /// Checks parameters against a setting.
    pub fn check(&self, params: Params, setting: &Setting) -> Result<(), RunError> {
        (self.check)(params, setting)
    }

    /// Who can talk to whom with these parameters; none where all talk to the server.
    pub fn topology(&self, params: Params, setting: &Setting) -> Result<Option<Graph>, RunError> {
        (self.topology)(params, setting)
    }

    /// How much of what it pursues with these parameters is the client's own reward, where it says so.
    pub fn pursues(&self, params: Params, setting: &Setting) -> Result<Option<f64>, RunError> {
        (self.pursues)(params, setting)
    }

    /// Runs it.
    pub fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        (self.simulate)(request)
    }
}
