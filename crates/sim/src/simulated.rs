//! An algorithm as the simulator needs it: without its type.

use cahoots_core::drive::LearnerHost;
use cahoots_core::{Algorithm, Erase, NodeId, ReadFile, Seats, Setting, Tick, Topology};
use schemars::{Schema, schema_for};

use crate::arrivals::Arrivals;
use crate::driver::{Options, Simulation};
use crate::network::Network;
use crate::rewards::Rewards;
use crate::run::{Params, Report, RunError, Scenario, checked, prepare, table, typed};
use crate::world::World;
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
    complete: fn(Params, ReadFile<'_>) -> Result<Params, RunError>,
    check: fn(Params, &Setting) -> Result<(), RunError>,
    topology: fn(Params, &Setting) -> Result<Option<Graph>, RunError>,
    outline: fn(Params, &Setting) -> Result<Outline, RunError>,
    simulate: fn(Request<'_>) -> Result<Report, RunError>,
    simulate_in: fn(Params, Place<'_>) -> Result<Report, RunError>,
}

/// A world that is there already, and who acts in it when; messages and rewards come at once.
pub struct Place<'a> {
    /// The world.
    pub world: Box<dyn World>,
    /// Who acts when.
    pub arrivals: Arrivals,
    /// Of the decisions.
    pub seed: u64,
    /// Sees the tick now and then; its `false` stops the run.
    pub progress: &'a mut dyn FnMut(Tick) -> bool,
}

/// Who can talk to whom, and who of them collects for others.
pub type Graph = (Topology, Vec<NodeId>);

/// What is known of an algorithm with its parameters before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// How much of what it pursues is the client's own reward, where it says so.
    pub pursues: Option<f64>,
    /// The interval that it clips rewards to, where it does.
    pub clips: Option<(f64, f64)>,
    /// How many learners there are.
    pub clients: usize,
    /// Bytes of a learner that has not learned anything yet, what it shares with others left out.
    pub idle_bytes: usize,
}

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
            complete: |params, read| table(&typed::<A>(params, read)?),
            check: |params, setting| checked::<A>(params, setting).map(|_| ()),
            topology: |params, setting| Ok(A::topology(&checked::<A>(params, setting)?)),
            outline: outline::<A>,
            simulate: simulate::<A>,
            simulate_in: simulate_in::<A>,
        }
    }
}

fn outline<A: Algorithm>(params: Params, setting: &Setting) -> Result<Outline, RunError> {
    let valid = checked::<A>(params, setting)?;
    Ok(Outline {
        pursues: A::personalization(&valid),
        clips: A::clips(&valid),
        clients: Seats::of::<A>(&valid, setting).clients(),
        idle_bytes: size_of::<LearnerHost<A::Client>>(),
    })
}

fn simulate<A: Algorithm>(request: Request<'_>) -> Result<Report, RunError> {
    let Request { params, scenario, worlds, seed, options, progress } = request;
    let mut simulation = prepare::<A>(worlds, &params, scenario, seed, options)?;
    report(&mut simulation, progress)
}

fn simulate_in<A: Algorithm>(params: Params, place: Place<'_>) -> Result<Report, RunError> {
    let Place { world, arrivals, seed, progress } = place;
    let valid = checked::<A>(params, world.setting())?;
    let (network, rewards) = (Network::default(), Rewards::default());
    let mut simulation =
        Simulation::<A>::new(valid, world, arrivals, network, rewards, seed, Options::default());
    report(&mut simulation, progress)
}

fn report<A: Algorithm>(
    simulation: &mut Simulation<A>,
    progress: &mut dyn FnMut(Tick) -> bool,
) -> Result<Report, RunError> {
    let ledger = simulation.run(progress).ok_or(RunError::Stopped)?.clone();
    Ok(Report { ledger, cost: simulation.cost(), privacy: simulation.privacy() })
}

impl Simulated {
    /// JSON schema of its parameters.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// Parameters with every default filled in, and with what is in the files that they name.
    pub fn complete(&self, params: Params, read: ReadFile<'_>) -> Result<Params, RunError> {
        (self.complete)(params, read)
    }

    /// Checks parameters against a setting.
    pub fn check(&self, params: Params, setting: &Setting) -> Result<(), RunError> {
        (self.check)(params, setting)
    }

    /// Who can talk to whom with these parameters; none where all talk to the server.
    pub fn topology(&self, params: Params, setting: &Setting) -> Result<Option<Graph>, RunError> {
        (self.topology)(params, setting)
    }

    /// Checks parameters against a setting, and says what is known of it with them.
    pub fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError> {
        (self.outline)(params, setting)
    }

    /// Runs it in a world that is no part of a scenario.
    pub fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError> {
        (self.simulate_in)(params, place)
    }

    /// Runs it.
    pub fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        (self.simulate)(request)
    }
}
