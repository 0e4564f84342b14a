//! What was decided.

use cahoots_core::{Context, Picked};
use numpy::PyArray1;
use pyo3::prelude::*;

/// A decision: the arm, and what the learner can say about it. Hand it back to `update` with its reward.
#[pyclass(module = "cahoots.learners", frozen, eq)]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// Position of the arm among those that were offered.
    #[pyo3(get)]
    pub(super) arm: usize,
    /// How likely the learner was to take this arm, with what it knew; None where it cannot tell.
    #[pyo3(get)]
    pub(super) probability: Option<f64>,
    /// What the arms were compared by; None where they were not.
    #[pyo3(get)]
    pub(super) score: Option<f64>,
    /// Where the learner believes the arm's mean reward to lie.
    #[pyo3(get)]
    pub(super) interval: Option<(f64, f64)>,
    /// The how manyth decision of its learner this is.
    #[pyo3(get)]
    pub(super) number: u64,
    pub(super) kept: Context,
}

impl Decision {
    pub(super) fn new(picked: Picked, number: u64, kept: Context) -> Decision {
        let Picked { arm, score, interval, probability } = picked;
        Decision { arm: arm.index(), probability, score, interval, number, kept }
    }
}

type Parts = (usize, Option<f64>, Option<f64>, Option<(f64, f64)>, u64, Vec<f64>);

#[pymethods]
impl Decision {
    #[new]
    fn restored(
        arm: usize,
        probability: Option<f64>,
        score: Option<f64>,
        interval: Option<(f64, f64)>,
        number: u64,
        features: Vec<f64>,
    ) -> Decision {
        Decision { arm, probability, score, interval, number, kept: Context::from_vec(features) }
    }

    /// Features of the arm (of the context, where arms have none of their own).
    #[getter]
    fn features<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(python, &self.kept)
    }

    fn __reduce__<'py>(&self, python: Python<'py>) -> (Bound<'py, PyAny>, Parts) {
        let parts = (self.arm, self.probability, self.score, self.interval, self.number, self.kept.to_vec());
        (python.get_type::<Decision>().into_any(), parts)
    }

    fn __repr__(&self) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "None".into(), |value| format!("{value:?}"));
        let interval = self.interval.map_or_else(|| "None".into(), |ends| format!("{ends:?}"));
        format!(
            "Decision(arm={}, probability={}, score={}, interval={interval}, number={})",
            self.arm,
            number(self.probability),
            number(self.score),
            self.number
        )
    }
}
