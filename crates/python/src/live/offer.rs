//! What an app asks for, from Python's values: read while the interpreter is held, and owned from then on.

use std::collections::BTreeMap;

use cahoots_core::DecisionId;
use cahoots_core::arms::ArmError;
use cahoots_node::NodeError;
use cahoots_node::client::{ArmRef, Arms, Ask, Client, NamedArm, Ranked, Reply, Reward, Which};
use cahoots_node::decisions::Known;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};

use crate::error::InputError;

/// The arms on offer.
enum Offered {
    /// All that are registered.
    Registered,
    /// So many, without features.
    Plain(usize),
    /// Rows of so many numbers, one after the other.
    Rows { numbers: Vec<f64>, width: usize },
    /// By id, with features or as they were registered.
    Named(Vec<(String, Option<Vec<f64>>)>),
}

/// One decision that is asked for.
pub(super) struct Offer {
    arms: Offered,
    masked: Vec<ArmRef>,
    user: Option<u32>,
    top: usize,
    event: Option<String>,
    deferred: bool,
    context: Option<BTreeMap<String, Known>>,
    baseline: Option<ArmRef>,
}

impl Offer {
    /// From (arms, masked, user, top, event, deferred, context, baseline), as the Python side puts them together.
    pub(super) fn read(asked: &Bound<'_, PyTuple>) -> PyResult<Offer> {
        let masked: Vec<Bound<'_, PyAny>> = asked.get_item(1)?.extract()?;
        let context = asked.get_item(6)?;
        let baseline = asked.get_item(7)?;
        Ok(Offer {
            arms: offered(&asked.get_item(0)?)?,
            masked: masked.iter().map(arm_ref).collect::<PyResult<_>>()?,
            user: asked.get_item(2)?.extract()?,
            top: asked.get_item(3)?.extract()?,
            event: asked.get_item(4)?.extract()?,
            deferred: asked.get_item(5)?.extract()?,
            context: if context.is_none() { None } else { Some(read_context(&context)?) },
            baseline: if baseline.is_none() { None } else { Some(arm_ref(&baseline)?) },
        })
    }

    /// Refuses rows of another length: one after the other, they could be mistaken for rows of the right one.
    pub(super) fn check(&self, client: &Client) -> Result<(), NodeError> {
        let Offered::Rows { width: got, .. } = self.arms else { return Ok(()) };
        match client.offered()?.0 {
            0 => Ok(()),
            expected if expected == got => Ok(()),
            expected => Err(ArmError::Dimension { which: "(in all)", expected, got }.into()),
        }
    }

    /// The names and features of its arms, where they have names.
    pub(super) fn named(&self) -> Vec<NamedArm<'_>> {
        match &self.arms {
            Offered::Named(named) => {
                named.iter().map(|(id, features)| NamedArm { id, features: features.as_deref() }).collect()
            }
            _ => Vec::new(),
        }
    }

    /// All of it, with those.
    pub(super) fn ask<'a>(&'a self, named: &'a [NamedArm<'a>]) -> Ask<'a> {
        Ask {
            arms: match &self.arms {
                Offered::Registered => Arms::Registered,
                Offered::Plain(arms) => Arms::Plain(*arms),
                Offered::Rows { numbers, .. } => Arms::Flat(numbers),
                Offered::Named(_) => Arms::Named(named),
            },
            masked: &self.masked,
            user: self.user,
            top: self.top,
            event: self.event.as_deref(),
            deferred: self.deferred,
            context: self.context.as_ref(),
            baseline: self.baseline.as_ref(),
        }
    }
}

fn offered(arms: &Bound<'_, PyAny>) -> PyResult<Offered> {
    if arms.is_none() {
        return Ok(Offered::Registered);
    }
    if arms.cast::<PyInt>().is_ok() {
        return Ok(Offered::Plain(arms.extract()?));
    }
    if let Ok(named) = arms.cast::<PyList>() {
        let one = |arm: Bound<'_, PyAny>| {
            let (id, features): (String, Option<PyReadonlyArray1<'_, f64>>) = arm.extract()?;
            Ok((id, features.map(|features| features.as_array().to_vec())))
        };
        return named.iter().map(one).collect::<PyResult<_>>().map(Offered::Named);
    }
    let rows: PyReadonlyArray2<'_, f64> = arms.extract()?;
    let rows = rows.as_array();
    Ok(Offered::Rows { width: rows.ncols(), numbers: rows.iter().copied().collect() })
}

fn arm_ref(arm: &Bound<'_, PyAny>) -> PyResult<ArmRef> {
    if arm.cast::<PyInt>().is_ok() {
        return arm.extract().map(ArmRef::Position);
    }
    Ok(ArmRef::Id(arm.extract::<String>()?.into()))
}

fn read_context(context: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, Known>> {
    let known = |(key, value): (String, Bound<'_, PyAny>)| {
        let known = match value.extract::<f64>() {
            Ok(number) => Known::Number(number),
            Err(_) => Known::Word(value.extract()?),
        };
        Ok((key, known))
    };
    let pairs: Vec<(String, Bound<'_, PyAny>)> = context.extract()?;
    pairs.into_iter().map(known).collect()
}

/// As `decide` tells it: id, arm, score, interval, probability, model, decided, ranking, event.
pub(super) fn told<'py>(python: Python<'py>, reply: Reply) -> PyResult<Bound<'py, PyTuple>> {
    let Reply { id, event, taken, model, decided, ranking } = reply;
    let one = |Ranked { arm, score, interval, probability }: Ranked| {
        (called(python, arm)?, score, interval, probability).into_pyobject(python)
    };
    let ranking = ranking.map(|ranking| ranking.into_iter().map(one).collect::<PyResult<Vec<_>>>());
    let Ranked { arm, score, interval, probability } = taken;
    let told = (
        id.to_string(),
        called(python, arm)?,
        score,
        interval,
        probability,
        model,
        decided.name(),
        ranking.transpose()?,
        event.as_deref(),
    );
    told.into_pyobject(python)
}

fn called(python: Python<'_>, arm: ArmRef) -> PyResult<Bound<'_, PyAny>> {
    match arm {
        ArmRef::Position(position) => Ok(position.into_pyobject(python)?.into_any()),
        ArmRef::Id(id) => Ok((*id).into_pyobject(python)?.into_any()),
    }
}

/// Which decision: an id, or the name of an event.
pub(super) struct Named {
    text: String,
    id: Option<DecisionId>,
}

impl Named {
    /// An event where `event` says so.
    pub(super) fn of(text: String, event: bool) -> PyResult<Named> {
        let id = if event { None } else { Some(text.parse().map_err(InputError::new_err)?) };
        Ok(Named { text, id })
    }

    pub(super) fn which(&self) -> Which<'_> {
        self.id.map_or(Which::Event(&self.text), Which::Id)
    }
}

/// A reward, or a part of one, of a decision that is named somehow.
pub(super) struct Credit {
    of: Named,
    value: f64,
    part: Option<String>,
}

impl Credit {
    pub(super) fn new(of: Named, value: f64, part: Option<String>) -> Credit {
        Credit { of, value, part }
    }

    pub(super) fn reward(&self) -> Reward<'_> {
        Reward { of: self.of.which(), value: self.value, part: self.part.as_deref() }
    }
}
