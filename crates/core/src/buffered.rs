//! What a client knows: what it has [`Exchanged`] with its server, and what it has
//! not uploaded yet. Nothing is ever subtracted.
//!
//! The model is the running factor of all three. A reward moves it by a rank-one
//! update; a download only marks it stale, and it is made anew at its next use
//! (which is a pointer swap when the client has nothing of its own on top).

use std::sync::Arc;

use cahoots_kernel::Factor;
use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::exchanged::Exchanged;
use crate::stats::LinearStats;
use crate::view::View;

/// Synced, in flight, pending; and the model of their sum.
///
/// ```
/// use cahoots_core::{Buffered, LinearStats, View};
///
/// let mut client = Buffered::new(1.0, View::new(0, LinearStats::empty(2)));
/// client.observe(&[1.0, 0.0], 0.5);
/// let (number, upload) = client.take_upload();
/// assert_eq!((number, client.in_flight()), (1, 1));
/// // The coordinator's view holds it now: it no longer lies on top.
/// client.download(View::new(1, upload), number).unwrap();
/// assert_eq!((client.in_flight(), client.total().count), (0, 1));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffered {
    ridge: f64,
    /// Synced and in flight.
    exchanged: Exchanged,
    /// Not uploaded yet; made with the first observation, so that idle clients cost nothing.
    pending: Option<LinearStats>,
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
            pending: None,
            model: Model::Shared(synced.clone()),
            exchanged: Exchanged::new(synced),
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
        let synced = self.exchanged.view();
        if self.exchanged.is_bare() && self.pending.is_none() {
            self.base_log_det = synced.factor(self.ridge).log_det();
            self.model = Model::Shared(synced.clone());
            return;
        }
        let mut total = self.exchanged.sum();
        let mut factor = match std::mem::replace(&mut self.model, Model::Shared(synced.clone())) {
            Model::Own(factor, _) => factor,
            Model::Shared(_) => Box::new(Factor::ridge(total.dim(), self.ridge)),
        };
        if let Some(pending) = &self.pending {
            self.base_log_det = cahoots_kernel::log_det(total.gram.packed(), total.dim(), self.ridge)
                .expect("a sum of outer products and a ridge is positive definite");
            total.merge(pending);
            rebuild(&mut factor, &total, self.ridge);
        } else {
            rebuild(&mut factor, &total, self.ridge);
            self.base_log_det = factor.log_det();
        }
        self.model = Model::Own(factor, total.count);
    }

    /// Learns from one observation: a rank-one update of an up-to-date model.
    pub fn observe(&mut self, x: &[f64], reward: f64) {
        self.refresh();
        let synced = self.exchanged.view();
        self.pending.get_or_insert_with(|| synced.stats().emptied()).observe(x, reward);
        if let Model::Shared(view) = &self.model {
            self.model = Model::Own(Box::new(view.factor(self.ridge).clone()), view.stats().count);
        }
        let Model::Own(factor, count) = &mut self.model else { unreachable!("made one's own above") };
        factor.learn(x, reward);
        *count += 1;
    }

    /// Learns from many observations at once, given as their sums; the model is made anew.
    pub fn observe_all(&mut self, observations: &LinearStats) {
        self.refresh();
        let synced = self.exchanged.view();
        self.pending.get_or_insert_with(|| synced.stats().emptied()).merge(observations);
        let total = self.total();
        let synced = self.exchanged.view();
        let mut factor = match std::mem::replace(&mut self.model, Model::Shared(synced.clone())) {
            Model::Own(factor, _) => factor,
            Model::Shared(_) => Box::new(Factor::ridge(total.dim(), self.ridge)),
        };
        rebuild(&mut factor, &total, self.ridge);
        self.model = Model::Own(factor, total.count);
    }

    /// Gain in log-det since the last upload: what upload events are about.
    pub fn pending_gain(&mut self) -> f64 {
        self.refresh();
        self.model().log_det() - self.base_log_det
    }

    /// Gain in log-det over the last view, uploads that it does not hold included.
    pub fn unsynced_gain(&mut self) -> f64 {
        self.refresh();
        self.model().log_det() - self.exchanged.view().factor(self.ridge).log_det()
    }

    /// Number of own observations that the last view does not hold.
    pub fn unsynced_count(&self) -> u64 {
        self.exchanged.in_flight_count() + self.pending_count()
    }

    /// The last view, without anything of one's own on top.
    pub fn synced(&self) -> &Arc<View> {
        self.exchanged.view()
    }

    /// Something lies on top of every view to come: the server would not merge it.
    pub fn keeps_refused(&self) -> bool {
        self.exchanged.keeps_refused()
    }

    /// Version of the last view.
    pub fn version(&self) -> u64 {
        self.exchanged.view().version()
    }

    /// Number of observations that are not uploaded yet.
    pub fn pending_count(&self) -> u64 {
        self.pending.as_ref().map_or(0, |pending| pending.count)
    }

    /// Number of the last upload taken.
    pub fn uploads(&self) -> u64 {
        self.exchanged.uploads()
    }

    /// Uploads that the last view does not hold.
    pub fn in_flight(&self) -> usize {
        self.exchanged.in_flight()
    }

    /// Takes what is pending as the next upload, and keeps it on top of the view
    /// until a download shows that it has been merged.
    pub fn take_upload(&mut self) -> (u64, LinearStats) {
        if !self.stale {
            self.base_log_det = self.model().log_det();
        }
        let upload = self.pending.take();
        let number = self.exchanged.upload(upload.clone());
        (number, upload.unwrap_or_else(|| self.exchanged.view().stats().emptied()))
    }

    /// A download: an absolute view that holds this client's uploads up to
    /// number `merged`. An older view than the present one changes nothing.
    pub fn download(&mut self, view: Arc<View>, merged: u64) -> Result<(), Misbehaviour> {
        self.exchanged.check_number(merged)?;
        let present = self.exchanged.view();
        view.stats().check_shape(present.stats().dim(), !present.stats().contexts.is_empty())?;
        if view.version() < present.version() {
            return Ok(());
        }
        view.check(self.ridge)?;
        self.exchanged.download(view, merged);
        self.stale = true;
        Ok(())
    }

    /// The coordinator has merged uploads up to `number` without sending a view:
    /// they will only ever be confirmed together, so they need one entry.
    pub fn merged_up_to(&mut self, number: u64) -> Result<(), Misbehaviour> {
        self.exchanged.merged_up_to(number)
    }

    /// The coordinator will not merge upload `number`: it stays on top of every view, and counts as unsynced
    /// no more. Gives the number of its observations.
    pub fn refused(&mut self, number: u64) -> Result<u64, Misbehaviour> {
        self.exchanged.refused(number)
    }

    /// All this client knows, added up in fixed order.
    pub fn total(&self) -> LinearStats {
        let mut total = self.exchanged.sum();
        if let Some(pending) = &self.pending {
            total.merge(pending);
        }
        total
    }
}

fn rebuild(factor: &mut Factor, stats: &LinearStats, ridge: f64) {
    factor
        .rebuild(stats.gram.packed(), &stats.moment, ridge)
        .expect("a sum of outer products and a ridge is positive definite");
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::{Keys, NodeId, Stream};

    const RIDGE: f64 = 0.3;

    fn nothing() -> Arc<View> {
        View::new(0, LinearStats::empty(4))
    }

    fn context(rng: &mut Stream) -> Vec<f64> {
        (0..4).map(|_| rng.normal()).collect()
    }

    /// A coordinator in miniature: merges in order, sends views late, repeated or never.
    struct Miniature {
        merged: LinearStats,
        version: u64,
        last: u64,
        queue: VecDeque<(u64, LinearStats)>,
    }

    /// Whatever the schedule, what a client knows is the last view plus its own
    /// uploads that are not in it plus what is pending: every observation once.
    #[test]
    fn local_is_view_plus_own_unmerged_under_random_schedules() {
        for seed in 0..60 {
            let mut rng = Keys::from_seed(seed).policy(NodeId(0), 0);
            let mut client = Buffered::new(RIDGE, nothing());
            let mut server =
                Miniature { merged: LinearStats::empty(4), version: 0, last: 0, queue: VecDeque::new() };
            let (mut own, mut others_seen, mut others) = (0u64, 0u64, 0u64);
            for _ in 0..200 {
                match rng.below(6) {
                    0..=2 => {
                        client.observe(&context(&mut rng), rng.normal());
                        own += 1;
                    }
                    3 => server.queue.push_back(client.take_upload()),
                    4 => {
                        // Another client's data, then some of our uploads in order.
                        server.merged.observe(&context(&mut rng), 1.0);
                        others += 1;
                        if let Some((number, stats)) = server.queue.pop_front() {
                            server.merged.merge(&stats);
                            server.last = number;
                            client.merged_up_to(number).unwrap();
                        }
                        server.version += 1;
                    }
                    _ => {
                        let view = View::new(server.version, server.merged.clone());
                        client.download(view.clone(), server.last).unwrap();
                        client.download(view, server.last).unwrap();
                        others_seen = others;
                    }
                }
                assert_eq!(client.total().count, own + others_seen, "seed {seed}");
                client.refresh();
                let total = client.total();
                let exact = Factor::of(total.gram.packed(), &total.moment, RIDGE).unwrap();
                let close = (client.model().log_det() - exact.log_det()).abs();
                assert!(close < 1e-9 && client.model_count() == total.count, "seed {seed}: {close}");
            }
        }
    }

    #[test]
    fn gains_count_from_the_last_upload_or_from_the_last_view() {
        let mut client = Buffered::new(RIDGE, nothing());
        client.observe(&[1.0, 0.0, 0.0, 0.0], 1.0);
        // ln(1 + 1 / ridge)
        assert!((client.pending_gain() - libm::log1p(1.0 / RIDGE)).abs() < 1e-12);
        client.take_upload();
        assert_eq!(client.pending_gain(), 0.0);
        client.observe(&[0.0, 1.0, 0.0, 0.0], 1.0);
        assert_eq!((client.pending_count(), client.unsynced_count()), (1, 2));
        assert!((client.unsynced_gain() - 2.0 * client.pending_gain()).abs() < 1e-12);
    }

    #[test]
    fn many_observations_at_once_are_pending_like_single_ones() {
        let mut rng = Keys::from_seed(3).policy(NodeId(0), 0);
        let mut others = LinearStats::empty(4);
        others.observe(&context(&mut rng), 1.0);
        let (mut single, mut many) = (Buffered::new(RIDGE, nothing()), Buffered::new(RIDGE, nothing()));
        for client in [&mut single, &mut many] {
            client.observe(&[0.1, 0.2, 0.3, 0.4], 0.5);
            client.take_upload();
            client.download(View::new(1, others.clone()), 0).unwrap();
        }
        let mut sums = LinearStats::empty(4);
        for _ in 0..5 {
            let (x, reward) = (context(&mut rng), rng.normal());
            single.observe(&x, reward);
            sums.observe(&x, reward);
        }
        many.observe_all(&sums);
        assert_eq!((many.total(), many.pending_count()), (single.total(), 5));
        assert_eq!(many.model_count(), single.model_count());
        assert!((many.pending_gain() - single.pending_gain()).abs() < 1e-12);
        assert_eq!(many.take_upload().1, sums);
    }

    #[test]
    fn a_download_costs_nothing_until_the_model_is_used() {
        let mut client = Buffered::new(RIDGE, nothing());
        let before = client.model().clone();
        let mut stats = LinearStats::empty(4);
        stats.observe(&[1.0, 2.0, 0.0, 0.0], 1.0);
        client.download(View::new(1, stats), 0).unwrap();
        assert_eq!(client.model(), &before);
        client.refresh();
        assert_ne!(client.model(), &before);
    }

    #[test]
    fn impossible_downloads_change_nothing() {
        let mut client = Buffered::new(RIDGE, nothing());
        client.observe(&[1.0, 0.0, 0.0, 0.0], 1.0);
        let before = client.clone();
        assert!(client.download(nothing(), 1).is_err(), "confirms an upload that was never made");
        assert!(client.download(View::new(1, LinearStats::empty(3)), 0).is_err());
        let mut indefinite = LinearStats::empty(4);
        indefinite.gram.add_diagonal(-1.0);
        assert!(client.download(View::new(1, indefinite), 0).is_err());
        assert!(client.merged_up_to(2).is_err());
        assert_eq!(client, before);
    }
}
