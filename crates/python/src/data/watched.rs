//! Long work that Ctrl-C ends.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cahoots_data::evaluate::{Event, Log, LogFile, Refusal, Shape};
use pyo3::prelude::*;

use crate::error::{CahootsError, InputError};

/// Events between two looks.
const EVERY: u64 = 20_000;

/// Why a log was not read to its end.
pub(super) enum Ended {
    /// It cannot answer.
    Refused(Refusal),
    /// Somebody wants no answer any more.
    Interrupted(PyErr),
}

impl From<Refusal> for Ended {
    fn from(refusal: Refusal) -> Ended {
        Ended::Refused(refusal)
    }
}

impl From<Ended> for PyErr {
    fn from(ended: Ended) -> PyErr {
        match ended {
            Ended::Refused(refusal) => InputError::new_err(refusal.to_string()),
            Ended::Interrupted(error) => error,
        }
    }
}

/// A log that looks up now and then whether somebody pressed Ctrl-C. Read without the interpreter.
pub(super) struct Watched<'a> {
    log: &'a LogFile,
    interrupted: RefCell<Option<PyErr>>,
}

impl<'a> Watched<'a> {
    pub(super) fn new(log: &'a LogFile) -> Watched<'a> {
        Watched { log, interrupted: RefCell::new(None) }
    }

    /// Whether to go on; where not, why is kept.
    pub(super) fn go_on(&self) -> bool {
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                *self.interrupted.borrow_mut() = Some(error);
                false
            }
        }
    }

    /// What came of it, unless it was interrupted.
    pub(super) fn outcome<T, E: Into<Ended>>(&self, outcome: Result<T, E>) -> Result<T, Ended> {
        match self.interrupted.borrow_mut().take() {
            Some(error) => Err(Ended::Interrupted(error)),
            None => outcome.map_err(Into::into),
        }
    }
}

impl Log for Watched<'_> {
    fn shape(&self) -> &Shape {
        self.log.shape()
    }

    fn each(&self, see: &mut dyn FnMut(Event<'_>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        self.log.each(&mut |event| {
            if event.row % EVERY == EVERY - 1 && !self.go_on() {
                return Err(Refusal::Question("interrupted".into()));
            }
            see(event)
        })
    }
}

/// Does something in a thread of its own, with a flag that Ctrl-C sets; waits for it without the interpreter.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let worker = scope.spawn(|| work(&stop));
            let mut interrupted = None;
            while !worker.is_finished() {
                thread::sleep(Duration::from_millis(20));
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                }
            }
            let done = worker.join();
            match (interrupted, done) {
                (Some(error), _) => Err(error),
                (None, Ok(done)) => Ok(done),
                (None, Err(_)) => Err(CahootsError::new_err(
                    "something went wrong inside (a panic, told above): this is a fault of the program",
                )),
            }
        })
    })
}
