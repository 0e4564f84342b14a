//! What has been written in Python and given a name. A name that is given again means the later one: notebooks run their cells
//! twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::{ParamError, Seating};
use cahoots_lab::experiment::{Experiment, remedy};
use cahoots_sim::arrivals::ArrivalLaw;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::simulated::Simulated;
use cahoots_sim::worlds::KnownWorld;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value as Json;

use super::algorithm::Written;
use super::convert::to_toml;
use super::holding::Holding;
use super::object::Role;
use super::world::WrittenWorld;
use crate::error::InputError;

/// The hidden parameter that says which code it was.
const CODE: &str = "code";

/// One algorithm or world.
pub(crate) struct Entry {
    /// Its name in experiment files.
    pub(super) name: &'static str,
    summary: &'static str,
    /// JSON schema of its parameters.
    pub(super) schema: Json,
    defaults: toml::Table,
    /// Changes whenever the code does.
    pub(super) code: String,
    /// What makes objects of it.
    pub(super) definition: Py<PyAny>,
    pub(super) client: Role,
    /// None where nobody listens.
    pub(super) server: Option<Role>,
    pub(super) seating: Seating,
    world: bool,
}

static ALL: Mutex<BTreeMap<&'static str, Arc<Entry>>> = Mutex::new(BTreeMap::new());
static WORDS: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());

/// A text that stays. Catalogues want names that live as long as the program: each different one is leaked, once.
fn forever(text: String) -> &'static str {
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    words.entry(text.clone()).or_insert_with(|| Box::leak(text.into_boxed_str()))
}

fn all() -> Vec<Arc<Entry>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// What has this name.
pub(super) fn get(name: &str) -> Option<Arc<Entry>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// The names, and whether each is a world.
pub(super) fn names() -> Vec<(&'static str, bool)> {
    all().iter().map(|entry| (entry.name, entry.world)).collect()
}

/// Takes in what `cahoots.own` has made of a class.
pub(super) fn insert(definition: &Bound<'_, PyAny>) -> PyResult<()> {
    let entry = Entry::read(definition)?;
    let ours = cahoots_lab::catalogue();
    let taken = ours.algorithms.get(entry.name).is_some() || ours.worlds.get(entry.name).is_some();
    if taken {
        return Err(InputError::new_err(format!(
            "{:?} is a name of ours: give yours another one, my-{} say",
            entry.name, entry.name
        )));
    }
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let before = all.insert(entry.name, Arc::new(entry));
    // What was there may be code of Python: it ends when nothing is locked.
    drop(all);
    drop(before);
    Ok(())
}

/// Adds all that has been written in Python.
pub(crate) fn add(catalogue: &mut Catalogue) {
    let all = all();
    if all.iter().any(|entry| entry.world) {
        let ours = std::mem::take(&mut catalogue.algorithms);
        for known in ours.iter().cloned() {
            let (name, summary, membership) = (known.name, known.summary, known.membership);
            let holding = Simulated::new(name, summary, membership, Arc::new(Holding(known)));
            catalogue.algorithms.insert(name, holding);
        }
    }
    for entry in all {
        let (name, summary) = (entry.name, entry.summary);
        if entry.world {
            catalogue.worlds.insert(KnownWorld::new(name, summary, Arc::new(WrittenWorld(entry))));
        } else {
            let membership = "What is written in Python says it there: see its on_join and on_leave.";
            let simulated = Simulated::new(name, summary, membership, Arc::new(Written(entry)));
            catalogue.algorithms.insert(name, simulated);
        }
    }
}

/// Whether any of an experiment was written in Python: then one thread runs it, since Python has one lock.
pub(crate) fn involved(experiment: &Experiment) -> bool {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    experiment.entries.iter().any(|entry| {
        all.contains_key(entry.algorithm.as_str())
            || all.contains_key(entry.stage.scenario.environment.kind())
    })
}

impl Entry {
    fn read(definition: &Bound<'_, PyAny>) -> PyResult<Entry> {
        let text = |key: &str| definition.getattr(key)?.extract::<String>();
        let unreadable = |error: serde_json::Error| InputError::new_err(error.to_string());
        let mut schema: Json = serde_json::from_str(&text("schema")?).map_err(unreadable)?;
        let mut defaults = toml::Table::new();
        for (key, value) in definition.getattr("defaults")?.cast_into::<PyDict>()?.iter() {
            defaults.insert(key.extract()?, to_toml(&value)?);
        }
        let world = text("sort")? == "world";
        if world {
            let arrivals = to_toml(&definition.getattr("arrivals")?)?;
            add_arrivals(&mut schema, &arrivals);
            defaults.insert("arrivals".into(), arrivals);
        }
        let roles = definition.getattr("roles")?.cast_into::<PyDict>()?;
        let role = |name: &str| roles.get_item(name)?.map(|role| Role::read(&role)).transpose();
        let seating = match text("seating")?.as_str() {
            "central" => Seating::Central,
            "per-host" => Seating::PerHost,
            _ => Seating::PerUser,
        };
        let entry = Entry {
            name: forever(text("name")?),
            summary: forever(text("summary")?),
            schema,
            defaults,
            code: text("code")?,
            definition: definition.clone().unbind(),
            client: role("client")?.unwrap_or_default(),
            server: role("server")?,
            seating,
            world,
        };
        if world {
            entry.arrivals(&entry.defaults).map_err(|error| crate::error::params(&error))?;
        }
        Ok(entry)
    }

    /// Parameters with every default filled in, and with what tells this code from another under the same name.
    pub(super) fn complete(&self, mut given: toml::Table) -> Result<toml::Table, ParamError> {
        if let Some(code) = given.remove(CODE)
            && code.as_str() != Some(&self.code)
        {
            let problem = format!("these parameters belong to another version of {}'s code", self.name);
            return Err(ParamError::new(CODE, problem));
        }
        let nothing = serde_json::Map::new();
        let known = self.schema["properties"].as_object().unwrap_or(&nothing);
        let mut full = toml::Table::new();
        for (key, shape) in known {
            if let Some(value) = given.remove(key).or_else(|| self.defaults.get(key).cloned()) {
                full.insert(key.clone(), numbers(value, shape));
            } else if self.schema["required"].as_array().is_some_and(|keys| keys.iter().any(|one| one == key))
            {
                return Err(ParamError::new(key, format!("{} needs this: it has no default", self.name)));
            }
        }
        if let Some(stranger) = given.keys().next() {
            let help = remedy(stranger, known.keys().map(String::as_str));
            return Err(ParamError::new(stranger, format!("{} does not know this: {help}", self.name)));
        }
        full.insert(CODE.into(), self.code.clone().into());
        Ok(full)
    }

    /// Parameters as they are given to the class.
    pub(super) fn arguments(&self, complete: &toml::Table) -> toml::Table {
        let hidden = |key: &String| key == CODE || self.world && key == "arrivals";
        complete
            .iter()
            .filter(|(key, _)| !hidden(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Who acts when, as a world's keys say it.
    pub(super) fn arrivals(&self, keys: &toml::Table) -> Result<ArrivalLaw, ParamError> {
        let law = keys.get("arrivals").cloned().unwrap_or_else(|| "uniform".into());
        let unreadable = |error: toml::de::Error| ParamError::new("arrivals", error.message().trim());
        let law: ArrivalLaw = law.try_into().map_err(unreadable)?;
        law.check()?;
        Ok(law)
    }
}

/// Whole numbers where any number is taken are numbers like others: 1 and 1.0 are one parameter.
fn numbers(value: toml::Value, shape: &Json) -> toml::Value {
    let takes = |wanted: &str| {
        let one = |shape: &Json| shape["type"] == wanted;
        one(shape) || shape["anyOf"].as_array().is_some_and(|shapes| shapes.iter().any(one))
    };
    match value {
        toml::Value::Integer(whole) if takes("number") && !takes("integer") => {
            toml::Value::Float(whole as f64)
        }
        toml::Value::Array(items) => {
            toml::Value::Array(items.into_iter().map(|item| numbers(item, &shape["items"])).collect())
        }
        other => other,
    }
}

/// Every world has the key that says who acts when.
fn add_arrivals(schema: &mut Json, default: &toml::Value) {
    let mut law = schemars::schema_for!(ArrivalLaw).to_value();
    if let Some(shared) = law.as_object_mut().and_then(|law| law.remove("$defs")) {
        schema["$defs"] = shared;
    }
    law["description"] = "Who acts at a tick.".into();
    law["default"] = cahoots_lab::experiment::to_json(default);
    schema["properties"]["arrivals"] = law;
}
