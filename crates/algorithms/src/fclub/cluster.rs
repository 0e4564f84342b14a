//! One local cluster of users: what it shares, what it keeps back, how it decides.

use std::sync::Arc;

use cahoots_core::policy::pick_open;
use cahoots_core::{
    ArmSet, Cx, Exchanged, Factor, LinearStats, Misbehaviour, Picked, Private, Scores, Unprotected, View,
};
use cahoots_privacy::{Privatizer, ReleaseKind};
use serde::{Deserialize, Serialize};

use super::definite;
use super::message::FclubMsg;
use super::params::Shift;
use super::radius::GlobalCluster;
use super::rules::Rules;

/// S, dS, and what they are made of. S (`base`) is the last view and the uploads that it does not hold; it
/// consists of released statistics alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LocalCluster {
    /// Positions of its users in their server's list.
    users: Vec<u32>,
    global: GlobalCluster,
    /// The one it will be part of with the view that has been announced.
    announced: Option<GlobalCluster>,
    /// It has reported, and does not know yet where it belongs.
    waiting: bool,
    exchanged: Exchanged,
    base: LinearStats,
    model: Factor,
    /// Of S + dS.
    ahead: Factor,
    stale: bool,
    /// Observations since the last release: the open leaf.
    open: LinearStats,
    /// Part of a report, but of no upload yet.
    unsent: LinearStats,
    /// All closed leaves.
    total: LinearStats,
    privatizer: Option<Privatizer>,
    /// Models that needed a shift, and the largest one.
    shifts: u64,
    largest_shift: f64,
}

impl LocalCluster {
    /// All users of a server, before anything is known.
    pub(super) fn new(users: Vec<u32>, rules: &Rules, nothing: Arc<View>) -> Self {
        let global = GlobalCluster { members: rules.servers, clusters: 1 };
        let model = Factor::ridge(rules.dim, rules.base * f64::from(global.members));
        let empty = LinearStats::empty(rules.dim);
        LocalCluster {
            users,
            global,
            announced: None,
            waiting: false,
            exchanged: Exchanged::new(nothing),
            base: empty.clone(),
            ahead: model.clone(),
            model,
            stale: false,
            open: empty.clone(),
            unsent: empty.clone(),
            total: empty,
            privatizer: rules.privacy.map(|noisy| Privatizer::new(noisy.noise, rules.dim, noisy.plan)),
            shifts: 0,
            largest_shift: 0.0,
        }
    }

    /// A part of this cluster, with all that its users have observed; `None` if their history may not be released
    /// once more. Decides as the whole did until it is told where it belongs.
    pub(super) fn part(&self, users: Vec<u32>, observed: LinearStats) -> Option<Self> {
        let empty = self.total.emptied();
        let privatizer = match &self.privatizer {
            Some(privatizer) => Some(privatizer.child()?),
            None => None,
        };
        Some(LocalCluster {
            users,
            open: observed,
            unsent: empty.clone(),
            total: empty,
            privatizer,
            ..self.clone()
        })
    }

    pub(super) fn users(&self) -> &[u32] {
        &self.users
    }

    pub(super) fn admit(&mut self, user: u32) {
        self.users.push(user);
    }

    /// The global cluster it is part of.
    pub fn global(&self) -> GlobalCluster {
        self.global
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// S and u: released statistics of the global cluster, as far as they are known here.
    pub fn shared(&self) -> &LinearStats {
        &self.base
    }

    /// Whether one more release of this kind is within what noise was made for.
    pub(super) fn may(&self, kind: ReleaseKind) -> bool {
        self.privatizer.as_ref().is_none_or(|privatizer| privatizer.may(kind))
    }

    pub(super) fn shifts(&self) -> (u64, f64) {
        (self.shifts, self.largest_shift)
    }

    fn ridge(&self, rules: &Rules) -> f64 {
        rules.base * f64::from(self.global.members)
    }

    /// Brings both models up to date with the last download.
    pub(super) fn refresh(&mut self, rules: &Rules) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.base = self.exchanged.sum();
        self.remodel(rules);
    }

    fn remodel(&mut self, rules: &Rules) {
        let (model, shift) = definite::model(&self.base, self.ridge(rules));
        self.model = model;
        self.shifts += u64::from(shift > 0.0);
        self.largest_shift = self.largest_shift.max(shift);
        self.look_ahead(rules);
    }

    /// The model of S + dS.
    fn look_ahead(&mut self, rules: &Rules) {
        if self.open.is_empty() && self.unsent.is_empty() {
            self.ahead.clone_from(&self.model);
            return;
        }
        let mut stats = self.base.clone();
        stats.merge(&self.unsent);
        stats.merge(&self.open);
        stats.gram.add_diagonal(self.shift_per_upload(rules));
        self.ahead = definite::model(&stats, self.ridge(rules)).0;
    }

    /// Line 10 of Algorithm 3.
    fn shift_per_upload(&self, rules: &Rules) -> f64 {
        match rules.privacy {
            Some(noisy) if noisy.shift == Shift::Paper => 3.0 * noisy.rho,
            _ => 0.0,
        }
    }

    /// Line 12 of Algorithm 1. The model must be up to date.
    pub(super) fn choose(&self, rules: &Rules, arms: ArmSet<'_>) -> Picked {
        let (factor, count) = if rules.decide_ahead {
            (&self.ahead, self.base.count + self.unsent.count + self.open.count)
        } else {
            (&self.model, self.base.count)
        };
        let radius = rules.beta.radius(factor.log_det(), count, self.global);
        Scores::lend(|scores| {
            factor.score(arms.features(), scores);
            let values = scores.mean.iter().zip(&scores.width2);
            let values = values.map(|(mean, width2)| mean + rules.beta.bonus(radius, *width2));
            let arm = pick_open(values, arms);
            let bonus = rules.beta.bonus(radius, scores.width2[arm.index()]);
            Picked::optimistic(arm, scores.mean[arm.index()], bonus)
        })
    }

    /// Line 1 of Algorithm 3.
    pub(super) fn observe(&mut self, x: &[f64], reward: f64, rules: &Rules) {
        self.refresh(rules);
        self.open.observe(x, reward);
        self.ahead.learn(x, reward);
    }

    /// Whether it knows where its uploads belong, and how they are counted: from the view on that was announced. No
    /// more often than noise was made for.
    pub(super) fn may_upload(&self) -> bool {
        !self.waiting && self.announced.is_none() && self.may(ReleaseKind::Upload)
    }

    /// Eq. (5): has the determinant grown by a factor of U? When an upload happens is seen by all, so where there is
    /// noise, the answer goes by counts, which are public: n observations that are all alike have a determinant of
    /// order n^d, which grows by U when n does by U^(1/d).
    pub(super) fn upload_is_due(&self, rules: &Rules) -> bool {
        if !self.may_upload() {
            return false;
        }
        if !rules.is_noisy() {
            return self.ahead.log_det() - self.model.log_det() >= rules.ln_upload;
        }
        let sent = (self.total.count - self.unsent.count) as f64;
        self.unsent() as f64 >= sent * libm::expm1(rules.ln_upload / rules.dim as f64)
    }

    /// What is pending becomes a leaf of the tree.
    fn close_leaf(&mut self) {
        let empty = self.open.emptied();
        let mut leaf = std::mem::replace(&mut self.open, empty);
        if let Some(privatizer) = &self.privatizer {
            privatizer.round(&mut leaf);
        }
        self.total.merge(&leaf);
        self.unsent.merge(&leaf);
    }

    fn release(
        &mut self,
        kind: ReleaseKind,
        exact: LinearStats,
        paid: &mut u32,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Private<LinearStats> {
        match &mut self.privatizer {
            Some(privatizer) => cx.release(&mut privatizer.mechanism(kind, paid), exact),
            None => cx.release(&mut Unprotected, exact),
        }
    }

    /// Observations since the last upload.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent.count + self.open.count
    }

    /// Lines 4, 8 to 10 of Algorithm 3: its number and what is sent.
    pub(super) fn upload(
        &mut self,
        rules: &Rules,
        paid: &mut u32,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> (u64, Private<LinearStats>) {
        self.close_leaf();
        let empty = self.unsent.emptied();
        let mut exact = std::mem::replace(&mut self.unsent, empty);
        exact.gram.add_diagonal(self.shift_per_upload(rules));
        let stats = self.release(ReleaseKind::Upload, exact, paid, cx);
        let number = self.exchanged.upload(Some(stats.get().clone()));
        self.base.merge(stats.get());
        if self.privatizer.as_ref().is_none_or(Privatizer::is_none) {
            // dS is now part of S, and S + dS was known.
            self.model.clone_from(&self.ahead);
        } else {
            self.remodel(rules);
        }
        (number, stats)
    }

    /// Line 5 of Algorithm 2.
    pub(super) fn report(
        &mut self,
        rules: &Rules,
        paid: &mut u32,
        cx: &mut Cx<'_, FclubMsg>,
    ) -> Private<LinearStats> {
        self.refresh(rules);
        self.close_leaf();
        let stats = self.release(ReleaseKind::Report, self.total.clone(), paid, cx);
        self.waiting = true;
        // The leaf is closed, so that the next upload will have other noise.
        self.look_ahead(rules);
        stats
    }

    /// The partition has not changed: on as before.
    pub(super) fn resume(&mut self) {
        self.waiting = false;
    }

    /// A view of a new global cluster is on its way.
    pub(super) fn announce(&mut self, global: GlobalCluster) {
        self.announced = Some(global);
    }

    /// A download, renewing or not; `Err` changes nothing.
    pub(super) fn download(
        &mut self,
        view: Arc<View>,
        merged: u64,
        rules: &Rules,
    ) -> Result<(), Misbehaviour> {
        view.stats().check_shape(rules.dim, false)?;
        let global = self.announced.unwrap_or(self.global);
        if view.version() < self.exchanged.view().version() {
            return Ok(());
        }
        view.check(rules.base * f64::from(global.members))?;
        if self.announced.is_some() {
            // Lines 13 to 15 of Algorithm 2: what was reported is part of the view.
            self.exchanged.restart(view);
            self.unsent = if self.waiting { self.total.emptied() } else { self.total.clone() };
            if let Some(privatizer) = &mut self.privatizer {
                if self.waiting {
                    privatizer.receiver_has_report();
                } else {
                    privatizer.receiver_has_nothing();
                }
            }
            self.announced = None;
            self.global = global;
            self.waiting = false;
        } else {
            self.exchanged.check_number(merged)?;
            self.exchanged.download(view, merged);
        }
        self.stale = true;
        Ok(())
    }

    /// Upload `number` will not be merged: it stays on top of every view.
    pub(super) fn refused(&mut self, number: u64) -> Result<u64, Misbehaviour> {
        self.exchanged.refused(number)
    }

    /// Uploads up to `number` will only ever be confirmed together: they need one entry.
    pub(super) fn taken(&mut self, number: u64) -> Result<(), Misbehaviour> {
        self.exchanged.merged_up_to(number)
    }
}
