//! The worlds that a program knows: a list that it is started with. Ours are the default.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

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
#[derive(Clone)]
pub struct KnownWorld {
    /// As `kind` says it in an experiment file.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    body: Arc<dyn AnyWorld>,
}

/// What a program asks of a kind of world whose type is gone. Every [`WorldKind`] is one; whoever makes worlds while a
/// program runs, in another language say, implements it by hand ([`KnownWorld::new`]).
pub trait AnyWorld: Send + Sync {
    /// Its keys: purpose, default, range.
    fn schema(&self) -> Schema;

    /// The environment with every default filled in.
    fn complete(&self, environment: &Environment) -> Result<Environment, ParamError>;

    /// The same, with what is in the files that it names.
    fn read_files(&self, environment: &Environment, _files: &dyn Files) -> Result<Environment, ParamError> {
        self.complete(environment)
    }

    /// Refuses what cannot be built, without drawing anything.
    fn check(&self, environment: &Environment) -> Result<(), ParamError>;

    /// The least memory that its world takes, in bytes; 0 where that is not known.
    fn bytes(&self, _environment: &Environment) -> Result<f64, ParamError> {
        Ok(0.0)
    }

    /// How many ticks there are, where that is not for an experiment to say.
    fn ticks(&self, _environment: &Environment) -> Result<Option<u64>, ParamError> {
        Ok(None)
    }

    /// The world of a seed, and who acts in it when.
    fn build(&self, environment: &Environment, horizon: u64, seed: u64) -> Built;
}

/// A world and who acts in it, or why there is none.
pub type Built = Result<(Box<dyn World>, Arrivals), ParamError>;

/// A kind that is a type.
struct ByType<W>(PhantomData<fn() -> W>);

impl<W: WorldKind> AnyWorld for ByType<W> {
    fn schema(&self) -> Schema {
        schema_for!(W)
    }

    fn complete(&self, environment: &Environment) -> Result<Environment, ParamError> {
        Environment::of(&environment.read::<W>()?)
    }

    fn read_files(&self, environment: &Environment, files: &dyn Files) -> Result<Environment, ParamError> {
        Environment::of(&environment.read::<W>()?.read_files(files)?)
    }

    fn check(&self, environment: &Environment) -> Result<(), ParamError> {
        environment.read::<W>()?.check()
    }

    fn bytes(&self, environment: &Environment) -> Result<f64, ParamError> {
        Ok(environment.read::<W>()?.bytes())
    }

    fn ticks(&self, environment: &Environment) -> Result<Option<u64>, ParamError> {
        let keys = environment.read::<W>()?;
        keys.check()?;
        keys.ticks()
    }

    fn build(&self, environment: &Environment, horizon: u64, seed: u64) -> Built {
        let keys = environment.read::<W>()?;
        keys.check()?;
        check::horizon(horizon)?;
        keys.build(horizon, seed)
    }
}

impl KnownWorld {
    fn of<W: WorldKind>() -> KnownWorld {
        KnownWorld::new(W::NAME, W::SUMMARY, Arc::new(ByType(PhantomData::<fn() -> W>)))
    }

    /// A kind that is no type.
    pub fn new(name: &'static str, summary: &'static str, body: Arc<dyn AnyWorld>) -> KnownWorld {
        KnownWorld { name, summary, body }
    }

    /// Its keys: purpose, default, range.
    pub fn schema(&self) -> Schema {
        self.body.schema()
    }
}

impl fmt::Debug for KnownWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownWorld").field("name", &self.name).finish_non_exhaustive()
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
        self.insert(KnownWorld::of::<W>())
    }

    /// Adds a kind whose type is gone.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn insert(&mut self, kind: KnownWorld) -> &mut Self {
        self.0.insert(kind.name, kind);
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
        self.kind_of(environment)?.body.complete(environment)
    }

    /// The environment with every default filled in, and with what is in the files that it names.
    pub fn read_files(
        &self,
        environment: &Environment,
        files: &dyn Files,
    ) -> Result<Environment, ParamError> {
        self.kind_of(environment)?.body.read_files(environment, files)
    }

    /// Refuses what cannot be built, without drawing anything.
    pub fn check(&self, environment: &Environment) -> Result<(), ParamError> {
        self.kind_of(environment)?.body.check(environment)
    }

    /// The least memory that a world takes, in bytes, before any is taken.
    pub fn bytes(&self, environment: &Environment) -> Result<f64, ParamError> {
        self.kind_of(environment)?.body.bytes(environment)
    }

    /// How many ticks there are, where the world knows.
    pub fn ticks(&self, environment: &Environment) -> Result<Option<u64>, ParamError> {
        self.kind_of(environment)?.body.ticks(environment)
    }

    /// The world of this seed, and who acts in it when.
    pub fn build(&self, environment: &Environment, horizon: u64, seed: u64) -> Built {
        self.kind_of(environment)?.body.build(environment, horizon, seed)
    }

    fn kind_of(&self, environment: &Environment) -> Result<&KnownWorld, ParamError> {
        self.get(environment.kind()).ok_or_else(|| {
            let known = self.names().collect::<Vec<_>>().join(", ");
            ParamError::new("kind", format!("there is no world {:?}; there are: {known}", environment.kind()))
        })
    }
}
