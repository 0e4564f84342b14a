//! Learners on their own: one of our algorithms that needs no server, driven step by step from Python.

mod arrays;
mod batch;
mod decision;
mod logged;
mod solo;

use std::sync::{Mutex, MutexGuard, PoisonError};

use cahoots_core::arms::ArmError;
use cahoots_core::{ArmBuffer, ArmIndex, Context};
use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub(crate) use decision::Decision;

use crate::error::{self, InputError};
use arrays::{floats, masks, no_arm, shaped, slice, usable};
use logged::Observed;
use solo::{Shape, Solo, only, solo};

/// Steps of more multiplications than this are made without holding the interpreter.
const LONG: usize = 1 << 16;

/// An array of one axis.
type Column<'py> = Bound<'py, PyArray1<f64>>;

/// What a decision is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Offer {
    /// The same arms each time, without features.
    Plain,
    /// The features of each arm.
    PerArm,
    /// One context that all arms see; arms are told apart by their position.
    Context,
}

/// A learner and the arms that it is offered, behind one lock.
struct State {
    solo: Box<dyn Solo>,
    offered: ArmBuffer,
}

/// The compiled half of the classes in `cahoots.learners`.
#[pyclass(module = "cahoots._cahoots", name = "SoloLearner", frozen)]
pub(crate) struct Learner {
    shape: Shape,
    offer: Offer,
    range: Option<(f64, f64)>,
    state: Mutex<State>,
}

impl Learner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever has to wait for another thread, or will take long, lets others use the interpreter meanwhile.
    fn with<T: Send>(&self, python: Python<'_>, long: bool, step: impl FnOnce(&mut State) -> T + Send) -> T {
        if !long && let Ok(mut state) = self.state.try_lock() {
            return step(&mut state);
        }
        python.detach(|| step(&mut self.lock()))
    }

    fn is_long(&self, arms: usize) -> bool {
        arms.saturating_mul(self.shape.dim).saturating_mul(self.shape.dim) > LONG
    }

    /// Shape and numbers of what is offered to one decision.
    fn offered<'py>(&self, arms: Option<&Bound<'py, PyAny>>) -> PyResult<Option<arrays::Floats<'py>>> {
        let (Some(arms), true) = (arms, self.offer != Offer::Plain) else {
            return match (arms, self.offer) {
                (None, Offer::Plain) => Ok(None),
                (None, Offer::PerArm) => {
                    Err(InputError::new_err("give the features of the arms, shape (k, d)"))
                }
                (None, Offer::Context) => Err(InputError::new_err("give the context, shape (d,)")),
                (Some(_), _) => Err(InputError::new_err("these arms have no features: leave them out")),
            };
        };
        let array = floats(arms, self.what())?;
        let dim = Some(self.shape.dim);
        match self.offer {
            Offer::Context => shaped(array.shape(), &[dim], "context")?,
            _ => shaped(array.shape(), &[None, dim], "arms")?,
        }
        Ok(Some(array))
    }

    /// Arms that the learner refuses: where they are no numbers, it is said which.
    fn refusal(&self, error: &ArmError, array: Option<&arrays::Floats<'_>>) -> PyErr {
        let located = array.map(|array| usable(slice(array)?, array.shape(), self.what()));
        located.and_then(Result::err).unwrap_or_else(|| InputError::new_err(error.to_string()))
    }

    fn what(&self) -> &'static str {
        if self.offer == Offer::Context { "context" } else { "arms" }
    }

    /// How many arms that is.
    fn arms_in(&self, array: Option<&arrays::Floats<'_>>) -> usize {
        match (self.offer, array) {
            (Offer::PerArm, Some(array)) => array.shape()[0],
            _ => self.shape.arms,
        }
    }

    fn reward(&self, reward: f64) -> PyResult<f64> {
        usable(&[reward], &[], "the reward")?;
        match self.range {
            Some((low, high)) if !(low..=high).contains(&reward) => Err(InputError::new_err(format!(
                "this learner takes rewards from {low} to {high}, not {reward}: scale them"
            ))),
            _ => Ok(reward),
        }
    }

    fn check_arm(&self, arm: usize) -> PyResult<usize> {
        if self.offer == Offer::PerArm || arm < self.shape.arms {
            Ok(arm)
        } else {
            Err(no_arm(arm, self.shape.arms))
        }
    }
}

impl Offer {
    /// Puts the arms of one decision where a learner sees them.
    fn put(self, shape: Shape, numbers: &[f64], offered: &mut ArmBuffer) {
        match self {
            Offer::Plain => offered.plain = shape.arms,
            Offer::PerArm => offered.features.fill(shape.dim, numbers.chunks_exact(shape.dim)),
            Offer::Context => offered.features.fill(shape.dim, std::iter::repeat_n(numbers, shape.arms)),
        }
    }
}

/// The numbers that a decision for this arm keeps.
fn kept(shape: Shape, offer: Offer, numbers: &[f64], arm: ArmIndex) -> &[f64] {
    match offer {
        Offer::Plain => &[],
        Offer::PerArm => &numbers[arm.index() * shape.dim..][..shape.dim],
        Offer::Context => numbers,
    }
}

#[pymethods]
impl Learner {
    /// `params` is JSON; `dim` is 0 for plain arms; `state` is what `state()` gave.
    #[new]
    #[pyo3(signature = (kind, params, dim, arms, seed, state=None))]
    fn new(
        kind: &str,
        params: &str,
        dim: usize,
        arms: usize,
        seed: u64,
        state: Option<&[u8]>,
    ) -> PyResult<Learner> {
        // A model is dim^2 numbers; arms are counted with 32 bits.
        if dim > 1 << 14 || arms > 1 << 24 {
            return Err(InputError::new_err("at most 16384 features and 16777216 arms can be learned about"));
        }
        let offer = match (dim, kind) {
            (0, _) => Offer::Plain,
            (_, "disjoint-linucb") => Offer::Context,
            _ => Offer::PerArm,
        };
        if offer != Offer::PerArm && arms == 0 {
            return Err(InputError::new_err("arms: give at least one"));
        }
        let shape = Shape { dim, arms };
        let solo = solo(kind, params, shape, seed, state).map_err(|e| error::params(&e))?;
        let range = solo.range();
        Ok(Learner { shape, offer, range, state: Mutex::new(State { solo, offered: ArmBuffer::default() }) })
    }

    /// Decides once.
    #[pyo3(signature = (arms=None, masked=None))]
    fn decide(
        &self,
        python: Python<'_>,
        arms: Option<&Bound<'_, PyAny>>,
        masked: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decision> {
        let (array, masked) = (self.offered(arms)?, masks(masked)?);
        let numbers = array.as_ref().map_or(Ok(&[][..]), slice)?;
        let (shape, offer) = (self.shape, self.offer);
        let decided: Result<_, ArmError> =
            self.with(python, self.is_long(self.arms_in(array.as_ref())), |state| {
                offer.put(shape, numbers, &mut state.offered);
                state.offered.masked = masked;
                let picked = state.solo.choose(&state.offered)?;
                let kept = Context::from_slice(kept(shape, offer, numbers, picked.arm));
                Ok(Decision::new(picked, state.solo.counts().0, kept))
            });
        decided.map_err(|e| self.refusal(&e, array.as_ref()))
    }

    /// Learns from the reward of a decision.
    fn update(&self, python: Python<'_>, decision: &Bound<'_, Decision>, reward: f64) -> PyResult<()> {
        let (decision, reward) = (decision.get(), self.reward(reward)?);
        let dim = if self.offer == Offer::Plain { 0 } else { self.shape.dim };
        if decision.kept.len() != dim {
            return Err(InputError::new_err(format!(
                "that decision is about {} features, this learner about {dim}: it is another learner's",
                decision.kept.len()
            )));
        }
        let arm = self.check_arm(decision.arm)?;
        let Decision { probability, kept, .. } = decision;
        self.with(python, self.is_long(1), |state| {
            state.solo.observe(Observed { arm, features: kept, probability: *probability }, reward);
        });
        Ok(())
    }

    /// Learns from what this learner need not have decided.
    #[pyo3(signature = (reward, arm=0, features=None, probability=None))]
    fn update_logged(
        &self,
        python: Python<'_>,
        reward: f64,
        arm: usize,
        features: Option<&Bound<'_, PyAny>>,
        probability: Option<f64>,
    ) -> PyResult<()> {
        let reward = self.reward(reward)?;
        let arm = self.check_arm(arm)?;
        let probability = batch::probable(probability)?;
        let array = features.map(|features| floats(features, "features")).transpose()?;
        let numbers = array.as_ref().map_or(Ok(&[][..]), slice)?;
        match &array {
            None if self.offer == Offer::Plain => {}
            None => return Err(InputError::new_err("give the features too, shape (d,)")),
            Some(_) if self.offer == Offer::Plain => {
                return Err(InputError::new_err("these arms have no features: leave them out"));
            }
            Some(array) => {
                shaped(array.shape(), &[Some(self.shape.dim)], "features")?;
                usable(numbers, array.shape(), "features")?;
            }
        }
        self.with(python, self.is_long(1), |state| {
            state.solo.observe(Observed { arm, features: numbers, probability }, reward);
        });
        Ok(())
    }

    /// Decides many times with what is known now: arms (n, k, d), contexts (n, d), or n for plain arms.
    fn decide_many<'py>(
        &self,
        python: Python<'py>,
        arms: &Bound<'py, PyAny>,
    ) -> PyResult<batch::Decided<'py>> {
        batch::decide(self, python, arms)
    }

    /// Learns from many observations, in their order: all of them or, where one is refused, none.
    #[pyo3(signature = (rewards, arms=None, features=None, probabilities=None))]
    fn update_many(
        &self,
        python: Python<'_>,
        rewards: &Bound<'_, PyAny>,
        arms: Option<&Bound<'_, PyAny>>,
        features: Option<&Bound<'_, PyAny>>,
        probabilities: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        batch::update(self, python, rewards, arms, features, probabilities)
    }

    /// How likely the next decision is to take each arm; None where that is not known.
    #[pyo3(signature = (arms=None, masked=None))]
    fn odds<'py>(
        &self,
        python: Python<'py>,
        arms: Option<&Bound<'py, PyAny>>,
        masked: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Column<'py>>> {
        let (array, masked) = (self.offered(arms)?, masks(masked)?);
        let numbers = array.as_ref().map_or(Ok(&[][..]), slice)?;
        let odds = self.with(python, self.is_long(self.arms_in(array.as_ref())), |state| {
            self.offer.put(self.shape, numbers, &mut state.offered);
            state.offered.masked = masked;
            state.solo.odds(&state.offered)
        });
        let odds = odds.map_err(|e| self.refusal(&e, array.as_ref()))?;
        Ok(odds.map(|odds| PyArray1::from_slice(python, odds.probabilities())))
    }

    /// For each arm what it would be compared by, and the mean reward that is expected; NaN where there is none.
    #[pyo3(signature = (arms=None))]
    fn scores<'py>(
        &self,
        python: Python<'py>,
        arms: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Column<'py>, Column<'py>)> {
        let array = self.offered(arms)?;
        let numbers = array.as_ref().map_or(Ok(&[][..]), slice)?;
        let count = self.arms_in(array.as_ref());
        let (shape, offer) = (self.shape, self.offer);
        let both: Result<_, ArmError> = self.with(python, self.is_long(count), |state| {
            let mut both = (Vec::with_capacity(count), Vec::with_capacity(count));
            if offer != Offer::PerArm {
                offer.put(shape, numbers, &mut state.offered);
            }
            for arm in (0..count as u32).map(ArmIndex) {
                let features = kept(shape, offer, numbers, arm);
                if offer == Offer::PerArm {
                    offer.put(shape, features, &mut state.offered);
                    state.offered.masked.clear();
                } else {
                    only(&mut state.offered.masked, arm, count);
                }
                let score = state.solo.score(&state.offered)?;
                both.0.push(score.unwrap_or(f64::NAN));
                both.1.push(state.solo.estimate(arm.index(), features).unwrap_or(f64::NAN));
            }
            Ok(both)
        });
        let (scores, estimates) = both.map_err(|e| self.refusal(&e, array.as_ref()))?;
        Ok((PyArray1::from_vec(python, scores), PyArray1::from_vec(python, estimates)))
    }

    /// Coefficients of the model, or of each arm's; None where there is none.
    fn coefficients<'py>(&self, python: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let arms = if self.offer == Offer::Context { self.shape.arms } else { 1 };
        let rows: Option<Vec<Vec<f64>>> = self.with(python, self.is_long(arms), |state| {
            (0..arms).map(|arm| state.solo.coefficients(arm)).collect()
        });
        rows.map(|rows| PyArray2::from_vec2(python, &rows).map_err(|e| InputError::new_err(e.to_string())))
            .transpose()
    }

    /// All that it needs to go on bit for bit.
    fn state<'py>(&self, python: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = self.with(python, false, |state| state.solo.save());
        PyBytes::new(python, &bytes)
    }

    /// Decisions and observations so far.
    fn counts(&self, python: Python<'_>) -> (u64, u64) {
        self.with(python, false, |state| state.solo.counts())
    }
}
