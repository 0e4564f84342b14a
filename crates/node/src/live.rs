//! An algorithm as a deployment needs it: without its type, to be looked up by the name that terms give.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use cahoots_core::drive::{Blueprint, ClientNode, Saved, ServerNode};
use cahoots_core::{Algorithm, Alone, Erase, NodeId, ParamError, Registry, Seats, Setting};
use serde_json::Value as Json;
use toml::Table;

use crate::error::NodeError;
use crate::lockstep::Lockstep;
use crate::privacy::Promised;
use crate::terms::Terms;

/// An algorithm that can be deployed.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    complete: fn(Table) -> Result<Table, ParamError>,
    check: fn(Table, &Setting) -> Result<(), ParamError>,
    seats: fn(&Terms) -> Result<Seats, NodeError>,
    coordinator: fn(&Terms, Option<Saved<'_>>) -> Made<dyn ServerNode>,
    client: fn(&Terms, NodeId, Option<Saved<'_>>) -> Made<dyn ClientNode>,
    promised: fn(&Terms) -> Result<Promised, NodeError>,
    alone: fn(&Terms, NodeId) -> Result<Option<Alone>, NodeError>,
    deployable: fn(&Terms) -> Result<(), NodeError>,
    prior_kind: fn(&Terms) -> Result<Result<String, String>, NodeError>,
    by_position: bool,
}

/// A node, or why there is none.
type Made<N> = Result<Box<N>, NodeError>;

/// What a program can run: whatever a file or a coordinator names is looked up here.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The algorithms.
    pub algorithms: Registry<Live>,
    lockstep: Option<Arc<dyn Lockstep>>,
}

impl Known {
    /// These algorithms.
    pub fn new(algorithms: Registry<Live>) -> Known {
        Known { algorithms, lockstep: None }
    }

    /// One more algorithm.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn algorithm<A: Algorithm>(mut self) -> Known {
        self.algorithms.add::<A>();
        self
    }

    /// Federations in lockstep too.
    pub fn with_lockstep(self, lockstep: impl Lockstep + 'static) -> Known {
        Known { lockstep: Some(Arc::new(lockstep)), ..self }
    }

    /// Who knows how to run in lockstep.
    pub fn lockstep(&self) -> Result<&dyn Lockstep, NodeError> {
        self.lockstep.as_deref().ok_or_else(|| {
            NodeError::Config(
                "this program runs no federations in lockstep, which is for tests: remove [lockstep] and say \
                 the [setting], or use the tests' program"
                    .into(),
            )
        })
    }

    /// The algorithm of this name.
    pub fn find(&self, name: &str) -> Result<&Live, NodeError> {
        let found = self.algorithms.get(name);
        found.ok_or_else(|| NodeError::Config(format!("there is no algorithm {name:?}")))
    }
}

impl Erase for Live {
    fn of<A: Algorithm>() -> Live {
        Live {
            complete: |params| {
                known_keys(&schemars::schema_for!(A::Params).to_value(), &params)?;
                Table::try_from(typed::<A>(params)?).map_err(|e| ParamError::unreadable(e.to_string()))
            },
            check: |params, setting| A::check(typed::<A>(params)?, setting).map(|_| ()),
            seats: |terms| Ok(Seats::of::<A>(&blueprint::<A>(terms)?.valid, &terms.setting)),
            coordinator: coordinator::<A>,
            client: client::<A>,
            promised: |terms| {
                let valid = terms.valid::<A>()?;
                Ok(Promised { claim: A::privacy(&valid), unit: A::unit(&valid) })
            },
            alone: |terms, me| {
                let made = blueprint::<A>(terms)?;
                Ok(A::alone(&made.valid, &Seats::of::<A>(&made.valid, &terms.setting).seat(me)))
            },
            deployable: |terms| {
                let wrong = |e: ParamError| NodeError::Config(format!("{}: {e}", A::NAME));
                A::deployable(&terms.valid::<A>()?).map_err(wrong)
            },
            prior_kind: |terms| Ok(A::prior_kind(&terms.valid::<A>()?)),
            by_position: A::BY_POSITION,
        }
    }
}

impl Live {
    /// Parameters with every default filled in, and with what is in the files that they name.
    pub fn complete(&self, params: Table) -> Result<Table, ParamError> {
        (self.complete)(params)
    }

    /// Checks parameters against a setting.
    pub fn check(&self, params: Table, setting: &Setting) -> Result<(), ParamError> {
        (self.check)(params, setting)
    }

    /// What these terms promise about users' data.
    pub fn promised(&self, terms: &Terms) -> Result<Promised, NodeError> {
        (self.promised)(terms)
    }

    /// How a client would choose by its own data alone; `None` where that is not known.
    pub fn alone(&self, terms: &Terms, me: NodeId) -> Result<Option<Alone>, NodeError> {
        (self.alone)(terms, me)
    }

    /// Whether arms with features are told apart by their position.
    pub fn by_position(&self) -> bool {
        self.by_position
    }

    /// Refuses terms that cannot hold among real machines what they promise. In lockstep, a test, they may.
    pub fn deployable(&self, terms: &Terms) -> Result<(), NodeError> {
        if terms.lockstep.is_some() { Ok(()) } else { (self.deployable)(terms) }
    }

    /// What the sums are of that a coordinator hands on or begins from; why there are none, in words.
    pub fn prior_kind(&self, terms: &Terms) -> Result<Result<String, String>, NodeError> {
        (self.prior_kind)(terms)
    }

    /// Who sits where under these terms, and who hears whom.
    pub fn seats(&self, terms: &Terms) -> Result<Seats, NodeError> {
        (self.seats)(terms)
    }

    /// A new coordinator, or the one that was saved.
    pub fn coordinator(
        &self,
        terms: &Terms,
        saved: Option<Saved<'_>>,
    ) -> Result<Box<dyn ServerNode>, NodeError> {
        (self.coordinator)(terms, saved)
    }

    /// A new client, or the one that was saved.
    pub fn client(
        &self,
        terms: &Terms,
        me: NodeId,
        saved: Option<Saved<'_>>,
    ) -> Result<Box<dyn ClientNode>, NodeError> {
        (self.client)(terms, me, saved)
    }
}

/// Refuses keys that the schema of the parameters does not have: reading them by type cannot tell where they are flattened.
fn known_keys(schema: &Json, params: &Table) -> Result<(), ParamError> {
    let (mut known, mut open) = (BTreeSet::new(), false);
    collect_keys(schema, schema, &mut known, &mut open);
    let Some(strange) = params.keys().find(|key| !open && !known.contains(key.as_str())) else {
        return Ok(());
    };
    let near = known.iter().map(|key| (strsim::jaro_winkler(strange, key), key));
    let near = near.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    let remedy = near.map_or_else(
        || format!("there are: {}", known.iter().copied().collect::<Vec<_>>().join(", ")),
        |(_, key)| format!("did you mean `{key}`?"),
    );
    Err(ParamError::unreadable(format!("unknown key `{strange}`; {remedy}")))
}

/// The keys of a table's schema, and whether it takes any others.
fn collect_keys<'s>(schema: &'s Json, root: &'s Json, keys: &mut BTreeSet<&'s str>, open: &mut bool) {
    if let Some(referred) =
        schema["$ref"].as_str().and_then(|path| root.pointer(path.trim_start_matches('#')))
    {
        collect_keys(referred, root, keys, open);
    }
    *open |= schema["additionalProperties"].is_object() || schema["additionalProperties"] == true;
    keys.extend(schema["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)));
    let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|several| schema[several].as_array());
    parts.flatten().for_each(|part| collect_keys(part, root, keys, open));
}

/// Parameters by type, with what is in the files that they name.
fn typed<A: Algorithm>(params: Table) -> Result<A::Params, ParamError> {
    let unreadable = |e: toml::de::Error| ParamError::unreadable(e.message().trim());
    let read = |path: &str| std::fs::read_to_string(path).map_err(|e| e.to_string());
    A::read_files(params.try_into().map_err(unreadable)?, &read)
}

fn coordinator<A: Algorithm>(
    terms: &Terms,
    saved: Option<Saved<'_>>,
) -> Result<Box<dyn ServerNode>, NodeError> {
    blueprint::<A>(terms)?.server(saved).map_err(|e| NodeError::Config(e.to_string()))
}

fn client<A: Algorithm>(
    terms: &Terms,
    me: NodeId,
    saved: Option<Saved<'_>>,
) -> Result<Box<dyn ClientNode>, NodeError> {
    blueprint::<A>(terms)?.client(me, saved).map_err(|e| NodeError::Config(e.to_string()))
}

thread_local! {
    /// What this thread has made last from terms: a node checks the same ones a few times while it opens, and some checks
    /// compute tables.
    static MADE: RefCell<VecDeque<(Terms, Rc<dyn Any>)>> = const { RefCell::new(VecDeque::new()) };
}

/// Terms that are remembered: one or two where a node runs, and all of theirs for tests that open nodes by the million.
const REMEMBERED: usize = 128;

fn blueprint<A: Algorithm>(terms: &Terms) -> Result<Rc<Blueprint<A>>, NodeError> {
    let same = |(made, what): &(Terms, Rc<dyn Any>)| {
        let fits =
            made.algorithm == terms.algorithm && made.params == terms.params && made.setting == terms.setting;
        if fits { what.clone().downcast::<Blueprint<A>>().ok() } else { None }
    };
    if let Some(known) = MADE.with_borrow(|made| made.iter().find_map(same)) {
        return Ok(known);
    }
    let params = toml::to_string(&terms.params).expect("parameters that were read from a table");
    let made =
        Rc::new(Blueprint::<A> { params, valid: terms.valid::<A>()?, setting: terms.setting.clone().into() });
    MADE.with_borrow_mut(|all| {
        all.push_front((terms.clone(), made.clone()));
        all.truncate(REMEMBERED);
    });
    Ok(made)
}
