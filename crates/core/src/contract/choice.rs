//! What a learner answers when it is asked: the arm, and how sure it is of it.

use crate::ids::ArmIndex;
use crate::policy::Distribution;
use crate::rng::Stream;

/// An arm that a policy picked, and what the policy can say about it.
///
/// ```
/// use cahoots_core::{ArmIndex, Picked};
///
/// let picked = Picked::optimistic(ArmIndex(2), 0.5, 0.25);
/// assert_eq!((picked.score, picked.interval), (Some(0.75), Some((0.25, 0.75))));
/// assert_eq!(picked.probability, Some(1.0));
///
/// // A learner's answer also keeps what it will need when the reward comes.
/// let choice = picked.keeping(vec![1.0, 0.0]);
/// assert_eq!((choice.arm(), choice.pending), (ArmIndex(2), vec![1.0, 0.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked {
    /// The arm.
    pub arm: ArmIndex,
    /// What the arms were compared by.
    pub score: Option<f64>,
    /// Where the policy believes the arm's expected reward to lie.
    pub interval: Option<(f64, f64)>,
    /// How likely the policy was to pick this arm of these, with what it knew: the number that it drew with, 1 where
    /// nothing was drawn, and `None` where it cannot tell.
    pub probability: Option<f64>,
}

impl Picked {
    /// An arm of which nothing more is known.
    pub fn arm(arm: ArmIndex) -> Picked {
        Picked { arm, score: None, interval: None, probability: None }
    }

    /// An arm that follows from what is known, without a draw.
    pub fn certain(arm: ArmIndex) -> Picked {
        Picked { probability: Some(1.0), ..Picked::arm(arm) }
    }

    /// The same, for rewards that are larger by `shift` than those that were learned.
    pub fn shifted(self, shift: f64) -> Picked {
        let interval = self.interval.map(|(low, high)| (low + shift, high + shift));
        Picked { score: self.score.map(|score| score + shift), interval, ..self }
    }

    /// An arm for which a policy was optimistic: the upper end of `mean` plus or minus `width`.
    pub fn optimistic(arm: ArmIndex, mean: f64, width: f64) -> Picked {
        Picked {
            score: Some(mean + width),
            interval: Some((mean - width, mean + width)),
            ..Picked::certain(arm)
        }
    }

    /// Any of `arms`, each as likely.
    pub fn any(arm: ArmIndex, arms: usize) -> Picked {
        Picked { probability: Some(1.0 / arms as f64), ..Picked::arm(arm) }
    }

    /// An arm from a distribution, with its probability in it.
    pub fn drawn(from: &Distribution, rng: &mut Stream) -> Picked {
        let arm = from.draw(rng);
        Picked { probability: Some(from.of(arm)), ..Picked::arm(arm) }
    }

    /// The answer, with what it keeps until its reward comes.
    pub fn keeping<P>(self, pending: P) -> Choice<P> {
        Choice { picked: self, pending }
    }
}

/// A learner's answer. Nothing has changed until it is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<P> {
    /// The arm, and what is known of it.
    pub picked: Picked,
    /// What the decision keeps until its reward comes.
    pub pending: P,
}

impl<P> Choice<P> {
    /// The arm.
    pub fn arm(&self) -> ArmIndex {
        self.picked.arm
    }
}
