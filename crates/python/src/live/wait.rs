//! Waiting while other threads run Python, and Ctrl-C is heard.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::error::InputError;

/// How often one looks whether there was a signal.
const LOOK: Duration = Duration::from_millis(50);

/// How often one looks whether something has come about of which nobody tells.
const POLL: Duration = Duration::from_millis(2);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for what a node answers. Whoever is interrupted does not know whether it was done: what is given twice counts once.
pub(super) fn answer<T: Send>(python: Python<'_>, asked: impl Future<Output = T> + Send) -> PyResult<T> {
    let mut asked = pin!(asked);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        let answered = python.detach(|| {
            let until = Instant::now() + LOOK;
            loop {
                if let Poll::Ready(answer) = asked.as_mut().poll(&mut Context::from_waker(&waker)) {
                    return Some(answer);
                }
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                thread::park_timeout(left);
            }
        });
        match answered {
            Some(answer) => return Ok(answer),
            None => python.check_signals()?,
        }
    }
}

/// Waits until `look` finds something, or until `patience` is over.
pub(super) fn until<T: Send>(
    python: Python<'_>,
    patience: Duration,
    mut look: impl FnMut() -> Option<T> + Send,
) -> PyResult<Option<T>> {
    let begun = Instant::now();
    loop {
        let found = python.detach(|| {
            let looked = Instant::now();
            loop {
                let found = look();
                if found.is_some() || looked.elapsed() >= LOOK || begun.elapsed() >= patience {
                    return found;
                }
                thread::sleep(POLL);
            }
        });
        if found.is_some() || begun.elapsed() >= patience {
            return Ok(found);
        }
        python.check_signals()?;
    }
}

/// A length of time that was given in seconds.
pub(super) fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| InputError::new_err(format!("{name} must be a number of seconds, from 0, not {value}")))
}
