//! An algorithm as the simulator needs it: without its type.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cahoots_core::drive::LearnerHost;
use cahoots_core::{Algorithm, Erase, NodeId, ReadFile, Seats, Setting, Tick, Topology};
use schemars::{Schema, schema_for};

use crate::arrivals::Arrivals;
use crate::driver::{Options, Simulation};
use crate::network::Network;
use crate::rewards::Rewards;
use crate::run::{Params, Report, RunError, Scenario, checked, simulation, table, typed};
use crate::world::World;
use crate::worlds::Worlds;

/// An algorithm that can be simulated.
#[derive(Clone)]
pub struct Simulated {
    /// Its name in experiment files.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it does when a client is late, leaves, or comes back.
    pub membership: &'static str,
    body: Arc<dyn Simulable>,
}

/// What a simulator asks of an algorithm whose type is gone. Every [`Algorithm`] is one; whoever makes algorithms while
/// a program runs, in another language say, implements it by hand ([`Simulated::new`]).
pub trait Simulable: Send + Sync {
    /// JSON schema of its parameters.
    fn schema(&self) -> Schema;

    /// Parameters with every default filled in, and with what is in the files that they name.
    fn complete(&self, params: Params, read: ReadFile<'_>) -> Result<Params, RunError>;

    /// Checks parameters against a setting, and says what is known of the algorithm with them.
    fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError>;

    /// Who can talk to whom with these parameters; none where all talk to the server.
    fn topology(&self, _params: Params, _setting: &Setting) -> Result<Option<Graph>, RunError> {
        Ok(None)
    }

    /// Runs it. [`run`] is all there is to do once parameters are checked.
    fn simulate(&self, request: Request<'_>) -> Result<Report, RunError>;

    /// Runs it in a world that is no part of a scenario; [`run_in`] does it.
    fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError>;
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
    /// How many models each of them holds at most.
    pub models: usize,
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
        let typed = Arc::new(ByType(PhantomData::<fn() -> A>));
        Simulated { name: A::NAME, summary: A::SUMMARY, membership: A::MEMBERSHIP, body: typed }
    }
}

/// An algorithm that is a type.
struct ByType<A>(PhantomData<fn() -> A>);

impl<A: Algorithm> Simulable for ByType<A> {
    fn schema(&self) -> Schema {
        schema_for!(A::Params)
    }

    fn complete(&self, params: Params, read: ReadFile<'_>) -> Result<Params, RunError> {
        table(&typed::<A>(params, read)?)
    }

    fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError> {
        Ok(Outline::of::<A>(&checked::<A>(params, setting)?, setting))
    }

    fn topology(&self, params: Params, setting: &Setting) -> Result<Option<Graph>, RunError> {
        Ok(A::topology(&checked::<A>(params, setting)?))
    }

    fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        run::<A>(request, checked::<A>)
    }

    fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError> {
        let valid = checked::<A>(params, place.world.setting())?;
        run_in::<A>(valid, place)
    }
}

impl Outline {
    /// What is known of an algorithm once its parameters are checked.
    pub fn of<A: Algorithm>(valid: &A::Valid, setting: &Setting) -> Outline {
        Outline {
            pursues: A::personalization(valid),
            clips: A::clips(valid),
            clients: Seats::of::<A>(valid, setting).clients(),
            models: A::models(valid, setting),
            idle_bytes: size_of::<LearnerHost<A::Client>>(),
        }
    }
}

/// Does what a request asks for; `check` makes of its parameters what the algorithm takes.
pub fn run<A: Algorithm>(
    request: Request<'_>,
    check: impl FnOnce(Params, &Setting) -> Result<A::Valid, RunError>,
) -> Result<Report, RunError> {
    let Request { params, scenario, worlds, seed, options, progress } = request;
    let (world, arrivals) = scenario.build(worlds, seed)?;
    let valid = check(params, world.setting())?;
    let mut simulation = simulation::<A>(valid, scenario, world, arrivals, seed, options)?;
    report(&mut simulation, progress)
}

/// Runs an algorithm where it is told to.
pub fn run_in<A: Algorithm>(valid: A::Valid, place: Place<'_>) -> Result<Report, RunError> {
    let Place { world, arrivals, seed, progress } = place;
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
    /// An algorithm that is no type.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        membership: &'static str,
        body: Arc<dyn Simulable>,
    ) -> Simulated {
        Simulated { name, summary, membership, body }
    }

    /// JSON schema of its parameters.
    pub fn schema(&self) -> Schema {
        self.body.schema()
    }

    /// Parameters with every default filled in, and with what is in the files that they name.
    pub fn complete(&self, params: Params, read: ReadFile<'_>) -> Result<Params, RunError> {
        self.body.complete(params, read)
    }

    /// Checks parameters against a setting.
    pub fn check(&self, params: Params, setting: &Setting) -> Result<(), RunError> {
        self.outline(params, setting).map(drop)
    }

    /// Who can talk to whom with these parameters; none where all talk to the server.
    pub fn topology(&self, params: Params, setting: &Setting) -> Result<Option<Graph>, RunError> {
        self.body.topology(params, setting)
    }

    /// Checks parameters against a setting, and says what is known of it with them.
    pub fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError> {
        self.body.outline(params, setting)
    }

    /// Runs it in a world that is no part of a scenario.
    pub fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError> {
        self.body.simulate_in(params, place)
    }

    /// Runs it.
    pub fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        self.body.simulate(request)
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulated").field("name", &self.name).finish_non_exhaustive()
    }
}
