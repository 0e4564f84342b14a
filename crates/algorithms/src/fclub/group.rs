//! One global cluster at the global server: what its local clusters have uploaded, and who lags behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{LinearStats, Misbehaviour, NodeId, Symmetric, View, linalg};
use serde::{Deserialize, Serialize};

use super::definite;
use crate::kit::linear::Order;

/// A local cluster, by its server and its number there.
pub type Local = (NodeId, u32);

/// S_g and u_g. An upload costs two factorisations and the downloads it triggers, however many local clusters
/// there are: what each of them last had does not change when others upload, so it stands in an ordered index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    ridge: f64,
    ln_download: f64,
    view: Arc<View>,
    standings: BTreeMap<Local, Standing>,
    /// Local clusters by the log-det from which on they are served.
    due: BTreeSet<(Order, Local)>,
}

/// What a local cluster last had: S_g without its download buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Standing {
    view: Arc<View>,
    /// Its own uploads since that view.
    own: Option<Symmetric>,
    /// Its last merged upload.
    merged: u64,
    due: Order,
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
        Group { ridge, ln_download, view, standings: BTreeMap::new(), due: BTreeSet::new() }
    }

    /// A local cluster that has this group's view.
    pub(super) fn join(&mut self, local: Local) {
        let log_det = self.log_det();
        let view = self.view.clone();
        self.place(local, Standing { view, own: None, merged: 0, due: Order::of(0.0) }, log_det);
    }

    /// A local cluster that has nothing yet.
    pub(super) fn join_with_nothing(&mut self, local: Local, dim: usize) {
        let view = View::new(0, LinearStats::empty(dim));
        let had = view.check(self.ridge).map_or(f64::NEG_INFINITY, |factor| factor.log_det());
        self.place(local, Standing { view, own: None, merged: 0, due: Order::of(0.0) }, had);
    }

    /// What has been merged.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Local clusters that share.
    pub fn members(&self) -> impl Iterator<Item = Local> {
        self.standings.keys().copied()
    }

    fn log_det(&self) -> f64 {
        self.view.check(self.ridge).map_or(f64::NEG_INFINITY, |factor| factor.log_det())
    }

    fn place(&mut self, local: Local, mut standing: Standing, had: f64) {
        standing.due = Order::of(had + self.ln_download);
        self.due.insert((standing.due, local));
        if let Some(before) = self.standings.insert(local, standing.clone())
            && before.due != standing.due
        {
            self.due.remove(&(before.due, local));
        }
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
        let standing = self.standings.get(&local);
        let standing = standing.ok_or_else(|| Misbehaviour::Unexpected("an upload from elsewhere".into()))?;
        if number != standing.merged + 1 {
            return Err(Misbehaviour::Gap { expected: standing.merged + 1, got: number });
        }
        stats.check(self.view.stats().dim(), false)?;
        let mut sum = self.view.stats().clone();
        sum.merge(stats);
        let (view, shift) = definite_view(version, sum, self.ridge, noisy)?;
        let up_to_date = standing.own.is_none() && standing.view.version() == self.view.version();
        let (had_view, own, had) = if up_to_date && shift == 0.0 {
            (view.clone(), None, view.check(self.ridge)?.log_det())
        } else {
            let mut own = standing.own.clone().unwrap_or_else(|| Symmetric::zero(stats.dim()));
            own.add(&stats.gram);
            let mut gram = standing.view.stats().gram.clone();
            gram.add(&own);
            // Noise may have made it indefinite: then it is served at once.
            let had = linalg::log_det(&gram, self.ridge).unwrap_or(f64::NEG_INFINITY);
            (standing.view.clone(), Some(own), had)
        };
        self.view = view;
        self.place(local, Standing { view: had_view, own, merged: number, due: Order::of(0.0) }, had);
        Ok(shift)
    }

    /// Algorithm 4: a view for every local cluster whose determinant is too small by a factor of D.
    pub(super) fn serve(&mut self) -> Vec<Due> {
        let log_det = self.log_det();
        let now = Order::of(log_det);
        let lagging: Vec<Local> =
            self.due.iter().take_while(|(due, _)| *due <= now).map(|(_, l)| *l).collect();
        let mut served = Vec::new();
        for local in lagging {
            let Some(standing) = self.standings.get(&local) else { continue };
            if standing.own.is_none() && standing.view.version() == self.view.version() {
                continue;
            }
            let merged = standing.merged;
            let view = self.view.clone();
            self.place(local, Standing { view: view.clone(), own: None, merged, due: now }, log_det);
            served.push(Due { local, view, merged });
        }
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
