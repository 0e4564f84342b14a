//! What a local cluster sends through its tree: uploads of what is new, reports of the whole sum.
//!
//! Uploads telescope: each carries the difference of two sums' noise, so that all of them together have the
//! noise of the latest sum. When a cluster falls apart, its parts start trees of their own with all their
//! history in the first leaf: that history is released once more. Noise is made for a stated number of such
//! renewals, uploads and reports; what would be one more is not released ([`Plan`]).

use cahoots_core::{Composition, LinearStats, Mechanism, Noise, ReleaseFact, Stream};
use serde::{Deserialize, Serialize};

use crate::calibration::NODE_SENSITIVITY;
use crate::gaussian::Gaussian;
use crate::tree::{Perturbation, Tree, levels_for};

/// What one unit is. That an observation was made, and when, is public; another one in its place has another context
/// and another reward.
pub const UNIT: &str =
    "one observation (context and reward; another in its place that leaves users in the same clusters)";

/// Who sees what is released.
pub const OBSERVER: &str = "all parties outside its local server";

/// How much will be released, at most: noise is made for it, and nothing goes beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Uploads through one tree.
    pub uploads: u64,
    /// Reports through one tree.
    pub reports: u64,
    /// How often the history of one observation may be released again in a tree of its own.
    pub renewals: u32,
}

impl Plan {
    /// Levels of a tree for this many releases.
    pub fn levels(&self) -> u32 {
        levels_for(self.uploads.saturating_add(self.reports))
    }

    /// Trees that one observation may be in, one after the other.
    pub fn trees(&self) -> u32 {
        self.renewals.saturating_add(1)
    }
}

/// A cluster's tree, and what of its noise has been sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Privatizer {
    noise: Gaussian,
    dim: usize,
    plan: Plan,
    tree: Tree,
    /// Something has been released through this tree.
    used: bool,
    uploads: u64,
    reports: u64,
    /// The noise in all that has been uploaded.
    sent: Option<Perturbation>,
    /// The noise in the last report.
    reported: Option<Perturbation>,
    /// Trees that the same observations were in before.
    before: u32,
}

/// What a cluster releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseKind {
    /// An upload: what has not been uploaded yet.
    Upload,
    /// A report: the whole sum.
    Report,
}

impl Privatizer {
    /// For statistics of this dimension; noise of 0 gives none, and then nothing is limited.
    pub fn new(noise: Gaussian, dim: usize, plan: Plan) -> Privatizer {
        let tree = Tree::new(noise, dim, plan.levels());
        let (sent, reported) = (None, None);
        Privatizer { noise, dim, plan, tree, used: false, uploads: 0, reports: 0, sent, reported, before: 0 }
    }

    /// For a part of what was one cluster until now; `None` if that was the last tree that its history may be in.
    pub fn child(&self) -> Option<Privatizer> {
        let before = self.before + u32::from(self.used);
        let may = self.noise.is_none() || before < self.plan.trees();
        may.then(|| Privatizer { before, ..Privatizer::new(self.noise, self.dim, self.plan) })
    }

    /// Nodes that an observation has been in, in this tree and in those before.
    pub fn lineage(&self) -> u32 {
        (self.before + u32::from(self.used)) * self.plan.levels()
    }

    /// Whether one more release of this kind is within the plan.
    pub fn may(&self, kind: ReleaseKind) -> bool {
        self.noise.is_none()
            || match kind {
                ReleaseKind::Upload => self.uploads < self.plan.uploads,
                ReleaseKind::Report => self.reports < self.plan.reports,
            }
    }

    /// There is no noise.
    pub fn is_none(&self) -> bool {
        self.noise.is_none()
    }

    /// Rounds a leaf to the grid of the noise, so that sums of leaves are exact and rounding gives nothing away.
    pub fn round(&self, leaf: &mut LinearStats) {
        self.noise.round(leaf);
    }

    /// What was reported is what the receiver goes on from.
    pub fn receiver_has_report(&mut self) {
        self.sent = self.reported.take();
    }

    /// The receiver goes on from nothing.
    pub fn receiver_has_nothing(&mut self) {
        self.sent = None;
    }

    /// A mechanism for the next release. `paid` are the nodes per observation that the accountant knows of,
    /// of the cluster for which they are most.
    pub fn mechanism<'a>(&'a mut self, kind: ReleaseKind, paid: &'a mut u32) -> PrivatizerRelease<'a> {
        PrivatizerRelease { privatizer: self, kind, paid, levels: 0 }
    }
}

/// One release of a privatizer.
pub struct PrivatizerRelease<'a> {
    privatizer: &'a mut Privatizer,
    kind: ReleaseKind,
    paid: &'a mut u32,
    /// Nodes that this release is charged for.
    levels: u32,
}

impl Mechanism<LinearStats> for PrivatizerRelease<'_> {
    /// `exact` must have been rounded, leaf by leaf, and the release be within the plan.
    fn release(&mut self, mut exact: LinearStats, rng: &mut Stream) -> LinearStats {
        assert!(self.privatizer.may(self.kind), "a release more than the noise was made for");
        self.privatizer.used = true;
        let lineage = self.privatizer.lineage();
        self.levels = lineage.saturating_sub(*self.paid);
        *self.paid = lineage.max(*self.paid);
        let Privatizer { noise, tree, uploads, reports, sent, reported, .. } = &mut *self.privatizer;
        *match self.kind {
            ReleaseKind::Upload => uploads,
            ReleaseKind::Report => reports,
        } += 1;
        if noise.is_none() {
            return exact;
        }
        let now = tree.close(rng);
        let difference = match self.kind {
            ReleaseKind::Upload => now.minus(sent.as_ref()),
            ReleaseKind::Report => now.clone(),
        };
        exact.gram.add(&difference.gram);
        exact.moment.iter_mut().zip(&difference.moment).for_each(|(value, noise)| *value += noise);
        match self.kind {
            ReleaseKind::Upload => *sent = Some(now),
            ReleaseKind::Report => *reported = Some(now),
        }
        exact
    }

    fn fact(&self) -> ReleaseFact {
        let noise = &self.privatizer.noise;
        // Every value may be rounded by half a step, in either direction.
        let values = LinearStats::numbers(self.privatizer.dim);
        let rounding = (values as f64).sqrt() * noise.step();
        ReleaseFact {
            mechanism: "tree of discrete gaussians".into(),
            scale: noise.deviation(),
            sensitivity: (NODE_SENSITIVITY + rounding) * f64::from(self.levels).sqrt(),
            unit: UNIT.into(),
            observer: OBSERVER.into(),
            noise: if noise.is_none() { Noise::None } else { Noise::Gaussian },
            composition: if self.levels == 0 && !noise.is_none() {
                Composition::Covered
            } else {
                Composition::Adds
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Keys, NodeId};

    fn rng(seed: u64) -> Stream {
        Keys::from_seed(seed).privacy(NodeId(0), 0)
    }

    /// Levels for so many uploads and as many reports.
    fn privatizer(deviation: f64, uploads: u64) -> Privatizer {
        let plan = Plan { uploads, reports: uploads, renewals: 2 };
        Privatizer::new(Gaussian::of_deviation("noise", deviation).unwrap(), 3, plan)
    }

    fn leaf(privatizer: &Privatizer, i: u32) -> LinearStats {
        let mut leaf = LinearStats::empty(3);
        leaf.observe(&[0.1 * f64::from(i), 0.5, -0.2], 0.7);
        privatizer.round(&mut leaf);
        leaf
    }

    /// Levels that a release was charged for.
    fn charged(fact: &ReleaseFact) -> u32 {
        libm::round(fact.sensitivity * fact.sensitivity / 4.0) as u32
    }

    #[test]
    fn uploads_add_up_to_the_latest_sum() {
        let (mut rng, mut paid) = (rng(5), 0);
        let mut privatizer = privatizer(2.0, 9);
        let (mut total, mut exact) = (LinearStats::empty(3), LinearStats::empty(3));
        for i in 0..9 {
            let leaf = leaf(&privatizer, i);
            exact.merge(&leaf);
            total.merge(&privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(leaf, &mut rng));
        }
        // A report of the same sum, one leaf later: only the noise differs.
        let latest = privatizer.sent.clone().unwrap();
        for i in 0..3 {
            assert_eq!(total.moment[i], exact.moment[i] + latest.moment[i]);
        }
        assert_eq!((total.count, paid), (9, 5));
    }

    #[test]
    fn an_upload_after_a_report_continues_from_the_upload_before_it() {
        let (mut rng, mut paid) = (rng(6), 0);
        let mut privatizer = privatizer(2.0, 5);
        let first = leaf(&privatizer, 1);
        let uploaded = privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(first.clone(), &mut rng);
        privatizer.mechanism(ReleaseKind::Report, &mut paid).release(first, &mut rng);
        let second = leaf(&privatizer, 2);
        let mut sum = privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(second.clone(), &mut rng);
        sum.merge(&uploaded);
        let noise = privatizer.sent.clone().unwrap();
        assert_eq!(sum.moment[1], leaf(&privatizer, 1).moment[1] + second.moment[1] + noise.moment[1]);
    }

    /// Uploads and reports of a tree, as whoever receives them looks at them.
    #[test]
    fn what_is_released_is_plausible_to_who_knows_the_scale_of_the_noise() {
        use cahoots_core::Plausible;
        use cahoots_core::plausible::Noised;

        for deviation in [0.01, 2.0, 500.0] {
            let (mut rng, mut paid) = (rng(11), 0);
            let mut privatizer = privatizer(deviation, 300);
            let noise = Noised {
                deviation: crate::tree::spread(&privatizer.noise),
                shift: 0.0,
                step: privatizer.noise.step(),
            };
            let mut total = LinearStats::empty(3);
            for i in 0..300 {
                let mut leaf = LinearStats::empty(3);
                (0..i % 4).for_each(|_| leaf.observe(&[1.0, 0.0, 0.0], 1.0));
                privatizer.round(&mut leaf);
                total.merge(&leaf);
                let (kind, exact) = match i % 7 {
                    0 => (ReleaseKind::Report, total.clone()),
                    _ => (ReleaseKind::Upload, leaf),
                };
                let released = privatizer.mechanism(kind, &mut paid).release(exact, &mut rng);
                Plausible::CLIPPED.check_noised(&released, &noise).unwrap();
            }
        }
    }

    #[test]
    fn a_tree_is_paid_for_once_and_gives_no_more_than_was_planned() {
        let (mut rng, mut paid) = (rng(7), 0);
        let mut privatizer = privatizer(2.0, 2);
        let mut charges = Vec::new();
        for kind in [ReleaseKind::Upload, ReleaseKind::Upload, ReleaseKind::Report, ReleaseKind::Report] {
            assert!(privatizer.may(kind));
            let leaf = leaf(&privatizer, 1);
            let mut mechanism = privatizer.mechanism(kind, &mut paid);
            mechanism.release(leaf, &mut rng);
            charges.push((charged(&mechanism.fact()), mechanism.fact().composition));
        }
        assert_eq!(charges[0], (3, Composition::Adds));
        assert!(charges[1..].iter().all(|charge| *charge == (0, Composition::Covered)));
        assert!(!privatizer.may(ReleaseKind::Upload) && !privatizer.may(ReleaseKind::Report));
    }

    #[test]
    #[should_panic(expected = "a release more than the noise was made for")]
    fn nothing_is_released_beyond_the_plan() {
        let mut privatizer = privatizer(2.0, 1);
        for _ in 0..2 {
            let leaf = leaf(&privatizer, 1);
            privatizer.mechanism(ReleaseKind::Upload, &mut 0).release(leaf, &mut rng(7));
        }
    }

    #[test]
    fn parts_of_a_cluster_pay_for_what_their_data_was_in_before_and_are_as_many_as_was_planned() {
        let (mut rng, mut paid) = (rng(8), 0);
        let mut whole = privatizer(2.0, 3);
        assert_eq!(whole.child().unwrap().lineage(), 0, "nothing was released yet");
        whole.mechanism(ReleaseKind::Upload, &mut paid).release(LinearStats::empty(3), &mut rng);
        let charge = |privatizer: &mut Privatizer, paid: &mut u32, rng: &mut Stream| {
            let mut mechanism = privatizer.mechanism(ReleaseKind::Report, paid);
            mechanism.release(LinearStats::empty(3), rng);
            charged(&mechanism.fact())
        };
        let (mut one, mut other) = (whole.child().unwrap(), whole.child().unwrap());
        assert_eq!(charge(&mut one, &mut paid, &mut rng), 3, "the same data again");
        assert_eq!(charge(&mut other, &mut paid, &mut rng), 0, "other data than in the first part");
        let mut last = other.child().unwrap();
        assert_eq!(charge(&mut last, &mut paid, &mut rng), 3);
        assert_eq!((paid, last.child()), (9, None));
    }

    #[test]
    fn without_noise_nothing_is_changed_or_drawn_and_nothing_is_promised() {
        let (mut rng, mut paid) = (rng(9), 0);
        let mut privatizer = privatizer(0.0, 3);
        let leaf = leaf(&privatizer, 4);
        let mut mechanism = privatizer.mechanism(ReleaseKind::Upload, &mut paid);
        assert_eq!(mechanism.release(leaf.clone(), &mut rng), leaf);
        assert_eq!((mechanism.fact().noise, rng.position()), (Noise::None, 0));
        assert!((0..9).all(|_| privatizer.may(ReleaseKind::Upload)) && privatizer.child().is_some());
    }
}
