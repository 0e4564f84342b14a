//! A learner's random stream, as Python sees it: numpy's names, drawn from the stream that the driver keys by decision, so that
//! runs repeat. A numpy generator per call would cost ten times as much as the call.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cahoots_core::{Keys, NodeId, Stream};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::InputError;

/// Random numbers of one call. The same seed and the same decision give the same draws.
#[pyclass(frozen, module = "cahoots._cahoots")]
pub(crate) struct Rng {
    inner: Mutex<Inner>,
}

struct Inner {
    stream: Stream,
    /// Whether the stream is that of a call.
    open: bool,
}

impl Rng {
    pub(super) fn closed() -> Rng {
        Rng { inner: Mutex::new(Inner { stream: Keys::from_seed(0).policy(NodeId(0), 0), open: false }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `call`, in which this draws from `stream`.
    pub(super) fn lend<T>(&self, stream: &mut Stream, call: impl FnOnce() -> T) -> T {
        self.swap(stream, true);
        let result = call();
        self.swap(stream, false);
        result
    }

    fn swap(&self, stream: &mut Stream, open: bool) {
        let mut inner = self.lock();
        std::mem::swap(&mut inner.stream, stream);
        inner.open = open;
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Stream) -> T) -> PyResult<T> {
        let mut inner = self.lock();
        if !inner.open {
            return Err(InputError::new_err(
                "this rng belongs to a call that is over: take `rng` as a parameter of the method that draws",
            ));
        }
        Ok(draw(&mut inner.stream))
    }

    fn numbers<'py>(
        &self,
        python: Python<'py>,
        size: Option<usize>,
        mut one: impl FnMut(&mut Stream) -> f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        match size {
            None => Ok(self.draw(one)?.into_pyobject(python)?.into_any()),
            Some(size) => {
                let mut all = Vec::new();
                all.try_reserve_exact(size).map_err(|_| {
                    InputError::new_err(format!("size is {size}: so many numbers do not fit into memory"))
                })?;
                self.draw(|stream| all.extend((0..size).map(|_| one(stream))))?;
                Ok(PyArray1::from_vec(python, all).into_any())
            }
        }
    }
}

#[pymethods]
impl Rng {
    /// Uniform in [0, 1): one number, or an array of `size`.
    #[pyo3(signature = (size=None))]
    fn random<'py>(&self, python: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(python, size, Stream::uniform)
    }

    /// Uniform in [low, high): one number, or an array of `size`.
    #[pyo3(signature = (low=0.0, high=1.0, size=None))]
    fn uniform<'py>(
        &self,
        python: Python<'py>,
        low: f64,
        high: f64,
        size: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(python, size, |stream| low + (high - low) * stream.uniform())
    }

    /// Standard normal: one number, or an array of `size`.
    #[pyo3(signature = (size=None))]
    fn standard_normal<'py>(&self, python: Python<'py>, size: Option<usize>) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(python, size, Stream::normal)
    }

    /// Normal with mean `loc` and standard deviation `scale`: one number, or an array of `size`.
    #[pyo3(signature = (loc=0.0, scale=1.0, size=None))]
    fn normal<'py>(
        &self,
        python: Python<'py>,
        loc: f64,
        scale: f64,
        size: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.numbers(python, size, |stream| loc + scale * stream.normal())
    }

    /// A whole number in low..high (0..low where high is left out), each as likely.
    #[pyo3(signature = (low, high=None))]
    fn integers(&self, low: i64, high: Option<i64>) -> PyResult<i64> {
        let (low, high) = high.map_or((0, low), |high| (low, high));
        if high <= low {
            return Err(InputError::new_err(format!("integers: nothing lies in {low}..{high}")));
        }
        self.draw(|stream| low.wrapping_add(stream.below(high.wrapping_sub(low) as u64) as i64))
    }

    /// A whole number below n: each as likely, or with the probabilities `p`, which must add up to 1.
    #[pyo3(signature = (n, p=None))]
    fn choice(&self, n: u64, p: Option<Vec<f64>>) -> PyResult<u64> {
        if n == 0 {
            return Err(InputError::new_err("choice: there is nothing to choose from"));
        }
        let Some(p) = p else { return self.draw(|stream| stream.below(n)) };
        let sum: f64 = p.iter().sum();
        if p.len() as u64 != n || p.iter().any(|p| p.is_nan() || *p < 0.0) || (sum - 1.0).abs() > 1e-8 {
            return Err(InputError::new_err(format!(
                "choice: p must be {n} probabilities that add up to 1, not {} that add up to {sum}",
                p.len()
            )));
        }
        let mut at = self.draw(Stream::uniform)? * sum;
        let mut last = 0;
        for (place, p) in p.iter().enumerate() {
            if *p > 0.0 {
                last = place;
                if at < *p {
                    break;
                }
                at -= p;
            }
        }
        Ok(last as u64)
    }

    /// A numpy generator that is seeded from this stream, for what is not here. Making one takes about as long as ten calls.
    fn generator<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let seed = self.draw(|stream| u128::from(stream.bits()) << 64 | u128::from(stream.bits()))?;
        let random = python.import("numpy.random")?;
        random.call_method1("Generator", (random.call_method1("PCG64", (seed,))?,))
    }
}
