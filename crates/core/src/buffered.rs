//! What a client knows: the last view it was sent, its own uploads that are not
//! in that view, and what it has not uploaded yet. Nothing is ever subtracted.
//!
//! The model is the running factor of all three. A reward moves it by a rank-one
//! update; a download only marks it stale, and it is made anew at its next use
//! (which is a pointer swap when the client has nothing of its own on top).

use std::collections::VecDeque;
use std::sync::Arc;

use cahoots_kernel::Factor;
use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::stats::LinearStats;
use crate::view::View;

/// Synced, in flight, pending; and the model of their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffered {
    ridge: f64,
    synced: Arc<View>,
    /// Own uploads that are not part of `synced`, oldest first, by number.
    in_flight: VecDeque<(u64, LinearStats)>,
    pending: LinearStats,
    /// Number of the last upload taken.
    uploads: u64,
    model: Model,
    /// log det of synced + in flight, with the ridge.
    base_log_det: f64,
    /// A download came that the model does not show yet.
    stale: bool,
}

/// A model and the number of observations behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Model {
    /// Nothing of one's own on top of a view.
    Shared(Arc<View>),
    /// A factor of one's own.
    Own(Box<Factor>, u64),
}

impl Buffered {
    /// Starts from a view (often one without data, shared by all clients).
    pub fn new(ridge: f64, synced: Arc<View>) -> Self {
        Buffered {
            ridge,
            base_log_det: synced.factor(ridge).log_det(),
            pending: synced.stats().emptied(),
            in_flight: VecDeque::new(),
            uploads: 0,
            model: Model::Shared(synced.clone()),
            synced,
            stale: false,
        }
    }

    /// The model as it stands, even if a download has made it stale.
    pub fn model(&self) -> &Factor {
        match &self.model {
            Model::Shared(view) => view.factor(self.ridge),
            Model::Own(factor, _) => factor,
        }
    }

    /// Observations behind [`Self::model`].
    pub fn model_count(&self) -> u64 {
        match &self.model {
            Model::Shared(view) => view.stats().count,
            Model::Own(_, count) => *count,
        }
    }

    /// Regularisation of the model.
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Brings the model up to date with the last download.
    pub fn refresh(&mut self) {
        if !self.stale {
            return;
        }
        self.stale = false;
        if self.in_flight.is_empty() && self.pending.is_empty() {
            self.base_log_det = self.synced.factor(self.ridge).log_det();
            self.model = Model::Shared(self.synced.clone());
            return;
        }
        let mut total = self.base_stats();
        let mut factor = match std::mem::replace(&mut self.model, Model::Shared(self.synced.clone())) {
            Model::Own(factor, _) => factor,
            Model::Shared(_) => Box::new(Factor::ridge(total.dim(), self.ridge)),
        };
        if self.pending.is_empty() {
            rebuild(&mut factor, &total, self.ridge);
            self.base_log_det = factor.log_det();
        } else {
            self.base_log_det = cahoots_kernel::log_det(total.gram.packed(), total.dim(), self.ridge)
                .expect("a sum of outer products and a ridge is positive definite");
            total.merge(&self.pending);
            rebuild(&mut factor, &total, self.ridge);
        }
        self.model = Model::Own(factor, total.count);
    }

    /// Learns from one observation: a rank-one update of an up-to-date model.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.refresh();
        self.pending.observe(x, reward);
        if let Model::Shared(view) = &self.model {
            self.model = Model::Own(Box::new(view.factor(self.ridge).clone()), view.stats().count);
        }
        let Model::Own(factor, count) = &mut self.model else { unreachable!("made one's own above") };
        factor.learn(x, reward);
        *count += 1;
    }

    /// Gain in log-det since the last upload: what upload events are about.
    pub fn pending_gain(&mut self) -> f64 {
        self.refresh();
        self.model().log_det() - self.base_log_det
    }

    /// Observations that are not uploaded yet.
    pub fn pending(&self) -> &LinearStats {
        &self.pending
    }

    /// Number of the last upload taken.
    pub fn uploads(&self) -> u64 {
        self.uploads
    }

    /// Uploads that the last view does not hold.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Takes what is pending as the next upload, and keeps it on top of the view
    /// until a download shows that it has been merged.
    pub fn take_upload(&mut self) -> (u64, LinearStats) {
        self.refresh();
        let empty = self.pending.emptied();
        let upload = std::mem::replace(&mut self.pending, empty);
        self.uploads += 1;
        self.base_log_det = self.model().log_det();
        if !upload.is_empty() {
            self.in_flight.push_back((self.uploads, upload.clone()));
        }
        (self.uploads, upload)
    }

    /// A download: an absolute view that holds this client's uploads up to
    /// number `merged`. An older view than the present one changes nothing.
    pub fn download(&mut self, view: Arc<View>, merged: u64) -> Result<(), Misbehaviour> {
        if merged > self.uploads {
            return Err(Misbehaviour::Gap { expected: self.uploads, got: merged });
        }
        view.stats().check(self.pending.dim(), !self.pending.contexts.is_empty())?;
        if view.version() < self.synced.version() {
            return Ok(());
        }
        view.check(self.ridge)?;
        while self.in_flight.front().is_some_and(|(number, _)| *number <= merged) {
            self.in_flight.pop_front();
        }
        self.synced = view;
        self.stale = true;
        Ok(())
    }

    /// The coordinator has merged uploads up to `number` without sending a view:
    /// they will only ever be confirmed together, so they need one entry.
    pub fn merged_up_to(&mut self, number: u64) -> Result<(), Misbehaviour> {
        if number > self.uploads {
            return Err(Misbehaviour::Gap { expected: self.uploads, got: number });
        }
        while self.in_flight.len() > 1 && self.in_flight[1].0 <= number {
            let (_, first) = self.in_flight.pop_front().expect("more than one");
            self.in_flight[0].1.merge(&first);
        }
        Ok(())
    }

    /// All this client knows, added up in fixed order.
    pub fn total(&self) -> LinearStats {
        let mut total = self.base_stats();
        total.merge(&self.pending);
        total
    }

    fn base_stats(&self) -> LinearStats {
        let mut base = self.synced.stats().clone();
        for (_, upload) in &self.in_flight {
            base.merge(upload);
        }
        base
    }
}

fn rebuild(factor: &mut Factor, stats: &LinearStats, ridge: f64) {
    factor
        .rebuild(stats.gram.packed(), &stats.moment, ridge)
        .expect("a sum of outer products and a ridge is positive definite");
}
