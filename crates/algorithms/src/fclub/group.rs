//! One global cluster at the global server: what its local clusters have uploaded, and who lags behind.

use std::sync::Arc;

use cahoots_core::{LinearStats, Misbehaviour, NodeId, View};
use serde::{Deserialize, Serialize};

use super::definite;
use crate::kit::linear::{DownloadIndex, Ratios, Standing};

/// A local cluster, by its server and its number there; from [`LEGACY`] on: one of a machine that is no more.
pub type Local = (NodeId, u32);

/// The first number of clusters that a local server left behind when it came back as a new machine.
pub(super) const LEGACY: u32 = 1 << 31;

/// S_g and u_g, and what of them each local cluster has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    ridge: f64,
    view: Arc<View>,
    locals: DownloadIndex<Local>,
}

/// A view that is due.
pub(super) struct Due {
    pub local: Local,
    pub view: Arc<View>,
    pub merged: u64,
}

/// How far a perturbed matrix may be from definite before it is no longer believed: times the ridge.
const MOST_SHIFT: f64 = 64.0;

impl Group {
    /// Everyone has the same view.
    pub(super) fn new(ridge: f64, ln_download: f64, view: Arc<View>) -> Self {
        Group { ridge, view, locals: DownloadIndex::new(Ratios::Same(ln_download)) }
    }

    /// A local cluster that has this group's view.
    pub(super) fn join(&mut self, local: Local) {
        self.place(local, Standing::with(self.view.clone(), 0));
    }

    /// A local cluster that has nothing yet.
    pub(super) fn join_with_nothing(&mut self, local: Local, dim: usize) {
        self.place(local, Standing::with(View::new(0, LinearStats::empty(dim)), 0));
    }

    /// What a local cluster has shared stays, under another number.
    pub(super) fn rename(&mut self, local: Local, to: Local) {
        self.locals.rename(local, to);
    }

    /// What a local cluster has shared is no longer part of it.
    pub(super) fn remove(&mut self, local: Local) {
        self.locals.remove(local);
    }

    /// Another sum, for everyone.
    pub(super) fn renew(&mut self, view: Arc<View>) -> Vec<Due> {
        self.view = view.clone();
        let receivers: Vec<(Local, u64)> = self
            .locals
            .receivers()
            .filter_map(|local| Some((local, self.locals.get(local)?.merged())))
            .collect();
        let place = |(local, merged): (Local, u64)| {
            self.place(local, Standing::with(view.clone(), merged));
            Due { local, view: view.clone(), merged }
        };
        receivers.into_iter().map(place).collect()
    }

    /// Downloads at another ratio from now on.
    pub(super) fn change(&mut self, ln_download: f64) {
        self.locals.change(Ratios::Same(ln_download));
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// What is on its matrix's diagonal.
    pub(super) fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Local clusters that share.
    pub fn members(&self) -> impl Iterator<Item = Local> {
        self.locals.receivers()
    }

    /// Servers that have a local cluster here.
    pub(super) fn clients(&self) -> Vec<NodeId> {
        let mut clients: Vec<NodeId> = self.members().map(|(server, _)| server).collect();
        clients.dedup();
        clients
    }

    fn place(&mut self, local: Local, standing: Standing) {
        // Noise may have made it indefinite: then it is served at once.
        let had = standing.log_det(self.ridge).unwrap_or(f64::NEG_INFINITY);
        self.locals.place(local, standing, had);
    }

    /// Line 4 of Algorithm 3; gives what had to be added to the diagonal. `Err` changes nothing.
    pub(super) fn upload(
        &mut self,
        local: Local,
        number: u64,
        stats: &LinearStats,
        version: u64,
        noisy: bool,
    ) -> Result<f64, Misbehaviour> {
        let standing = self.locals.get(local);
        let standing = standing.ok_or_else(|| Misbehaviour::Unexpected("an upload from elsewhere".into()))?;
        // Numbers between were refused; links lose none.
        if number <= standing.merged() {
            return Err(Misbehaviour::Gap { expected: standing.merged() + 1, got: number });
        }
        let mut sum = self.view.stats().clone();
        sum.merge(stats);
        let (view, shift) = definite_view(version, sum, self.ridge, noisy)?;
        let standing = if standing.is_at(&self.view) && shift == 0.0 {
            Standing::with(view.clone(), number)
        } else {
            standing.and(&stats.gram, number)
        };
        self.view = view;
        self.place(local, standing);
        Ok(shift)
    }

    /// Algorithm 4: a view for every local cluster whose determinant is too small by a factor of D.
    pub(super) fn serve(&mut self) -> Vec<Due> {
        let view = &self.view;
        let log_det = view.check(self.ridge).map_or(f64::NEG_INFINITY, |factor| factor.log_det());
        let mut served = Vec::new();
        self.locals.serve(view, log_det, true, |local, merged| {
            served.push(Due { local, view: view.clone(), merged });
        });
        served
    }
}

/// A view that can be factored. Noise may have made its matrix indefinite: then what it takes is added to the
/// diagonal, and returned.
pub(super) fn definite_view(
    version: u64,
    stats: LinearStats,
    ridge: f64,
    noisy: bool,
) -> Result<(Arc<View>, f64), Misbehaviour> {
    let view = View::new(version, stats);
    let Err(error) = view.check(ridge) else { return Ok((view, 0.0)) };
    if !noisy || matches!(error, Misbehaviour::NotFinite(_)) {
        return Err(error);
    }
    let mut stats = view.stats().clone();
    let (_, shift) = definite::model(&stats, ridge);
    if shift > MOST_SHIFT * ridge {
        return Err(error);
    }
    stats.gram.add_diagonal(shift);
    let view = View::new(version, stats);
    view.check(ridge)?;
    Ok((view, shift))
}
