//! The environment `replay`: users take items again, as a dataset has it, and an algorithm guesses which.
//!
//! At a tick one event of the data comes up. Its user is offered the item that he took among others that he never took;
//! the reward is 1 for the item and 0 for any other. What is offered beside it is keyed by (seed, event), so that all
//! algorithms, and all orders, meet the same pools.

mod order;
mod selection;
#[cfg(test)]
mod tests;
mod world;

use std::sync::Arc;

use cahoots_core::{NodeId, ParamError, Setting};
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::files::{Files, Here};
use cahoots_sim::world::users::Layout;
use cahoots_sim::world::{World, WorldKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use order::Order;

use self::order::Timetable;
use self::selection::Selection;
use self::world::Replay;
use crate::datasets::{self, Dataset, Folder, Kind};
use crate::features::{Cache, Variant, features};
use crate::say::Told;

/// Users of a dataset who take items again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayParams {
    /// The folder of the dataset; `cahoots data check DIR` says what it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Hash of what is in it, which is filled in; whoever states it insists on that data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Which set it is; recognised by its files when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Kind>,
    /// How the words of items become features.
    pub features: Variant,
    /// Features of an item.
    #[schemars(range(min = 1, max = 1000))]
    pub dim: usize,
    /// Offers the same features as a user's own once more, for `async-linucb-am`: what all share, and what only this user likes.
    pub shared_features: bool,
    /// Items offered per decision: the one that was taken, and others that its user never took.
    #[schemars(range(min = 2, max = 100000))]
    pub arms: usize,
    /// Users with fewer events are left out.
    #[schemars(range(min = 1))]
    pub min_events: u64,
    /// Only so many users with the most events; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub top_users: Option<usize>,
    /// In which order events come up.
    pub order: Order,
    /// Local servers that users sit at, for algorithms of two levels; when absent, each user is on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub servers: Option<usize>,
    /// Which users sit at which server.
    pub layout: Layout,
    /// Sub-Gaussian scale of the noise that algorithms are told. Rewards are 0 or 1 whatever it says.
    #[schemars(range(min = 0.0, max = 1e100))]
    pub reward_noise: f64,
}

impl Default for ReplayParams {
    fn default() -> ReplayParams {
        ReplayParams {
            data: None,
            content: None,
            dataset: None,
            features: Variant::Gob,
            dim: 25,
            shared_features: false,
            arms: 25,
            min_events: 1,
            top_users: None,
            order: Order::Shuffled,
            servers: None,
            layout: Layout::Random,
            // Hoeffding's lemma: what lies in [0, 1] is 1/2-sub-Gaussian.
            reward_noise: 0.5,
        }
    }
}

/// Draws of this world, beside those that are keyed by an event.
#[derive(Clone, Copy)]
enum Part {
    Order = 1,
    Layout = 2,
}

impl Part {
    fn draw(self, seed: u64) -> Draw {
        Draw::keyed(seed, Purpose::World, self as u64, 0)
    }
}

impl WorldKind for ReplayParams {
    const NAME: &'static str = "replay";
    const SUMMARY: &'static str =
        "users of a dataset take items again, each offered among others that its user never took";

    fn read_files(self, files: &dyn Files) -> Result<ReplayParams, ParamError> {
        let Some(data) = &self.data else {
            self.set()?;
            return Ok(self);
        };
        let set = datasets::load(&Folder::new(files, data), self.dataset)
            .map_err(|error| ParamError::new("data", error.to_string()))?;
        if let Some(stated) = self.content.as_ref().filter(|stated| **stated != set.content) {
            let problem = format!("{data} holds other data: {}, not {stated}", set.content);
            return Err(ParamError::new("content", problem));
        }
        // The folder may be moved, and another machine has it elsewhere: it is what is in it that counts.
        let (content, dataset) = (Some(set.content.clone()), Some(set.kind));
        Ok(ReplayParams { data: None, content, dataset, ..self })
    }

    fn check(&self) -> Result<(), ParamError> {
        for (key, value, least, most) in [
            ("dim", self.dim, 1, 1000),
            ("arms", self.arms, 2, 100_000),
            ("top_users", self.top_users.unwrap_or(1), 1, usize::MAX),
            ("servers", self.servers.unwrap_or(1), 1, usize::MAX),
        ] {
            if value < least {
                return Err(ParamError::new(key, format!("must be at least {least}, not {value}")));
            }
            if value > most {
                return Err(ParamError::new(key, format!("must be at most {most}, not {value}")));
            }
        }
        if self.min_events == 0 {
            return Err(ParamError::new("min_events", "must be at least 1, not 0"));
        }
        if !(0.0..=1e100).contains(&self.reward_noise) {
            let problem = format!("must be 0 or more, not {}", self.reward_noise);
            return Err(ParamError::new("reward_noise", problem));
        }
        Ok(())
    }

    fn bytes(&self) -> f64 {
        let Ok(set) = self.set() else { return 0.0 };
        set.bytes() + 8.0 * (set.items.len() * self.dim) as f64 + 16.0 * set.events.len() as f64
    }

    fn ticks(&self) -> Result<Option<u64>, ParamError> {
        Ok(Some(self.selection(&*self.set()?)?.events.len() as u64))
    }

    fn build(&self, horizon: u64, seed: u64) -> Result<(Box<dyn World>, Arrivals), ParamError> {
        let set = self.set()?;
        let selection = self.selection(&set)?;
        let events = selection.events.len() as u64;
        if horizon > events {
            let problem = format!("there are {events} events: lower it, or leave it out for all of them");
            return Err(ParamError::new("horizon", problem));
        }
        if set.documents.words.is_empty() {
            let problem = "nothing was said of its items (no tags, no genres), so that they have no features";
            return Err(ParamError::new("data", problem));
        }
        let users = selection.users();
        if let Some(servers) = self.servers.filter(|servers| *servers > users) {
            let problem = format!("must be at most the number of users ({users}), not {servers}");
            return Err(ParamError::new("servers", problem));
        }
        let order = self.order.of(&set, &selection, &mut Part::Order.draw(seed))?;
        let mut setting = Setting::linear(users, self.dim, self.arms)
            .with_horizon(horizon)
            .with_reward_noise(self.reward_noise);
        if self.shared_features {
            setting = setting.with_local_dims(vec![self.dim; users]);
        }
        if let Some(servers) = self.servers {
            setting = setting.with_hosts(self.hosts(users, servers, seed));
        }
        let mut told =
            Told::new(format!("features of {} ({}, {})", set.kind.name(), self.features.name(), self.dim));
        let cache = Cache::usual_for(&set);
        let features = features(&set, self.features, self.dim, cache.as_ref(), &mut |round, residual| {
            told.now_and_then(|| format!("round {round}, residual {residual:.1e}"));
        });
        let timetable = Arc::new(Timetable { order, selection: selection.clone() });
        let arrivals = Arrivals::given(timetable.clone(), users);
        Ok((Box::new(Replay::new(setting, seed, set, selection, timetable, features)), arrivals))
    }
}

impl ReplayParams {
    /// The data: what was read before, or what is in the folder.
    fn set(&self) -> Result<Arc<Dataset>, ParamError> {
        if let Some(set) = self.content.as_deref().and_then(datasets::loaded) {
            return Ok(set);
        }
        match (&self.data, &self.content) {
            (Some(data), _) => {
                let set = datasets::load(&Folder::new(&Here, data), self.dataset);
                set.map_err(|error| ParamError::new("data", error.to_string()))
            }
            (None, Some(content)) => {
                let problem = format!("name the folder that holds {content}: data = \"DIR\"");
                Err(ParamError::new("data", problem))
            }
            (None, None) => Err(ParamError::new("data", "name the folder of a dataset: data = \"DIR\"")),
        }
    }

    fn selection(&self, set: &Dataset) -> Result<Arc<Selection>, ParamError> {
        Selection::of(set, self.min_events, self.top_users, self.arms)
    }

    /// The server of each user; all have equally many.
    fn hosts(&self, users: usize, servers: usize, seed: u64) -> Vec<NodeId> {
        let mut hosts: Vec<NodeId> =
            (0..users).map(|user| NodeId((user as u64 * servers as u64 / users as u64) as u32)).collect();
        if self.layout == Layout::Random {
            Part::Layout.draw(seed).shuffle(&mut hosts);
        }
        hosts
    }
}
