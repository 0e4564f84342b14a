//! What a machine written in Python may do to the outside in one step. Effects are gathered here, and handed on when the step
//! is over.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cahoots_core::{Custom, Cx, Fact, NodeId, Unprotected};
use pyo3::prelude::*;

use super::codec;
use super::message::{self, About, Bytes, Note};
use crate::error::InputError;

/// The step that a client or a server is taking. Calling it sends.
#[pyclass(frozen, module = "cahoots._cahoots")]
pub(crate) struct Step {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Who takes the step; nobody between steps.
    me: Option<NodeId>,
    tick: u64,
    /// How many clients can be written to.
    clients: u32,
    /// Whether a server listens.
    server: bool,
    outbox: Vec<(NodeId, About, Vec<u8>)>,
    wake: Option<u64>,
    facts: Vec<Fact>,
}

impl Step {
    /// Of a federation of so many clients, with a server that listens or without.
    pub(super) fn closed(clients: u32, server: bool) -> Step {
        Step { inner: Mutex::new(Inner { clients, server, ..Inner::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> PyResult<MutexGuard<'_, Inner>> {
        let inner = self.lock();
        if inner.me.is_none() {
            return Err(InputError::new_err(
                "this step is over: nothing can be sent between steps, or while an arm is chosen",
            ));
        }
        Ok(inner)
    }

    pub(super) fn open(&self, me: NodeId, tick: u64) {
        let mut inner = self.lock();
        inner.me = Some(me);
        inner.tick = tick;
        inner.outbox.clear();
        inner.wake = None;
        inner.facts.clear();
    }

    /// Ends the step, and does what it asked for.
    pub(super) fn close(&self, cx: &mut Cx<'_, Custom<Note>>) {
        let mut inner = self.lock();
        inner.me = None;
        if let Some(tick) = inner.wake.take() {
            cx.wake_at(tick);
        }
        for fact in inner.facts.drain(..) {
            cx.report(fact);
        }
        for (to, about, data) in inner.outbox.drain(..) {
            let note = if cx.me() == NodeId::SERVER {
                Note::Down(about, Bytes(data))
            } else {
                Note::Up(about, cx.release(&mut Unprotected, Bytes(data)))
            };
            cx.send(to, Custom(note));
        }
    }
}

/// The numbers that `to` holds: one, or several.
fn numbers(to: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(one) = to.extract() {
        return Ok(vec![one]);
    }
    let wrong =
        |_| InputError::new_err(format!("`to` must be a client's number or a list of them, not {to}"));
    to.try_iter().map_err(wrong)?.map(|item| item?.extract().map_err(wrong)).collect()
}

impl Inner {
    /// Whom these numbers mean.
    fn receivers(&self, to: Option<Vec<i64>>) -> PyResult<Vec<NodeId>> {
        if self.me != Some(NodeId::SERVER) {
            return match to {
                _ if !self.server => Err(InputError::new_err(
                    "nobody listens: give the algorithm a class Server with on_message",
                )),
                None => Ok(vec![NodeId::SERVER]),
                Some(_) => Err(InputError::new_err("a client writes to the server alone: leave `to` out")),
            };
        }
        let Some(to) = to else {
            return Err(InputError::new_err("say to whom: send(message, to=client), or to=[clients]"));
        };
        let known = |number: i64| {
            let client = u32::try_from(number).ok().filter(|number| *number < self.clients);
            client.map(NodeId).ok_or_else(|| {
                InputError::new_err(format!(
                    "there is no client {number}: they are numbered from 0 to {}",
                    self.clients.saturating_sub(1)
                ))
            })
        };
        to.into_iter().map(known).collect()
    }
}

#[pymethods]
impl Step {
    /// Sends a message: a client to the server; the server to a client or a list of clients (`to`). It is made bytes at once. The
    /// numbers in it are counted unless `scalars` says how many there are; `control` is for signals that carry no statistics,
    /// which are shown and never charged.
    #[pyo3(signature = (message, to=None, *, scalars=None, control=false))]
    fn send(
        &self,
        message: &Bound<'_, PyAny>,
        to: Option<&Bound<'_, PyAny>>,
        scalars: Option<u64>,
        control: bool,
    ) -> PyResult<()> {
        // Nothing is locked while code of the user's may run: in a list, in what is made bytes.
        let to = to.map(numbers).transpose()?;
        let receivers = self.opened()?.receivers(to)?;
        let data = codec::encode(message)?;
        let scalars = match scalars {
            Some(stated) => countable("scalars", stated)?,
            None => message::scalars(message, 0)?,
        };
        let mut inner = self.opened()?;
        for to in receivers {
            inner.outbox.push((to, About { scalars, control }, data.clone()));
        }
        Ok(())
    }

    #[pyo3(signature = (message, to=None, *, scalars=None, control=false))]
    fn __call__(
        &self,
        message: &Bound<'_, PyAny>,
        to: Option<&Bound<'_, PyAny>>,
        scalars: Option<u64>,
        control: bool,
    ) -> PyResult<()> {
        self.send(message, to, scalars, control)
    }

    /// The present tick.
    #[getter]
    fn tick(&self) -> PyResult<u64> {
        Ok(self.opened()?.tick)
    }

    /// Asks for one call of `on_wake`, at this tick; replaces an earlier wish. A tick that is not after the present one means
    /// the next.
    fn wake_at(&self, tick: u64) -> PyResult<()> {
        self.opened()?.wake = Some(tick);
        Ok(())
    }

    /// A value under a name of one's own, for the table of results; the last one counts.
    fn level(&self, name: String, value: f64) -> PyResult<()> {
        self.opened()?.facts.push(Fact::Level(name.into(), value));
        Ok(())
    }

    /// Counts something under a name of one's own: it adds up, over all clients.
    #[pyo3(signature = (name, value=1.0))]
    fn count(&self, name: String, value: f64) -> PyResult<()> {
        self.opened()?.facts.push(Fact::Count(name.into(), value));
        Ok(())
    }

    /// Synchronous rounds were held; they add up.
    #[pyo3(signature = (count=1))]
    fn rounds(&self, count: u64) -> PyResult<()> {
        self.opened()?.facts.push(Fact::Rounds(countable("count", count)?));
        Ok(())
    }
}

/// Refuses numbers whose sums over a run would not be exact.
fn countable(what: &str, count: u64) -> PyResult<u64> {
    const MOST: u64 = 1 << 40;
    if count > MOST {
        return Err(InputError::new_err(format!("{what} is {count}: at most {MOST} are counted at once")));
    }
    Ok(count)
}
