//! Worlds written in Python: asked once per tick, for all clients that act in it.

use std::sync::Arc;

use cahoots_core::{ArmBuffer, ArmIndex, LARGEST, NodeId, ParamError, Setting, Tick, UserId};
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::environment::Environment;
use cahoots_sim::world::{Pull, World};
use cahoots_sim::worlds::{AnyWorld, Built};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use schemars::Schema;

use super::convert::table_to_python;
use super::fault::{self, Running};
use super::registry::Entry;
use crate::error::InputError;

/// A registered world, as experiment files ask for it.
pub(super) struct WrittenWorld(pub(super) Arc<Entry>);

impl WrittenWorld {
    /// The keys, all of them.
    fn keys(&self, environment: &Environment) -> Result<toml::Table, ParamError> {
        let table = toml::Table::try_from(environment);
        let mut keys = table.map_err(|error| ParamError::unreadable(error.to_string()))?;
        keys.remove("kind");
        self.0.complete(keys)
    }
}

impl AnyWorld for WrittenWorld {
    fn schema(&self) -> Schema {
        Schema::try_from(self.0.schema.clone()).unwrap_or_default()
    }

    fn complete(&self, environment: &Environment) -> Result<Environment, ParamError> {
        Ok(Environment::new(self.0.name, self.keys(environment)?))
    }

    fn check(&self, environment: &Environment) -> Result<(), ParamError> {
        self.0.arrivals(&self.keys(environment)?).map(drop)
    }

    fn build(&self, environment: &Environment, horizon: u64, seed: u64) -> Built {
        let keys = self.keys(environment)?;
        let law = self.0.arrivals(&keys)?;
        fault::go_on();
        let made = Python::attach(|python| {
            let _running = Running::here(python)?;
            let arguments = table_to_python(python, &self.0.arguments(&keys))?;
            let build = self.0.definition.bind(python).getattr("build_world")?;
            let (clients, arms, dim, noise, step): Facts =
                build.call1((seed, horizon, arguments))?.extract()?;
            Ok((Setting::linear(clients, dim, arms).with_horizon(horizon).with_reward_noise(noise), step))
        });
        let (setting, step) = made.map_err(|error: PyErr| ParamError::unreadable(fault::keep(error)))?;
        if setting.users >= NodeId::SERVER.index() {
            return Err(ParamError::new("clients", "there are more clients than can be numbered"));
        }
        let arrivals = Arrivals::new(&law, setting.users, seed);
        let world = PythonWorld {
            name: self.0.name,
            setting,
            seed,
            step,
            arrivals: arrivals.clone(),
            tick: 0,
            users: Vec::new(),
            contexts: Vec::new(),
            means: Vec::new(),
            rewards: Rewards::Noise(0.0),
        };
        Ok((Box::new(world), arrivals))
    }
}

/// Clients, arms, features, noise, and what is called at each tick.
type Facts = (usize, usize, usize, f64, Py<PyAny>);

/// What a tick gave: features, expected rewards, rewards or their noise.
type Answer<'py> = (
    Option<PyReadonlyArrayDyn<'py, f64>>,
    PyReadonlyArrayDyn<'py, f64>,
    Option<Bound<'py, PyArrayDyn<f64>>>,
    f64,
);

/// What pulls pay.
enum Rewards {
    /// The expectation, and normal noise of this deviation.
    Noise(f64),
    /// These, arm by arm.
    Drawn(Vec<f64>),
}

/// A world whose code is a user's class.
struct PythonWorld {
    name: &'static str,
    setting: Setting,
    seed: u64,
    step: Py<PyAny>,
    arrivals: Arrivals,
    /// The tick of what is held, and for whom it is.
    tick: Tick,
    users: Vec<UserId>,
    contexts: Vec<f64>,
    means: Vec<f64>,
    rewards: Rewards,
}

impl PythonWorld {
    /// Holds the tick, and says where in it the user is.
    fn hold(&mut self, tick: Tick, user: UserId) -> usize {
        if tick != self.tick {
            let mut users = std::mem::take(&mut self.users);
            self.arrivals.at(tick, &mut users);
            self.ask(tick, users);
        }
        if let Ok(place) = self.users.binary_search(&user) {
            return place;
        }
        // Someone whom the arrivals do not name.
        self.ask(tick, vec![user]);
        0
    }

    fn ask(&mut self, tick: Tick, users: Vec<UserId>) {
        fault::go_on();
        self.users = users;
        Python::attach(|python| {
            if let Err(error) = self.answer(python, tick) {
                fault::leave(fault::note(python, error, &format!("in step of {:?}, tick {tick}", self.name)));
            }
        });
        self.tick = tick;
    }

    fn answer(&mut self, python: Python<'_>, tick: Tick) -> PyResult<()> {
        let _running = Running::here(python)?;
        let users = PyArray1::from_iter(python, self.users.iter().map(|user| i64::from(user.0)));
        let answer = self.step.bind(python).call1((tick, users))?;
        let (contexts, means, rewards, noise): Answer<'_> = answer.extract()?;
        self.contexts.clear();
        if let Some(contexts) = contexts {
            self.contexts.extend_from_slice(usable("contexts", self.name, contexts.as_slice()?)?);
        }
        self.means.clear();
        self.means.extend_from_slice(usable("means", self.name, means.as_slice()?)?);
        self.rewards = match rewards {
            Some(rewards) => {
                Rewards::Drawn(usable("rewards", self.name, rewards.readonly().as_slice()?)?.to_vec())
            }
            None => Rewards::Noise(noise),
        };
        Ok(())
    }
}

/// The numbers, if all of them can be learned from.
fn usable<'a>(what: &str, name: &str, numbers: &'a [f64]) -> PyResult<&'a [f64]> {
    match numbers.iter().find(|number| number.is_nan() || number.abs() > LARGEST) {
        None => Ok(numbers),
        Some(bad) => Err(InputError::new_err(format!(
            "step of {name:?} returned {what} with a {bad}: all must be finite numbers, at most {LARGEST:e}"
        ))),
    }
}

impl World for PythonWorld {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        let place = self.hold(tick, user);
        let (dim, count) = (self.setting.dim, self.setting.arms);
        arms.local.reset(0);
        if dim == 0 {
            arms.features.reset(0);
            arms.plain = count;
        } else {
            arms.features.fill(dim, self.contexts[place * count * dim..][..count * dim].chunks_exact(dim));
            arms.plain = 0;
        }
    }

    fn pull(&mut self, tick: Tick, user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let at = self.hold(tick, user) * self.setting.arms;
        let means = &self.means[at..][..self.setting.arms];
        let expected = means[arm.index()];
        let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let reward = match &self.rewards {
            Rewards::Drawn(rewards) => rewards[at + arm.index()],
            Rewards::Noise(deviation) => {
                let mut draw = Draw::keyed(self.seed, Purpose::RewardNoise, tick, user.0.into());
                expected + deviation * draw.normal()
            }
        };
        Pull { reward, expected, best, sides: None }
    }
}
