//! How a policy is evaluated.

/// How a policy is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Parts of the log for the models: each is predicted by models of the others.
    pub folds: usize,
    /// Ridge of the models.
    pub ridge: f64,
    /// Weights above this are cut to it, where given.
    pub clip: Option<f64>,
    /// Threshold of SWITCH; chosen by its rule where not given.
    pub tau: Option<f64>,
    /// Intervals are to hold with this probability.
    pub confidence: f64,
    /// Resamples of the bootstrap; 0 for none.
    pub bootstrap: usize,
    /// Of the resamples, of folds and of halves.
    pub seed: u64,
    /// The smallest and the largest reward there can be; those of the log where not given.
    pub rewards: Option<(f64, f64)>,
    /// The smallest propensity there can be; that of the log where not given.
    pub least_propensity: Option<f64>,
    /// Effective sample size below which nothing is said.
    pub least_effective: f64,
    /// Say it all the same.
    pub force: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            folds: 5,
            ridge: 1.0,
            clip: None,
            tau: None,
            confidence: 0.95,
            bootstrap: 1000,
            seed: 1,
            rewards: None,
            least_propensity: None,
            least_effective: 50.0,
            force: false,
        }
    }
}

/// Which of `parts` a row belongs to: by its number alone, and without regard to any order in the log.
pub(crate) fn part(seed: u64, purpose: u64, row: u64, parts: usize) -> usize {
    let word = mix(row.wrapping_add(mix(seed ^ purpose.wrapping_mul(GOLDEN))));
    ((u128::from(word) * parts as u128) >> 64) as usize
}

/// A step of SplitMix64.
fn mix(word: u64) -> u64 {
    cahoots_sim::draw::mix(word.wrapping_add(GOLDEN))
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
