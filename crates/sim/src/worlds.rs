//! The worlds that a program knows: a list that it is started with. Ours are the default.

use cahoots_core::{ParamError, Registry};
use schemars::{Schema, schema_for};

use crate::arrivals::Arrivals;
use crate::environment::Environment;
use crate::files::Files;
use crate::world::arms::ArmsParams;
use crate::world::clustered::ClusteredParams;
use crate::world::linear::LinearParams;
use crate::world::split::SplitParams;
use crate::world::users::UsersParams;
use crate::world::{World, WorldKind, check};

/// One kind of world without its type.
#[derive(Clone, Copy, Debug)]
pub struct KnownWorld {
    /// As `kind` says it in an experiment file.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    schema: fn() -> Schema,
    complete: fn(&Environment) -> Result<Environment, ParamError>,
    read_files: fn(&Environment, &dyn Files) -> Result<Environment, ParamError>,
    check: fn(&Environment) -> Result<(), ParamError>,
    bytes: fn(&Environment) -> Result<f64, ParamError>,
    ticks: fn(&Environment) -> Result<Option<u64>, ParamError>,
    build: Build,
}

type Build = fn(&Environment, u64, u64) -> Result<(Box<dyn World>, Arrivals), ParamError>;

impl KnownWorld {
    fn of<W: WorldKind>() -> KnownWorld {
        KnownWorld {
            name: W::NAME,
            summary: W::SUMMARY,
            schema: || schema_for!(W),
            complete: |environment| Environment::of(&environment.read::<W>()?),
            read_files: |environment, files| Environment::of(&environment.read::<W>()?.read_files(files)?),
            check: |environment| environment.read::<W>()?.check(),
            bytes: |environment| Ok(environment.read::<W>()?.bytes()),
            ticks: |environment| {
                let keys = environment.read::<W>()?;
                keys.check()?;
                keys.ticks()
            },
            build: |environment, horizon, seed| {
                let keys = environment.read::<W>()?;
                keys.check()?;
                check::horizon(horizon)?;
                keys.build(horizon, seed)
            },
        }
    }

    /// Its keys: purpose, default, range.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }
}

/// Kinds of worlds by name.
#[derive(Clone, Debug, Default)]
pub struct Worlds(Registry<KnownWorld>);

impl Worlds {
    /// Ours.
    pub fn ours() -> Worlds {
        let mut list = Worlds::default();
        list.add::<LinearParams>();
        list.add::<ClusteredParams>();
        list.add::<SplitParams>();
        list.add::<UsersParams>();
        list.add::<ArmsParams>();
        list
    }

    /// Adds a kind.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn add<W: WorldKind>(&mut self) -> &mut Self {
        self.0.insert(W::NAME, KnownWorld::of::<W>());
        self
    }

    /// All names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.0.names()
    }

    /// All kinds, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &KnownWorld> {
        self.0.iter()
    }

    /// The kind of this name.
    pub fn get(&self, name: &str) -> Option<&KnownWorld> {
        self.0.get(name)
    }

    /// The environment with every default filled in.
    pub fn complete(&self, environment: &Environment) -> Result<Environment, ParamError> {
        (self.kind_of(environment)?.complete)(environment)
    }

    /// The environment with every default filled in, and with what is in the files that it names.
    pub fn read_files(
        &self,
        environment: &Environment,
        files: &dyn Files,
    ) -> Result<Environment, ParamError> {
        (self.kind_of(environment)?.read_files)(environment, files)
    }

    /// Refuses what cannot be built, without drawing anything.
    pub fn check(&self, environment: &Environment) -> Result<(), ParamError> {
        (self.kind_of(environment)?.check)(environment)
    }

    /// The least memory that a world takes, in bytes, before any is taken.
    pub fn bytes(&self, environment: &Environment) -> Result<f64, ParamError> {
        (self.kind_of(environment)?.bytes)(environment)
    }

    /// How many ticks there are, where the world knows.
    pub fn ticks(&self, environment: &Environment) -> Result<Option<u64>, ParamError> {
        (self.kind_of(environment)?.ticks)(environment)
    }

    /// The world of this seed, and who acts in it when.
    pub fn build(
        &self,
        environment: &Environment,
        horizon: u64,
        seed: u64,
    ) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        (self.kind_of(environment)?.build)(environment, horizon, seed)
    }

    fn kind_of(&self, environment: &Environment) -> Result<&KnownWorld, ParamError> {
        self.get(environment.kind()).ok_or_else(|| {
            let known = self.names().collect::<Vec<_>>().join(", ");
            ParamError::new("kind", format!("there is no world {:?}; there are: {known}", environment.kind()))
        })
    }
}
