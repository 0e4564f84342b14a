//! In which order events come up.

use std::sync::Arc;

use cahoots_core::{ParamError, Tick, UserId};
use cahoots_sim::arrivals::Schedule;
use cahoots_sim::draw::Draw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selection::Selection;
use crate::datasets::Dataset;

/// In which order events come up; each comes up once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All events in random order.
    #[default]
    Shuffled,
    /// At each tick a random user of those who have events left, and that user's next one in the order of the file.
    RandomUser,
    /// As they happened: what users like, and which items there are, then drifts as it did.
    Time,
}

impl Order {
    /// Places in the selection's list of events, in the order in which they come up.
    pub(super) fn of(
        self,
        set: &Dataset,
        selection: &Selection,
        draw: &mut Draw,
    ) -> Result<Vec<u32>, ParamError> {
        let mut places: Vec<u32> = (0..selection.events.len() as u32).collect();
        match self {
            Order::Shuffled => draw.shuffle(&mut places),
            Order::RandomUser => return Ok(by_random_users(selection, draw)),
            Order::Time if !set.timed => {
                let problem =
                    format!("{} has no times: use \"shuffled\" or \"random-user\"", set.kind.name());
                return Err(ParamError::new("order", problem));
            }
            // Stable: what happened at once stays in the order of the file.
            Order::Time => places.sort_by_key(|place| {
                let (event, _) = selection.events[*place as usize];
                set.events[event as usize].time
            }),
        }
        Ok(places)
    }
}

fn by_random_users(selection: &Selection, draw: &mut Draw) -> Vec<u32> {
    let mut own: Vec<Vec<u32>> = vec![Vec::new(); selection.users()];
    // Backwards, so that the next one is the last.
    for (place, (_, user)) in selection.events.iter().enumerate().rev() {
        own[*user as usize].push(place as u32);
    }
    let mut left: Vec<u32> = (0..selection.users() as u32).collect();
    let mut places = Vec::with_capacity(selection.events.len());
    while !left.is_empty() {
        let at = draw.below(left.len() as u64) as usize;
        let events = &mut own[left[at] as usize];
        places.extend(events.pop());
        if events.is_empty() {
            left.swap_remove(at);
        }
    }
    places
}

/// Who acts when.
#[derive(Debug)]
pub(super) struct Timetable {
    /// Places in the selection's list, tick by tick.
    pub(super) order: Vec<u32>,
    pub(super) selection: Arc<Selection>,
}

impl Timetable {
    /// Number of the event of a tick, and its user.
    pub(super) fn event(&self, tick: Tick) -> (u32, u32) {
        self.selection.events[self.order[tick as usize - 1] as usize]
    }
}

impl Schedule for Timetable {
    fn ticks(&self) -> u64 {
        self.order.len() as u64
    }

    fn at(&self, tick: Tick) -> UserId {
        UserId(self.event(tick).1)
    }
}
