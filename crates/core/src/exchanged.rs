//! What a client has exchanged with its server: the last view it was sent, and its own uploads that are not
//! in that view. All of it has left the client, or came to it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::stats::LinearStats;
use crate::view::View;

/// A view and the uploads on top of it, as they were released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchanged {
    view: Arc<View>,
    /// Oldest first, by number.
    in_flight: VecDeque<(u64, LinearStats)>,
    /// Number of the last upload.
    uploads: u64,
    /// What the server would not merge, added up: known to this client alone.
    kept: Option<Box<LinearStats>>,
}

impl Exchanged {
    /// A view, and no uploads yet.
    pub fn new(view: Arc<View>) -> Self {
        Exchanged { view, in_flight: VecDeque::new(), uploads: 0, kept: None }
    }

    /// The last view.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Number of the last upload.
    pub fn uploads(&self) -> u64 {
        self.uploads
    }

    /// Uploads that the last view does not hold.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Observations in uploads that the last view does not hold.
    pub fn in_flight_count(&self) -> u64 {
        self.in_flight.iter().map(|(_, upload)| upload.count).sum()
    }

    /// The number of the next upload, which is on its way now; it is kept if there is anything in it.
    pub fn upload(&mut self, released: Option<LinearStats>) -> u64 {
        self.uploads += 1;
        self.in_flight.extend(released.map(|stats| (self.uploads, stats)));
        self.uploads
    }

    /// Refuses news of an upload that was never made.
    pub fn check_number(&self, number: u64) -> Result<(), Misbehaviour> {
        if number > self.uploads {
            return Err(Misbehaviour::Gap { expected: self.uploads, got: number });
        }
        Ok(())
    }

    /// A view that has been checked and holds the uploads up to number `merged`.
    pub fn download(&mut self, view: Arc<View>, merged: u64) {
        while self.in_flight.front().is_some_and(|(number, _)| *number <= merged) {
            self.in_flight.pop_front();
        }
        self.view = view;
    }

    /// A view from which to start again: it holds all that was uploaded.
    pub fn restart(&mut self, view: Arc<View>) {
        *self = Exchanged::new(view);
    }

    /// Uploads up to `number` have been merged without a view: they will only ever be confirmed together,
    /// so they need one entry. `Err` changes nothing.
    pub fn merged_up_to(&mut self, number: u64) -> Result<(), Misbehaviour> {
        self.check_number(number)?;
        while self.in_flight.len() > 1 && self.in_flight[1].0 <= number {
            let (_, first) = self.in_flight.pop_front().expect("more than one");
            self.in_flight[0].1.merge(&first);
        }
        Ok(())
    }

    /// The server will not merge upload `number`: what was in it stays on top of every view. Gives the
    /// number of its observations. `Err` changes nothing.
    pub fn refused(&mut self, number: u64) -> Result<u64, Misbehaviour> {
        self.check_number(number)?;
        let place = self.in_flight.iter().position(|(other, _)| *other == number);
        let Some((_, stats)) = place.and_then(|place| self.in_flight.remove(place)) else { return Ok(0) };
        let observations = stats.count;
        match &mut self.kept {
            Some(kept) => kept.merge(&stats),
            None => self.kept = Some(Box::new(stats)),
        }
        Ok(observations)
    }

    /// Something lies on top of every view to come, refused by the server.
    pub fn keeps_refused(&self) -> bool {
        self.kept.is_some()
    }

    /// There is nothing on top of the view.
    pub fn is_bare(&self) -> bool {
        self.in_flight.is_empty() && self.kept.is_none()
    }

    /// The view and the uploads on top of it, added up in fixed order.
    pub fn sum(&self) -> LinearStats {
        let mut sum = self.view.stats().clone();
        if let Some(kept) = &self.kept {
            sum.merge(kept);
        }
        for (_, upload) in &self.in_flight {
            sum.merge(upload);
        }
        sum
    }
}
