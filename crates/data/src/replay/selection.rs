//! The users of a set who take part, and their events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::ParamError;

use crate::datasets::Dataset;

/// Some users of a set, numbered anew from 0 in the order of their ids, and all that they took.
#[derive(Debug)]
pub(super) struct Selection {
    /// Numbers of events in the set, in the order of the file, and the user of each as numbered here.
    pub(super) events: Vec<(u32, u32)>,
    /// Where each user's items begin.
    starts: Vec<usize>,
    /// Items that a user took, each once, in order.
    taken: Vec<u32>,
}

type Known = BTreeMap<(String, u64, Option<usize>), Arc<Selection>>;

static MEMORY: Mutex<Known> = Mutex::new(BTreeMap::new());

impl Selection {
    /// Users with at least so many events, and of them those with the most; each must leave enough items untaken.
    pub(super) fn of(
        set: &Dataset,
        min_events: u64,
        top_users: Option<usize>,
        arms: usize,
    ) -> Result<Arc<Selection>, ParamError> {
        let key = (set.content.clone(), min_events, top_users);
        let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        let selection = match memory.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = Arc::new(Selection::new(set, min_events, top_users)?);
                memory.insert(key, made.clone());
                made
            }
        };
        drop(memory);
        let free = (0..selection.users()).map(|user| set.items.len() - selection.taken(user).len()).min();
        match free {
            Some(free) if free + 1 < arms => Err(ParamError::new(
                "arms",
                format!(
                    "must be at most {}: some user never took only {free} of the {} items",
                    free + 1,
                    set.items.len()
                ),
            )),
            _ => Ok(selection),
        }
    }

    fn new(set: &Dataset, min_events: u64, top_users: Option<usize>) -> Result<Selection, ParamError> {
        let mut counts = vec![0u64; set.users.len()];
        set.events.iter().for_each(|event| counts[event.user as usize] += 1);
        let mut chosen: Vec<usize> = (0..counts.len()).filter(|user| counts[*user] >= min_events).collect();
        if chosen.is_empty() {
            let most = counts.iter().max().copied().unwrap_or_default();
            let problem = format!("no user has so many events: the most that one has are {most}");
            return Err(ParamError::new("min_events", problem));
        }
        if let Some(top) = top_users {
            if top > chosen.len() {
                let problem = format!("there are {} users with at least {min_events} events", chosen.len());
                return Err(ParamError::new("top_users", problem));
            }
            // Of users with equally many, the first ones.
            chosen.sort_by_key(|user| (std::cmp::Reverse(counts[*user]), *user));
            chosen.truncate(top);
            chosen.sort_unstable();
        }
        let mut numbers = vec![None; counts.len()];
        for (number, user) in (0..).zip(&chosen) {
            numbers[*user] = Some(number);
        }
        let own = |(number, event): (usize, &crate::datasets::Event)| {
            Some((number as u32, numbers[event.user as usize]?))
        };
        let events: Vec<(u32, u32)> = set.events.iter().enumerate().filter_map(own).collect();
        let mut pairs: Vec<(u32, u32)> =
            events.iter().map(|(event, user)| (*user, set.events[*event as usize].item)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let starts =
            (0..=chosen.len()).map(|user| pairs.partition_point(|pair| (pair.0 as usize) < user)).collect();
        Ok(Selection { events, starts, taken: pairs.into_iter().map(|(_, item)| item).collect() })
    }

    /// How many users there are.
    pub(super) fn users(&self) -> usize {
        self.starts.len() - 1
    }

    /// The items that a user took, in order.
    pub(super) fn taken(&self, user: usize) -> &[u32] {
        &self.taken[self.starts[user]..self.starts[user + 1]]
    }
}
