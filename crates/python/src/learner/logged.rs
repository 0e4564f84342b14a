//! What a learner is told of an observation that it need not have decided itself.

use cahoots_algorithms::disjoint_linucb::{self, Pulled};
use cahoots_algorithms::exp3_alone::{self, Drawn};
use cahoots_algorithms::greedy::{self, Kept};
use cahoots_algorithms::kit::arms::AloneArms;
use cahoots_algorithms::kit::linear::{AloneClient, Chosen};
use cahoots_algorithms::random;
use cahoots_core::policy::ArmPolicy;
use cahoots_core::{ArmIndex, ArmSet, Context, Keys, Learner, NodeId, Tiles, UserId};

/// An arm that was pulled, by whomever.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    /// Its position.
    pub(super) arm: usize,
    /// Its features, or those of the context; empty where there are none.
    pub(super) features: &'a [f64],
    /// How likely it was, where that is known.
    pub(super) probability: Option<f64>,
}

/// A learner that can be told of what it did not decide.
pub(super) trait Logged: Learner {
    /// What a decision for this arm would have kept; `arms` is how many there are.
    fn kept(&mut self, observed: Observed<'_>, arms: usize) -> Self::Pending;

    /// The mean reward that it expects of an arm; `None` where it knows nothing of it.
    fn estimate(&self, arm: usize, features: &[f64]) -> Option<f64>;

    /// Arm and score in each of many contexts that all arms see, where the learner is quicker at many than at one.
    fn choose_each(&self, _contexts: &Tiles, _arms: usize) -> Option<Vec<(ArmIndex, f64)>> {
        None
    }

    /// The coefficients of its model of an arm, where it has one.
    fn coefficients(&self, _arm: usize) -> Option<Vec<f64>> {
        None
    }
}

impl Logged for AloneClient {
    fn kept(&mut self, observed: Observed<'_>, _arms: usize) -> Chosen {
        Chosen { context: Context::from_slice(observed.features) }
    }

    fn estimate(&self, _arm: usize, features: &[f64]) -> Option<f64> {
        Some(self.known().model().mean_and_width2(features).0)
    }

    fn coefficients(&self, _arm: usize) -> Option<Vec<f64>> {
        Some(self.known().model().theta())
    }
}

impl<P: ArmPolicy> Logged for AloneArms<P> {
    fn kept(&mut self, observed: Observed<'_>, _arms: usize) -> ArmIndex {
        ArmIndex(observed.arm as u32)
    }

    fn estimate(&self, arm: usize, _features: &[f64]) -> Option<f64> {
        self.stats().mean(ArmIndex(arm as u32))
    }
}

impl Logged for greedy::Client {
    fn kept(&mut self, observed: Observed<'_>, arms: usize) -> Kept {
        match self {
            greedy::Client::Linear(client) => Kept::Linear(client.kept(observed, arms)),
            greedy::Client::Arms(client) => Kept::Arms(client.kept(observed, arms)),
        }
    }

    fn estimate(&self, arm: usize, features: &[f64]) -> Option<f64> {
        match self {
            greedy::Client::Linear(client) => client.estimate(arm, features),
            greedy::Client::Arms(client) => client.estimate(arm, features),
        }
    }

    fn coefficients(&self, arm: usize) -> Option<Vec<f64>> {
        match self {
            greedy::Client::Linear(client) => client.coefficients(arm),
            greedy::Client::Arms(_) => None,
        }
    }
}

impl Logged for disjoint_linucb::Client {
    fn kept(&mut self, observed: Observed<'_>, _arms: usize) -> Pulled {
        Pulled { arm: ArmIndex(observed.arm as u32), context: Context::from_slice(observed.features) }
    }

    fn estimate(&self, arm: usize, features: &[f64]) -> Option<f64> {
        Some(self.known(ArmIndex(arm as u32)).model().mean_and_width2(features).0)
    }

    fn choose_each(&self, contexts: &Tiles, arms: usize) -> Option<Vec<(ArmIndex, f64)>> {
        Some(self.choose_each(contexts, arms))
    }

    fn coefficients(&self, arm: usize) -> Option<Vec<f64>> {
        Some(self.known(ArmIndex(arm as u32)).model().theta())
    }
}

impl Logged for exp3_alone::Client {
    /// Without a stated probability, the one that it would draw the arm with now.
    fn kept(&mut self, observed: Observed<'_>, arms: usize) -> Drawn {
        let arm = ArmIndex(observed.arm as u32);
        let probability = observed.probability.unwrap_or_else(|| {
            let all = ArmSet::plain(arms).expect("as many arms as it was made for");
            let mut unread = Keys::from_seed(0).choice(NodeId(0), 0);
            self.odds(UserId(0), all, &mut unread).map_or(1.0 / arms as f64, |odds| odds.of(arm))
        });
        Drawn { arm, probability }
    }

    fn estimate(&self, _arm: usize, _features: &[f64]) -> Option<f64> {
        None
    }
}

impl Logged for random::Client {
    fn kept(&mut self, _observed: Observed<'_>, _arms: usize) {}

    fn estimate(&self, _arm: usize, _features: &[f64]) -> Option<f64> {
        None
    }
}
