//! Work on a thread of its own, while the one that Python called from looks after signals and progress.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cahoots_lab::LabError;
use cahoots_lab::run::Seen;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use super::words;
use crate::error::CahootsError;
use crate::own;

/// Time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(50);

/// What the two threads share.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Set to stop.
    pub(super) stop: AtomicBool,
    seen: Mutex<Option<Seen>>,
}

impl Look {
    /// Remembers how far things are.
    pub(super) fn see(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    /// Says no once someone wants it to end.
    pub(super) fn go_on(&self) -> Result<(), LabError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(LabError::Stopped("stopped: nothing was run".into())),
            false => Ok(()),
        }
    }

    fn latest(&self) -> Option<Seen> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does work on a thread of its own, without the interpreter's lock. `progress` is called on this one, with decisions,
/// of how many, runs, of how many. A signal that raises (Ctrl-C) lets the work stop in good order; a second one leaves
/// it to itself.
pub(super) fn apart<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(&Look) -> Result<T, LabError> + Send + 'static,
) -> PyResult<T> {
    let look = Arc::new(Look::default());
    let (tell, told) = mpsc::channel();
    let told = Mutex::new(told);
    let theirs = Arc::clone(&look);
    let begun = thread::Builder::new().name("cahoots".into()).spawn(move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&theirs)));
        // Nobody may be there any more.
        let _ = tell.send(done);
    });
    begun.map_err(|error| CahootsError::new_err(format!("cannot start a thread: {error}")))?;
    let mut raised: Option<PyErr> = None;
    let done = loop {
        let next = py.detach(|| told.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK));
        match next {
            Ok(done) => break done,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CahootsError::new_err("an internal error, which should be reported: no answer"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            look.stop.store(true, Ordering::Relaxed);
            own::interrupt(py);
            if raised.replace(error).is_some() {
                break Ok(Err(LabError::Stopped("stopped at once; finished runs are kept".into())));
            }
        }
        if raised.is_none()
            && let Err(error) = show(progress.as_ref(), &look)
        {
            look.stop.store(true, Ordering::Relaxed);
            raised = Some(error);
        }
    };
    own::resume();
    match (done, raised) {
        (done, Some(error)) => Err(interrupted(py, error, done.ok().and_then(Result::err))),
        (Ok(Ok(value)), None) => {
            // The last numbers: a short run has no others.
            show(progress.as_ref(), &look)?;
            Ok(value)
        }
        (Ok(Err(error)), None) => Err(failed(py, error)),
        (Err(panic), None) => {
            let text = said(&panic);
            Err(own::error_in(&text).unwrap_or_else(|| CahootsError::new_err(text)))
        }
    }
}

/// The user's own exception where it was one, with what is kept as a note to it; and otherwise what the laboratory says.
fn failed(py: Python<'_>, error: LabError) -> PyErr {
    let text = error.to_string();
    let Some(own) = own::error_in(&text) else { return words::python(error) };
    if let Some((_, kept)) = text.rsplit_once('\n') {
        // Python 3.10 has no notes.
        let _ = own.value(py).call_method1("add_note", (words::worded(kept.to_string()),));
    }
    own
}

/// Ctrl-C says what is kept; whatever else was raised stands for itself.
fn interrupted(py: Python<'_>, error: PyErr, ended: Option<LabError>) -> PyErr {
    let Some(ended) = ended else { return error };
    let text = ended.to_string();
    // Python code that was interrupted has failed, but that is no news.
    let ours = own::error_in(&text).is_some();
    match ended {
        _ if !error.is_instance_of::<PyKeyboardInterrupt>(py) => error,
        LabError::Failed(_) if ours => {
            let kept =
                text.rsplit_once('\n').and_then(|(_, kept)| kept.split_once(';')).map(|(kept, _)| kept);
            let kept = kept.unwrap_or("finished runs are kept");
            words::python(LabError::Stopped(format!(
                "stopped: {kept}; the same call with --resume does the rest"
            )))
        }
        LabError::Stopped(_) => words::python(ended),
        _ => error,
    }
}

fn show(progress: Option<&Bound<'_, PyAny>>, look: &Look) -> PyResult<()> {
    let (Some(progress), Some(seen)) = (progress, look.latest()) else { return Ok(()) };
    progress.call1((seen.decisions, seen.of_decisions, seen.runs, seen.of_runs)).map(|_| ())
}

fn said(panic: &Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    format!("an internal error, which should be reported: {text}")
}
