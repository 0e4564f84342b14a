//! Many decisions, many observations, one crossing.

use std::time::{Duration, Instant};

use cahoots_core::arms::ArmError;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::arrays::{floats, positions, shaped, slice, usable};
use super::logged::Observed;
use super::{Column, Learner, Offer, State, kept};
use crate::error::InputError;

/// Arms, probabilities, scores, and what each decision keeps.
pub(super) type Decided<'py> =
    (Bound<'py, PyArray1<i64>>, Column<'py>, Column<'py>, Bound<'py, PyArray2<f64>>);

/// So often signals are looked at.
const BREATH: Duration = Duration::from_millis(50);

/// So many contexts are looked at together, where that is quicker: they stay in a near cache.
const TOGETHER: usize = 256;
/// And not more than give so many bounds.
const BOUNDS: usize = 1 << 20;

/// A probability that an arm can have been taken with.
pub(super) fn probable(probability: Option<f64>) -> PyResult<Option<f64>> {
    match probability {
        Some(p) if !(p > 0.0 && p <= 1.0) => {
            Err(InputError::new_err(format!("a probability is above 0 and at most 1, not {p}")))
        }
        other => Ok(other),
    }
}

/// Decides with what is known now: nothing is learned in between.
pub(super) fn decide<'py>(
    learner: &Learner,
    python: Python<'py>,
    arms: &Bound<'py, PyAny>,
) -> PyResult<Decided<'py>> {
    let (shape, offer) = (learner.shape, learner.offer);
    let array = if offer == Offer::Plain { None } else { Some(floats(arms, learner.what())?) };
    let (count, width) = match &array {
        None => {
            let count = arms.extract::<usize>().map_err(|_| {
                InputError::new_err(
                    "these arms have no features: say how many times to decide, a whole number",
                )
            })?;
            (count, 0)
        }
        Some(array) => {
            let dim = Some(shape.dim);
            match offer {
                Offer::Context => shaped(array.shape(), &[None, dim], "contexts")?,
                _ => shaped(array.shape(), &[None, None, dim], "arms")?,
            }
            usable(slice(array)?, array.shape(), learner.what())?;
            if array.shape()[0] > 0 && array.shape().contains(&0) {
                return Err(InputError::new_err("no arms to choose from: offer at least one"));
            }
            (array.shape()[0], array.shape()[1..].iter().product())
        }
    };
    let numbers = array.as_ref().map_or(Ok(&[][..]), slice)?;
    let kept_dim = if offer == Offer::Plain { 0 } else { shape.dim };
    let mut taken: Vec<i64> = Vec::new();
    taken
        .try_reserve(count)
        .map_err(|_| InputError::new_err("too many decisions for this machine's memory"))?;
    let (mut probabilities, mut scores) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut features: Vec<f64> = Vec::with_capacity(count * kept_dim);
    while taken.len() < count {
        let decided = python.detach(|| {
            let begun = Instant::now();
            let mut state = learner.lock();
            let State { solo, offered } = &mut *state;
            offered.masked.clear();
            while taken.len() < count && begun.elapsed() < BREATH {
                let (row, together) = (taken.len(), (BOUNDS / shape.arms.max(1)).clamp(1, TOGETHER));
                let rows = &numbers[row * width..(row + together).min(count) * width];
                if offer == Offer::Context {
                    offered.features.fill(width, rows.chunks_exact(width));
                    if let Some(chosen) = solo.choose_each(&offered.features) {
                        taken.extend(chosen.iter().map(|(arm, _)| arm.index() as i64));
                        probabilities.extend(chosen.iter().map(|_| 1.0));
                        scores.extend(chosen.iter().map(|(_, score)| score));
                        features.extend_from_slice(rows);
                        continue;
                    }
                }
                let one = &rows[..width];
                offer.put(shape, one, offered);
                let picked = solo.choose(offered)?;
                taken.push(picked.arm.index() as i64);
                probabilities.push(picked.probability.unwrap_or(f64::NAN));
                scores.push(picked.score.unwrap_or(f64::NAN));
                features.extend_from_slice(kept(shape, offer, one, picked.arm));
            }
            Ok(())
        });
        decided.map_err(|e: ArmError| InputError::new_err(e.to_string()))?;
        python.check_signals()?;
    }
    let features = PyArray1::from_vec(python, features).reshape([count, kept_dim])?;
    let column = |values| PyArray1::from_vec(python, values);
    Ok((PyArray1::from_vec(python, taken), column(probabilities), column(scores), features))
}

/// Learns from all of them, or refuses them all; who is interrupted has learned from the first of them.
pub(super) fn update(
    learner: &Learner,
    python: Python<'_>,
    rewards: &Bound<'_, PyAny>,
    arms: Option<&Bound<'_, PyAny>>,
    features: Option<&Bound<'_, PyAny>>,
    probabilities: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let rewards = floats(rewards, "rewards")?;
    shaped(rewards.shape(), &[None], "rewards")?;
    let count = rewards.shape()[0];
    let rewards = slice(&rewards)?;
    usable(rewards, &[count], "rewards")?;
    for reward in rewards {
        learner.reward(*reward)?;
    }
    let alike = |what: &str, got: usize| {
        if got == count {
            Ok(())
        } else {
            Err(InputError::new_err(format!("{got} {what} for {count} rewards")))
        }
    };
    let arms = match (arms, learner.offer) {
        (_, Offer::PerArm) => None,
        (None, _) => return Err(InputError::new_err("say which arms the rewards came from")),
        (Some(arms), _) => Some(positions(arms, learner.shape.arms)?),
    };
    arms.as_ref().map_or(Ok(()), |arms| alike("arms", arms.len()))?;
    let width = if learner.offer == Offer::Plain { 0 } else { learner.shape.dim };
    let features = match (features, width) {
        (None, 0) => None,
        (None, _) => return Err(InputError::new_err("give the features too, shape (n, d)")),
        (Some(_), 0) => return Err(InputError::new_err("these arms have no features: leave them out")),
        (Some(features), _) => Some(floats(features, "features")?),
    };
    if let Some(features) = &features {
        shaped(features.shape(), &[None, Some(width)], "features")?;
        alike("rows of features", features.shape()[0])?;
        usable(slice(features)?, features.shape(), "features")?;
    }
    let numbers = features.as_ref().map_or(Ok(&[][..]), slice)?;
    let stated = probabilities.map(|stated| floats(stated, "probabilities")).transpose()?;
    let stated = match &stated {
        None => None,
        Some(stated) => {
            shaped(stated.shape(), &[Some(count)], "probabilities")?;
            let stated = slice(stated)?;
            // NaN: not stated.
            stated.iter().filter(|p| !p.is_nan()).try_for_each(|p| probable(Some(*p)).map(drop))?;
            Some(stated)
        }
    };
    let mut row = 0;
    while row < count {
        python.detach(|| {
            let begun = Instant::now();
            let mut state = learner.lock();
            while row < count && begun.elapsed() < BREATH {
                let observed = Observed {
                    arm: arms.as_ref().map_or(0, |arms| arms[row]),
                    features: &numbers[row * width..][..width],
                    probability: stated.map(|stated| stated[row]).filter(|p| !p.is_nan()),
                };
                state.solo.observe(observed, rewards[row]);
                row += 1;
            }
        });
        python.check_signals()?;
    }
    Ok(())
}
