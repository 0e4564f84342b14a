//! Tables of one's own as worlds: a CSV or Parquet file, and keys that say which column is what.
//!
//! A file is read twice and written down once, as rows of the same width in a file outside of any checkout
//! ([`cache`]), from which any seed reads any row: memory does not grow with the table. The features of an arm are those
//! of the arm times those of the context, every one with every other; an arm without features of its own has a block
//! of the context to itself.

mod arms;
pub mod cache;
pub mod describe;
mod features;
mod keys;
mod order;
mod prepare;
mod profile;
#[cfg(test)]
mod tests;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::ParamError;
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::files::{Files, Located, hexadecimal};
use cahoots_sim::world::{World, WorldKind};
use sha2::{Digest as _, Sha256};

pub use self::features::{Feature, Features};
pub use self::keys::{
    ArmFeatures, Context, Form, MOST_ARMS, MOST_CLIENTS, MOST_FEATURES, Missing, Order, Others, Scale,
    TableParams,
};
pub use self::profile::Profile;
pub use self::world::Shape;

use self::cache::{Cached, Meta};
use self::world::TableWorld;

/// Part of the key of every file of rows: other rules, other files.
const VERSION: u32 = 2;

/// Tables that this process has opened, by key.
static OPENED: Mutex<BTreeMap<String, Table>> = Mutex::new(BTreeMap::new());

/// A table that was prepared.
#[derive(Clone, Debug)]
pub struct Table {
    cached: Arc<Cached>,
    meta: Arc<Meta>,
}

impl Table {
    /// What is known of it.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How many rows each client has, and in how many each arm pays.
    fn counts(&self) -> std::io::Result<(Vec<u64>, Vec<u64>)> {
        let mut clients = vec![0; self.meta.clients.unwrap_or(1)];
        let mut arms = vec![0; self.meta.arms.len()];
        let mut reader = self.cached.reader(world::BLOCK)?;
        for row in 0..self.meta.rows {
            let packed = reader.row(row)?;
            for (counts, at) in [(&mut clients, 0), (&mut arms, 4)] {
                if let Some(count) = counts.get_mut(world::word(packed, at) as usize) {
                    *count += 1;
                }
            }
        }
        Ok((clients, arms))
    }
}

impl TableParams {
    /// What the rows that are written down depend on, as a hash: not where files are, nor what is done with rows.
    fn key(&self) -> String {
        let plain = TableParams {
            file: String::new(),
            arms_file: None,
            clients: None,
            pool: None,
            arm_features: ArmFeatures::default(),
            order: Order::default(),
            reward_noise: 0.0,
            ..self.clone()
        };
        // Keys are in the order of the struct, and floats are written exactly.
        let text = serde_json::to_string(&(VERSION, plain)).unwrap_or_default();
        hexadecimal(&Sha256::digest(text.as_bytes())[..16])
    }

    /// The table, made if it must be.
    pub fn prepare(&self, file: &Located, arms_file: Option<&Located>) -> Result<Table, ParamError> {
        match self.opened() {
            Some(table) => Ok(table),
            None => {
                let folder = cache::folder();
                let cached = prepare::prepare(self, file, arms_file, &folder, &self.key())?;
                Ok(remember(self.key(), cached))
            }
        }
    }

    /// The table, if it was made before.
    fn opened(&self) -> Option<Table> {
        let key = self.key();
        let known = OPENED.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known
            .filter(|table| table.cached.path.exists())
            .or_else(|| Cached::open(&cache::folder(), &key).map(|cached| remember(key, cached)))
    }

    /// Whether files were read before, so that hashes stand for them and nothing names them any more.
    fn is_read(&self) -> bool {
        self.file.is_empty() && self.arms_file.is_none() && self.sha256.is_some()
    }

    /// The table of keys that were read.
    fn table(&self) -> Result<Table, ParamError> {
        let read = self.sha256.is_some() && (self.form != Form::Arms || self.arms_sha256.is_some());
        read.then(|| self.opened())
            .flatten()
            .ok_or_else(|| ParamError::new("file", "must be read first: name it in an experiment file"))
    }
}

fn remember(key: String, cached: Cached) -> Table {
    let table = Table { meta: Arc::new(cached.meta.clone()), cached: Arc::new(cached) };
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).insert(key, table.clone());
    table
}

/// Finds a file, which must be the one that a hash stands for if there is one.
fn locate(files: &dyn Files, key: &str, path: &str, stated: Option<&String>) -> Result<Located, ParamError> {
    let found =
        files.locate(path).map_err(|error| ParamError::new(key, format!("cannot read {path}: {error}")))?;
    if let Some(stated) = stated.filter(|stated| **stated != found.sha256) {
        let problem = format!(
            "{path} is another file than it was (sha256 {:.12} stated, {:.12} now): put the old one back, or leave \
             the hash out",
            stated, found.sha256
        );
        return Err(ParamError::new(key, problem));
    }
    Ok(found)
}

impl WorldKind for TableParams {
    const NAME: &'static str = "table";
    const SUMMARY: &'static str = "a table of your own (CSV, Parquet): rows are decisions";

    fn read_files(self, files: &dyn Files) -> Result<TableParams, ParamError> {
        self.check_numbers()?;
        if self.is_read() {
            self.table()?;
            return Ok(self);
        }
        self.check_roles()?;
        let file = locate(files, "file", &self.file, self.sha256.as_ref())?;
        let arms = match &self.arms_file {
            Some(path) => Some(locate(files, "arms_file", path, self.arms_sha256.as_ref())?),
            None => None,
        };
        // Files may be moved and renamed, and another machine has them elsewhere: it is what is in them that counts.
        let read = TableParams {
            file: String::new(),
            sha256: Some(file.sha256.clone()),
            arms_file: None,
            arms_sha256: arms.as_ref().map(|file| file.sha256.clone()),
            ..self
        };
        let table = read.prepare(&file, arms.as_ref())?;
        Shape::of(&read, table.meta())?;
        Ok(read)
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_numbers()
    }

    fn bytes(&self) -> f64 {
        let shape = self.table().and_then(|table| Ok(Shape::of(self, table.meta())?.bytes(table.meta())));
        shape.unwrap_or(0.0)
    }

    fn ticks(&self) -> Result<Option<u64>, ParamError> {
        Ok(Some(self.table()?.meta().rows))
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let table = self.table()?;
        let (world, schedule) = TableWorld::new(self, &table.cached, &table.meta, horizon, seed)?;
        let clients = world.setting().users;
        Ok((Box::new(world), Arrivals::given(schedule, clients)))
    }
}
