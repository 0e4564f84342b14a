//! What a local cluster sends through its tree: uploads of what is new, reports of the whole sum.
//!
//! Uploads telescope: each carries the difference of two sums' noise, so that all of them together have the
//! noise of the latest sum. When a cluster falls apart, its parts start trees of their own with all their
//! history in the first leaf: that history is released once more, and the accountant is told.

use cahoots_core::{Composition, LinearStats, Mechanism, Noise, ReleaseFact, Stream, Symmetric};
use serde::{Deserialize, Serialize};

use crate::calibration::NODE_SENSITIVITY;
use crate::gaussian::Gaussian;
use crate::tree::{Perturbation, Tree};

/// What one unit is.
pub const UNIT: &str = "one observation (context and reward)";

/// Who sees what is released.
pub const OBSERVER: &str = "all parties outside its local server";

/// A cluster's tree, and what of its noise has been sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Privatizer {
    noise: Gaussian,
    dim: usize,
    /// Levels of a new tree.
    levels: u32,
    /// Made with the first release.
    tree: Option<Tree>,
    /// The noise in all that has been uploaded.
    sent: Option<Perturbation>,
    /// The noise in the last report.
    reported: Option<Perturbation>,
    /// Levels of the trees that the same observations were in before.
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
    /// For statistics of this dimension; noise of 0 gives none.
    pub fn new(noise: Gaussian, dim: usize, levels: u32) -> Privatizer {
        Privatizer { noise, dim, levels, tree: None, sent: None, reported: None, before: 0 }
    }

    /// For a part of what was one cluster until now.
    pub fn child(&self) -> Privatizer {
        Privatizer { before: self.lineage(), ..Privatizer::new(self.noise, self.dim, self.levels) }
    }

    /// Nodes that an observation has been in, in this tree and in those before.
    pub fn lineage(&self) -> u32 {
        self.before + self.tree.as_ref().map_or(0, Tree::levels)
    }

    /// The tree; none before the first release.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// There is no noise.
    pub fn is_none(&self) -> bool {
        self.noise.is_none()
    }

    /// The noise that the next upload will have, drawn in advance.
    pub fn tentative(&self) -> Option<Perturbation> {
        if self.noise.is_none() {
            return None;
        }
        self.tree.as_ref().map(|tree| tree.next().minus(self.sent.as_ref()))
    }

    /// Rounds a leaf to the grid of the noise, so that sums of leaves are exact and rounding gives nothing away.
    pub fn round(&self, leaf: &mut LinearStats) {
        let step = self.noise.step();
        if step > 0.0 {
            let values = leaf.gram.packed_mut().iter_mut().chain(&mut leaf.moment);
            values.for_each(|value| *value = libm::rint(*value / step) * step);
        }
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
    /// `exact` must have been rounded, leaf by leaf.
    fn release(&mut self, mut exact: LinearStats, rng: &mut Stream) -> LinearStats {
        let Privatizer { noise, dim, levels, tree, sent, reported, before } = &mut *self.privatizer;
        let tree = tree.get_or_insert_with(|| Tree::new(*noise, *dim, *levels, rng));
        let lineage = *before + tree.levels();
        self.levels = lineage.saturating_sub(*self.paid);
        *self.paid = lineage.max(*self.paid);
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
        let values = Symmetric::packed_len(self.privatizer.dim) + self.privatizer.dim;
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

    fn privatizer(deviation: f64, levels: u32) -> Privatizer {
        Privatizer::new(Gaussian::of_deviation("noise", deviation).unwrap(), 3, levels)
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
    fn uploads_add_up_to_the_latest_sum_and_the_noise_was_known_before() {
        let (mut rng, mut paid) = (rng(5), 0);
        let mut privatizer = privatizer(2.0, 5);
        let (mut total, mut exact) = (LinearStats::empty(3), LinearStats::empty(3));
        for i in 0..9 {
            let leaf = leaf(&privatizer, i);
            exact.merge(&leaf);
            let promised = privatizer.tentative();
            let released =
                privatizer.mechanism(ReleaseKind::Upload, &mut paid).release(leaf.clone(), &mut rng);
            if let Some(promised) = promised {
                let noise = released.moment[0] - leaf.moment[0];
                assert!((noise - promised.moment[0]).abs() < 1e-9);
            }
            total.merge(&released);
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

    /// Uploads and reports of a tree that has long outgrown its plan, as whoever receives them looks at them.
    #[test]
    fn what_is_released_is_plausible_to_who_knows_the_scale_of_the_noise() {
        use cahoots_core::Plausible;
        use cahoots_core::plausible::Noised;

        for deviation in [0.01, 2.0, 500.0] {
            let (mut rng, mut paid) = (rng(11), 0);
            let mut privatizer = privatizer(deviation, 2);
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
    fn a_tree_is_paid_for_once_and_again_when_it_doubles() {
        let (mut rng, mut paid) = (rng(7), 0);
        let mut privatizer = privatizer(2.0, 2);
        let facts: Vec<ReleaseFact> = (0..5)
            .map(|i| {
                let leaf = leaf(&privatizer, i);
                let mut mechanism = privatizer.mechanism(ReleaseKind::Upload, &mut paid);
                mechanism.release(leaf, &mut rng);
                mechanism.fact()
            })
            .collect();
        assert_eq!(facts.iter().map(charged).collect::<Vec<_>>(), [2, 0, 1, 0, 1]);
        assert_eq!(facts[1].composition, Composition::Covered);
        assert_eq!(facts[2].composition, Composition::Adds);
    }

    #[test]
    fn parts_of_a_cluster_pay_for_what_their_data_was_in_before() {
        let (mut rng, mut paid) = (rng(8), 0);
        let mut whole = privatizer(2.0, 4);
        whole.mechanism(ReleaseKind::Upload, &mut paid).release(LinearStats::empty(3), &mut rng);
        let charge = |privatizer: &mut Privatizer, paid: &mut u32, rng: &mut Stream| {
            let mut mechanism = privatizer.mechanism(ReleaseKind::Report, paid);
            mechanism.release(LinearStats::empty(3), rng);
            charged(&mechanism.fact())
        };
        let (mut one, mut other) = (whole.child(), whole.child());
        assert_eq!(charge(&mut one, &mut paid, &mut rng), 4, "the same data again");
        assert_eq!(charge(&mut other, &mut paid, &mut rng), 0, "other data than in the first part");
        assert_eq!(charge(&mut other.child(), &mut paid, &mut rng), 4);
        assert_eq!(paid, 12);
    }

    #[test]
    fn without_noise_nothing_is_changed_or_drawn_and_nothing_is_promised() {
        let (mut rng, mut paid) = (rng(9), 0);
        let mut privatizer = privatizer(0.0, 3);
        let leaf = leaf(&privatizer, 4);
        let mut mechanism = privatizer.mechanism(ReleaseKind::Upload, &mut paid);
        assert_eq!(mechanism.release(leaf.clone(), &mut rng), leaf);
        assert_eq!((mechanism.fact().noise, rng.position()), (Noise::None, 0));
        assert_eq!(privatizer.tentative(), None);
    }
}
