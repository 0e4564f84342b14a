//! A table as a world: at each tick one row, whose client decides.

use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::{ArmBuffer, ArmIndex, ParamError, Setting, Tick, UserId};
use cahoots_sim::arrivals::Schedule;
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::world::{Pull, World};

use super::cache::{Cached, Meta, Reader};
use super::keys::{ArmFeatures, MOST_ARMS, MOST_FEATURES, Order, TableParams};
use super::order::Permutation;

/// What is read at once where rows come in their order.
pub(super) const BLOCK: usize = 1 << 16;

/// How many arms and features there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Clients.
    pub clients: usize,
    /// Arms on offer, at most.
    pub offered: usize,
    /// Features of an arm.
    pub dim: usize,
}

impl Shape {
    /// Of a table with these keys, unless they would be too many.
    pub fn of(params: &TableParams, meta: &Meta) -> Result<Shape, ParamError> {
        let arms = meta.arms.len();
        let offered = match (meta.offered, params.pool) {
            (Some(most), _) => most,
            (None, Some(pool)) if pool > arms => {
                return Err(ParamError::new("pool", format!("there are {arms} arms: lower it")));
            }
            (None, Some(pool)) => pool,
            (None, None) => arms,
        };
        if offered > MOST_ARMS {
            let problem = format!("{arms} arms cannot all be on offer at once: pool = 25 offers so many");
            return Err(ParamError::new("pool", problem));
        }
        let context = meta.context.dim();
        let dim = match (&meta.arm_features, params.arm_features) {
            (Some(features), _) => features.len() / arms * context,
            (None, ArmFeatures::Disjoint) => arms * context,
            (None, ArmFeatures::Shared) => context,
            (None, ArmFeatures::None) => 0,
        };
        if dim > MOST_FEATURES {
            let (key, remedy) = match meta.arm_features {
                Some(_) => ("context", "name fewer columns of context, or leave some out of arms_file"),
                None => (
                    "label",
                    "name fewer columns of context, lower labels, or say arm_features = \"shared\" \
                                   and run disjoint-linucb, which has a model per arm",
                ),
            };
            let each = if meta.arm_features.is_some() { dim / context } else { arms };
            let problem = format!(
                "{context} features of the context for each of {each} {} are {dim}, and at most {MOST_FEATURES} can be \
                 learned from: {remedy}",
                if meta.arm_features.is_some() { "features of an arm" } else { "labels" }
            );
            return Err(ParamError::new(key, problem));
        }
        Ok(Shape { clients: meta.clients.unwrap_or_else(|| params.dealt()), offered, dim })
    }

    /// Memory of a world of it, in bytes.
    pub(super) fn bytes(&self, meta: &Meta) -> f64 {
        let table = meta.arm_features.as_ref().map_or(0, Vec::len) + self.offered * self.dim;
        BLOCK as f64 + 8.0 * table as f64
    }
}

/// Which row comes when, and its bytes.
#[derive(Debug)]
struct Source {
    order: Option<Permutation>,
    rows: u64,
    /// How many clients rows are dealt out to, where rows do not say.
    dealt: Option<usize>,
    reader: Mutex<Reader>,
}

impl Source {
    /// Looks at the row of a tick.
    ///
    /// # Panics
    /// If the file of rows cannot be read any more: there is no world then.
    fn look<T>(&self, tick: Tick, look: impl FnOnce(&[u8]) -> T) -> T {
        let place = tick.saturating_sub(1) % self.rows;
        let row = self.order.as_ref().map_or(place, |order| order.at(place));
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        match reader.row(row) {
            Ok(packed) => look(packed),
            Err(error) => panic!("row {row} of a table cannot be read any more: {error}"),
        }
    }
}

impl Schedule for Source {
    fn ticks(&self) -> u64 {
        self.rows
    }

    fn at(&self, tick: Tick) -> UserId {
        match self.dealt {
            Some(clients) => UserId((tick.saturating_sub(1) % clients as u64) as u32),
            None => UserId(self.look(tick, |row| word(row, 0))),
        }
    }
}

pub(super) fn word(packed: &[u8], at: usize) -> u32 {
    packed.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// The world of a table.
pub(super) struct TableWorld {
    setting: Setting,
    seed: u64,
    source: Arc<Source>,
    meta: Arc<Meta>,
    kind: ArmFeatures,
    pool: Option<usize>,
    /// The tick whose row the rest holds.
    holds: Option<Tick>,
    context: Vec<f64>,
    /// The arm that pays, and what.
    pays: (u32, f64),
    /// The arms on offer.
    offered: Vec<u32>,
    /// Their features, one arm after the other.
    features: Vec<f64>,
}

impl TableWorld {
    pub(super) fn new(
        params: &TableParams,
        cached: &Cached,
        meta: &Arc<Meta>,
        horizon: u64,
        seed: u64,
    ) -> Result<(TableWorld, Arc<dyn Schedule>), ParamError> {
        let shape = Shape::of(params, meta)?;
        if horizon > meta.rows {
            let problem = format!("the table has {} rows, and each comes once: lower it", meta.rows);
            return Err(ParamError::new("horizon", problem));
        }
        let (order, block) = match params.order {
            Order::File => (None, BLOCK),
            // Neighbours in the file do not come together.
            Order::Shuffled => (Some(Permutation::new(meta.rows, seed)), 1),
        };
        let reader = cached.reader(block).map_err(|error| {
            let problem = format!("its rows in {} are gone ({error}): run again", cached.path.display());
            ParamError::new("file", problem)
        })?;
        let dealt = meta.clients.is_none().then(|| params.dealt());
        let source = Arc::new(Source { order, rows: meta.rows, dealt, reader: Mutex::new(reader) });
        let setting = Setting::linear(shape.clients, shape.dim, shape.offered)
            .with_horizon(horizon)
            .with_reward_noise(params.reward_noise);
        let world = TableWorld {
            setting,
            seed,
            source: source.clone(),
            meta: meta.clone(),
            kind: params.arm_features,
            pool: params.pool.filter(|_| meta.offered.is_none()),
            holds: None,
            context: Vec::new(),
            pays: (0, 0.0),
            offered: (0..if meta.offered.is_some() { 0 } else { shape.offered as u32 }).collect(),
            features: Vec::new(),
        };
        Ok((world, source))
    }

    fn hold(&mut self, tick: Tick) {
        if self.holds.replace(tick) == Some(tick) {
            return;
        }
        let (meta, context, offered) = (&self.meta, &mut self.context, &mut self.offered);
        self.pays = self.source.look(tick, |row| {
            let mut at = 8;
            let reward = match meta.rewards {
                None => 1.0,
                Some(_) => {
                    at += 8;
                    row.get(8..16).and_then(|bytes| bytes.try_into().ok()).map_or(0.0, f64::from_le_bytes)
                }
            };
            if let Some(most) = meta.offered {
                offered.clear();
                offered.extend((0..most).map(|arm| word(row, at + 4 * arm)).filter(|arm| *arm != u32::MAX));
                at += 4 * most;
            }
            meta.context.unpack(&row[at..], context);
            (word(row, 4), reward)
        });
        if let Some(pool) = self.pool {
            self.draw_pool(tick, pool);
        }
        self.set_features();
    }

    /// The arm that pays among others, in random order.
    fn draw_pool(&mut self, tick: Tick, pool: usize) {
        let mut draw = Draw::keyed(self.seed, Purpose::Arms, tick, 0);
        let own = self.pays.0;
        self.offered.clear();
        self.offered.push(own);
        let others = self.meta.arms.len() as u64 - 1;
        // Floyd's way: each set of others is equally likely. Numbers from the own one on are one higher.
        for last in others - (pool as u64 - 1)..others {
            let arm = |number: u64| number as u32 + u32::from(number as u32 >= own);
            let drawn = arm(draw.below(last + 1));
            let new = if self.offered.contains(&drawn) { arm(last) } else { drawn };
            self.offered.push(new);
        }
        draw.shuffle(&mut self.offered);
    }

    /// The features of an arm, each times each feature of the context.
    fn set_features(&mut self) {
        let dim = self.setting.dim;
        self.features.clear();
        self.features.resize(self.offered.len() * dim, 0.0);
        if dim == 0 {
            return;
        }
        let width = self.context.len();
        for (arm, row) in self.offered.iter().zip(self.features.chunks_exact_mut(dim)) {
            let arm = *arm as usize;
            match (&self.meta.arm_features, self.kind) {
                (Some(features), _) => {
                    let own = dim / width;
                    for (block, feature) in row.chunks_exact_mut(width).zip(&features[arm * own..][..own]) {
                        block.iter_mut().zip(&self.context).for_each(|(out, seen)| *out = feature * seen);
                    }
                }
                (None, ArmFeatures::Disjoint) => row[arm * width..][..width].copy_from_slice(&self.context),
                (None, _) => row.copy_from_slice(&self.context),
            }
        }
    }
}

impl World for TableWorld {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        self.hold(tick);
        match self.setting.dim {
            0 => arms.plain = self.offered.len(),
            dim => arms.features.fill(dim, self.features.chunks_exact(dim)),
        }
    }

    fn pull(&mut self, tick: Tick, _user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        self.hold(tick);
        let (own, pays) = self.pays;
        let reward = if self.offered[arm.index()] == own { pays } else { 0.0 };
        // Another arm pays 0, where there is one.
        let best = if self.offered.len() > 1 { pays.max(0.0) } else { pays };
        Pull { reward, expected: reward, best, sides: None }
    }

    fn random_reward(&mut self, tick: Tick, _user: UserId, _arms: &ArmBuffer) -> Option<f64> {
        self.hold(tick);
        Some(self.pays.1 / self.offered.len() as f64)
    }

    fn reward_range(&self) -> Option<(f64, f64)> {
        let (least, most) = self.meta.rewards.unwrap_or((0.0, 1.0));
        Some((least.min(0.0), most.max(0.0)))
    }
}
