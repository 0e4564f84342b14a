//! The world of `replay`.

use std::sync::Arc;

use cahoots_core::{ArmBuffer, ArmIndex, Setting, Tick, UserId};
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::world::{Pull, World};

use super::order::Timetable;
use super::selection::Selection;
use crate::datasets::Dataset;
use crate::features::Features;

/// Events that come up one by one.
pub(super) struct Replay {
    setting: Setting,
    seed: u64,
    set: Arc<Dataset>,
    selection: Arc<Selection>,
    timetable: Arc<Timetable>,
    features: Arc<Features>,
    /// The tick whose pool is held.
    holds: Option<Tick>,
    pool: Vec<u32>,
    /// Where in the pool the item is that was taken.
    positive: usize,
}

impl Replay {
    pub(super) fn new(
        setting: Setting,
        seed: u64,
        set: Arc<Dataset>,
        selection: Arc<Selection>,
        timetable: Arc<Timetable>,
        features: Arc<Features>,
    ) -> Replay {
        let pool = Vec::with_capacity(setting.arms);
        Replay { setting, seed, set, selection, timetable, features, holds: None, pool, positive: 0 }
    }

    #[cfg(test)]
    pub(super) fn pool_of(&mut self, tick: Tick) -> (&[u32], usize) {
        self.hold(tick);
        (&self.pool, self.positive)
    }

    /// Draws the pool of a tick: the item that was taken, others that its user never took, in random order.
    fn hold(&mut self, tick: Tick) {
        if self.holds == Some(tick) {
            return;
        }
        let (event, user) = self.timetable.event(tick);
        let item = self.set.events[event as usize].item;
        let taken = self.selection.taken(user as usize);
        let mut draw = Draw::keyed(self.seed, Purpose::Arms, event.into(), 0);
        self.pool.clear();
        self.pool.push(item);
        let items = self.set.items.len();
        if 2 * (taken.len() + self.setting.arms) < items {
            while self.pool.len() < self.setting.arms {
                let other = draw.below(items as u64) as u32;
                if taken.binary_search(&other).is_err() && !self.pool.contains(&other) {
                    self.pool.push(other);
                }
            }
        } else {
            // Where most items are taken, chance alone would look for the others for long.
            let mut free: Vec<u32> =
                (0..items as u32).filter(|other| taken.binary_search(other).is_err()).collect();
            draw.shuffle(&mut free);
            self.pool.extend(&free[..self.setting.arms - 1]);
        }
        self.positive = draw.below(self.setting.arms as u64) as usize;
        self.pool.swap(0, self.positive);
        self.holds = Some(tick);
    }
}

impl World for Replay {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        self.hold(tick);
        let features = &self.features;
        let rows = || self.pool.iter().map(|item| features.of(*item as usize));
        arms.features.fill(features.dim, rows());
        if self.setting.local_dims.is_empty() {
            arms.local.reset(0);
        } else {
            arms.local.fill(features.dim, rows());
        }
        arms.plain = 0;
    }

    fn pull(&mut self, tick: Tick, _user: UserId, _arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        self.hold(tick);
        let reward = f64::from(arm.index() == self.positive);
        Pull { reward, expected: reward, best: 1.0, sides: None }
    }

    fn reward_range(&self) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }

    fn random_reward(&mut self, _tick: Tick, _user: UserId, arms: &ArmBuffer) -> Option<f64> {
        Some(1.0 / arms.features.len() as f64)
    }
}
