//! Algorithms in Rust, in worlds written in Python.

use cahoots_core::{ReadFile, Setting};
use cahoots_sim::run::{Params, Report, RunError};
use cahoots_sim::simulated::{Graph, Outline, Place, Request, Simulable, Simulated};
use pyo3::prelude::*;
use schemars::Schema;

use super::registry;

/// The same algorithm, which has hold of Python during runs in a world written in it: to take hold of it at every tick costs as
/// much as the call, on a thread that Python has not seen before.
pub(super) struct Holding(pub(super) Simulated);

impl Simulable for Holding {
    fn schema(&self) -> Schema {
        self.0.schema()
    }

    fn complete(&self, params: Params, read: ReadFile<'_>) -> Result<Params, RunError> {
        self.0.complete(params, read)
    }

    fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError> {
        self.0.outline(params, setting)
    }

    fn topology(&self, params: Params, setting: &Setting) -> Result<Option<Graph>, RunError> {
        self.0.topology(params, setting)
    }

    fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        if registry::get(request.scenario.environment.kind()).is_some() {
            // Other threads get their turn whenever the user's code runs.
            return Python::attach(|_| self.0.simulate(request));
        }
        self.0.simulate(request)
    }

    fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError> {
        self.0.simulate_in(params, place)
    }
}
