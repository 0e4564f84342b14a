//! One mechanism by itself: what is in one message.

use cahoots_core::{Keys, NodeId, Stream};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::audit::canaries::Canary;
use cahoots_privacy::gaussian::ratio_of;
use cahoots_privacy::{Gaussian, Laplace};

use super::Subject;

/// Canaries of one run.
const CANARIES: usize = 50_000;

const DELTA: f64 = 1e-5;

pub(super) fn subjects() -> Vec<Subject> {
    let laplace = |name, about, stated: f64, truly: f64| {
        let noise = Laplace::calibrated("dp_epsilon", truly, 1.0, 1).unwrap_or(Laplace::NONE);
        Subject::new(name, about, stated, 0.0).pair("a reward of 0 or 1", move |second, seed| {
            Transcript::numbers(vec![noise.noised(f64::from(second), &mut rng(seed))])
        })
    };
    let gaussian = |name, about, stated: f64, truly: f64| {
        let noise = Gaussian::of_deviation("sd", 2.0 / ratio_of(truly, DELTA)).unwrap_or(Gaussian::NONE);
        Subject::new(name, about, stated, DELTA).gaussian().pair("a number of 0 or 2", move |second, seed| {
            Transcript::numbers(vec![noise.noised(2.0 * f64::from(second), &mut rng(seed))])
        })
    };
    let published =
        "one reward with the noise that Li and Song 2021 print for epsilon = 0.1 and 50 clients: truly 5";
    vec![
        laplace("laplace", "one reward with noise for epsilon = 1", 1.0, 1.0)
            .canaries(|seed| canaries(1.0, seed)),
        laplace("laplace-published", published, 5.0, 5.0),
        laplace("laplace-broken", "one reward with half the noise it takes", 1.0, 2.0).control(),
        laplace("laplace-canaries-broken", "the same, found in one run with many canaries", 1.0, 2.0)
            .control()
            .share(0.01)
            .canaries(|seed| canaries(2.0, seed)),
        gaussian("gaussian", "one number that moves by 2, analytic noise", 1.0, 1.0),
        gaussian("gaussian-broken", "the same with noise for epsilon = 1.5", 1.0, 1.5).control(),
    ]
}

pub(super) fn rng(seed: u64) -> Stream {
    Keys::from_seed(seed).privacy(NodeId(0), 0)
}

/// Many rewards, each with noise of its own for this epsilon.
fn canaries(epsilon: f64, seed: u64) -> Vec<Canary> {
    let noise = Laplace::calibrated("dp_epsilon", epsilon, 1.0, 1).unwrap_or(Laplace::NONE);
    let (mut coins, mut rng) = (Keys::from_seed(seed).policy(NodeId(0), 0), rng(seed));
    let mut canary = |_| {
        let second = coins.below(2) == 1;
        Canary { second, score: noise.noised(f64::from(second), &mut rng) - 0.5 }
    };
    (0..CANARIES).map(&mut canary).collect()
}
