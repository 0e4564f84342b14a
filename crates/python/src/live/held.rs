//! What a Python object holds of a node: until it is closed, and in the process that opened it alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use pyo3::prelude::*;

use crate::error::CahootsError;

/// How long calls that are under way are waited for when a node is closed.
const PATIENCE: Duration = Duration::from_secs(10);

/// A node, until it is closed. Calls take a share of it, so that one that is under way when another thread closes it ends well.
///
/// The lock is only ever held by who also holds the interpreter's, and for a moment: a fork, which needs that one, never
/// copies it locked.
pub(super) struct Held<T> {
    node: Mutex<Option<Arc<T>>>,
    process: u32,
    what: &'static str,
}

impl<T> Held<T> {
    pub(super) fn new(what: &'static str, node: T) -> Held<T> {
        Held { node: Mutex::new(Some(Arc::new(node))), process: std::process::id(), what }
    }

    /// Is this the process that opened it?
    pub(super) fn is_here(&self) -> bool {
        std::process::id() == self.process
    }

    /// A share of it, where it can be used.
    pub(super) fn get(&self) -> PyResult<Arc<T>> {
        let what = self.what;
        if !self.is_here() {
            return Err(CahootsError::new_err(format!(
                "this {what} belongs to process {}, and process {} is a fork of it, which has neither its threads nor its \
                 store: use the {what} in the process that opened it, or open one of its own, with a store of its own, after \
                 the fork (multiprocessing's \"spawn\" makes processes that start afresh)",
                self.process,
                std::process::id()
            )));
        }
        let node = self.node.lock().unwrap_or_else(PoisonError::into_inner);
        node.clone().ok_or_else(|| CahootsError::new_err(format!("this {what} is closed: open it again")))
    }

    /// All of it, which is then closed; nothing where it is closed, or another process's.
    pub(super) fn take(&self) -> Option<Arc<T>> {
        if !self.is_here() {
            return None;
        }
        self.node.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Was it closed? A fork's never was open.
    pub(super) fn is_closed(&self) -> bool {
        !self.is_here() || self.node.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// All of what others have a share of, once they are done; `None` where that takes too long, and the last of them ends it.
pub(super) fn sole<T>(mut shared: Arc<T>) -> Option<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        shared = match Arc::try_unwrap(shared) {
            Ok(all) => return Some(all),
            Err(shared) if Instant::now() < until => shared,
            Err(_) => return None,
        };
        thread::sleep(Duration::from_millis(1));
    }
}

impl<T> Drop for Held<T> {
    /// In a fork there are no threads to be joined, and the files are the parent's: all of it is left as it is.
    fn drop(&mut self) {
        if !self.is_here() {
            mem::forget(self.node.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
