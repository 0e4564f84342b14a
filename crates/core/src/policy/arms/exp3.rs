//! Exp3 (Auer, Cesa-Bianchi, Freund and Schapire 2002): rewards in [0, 1] that nobody needs to have drawn.

use serde::{Deserialize, Serialize};

use crate::contract::arms::ArmSet;
use crate::ids::ArmIndex;
use crate::policy::Distribution;

/// Exponential weights over arms, by rewards divided by their probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exp3 {
    /// Logarithms of the weights, less the largest of them: weights themselves overflow.
    weights: Box<[f64]>,
    mixing: f64,
}

impl Exp3 {
    /// All arms alike; `mixing` is the paper's gamma, in (0, 1].
    pub fn new(arms: usize, mixing: f64) -> Exp3 {
        Exp3 { weights: vec![0.0; arms].into(), mixing }
    }

    /// Corollary 3.2: the gamma for a best arm that earns at most `most`.
    pub fn mixing_for(arms: usize, most: f64) -> f64 {
        let arms = arms as f64;
        let gamma = (arms * libm::log(arms) / ((std::f64::consts::E - 1.0) * most)).sqrt();
        // One arm needs no exploration, yet gamma must be above 0.
        if gamma > 0.0 { gamma.min(1.0) } else { 1.0 }
    }

    /// Step 1: (1 - gamma) w / sum w + gamma / K, over the arms that can be chosen.
    pub fn distribution(&self, arms: ArmSet<'_>) -> Distribution {
        Distribution::softmax(&self.weights, 1.0, arms).mixed(self.mixing, arms)
    }

    /// Step 4: the weight of the arm that was drawn with this probability grows by exp(gamma reward / (p K)).
    pub fn learn(&mut self, arm: ArmIndex, probability: f64, reward: f64) {
        let arms = self.weights.len() as f64;
        self.weights[arm.index()] += self.mixing * reward.clamp(0.0, 1.0) / (probability * arms);
        let most = self.weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.weights.iter_mut().for_each(|weight| *weight -= most);
    }
}
