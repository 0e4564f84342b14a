//! An object of a user's class, and the one way to call its methods: each is given what its parameters are named after.

use std::sync::Arc;

use cahoots_core::{ArmIndex, ArmSet, Custom, Cx, NodeId, Seat, Setting, Stream};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::{decode, unpickle};
use super::convert::table_to_python;
use super::message::{Bytes, Note};
use super::registry::{self, Entry};
use super::rng::Rng;
use super::step::Step;
use super::{algorithm::Made, fault};
use crate::error::InputError;

/// A method that is called if it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Choose,
    Observe,
    Commit,
    Abandon,
    Start,
    Message,
    Wake,
    Join,
    Leave,
}

const HOOKS: [(Hook, &str); 9] = [
    (Hook::Choose, "choose"),
    (Hook::Observe, "observe"),
    (Hook::Commit, "commit"),
    (Hook::Abandon, "abandon"),
    (Hook::Start, "on_start"),
    (Hook::Message, "on_message"),
    (Hook::Wake, "on_wake"),
    (Hook::Join, "on_join"),
    (Hook::Leave, "on_leave"),
];

/// What a parameter of a method can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Arms,
    Rng,
    User,
    Arm,
    Context,
    Reward,
    Tick,
    Step,
    Message,
    Sender,
    Client,
}

impl Argument {
    fn named(name: &str) -> PyResult<Argument> {
        Ok(match name {
            "arms" => Argument::Arms,
            "rng" => Argument::Rng,
            "user" => Argument::User,
            "arm" => Argument::Arm,
            "context" => Argument::Context,
            "reward" => Argument::Reward,
            "tick" => Argument::Tick,
            "step" | "send" => Argument::Step,
            "message" => Argument::Message,
            "sender" => Argument::Sender,
            "client" => Argument::Client,
            other => return Err(InputError::new_err(format!("nothing is called {other:?}"))),
        })
    }
}

/// The methods of a class, and what each takes, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Role {
    takes: [Option<Vec<Argument>>; HOOKS.len()],
}

impl Role {
    /// From a dictionary: method to names.
    pub(super) fn read(methods: &Bound<'_, PyAny>) -> PyResult<Role> {
        let methods = methods.cast::<PyDict>()?;
        let mut role = Role::default();
        for (hook, name) in HOOKS {
            if let Some(names) = methods.get_item(name)? {
                let names: Vec<String> = names.extract()?;
                let takes = names.iter().map(|name| Argument::named(name)).collect::<PyResult<_>>()?;
                role.takes[hook as usize] = Some(takes);
            }
        }
        Ok(role)
    }

    /// Whether the method is there.
    pub(super) fn has(&self, hook: Hook) -> bool {
        self.takes[hook as usize].is_some()
    }

    fn wants(&self, hook: Hook, argument: Argument) -> bool {
        self.takes[hook as usize].as_ref().is_some_and(|takes| takes.contains(&argument))
    }

    /// Whether anything that happens after a choice wants to know the features of the arm.
    pub(super) fn keeps_context(&self) -> bool {
        [Hook::Observe, Hook::Commit, Hook::Abandon].iter().any(|hook| self.wants(*hook, Argument::Context))
    }
}

/// What all machines of a run share: only one of them takes a step at a time.
pub(super) struct Tools {
    rng: Py<Rng>,
    step: Py<Step>,
}

impl Tools {
    pub(super) fn new(python: Python<'_>, clients: u32, server: bool) -> PyResult<Arc<Tools>> {
        let (rng, step) = (Py::new(python, Rng::closed())?, Py::new(python, Step::closed(clients, server))?);
        Ok(Arc::new(Tools { rng, step }))
    }
}

/// What a call is about.
#[derive(Default)]
pub(super) struct Given<'a> {
    pub(super) arms: Option<ArmSet<'a>>,
    pub(super) user: u32,
    pub(super) arm: u32,
    pub(super) context: &'a [f64],
    pub(super) reward: f64,
    pub(super) tick: u64,
    pub(super) message: Option<&'a Note>,
    pub(super) sender: Option<NodeId>,
}

/// An object, ready to be called.
pub(crate) struct Object {
    pub(super) entry: Arc<Entry>,
    server: bool,
    object: Py<PyAny>,
    /// Bound once: a look-up by name at every call would cost as much as the call.
    methods: [Option<Py<PyAny>>; HOOKS.len()],
    tools: Arc<Tools>,
    /// Clients of the federation.
    clients: u32,
    /// Whether arms have features.
    featured: bool,
}

impl Object {
    /// A new one, at its seat.
    pub(super) fn make(python: Python<'_>, made: &Made, seat: &Seat) -> PyResult<Object> {
        let place = PyDict::new(python);
        let server = seat.me == NodeId::SERVER;
        place.set_item("client", (!server).then_some(seat.me.0))?;
        place.set_item("clients", made.clients)?;
        place.set_item("dim", seat.dim)?;
        place.set_item("local_dim", seat.local_dim)?;
        let arguments = table_to_python(python, &made.entry.arguments(&made.params))?;
        let (role, about) = (if server { "server" } else { "client" }, about(python, &made.setting)?);
        let build = made.entry.definition.bind(python).getattr(intern!(python, "build"))?;
        let object = build.call1((role, place, about, arguments))?;
        Object::wrap(made.entry.clone(), server, object, made.tools.clone(), (made.clients, seat.dim > 0))
    }

    fn wrap(
        entry: Arc<Entry>,
        server: bool,
        object: Bound<'_, PyAny>,
        tools: Arc<Tools>,
        (clients, featured): (u32, bool),
    ) -> PyResult<Object> {
        let mut methods = [const { None }; HOOKS.len()];
        let role = if server { entry.server.as_ref() } else { Some(&entry.client) };
        for (hook, name) in HOOKS {
            if role.is_some_and(|role| role.has(hook)) {
                methods[hook as usize] = Some(object.getattr(name)?.unbind());
            }
        }
        Ok(Object { entry, server, object: object.unbind(), methods, tools, clients, featured })
    }

    fn role(&self) -> &Role {
        match &self.entry.server {
            Some(server) if self.server => server,
            _ => &self.entry.client,
        }
    }

    /// What is to be remembered of an arm's features until its reward comes; nothing where nobody asks for them.
    pub(super) fn context(&self, arms: &ArmSet<'_>, arm: ArmIndex) -> Vec<f64> {
        if !(self.featured && self.entry.client.keeps_context()) {
            return Vec::new();
        }
        let mut row = vec![0.0; dim(arms)];
        write(arms, arm.index(), &mut row);
        row
    }

    /// Calls a method that may draw and may not do anything else.
    pub(super) fn ask<'py>(
        &self,
        python: Python<'py>,
        hook: Hook,
        given: &Given<'_>,
        stream: &mut Stream,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = || self.call(python, hook, given);
        if self.role().wants(hook, Argument::Rng) { self.tools.rng.get().lend(stream, call) } else { call() }
    }

    /// Calls a method that takes a step, if it is there.
    pub(super) fn step(&self, hook: Hook, given: Given<'_>, cx: &mut Cx<'_, Custom<Note>>) {
        if self.methods[hook as usize].is_none() {
            return;
        }
        fault::go_on();
        Python::attach(|python| {
            let given = Given { tick: cx.now(), ..given };
            let step = self.tools.step.get();
            step.open(cx.me(), cx.now());
            let result = if self.role().wants(hook, Argument::Rng) {
                let rng = self.tools.rng.get();
                cx.draw(|stream| rng.lend(stream, || self.call(python, hook, &given).map(drop)))
            } else {
                self.call(python, hook, &given).map(drop)
            };
            match result {
                Ok(()) => step.close(cx),
                Err(error) => fault::leave(self.blame(python, error, hook, cx.me())),
            }
        });
    }

    /// The error, with a line that says whose it is.
    pub(super) fn blame(&self, python: Python<'_>, error: PyErr, hook: Hook, me: NodeId) -> PyErr {
        let name = HOOKS[hook as usize].1;
        fault::note(python, error, &format!("in {name} of {:?}, {me}", self.entry.name))
    }

    fn call<'py>(&self, python: Python<'py>, hook: Hook, given: &Given<'_>) -> PyResult<Bound<'py, PyAny>> {
        let missing = || InputError::new_err(format!("there is no {}", HOOKS[hook as usize].1));
        let method = self.methods[hook as usize].as_ref().ok_or_else(missing)?.bind(python);
        let takes = self.role().takes[hook as usize].as_deref().unwrap_or_default();
        let value = |place: usize| self.value(python, takes[place], given);
        match takes.len() {
            0 => method.call0(),
            1 => method.call1((value(0)?,)),
            2 => method.call1((value(0)?, value(1)?)),
            3 => method.call1((value(0)?, value(1)?, value(2)?)),
            4 => method.call1((value(0)?, value(1)?, value(2)?, value(3)?)),
            more => {
                let values: Vec<_> = (0..more).map(value).collect::<PyResult<_>>()?;
                method.call1(PyTuple::new(python, values)?)
            }
        }
    }

    fn value<'py>(
        &self,
        python: Python<'py>,
        argument: Argument,
        given: &Given<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match argument {
            Argument::Arms => match &given.arms {
                Some(arms) if self.featured => features(python, arms)?,
                Some(arms) => arms.len().into_pyobject(python)?.into_any(),
                None => python.None().into_bound(python),
            },
            Argument::Rng => self.tools.rng.bind(python).clone().into_any(),
            Argument::User => given.user.into_pyobject(python)?.into_any(),
            Argument::Arm => given.arm.into_pyobject(python)?.into_any(),
            Argument::Context if given.context.is_empty() => python.None().into_bound(python),
            Argument::Context => PyArray1::from_slice(python, given.context).into_any(),
            Argument::Reward => given.reward.into_pyobject(python)?.into_any(),
            Argument::Tick => given.tick.into_pyobject(python)?.into_any(),
            Argument::Step => self.tools.step.bind(python).clone().into_any(),
            Argument::Message => match given.message {
                Some(note) => decode(python, note.data())?,
                None => python.None().into_bound(python),
            },
            Argument::Sender | Argument::Client => {
                let client = given.sender.filter(|node| *node != NodeId::SERVER).map(|node| node.0);
                client.into_pyobject(python)?.into_any()
            }
        })
    }
}

/// What is on offer: an array with a row per arm, which nobody can write to. It is made anew each time, since who keeps a row of it must not find another's numbers there later.
fn features<'py>(python: Python<'py>, arms: &ArmSet<'_>) -> PyResult<Bound<'py, PyAny>> {
    let dim = dim(arms);
    let array = PyArray2::<f64>::zeros(python, [arms.len(), dim], false);
    {
        let mut all = array.readwrite();
        let rows = all.as_slice_mut().map_err(|error| InputError::new_err(error.to_string()))?;
        for (arm, row) in rows.chunks_exact_mut(dim).enumerate() {
            write(arms, arm, row);
        }
    }
    array.call_method1(intern!(python, "setflags"), (false,))?;
    Ok(array.into_any())
}

/// How many features an arm has: the shared ones, and the client's own.
fn dim(arms: &ArmSet<'_>) -> usize {
    arms.features().dim() + arms.local().map_or(0, |local| local.dim())
}

/// All features of an arm: the shared ones, then the client's own.
fn write(arms: &ArmSet<'_>, arm: usize, row: &mut [f64]) {
    let (shared, own) = row.split_at_mut(arms.features().dim());
    arms.features().row_into(arm, shared);
    if let Some(local) = arms.local() {
        local.row_into(arm, own);
    }
}

/// What is known in advance, as keywords of `cahoots.own.Setting`.
fn about<'py>(python: Python<'py>, setting: &Setting) -> PyResult<Bound<'py, PyDict>> {
    let about = PyDict::new(python);
    about.set_item("clients", setting.users)?;
    about.set_item("arms", setting.arms)?;
    about.set_item("dim", setting.dim)?;
    about.set_item("local_dims", PyTuple::new(python, &setting.local_dims)?)?;
    about.set_item("horizon", setting.horizon)?;
    about.set_item("reward_noise", setting.reward_noise)?;
    Ok(about)
}

/// What is saved: whose it is, and the object pickled.
type Saved = (String, String, bool, (u32, bool), Bytes);

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pickled = Python::attach(|python| {
            let definition = self.entry.definition.bind(python);
            let bytes = definition.call_method1("dumps", (self.object.bind(python),));
            bytes.and_then(|bytes| Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))
        });
        match pickled {
            Ok(bytes) => {
                let name = self.entry.name.to_string();
                let place = (self.clients, self.featured);
                (name, self.entry.code.clone(), self.server, place, Bytes(bytes)).serialize(serializer)
            }
            // Whoever saves holds it impossible that a state cannot be written.
            Err(error) => fault::leave(error),
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let (name, code, server, place, Bytes(bytes)) = Saved::deserialize(deserializer)?;
        let entry = registry::get(&name)
            .ok_or_else(|| D::Error::custom(format!("nothing is called {name:?} here")))?;
        if entry.code != code {
            return Err(D::Error::custom(format!("the code of {name:?} has changed since this was saved")));
        }
        let restored = Python::attach(|python| {
            let object = unpickle(python, &bytes)?;
            let tools = Tools::new(python, place.0, entry.server.is_some())?;
            Object::wrap(entry, server, object, tools, place)
        });
        restored.map_err(|error| D::Error::custom(fault::keep(error)))
    }
}
