//! Algorithms written in Python: one type for all of them, which the simulator runs like any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{Algorithm, Custom, NodeId, ParamError, ReadFile, Seat, Seating, Seats, Setting};
use cahoots_sim::run::{Params, Report, RunError};
use cahoots_sim::simulated::{Outline, Place, Request, Simulable, run, run_in};
use pyo3::prelude::*;
use schemars::Schema;

use super::client::Client;
use super::fault::{self, Running};
use super::message::Note;
use super::object::{Object, Tools};
use super::registry::Entry;
use super::server::Server;

/// An algorithm whose code is a user's class.
pub(super) struct PythonAlgorithm;

/// One of them with its parameters, in its setting.
pub(super) struct Made {
    pub(super) entry: Arc<Entry>,
    /// With every default filled in.
    pub(super) params: Params,
    pub(super) setting: Setting,
    pub(super) clients: u32,
    pub(super) tools: Arc<Tools>,
}

impl Algorithm for PythonAlgorithm {
    const NAME: &'static str = "python";
    const SUMMARY: &'static str = "written in Python";
    type Params = BTreeMap<String, serde_json::Value>;
    type Valid = Arc<Made>;
    type Msg = Custom<Note>;
    type Client = Client;
    type Server = Server;

    fn check(_params: Self::Params, _setting: &Setting) -> Result<Self::Valid, ParamError> {
        Err(ParamError::unreadable("what is written in Python goes by its own name"))
    }

    fn seats(made: &Self::Valid, _setting: &Setting) -> Seating {
        made.entry.seating.clone()
    }

    fn client(made: &Self::Valid, seat: &Seat) -> Client {
        let object = Python::attach(|python| Object::make(python, made, seat));
        Client::new(object.unwrap_or_else(|error| fault::leave(error)), seat.me)
    }

    fn server(made: &Self::Valid, seat: &Seat) -> Server {
        let object = made.entry.server.as_ref().map(|_| {
            let object = Python::attach(|python| Object::make(python, made, seat));
            object.unwrap_or_else(|error| fault::leave(error))
        });
        Server(object)
    }
}

/// A registered algorithm, as the simulator asks for it.
pub(super) struct Written(pub(super) Arc<Entry>);

impl Written {
    fn made(&self, params: Params, setting: &Setting) -> Result<Arc<Made>, RunError> {
        let params = self.0.complete(params).map_err(RunError::Algorithm)?;
        let clients = self.0.seating.clients(setting) as u32;
        let tools = Python::attach(|python| Tools::new(python, clients, self.0.server.is_some()));
        let tools = tools.map_err(refused)?;
        Ok(Arc::new(Made { entry: self.0.clone(), params, setting: setting.clone(), clients, tools }))
    }
}

/// The complaint that stands for an exception.
fn refused(error: PyErr) -> RunError {
    RunError::Algorithm(ParamError::unreadable(fault::keep(error)))
}

impl Simulable for Written {
    fn schema(&self) -> Schema {
        Schema::try_from(self.0.schema.clone()).unwrap_or_default()
    }

    fn complete(&self, params: Params, _read: ReadFile<'_>) -> Result<Params, RunError> {
        self.0.complete(params).map_err(RunError::Algorithm)
    }

    fn outline(&self, params: Params, setting: &Setting) -> Result<Outline, RunError> {
        let made = self.made(params, setting)?;
        // What its constructors refuse is refused before anything runs.
        let seats = Seats::of::<PythonAlgorithm>(&made, setting);
        let tried = Python::attach(|python| {
            let _running = Running::here(python)?;
            Object::make(python, &made, &seats.seat(NodeId(0)))?;
            if made.entry.server.is_some() {
                Object::make(python, &made, &seats.seat(NodeId::SERVER))?;
            }
            Ok(())
        });
        tried.map_err(refused)?;
        Ok(Outline::of::<PythonAlgorithm>(&made, setting))
    }

    fn simulate(&self, request: Request<'_>) -> Result<Report, RunError> {
        // One hold of Python for the whole run: taking hold at every call would cost more than most calls.
        // Other threads get their turn whenever the user's code runs, as they do beside any Python code.
        Python::attach(|python| {
            let _running = Running::here(python).map_err(refused)?;
            run::<PythonAlgorithm>(request, |params, setting| self.made(params, setting))
        })
    }

    fn simulate_in(&self, params: Params, place: Place<'_>) -> Result<Report, RunError> {
        Python::attach(|python| {
            let _running = Running::here(python).map_err(refused)?;
            let made = self.made(params, place.world.setting())?;
            run_in::<PythonAlgorithm>(made, place)
        })
    }
}
