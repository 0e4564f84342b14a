//! A learner written in Python.

use cahoots_core::{
    ArmIndex, ArmSet, Choice, Custom, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Stream, UserId,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use serde::{Deserialize, Serialize};

use super::fault;
use super::message::Note;
use super::object::{Given, Hook, Object};
use crate::error::InputError;

/// A client.
#[derive(Serialize, Deserialize)]
pub(crate) struct Client {
    object: Object,
    me: NodeId,
}

/// What a decision keeps until its reward comes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    user: u32,
    arm: u32,
    /// Empty where arms have no features, or nobody asks for them.
    context: Vec<f64>,
}

impl Client {
    pub(super) fn new(object: Object, me: NodeId) -> Client {
        Client { object, me }
    }

    fn settled(&self, hook: Hook, kept: &Kept, reward: f64, cx: &mut Cx<'_, Custom<Note>>) {
        let Kept { user, arm, ref context } = *kept;
        self.object.step(hook, Given { user, arm, context, reward, ..Given::default() }, cx);
    }
}

impl Machine for Client {
    type Msg = Custom<Note>;

    fn on_start(&mut self, cx: &mut Cx<'_, Self::Msg>) {
        self.object.step(Hook::Start, Given::default(), cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        Custom(note): Self::Msg,
        cx: &mut Cx<'_, Self::Msg>,
    ) -> Result<(), Misbehaviour> {
        let given = Given { message: Some(&note), sender: Some(from), ..Given::default() };
        self.object.step(Hook::Message, given, cx);
        Ok(())
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, Self::Msg>) {
        self.object.step(Hook::Wake, Given::default(), cx);
    }
}

impl Learner for Client {
    type Pending = Kept;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Kept> {
        fault::go_on();
        Python::attach(|python| {
            let given = Given { arms: Some(arms), user: user.0, ..Given::default() };
            let answer = self.object.ask(python, Hook::Choose, &given, rng);
            match answer.and_then(|answer| picked(&answer, arms.len(), self.object.entry.name)) {
                Ok(picked) => {
                    let context = self.object.context(&arms, picked.arm);
                    picked.keeping(Kept { user: user.0, arm: picked.arm.0, context })
                }
                Err(error) => fault::leave(self.object.blame(python, error, Hook::Choose, self.me)),
            }
        })
    }

    fn commit(&mut self, kept: &Kept, cx: &mut Cx<'_, Self::Msg>) {
        self.settled(Hook::Commit, kept, 0.0, cx);
    }

    fn observe(&mut self, kept: Kept, reward: f64, cx: &mut Cx<'_, Self::Msg>) {
        self.settled(Hook::Observe, &kept, reward, cx);
    }

    fn abandon(&mut self, kept: Kept, cx: &mut Cx<'_, Self::Msg>) {
        self.settled(Hook::Abandon, &kept, 0.0, cx);
    }
}

/// The arm that an answer names.
fn picked(answer: &Bound<'_, PyAny>, arms: usize, name: &str) -> PyResult<Picked> {
    let wrong = || {
        let kind = answer.get_type().name().map_or_else(|_| "object".into(), |kind| kind.to_string());
        let shown = answer.repr().map_or_else(|_| "something".into(), |shown| shown.to_string());
        let shown: String = shown.chars().take(100).collect();
        InputError::new_err(format!(
            "choose of {name:?} must return the index of an arm, from 0 to {}, or (index, probability); it returned {shown} \
             ({kind})",
            arms - 1
        ))
    };
    let index = |value: &Bound<'_, PyAny>| match value.extract::<i64>() {
        Ok(index) if !value.is_instance_of::<PyBool>() && (0..arms as i64).contains(&index) => {
            Ok(ArmIndex(index as u32))
        }
        _ => Err(wrong()),
    };
    let Ok(pair) = answer.cast::<PyTuple>() else { return Ok(Picked::arm(index(answer)?)) };
    if pair.len() != 2 {
        return Err(wrong());
    }
    let probability: f64 = pair.get_item(1)?.extract().map_err(|_| wrong())?;
    if !(probability > 0.0 && probability <= 1.0) {
        return Err(wrong());
    }
    Ok(Picked { probability: Some(probability), ..Picked::arm(index(&pair.get_item(0)?)?) })
}
