//! A server written in Python, or none.

use cahoots_core::{Custom, Cx, Machine, Membership, Misbehaviour, NodeId};
use serde::{Deserialize, Serialize};

use super::message::Note;
use super::object::{Given, Hook, Object};

/// A server; nobody where clients are on their own.
#[derive(Serialize, Deserialize)]
pub(crate) struct Server(pub(super) Option<Object>);

impl Server {
    fn step(&self, hook: Hook, given: Given<'_>, cx: &mut Cx<'_, Custom<Note>>) {
        if let Some(object) = &self.0 {
            object.step(hook, given, cx);
        }
    }
}

impl Machine for Server {
    type Msg = Custom<Note>;

    fn on_start(&mut self, cx: &mut Cx<'_, Self::Msg>) {
        self.step(Hook::Start, Given::default(), cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        Custom(note): Self::Msg,
        cx: &mut Cx<'_, Self::Msg>,
    ) -> Result<(), Misbehaviour> {
        self.step(Hook::Message, Given { message: Some(&note), sender: Some(from), ..Given::default() }, cx);
        Ok(())
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, Self::Msg>) {
        self.step(Hook::Wake, Given::default(), cx);
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, Self::Msg>) {
        let (hook, client): (Hook, NodeId) = match change {
            Membership::Joined(client) => (Hook::Join, client),
            Membership::Left(client) => (Hook::Leave, client),
        };
        self.step(hook, Given { sender: Some(client), ..Given::default() }, cx);
    }
}
