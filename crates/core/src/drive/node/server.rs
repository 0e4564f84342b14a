//! A coordinator's machine, driven.

use serde::Serialize;

use super::ServerNode;
use super::around::Posting;
use super::driven::{Driven, Hosting};
use crate::contract::context::Effects;
use crate::contract::machine::Algorithm;
use crate::drive::event::{Input, Outcome};
use crate::drive::host::Host;
use crate::ids::Tick;
use crate::rng::Keys;

pub(super) type Server<A> = Driven<A, Host<<A as Algorithm>::Server>>;

impl<A: Algorithm> Hosting<A> for Host<A::Server> {
    type Machine = A::Server;
    type Pending = ();

    fn host(&self) -> &Host<A::Server> {
        self
    }

    fn host_mut(&mut self) -> &mut Host<A::Server> {
        self
    }

    fn apply(
        &mut self,
        now: Tick,
        input: Input<()>,
        keys: &Keys,
        effects: &mut Effects<A::Msg>,
        out: &mut Posting<'_>,
    ) -> Result<Outcome, String> {
        match input {
            Input::Event(event) => {
                Host::apply(self, now, event.borrowed(), keys, effects, out).map_err(|e| e.to_string())
            }
            Input::Decide { .. } | Input::Reward { .. } | Input::Abandon { .. } | Input::Drain => {
                Err("an input that only clients have".into())
            }
            Input::Change { .. } | Input::Behind { .. } => unreachable!("not an input of the machine"),
        }
    }

    fn change(&mut self, valid: &A::Valid) {
        A::change_server(valid, self.machine_mut());
    }

    fn parts(&self) -> impl Serialize {
        Host::parts(self)
    }

    fn state(&self) -> Vec<u8> {
        self.save()
    }
}

impl<A: Algorithm> ServerNode for Server<A> {}
