//! What went wrong in a user's code. Machines and worlds cannot return errors: the exception is kept here, the run is left
//! by unwinding (which prints nothing), the laboratory calls it failed, and whoever called gets the exception itself.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Exceptions that nobody has asked for yet, at most: who never asks does not fill the memory.
const KEPT: usize = 16;

/// How a kept exception is named in the text of a failure.
const MARK: &str = "an exception in Python, number ";

static KEPT_ERRORS: Mutex<Vec<(u64, PyErr)>> = Mutex::new(Vec::new());
static NEXT: AtomicU64 = AtomicU64::new(1);
static RUNNING: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static STOP: AtomicBool = AtomicBool::new(false);

/// Keeps an exception; the text names it.
pub(super) fn keep(error: PyErr) -> String {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut kept = KEPT_ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    let oldest = (kept.len() == KEPT).then(|| kept.remove(0));
    kept.push((number, error));
    // What it holds may be code of Python: it ends when nothing is locked.
    drop(kept);
    drop(oldest);
    format!("{MARK}{number}.")
}

/// Leaves the run with this exception.
pub(super) fn leave(error: PyErr) -> ! {
    resume_unwind(Box::new(keep(error)))
}

/// The exception that a failure's text names.
pub(crate) fn error_in(text: &str) -> Option<PyErr> {
    let digits = text.split_once(MARK)?.1;
    let number: u64 = digits.split_once('.')?.0.parse().ok()?;
    let mut kept = KEPT_ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    let place = kept.iter().position(|(known, _)| *known == number)?;
    Some(kept.remove(place).1)
}

/// Leaves all runs: at their next call of a user's code, or from within the one that they are in. To be called when a signal
/// came; [`resume`] afterwards.
pub(crate) fn interrupt(python: Python<'_>) {
    STOP.store(true, Ordering::Relaxed);
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let raise = || python.import("cahoots._own_definition")?.getattr("raise_in")?.call1((running,));
    // Where that cannot be done, the next call ends it.
    let _ = raise();
}

/// Lets runs go on that begin after an interruption.
pub(crate) fn resume() {
    STOP.store(false, Ordering::Relaxed);
}

/// How many threads run a user's code.
pub(crate) fn running() -> usize {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Shows that this thread runs a user's code: [`interrupt`] finds it.
pub(super) struct Running(u64);

impl Running {
    pub(super) fn here(python: Python<'_>) -> PyResult<Running> {
        static IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let ident = IDENT.get_or_try_init(python, || {
            PyResult::Ok(python.import("threading")?.getattr("get_ident")?.unbind())
        })?;
        let thread = ident.bind(python).call0()?.extract()?;
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(Running(thread))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = running.iter().rposition(|thread| *thread == self.0) {
            running.remove(place);
        }
    }
}

/// Leaves the run if it was interrupted.
pub(super) fn go_on() {
    if STOP.load(Ordering::Relaxed) {
        leave(PyKeyboardInterrupt::new_err(()));
    }
}

/// The exception with a line about where it happened; Python 3.10 has no room for one.
pub(super) fn note(python: Python<'_>, error: PyErr, place: &str) -> PyErr {
    let _ = error.value(python).call_method1("add_note", (place,));
    error
}
