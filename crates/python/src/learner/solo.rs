//! A learner by itself: no server, no federation, no log; and without its types.

use cahoots_algorithms::disjoint_linucb::DisjointLinucb;
use cahoots_algorithms::exp3_alone::Exp3Alone;
use cahoots_algorithms::greedy::{EpsilonGreedy, Greedy, Igw, Softmax};
use cahoots_algorithms::kl_ucb_alone::KlUcbAlone;
use cahoots_algorithms::linucb_alone::{LintsAlone, LinucbAlone};
use cahoots_algorithms::moss_alone::MossAlone;
use cahoots_algorithms::random::Random;
use cahoots_algorithms::ts_beta_alone::TsBetaAlone;
use cahoots_algorithms::ucb_alone::UcbAlone;
use cahoots_core::arms::ArmError;
use cahoots_core::policy::Distribution;
use cahoots_core::{
    Algorithm, ArmBuffer, ArmIndex, Cx, Effects, Keys, Learner, Machine, NodeId, ParamError, Picked,
    Positions, Seat, Seats, Setting, Tiles, UserId, snapshot,
};
use serde::{Deserialize, Serialize};

use super::logged::{Logged, Observed};

const ME: NodeId = NodeId(0);
const USER: UserId = UserId(0);

/// What there is to decide about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shape {
    /// Features of an arm, or of the context; 0 for plain arms.
    pub(super) dim: usize,
    /// How many arms there are, where they are always the same; otherwise 0.
    pub(super) arms: usize,
}

/// A learner without its types.
pub(super) trait Solo: Send {
    /// Picks an arm, and counts the decision.
    fn choose(&mut self, offered: &ArmBuffer) -> Result<Picked, ArmError>;
    /// Arm and score in each of many contexts, counted as decisions; `None` where one by one is as quick.
    fn choose_each(&mut self, contexts: &Tiles) -> Option<Vec<(ArmIndex, f64)>>;
    /// How likely the next decision is to take each arm, where that is known.
    fn odds(&mut self, offered: &ArmBuffer) -> Result<Option<Distribution>, ArmError>;
    /// What the next decision would compare the only open arm by, where it compares.
    fn score(&mut self, offered: &ArmBuffer) -> Result<Option<f64>, ArmError>;
    /// Learns.
    fn observe(&mut self, observed: Observed<'_>, reward: f64);
    /// The mean reward that it expects of an arm.
    fn estimate(&self, arm: usize, features: &[f64]) -> Option<f64>;
    /// The coefficients of its model of an arm, where it has one.
    fn coefficients(&self, arm: usize) -> Option<Vec<f64>>;
    /// All that it needs to go on bit for bit.
    fn save(&self) -> Vec<u8>;
    /// Decisions and observations so far.
    fn counts(&self) -> (u64, u64);
    /// The rewards that it takes for what they are; others it would clip.
    fn range(&self) -> Option<(f64, f64)>;
}

/// What is saved beside the learner itself.
#[derive(Default, Serialize, Deserialize)]
struct Course {
    positions: Positions,
    decisions: u64,
    observations: u64,
}

struct Held<A: Algorithm> {
    learner: A::Client,
    course: Course,
    seat: Seat,
    keys: Keys,
    shape: Shape,
    range: Option<(f64, f64)>,
    effects: Effects<A::Msg>,
}

impl<A: Algorithm> Held<A>
where
    A::Client: Logged,
{
    fn step(&mut self, step: impl FnOnce(&mut A::Client, &mut Cx<'_, A::Msg>)) {
        let Held { learner, course, keys, effects, .. } = self;
        step(learner, &mut Cx::new(ME, course.decisions, keys, &mut course.positions, effects));
        // Nobody listens.
        effects.clear();
    }
}

impl<A: Algorithm> Solo for Held<A>
where
    A::Client: Logged,
{
    fn choose(&mut self, offered: &ArmBuffer) -> Result<Picked, ArmError> {
        let arms = offered.arm_set(&self.seat)?;
        self.course.decisions += 1;
        let mut rng = self.keys.choice(ME, self.course.decisions);
        Ok(self.learner.choose(USER, arms, &mut rng).picked)
    }

    fn choose_each(&mut self, contexts: &Tiles) -> Option<Vec<(ArmIndex, f64)>> {
        let chosen = self.learner.choose_each(contexts, self.shape.arms)?;
        self.course.decisions += chosen.len() as u64;
        Some(chosen)
    }

    fn odds(&mut self, offered: &ArmBuffer) -> Result<Option<Distribution>, ArmError> {
        let arms = offered.arm_set(&self.seat)?;
        let mut rng = self.keys.choice(ME, self.course.decisions + 1);
        Ok(self.learner.odds(USER, arms, &mut rng))
    }

    fn score(&mut self, offered: &ArmBuffer) -> Result<Option<f64>, ArmError> {
        let arms = offered.arm_set(&self.seat)?;
        let mut rng = self.keys.choice(ME, self.course.decisions + 1);
        Ok(self.learner.choose(USER, arms, &mut rng).picked.score)
    }

    fn observe(&mut self, observed: Observed<'_>, reward: f64) {
        let kept = self.learner.kept(observed, self.shape.arms);
        self.step(|learner, cx| learner.commit(&kept, cx));
        self.step(|learner, cx| learner.observe(kept, reward, cx));
        self.course.observations += 1;
    }

    fn estimate(&self, arm: usize, features: &[f64]) -> Option<f64> {
        self.learner.estimate(arm, features)
    }

    fn coefficients(&self, arm: usize) -> Option<Vec<f64>> {
        self.learner.coefficients(arm)
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&(A::NAME, self.shape, &self.learner, &self.course))
    }

    fn counts(&self) -> (u64, u64) {
        (self.course.decisions, self.course.observations)
    }

    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }
}

/// A learner of this kind, new or as it was saved.
pub(super) fn solo(
    kind: &str,
    params: &str,
    shape: Shape,
    seed: u64,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Solo>, ParamError> {
    let make = match kind {
        "linucb-alone" => held::<LinucbAlone>,
        "lints-alone" => held::<LintsAlone>,
        "disjoint-linucb" => held::<DisjointLinucb>,
        "greedy" => held::<Greedy>,
        "epsilon-greedy" => held::<EpsilonGreedy>,
        "softmax" => held::<Softmax>,
        "igw" => held::<Igw>,
        "random" => held::<Random>,
        "ucb-alone" => held::<UcbAlone>,
        "kl-ucb-alone" => held::<KlUcbAlone>,
        "moss-alone" => held::<MossAlone>,
        "ts-beta-alone" => held::<TsBetaAlone>,
        "exp3-alone" => held::<Exp3Alone>,
        other => {
            return Err(ParamError::new("kind", format!("{other:?} is no learner that works alone")));
        }
    };
    make(params, shape, seed, saved)
}

fn held<A: Algorithm>(
    params: &str,
    shape: Shape,
    seed: u64,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Solo>, ParamError>
where
    A::Client: Logged,
{
    let params = serde_json::from_str(params).map_err(|e| ParamError::new(A::NAME, e.to_string()))?;
    let setting = if shape.dim == 0 {
        Setting::k_armed(1, shape.arms)
    } else {
        Setting::linear(1, shape.dim, shape.arms.max(1))
    };
    let valid = A::check(params, &setting)?;
    let seat = Seats::of::<A>(&valid, &setting).seat(ME);
    let mut held = Held::<A> {
        learner: A::client(&valid, &seat),
        course: Course::default(),
        seat,
        keys: Keys::from_seed(seed),
        shape,
        range: A::clips(&valid),
        effects: Effects::default(),
    };
    match saved {
        None => held.step(|learner, cx| learner.on_start(cx)),
        Some(bytes) => {
            let refused = |why: String| ParamError::new("state", why);
            let (kind, saved_shape, learner, course): (String, Shape, A::Client, Course) =
                snapshot::restore(bytes).map_err(|e| refused(e.to_string()))?;
            if kind != A::NAME || saved_shape != shape {
                return Err(refused(format!("is of {kind} with {saved_shape:?}, not of {}", A::NAME)));
            }
            (held.learner, held.course) = (learner, course);
        }
    }
    Ok(Box::new(held))
}

/// The arm that is not masked in `masks`, made so for `arm`.
pub(super) fn only(masks: &mut Vec<bool>, arm: ArmIndex, arms: usize) {
    masks.clear();
    masks.extend((0..arms).map(|other| other != arm.index()));
}
