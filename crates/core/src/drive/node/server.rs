//! A coordinator's machine, driven.

use serde::Serialize;

use super::ServerNode;
use super::around::Posting;
use super::driven::{Driven, Hosting};
use crate::contract::context::Effects;
use crate::contract::learnt::Learnt;
use crate::contract::machine::Machine;
use crate::contract::prior::Prior;
use crate::drive::event::{Input, Outcome};
use crate::drive::host::Host;
use crate::ids::{NodeId, Tick};
use crate::rng::Keys;

pub(super) type Server<M> = Driven<Host<M>>;

impl<M: Machine> Hosting for Host<M> {
    type Machine = M;
    type Pending = ();

    fn host(&self) -> &Host<M> {
        self
    }

    fn host_mut(&mut self) -> &mut Host<M> {
        self
    }

    fn apply(
        &mut self,
        now: Tick,
        input: Input<()>,
        keys: &Keys,
        effects: &mut Effects<M::Msg>,
        out: &mut Posting<'_>,
    ) -> Result<Outcome, String> {
        match input {
            Input::Event(event) => {
                Host::apply(self, now, event.borrowed(), keys, effects, out).map_err(|e| e.to_string())
            }
            Input::Decide { .. } | Input::Reward { .. } | Input::Abandon { .. } | Input::Drain => {
                Err("an input that only clients have".into())
            }
            Input::Change { .. } | Input::Behind { .. } | Input::Key { .. } => {
                unreachable!("not an input of the machine")
            }
        }
    }

    fn parts(&self) -> impl Serialize {
        Host::parts(self)
    }

    fn state(&self) -> Vec<u8> {
        self.save()
    }
}

impl<M: Machine> ServerNode for Server<M> {
    fn resumes(&self) -> bool {
        M::RESUMES
    }

    fn forgets(&self) -> Result<(), String> {
        self.host.machine().forgets()
    }

    fn observations(&self) -> Option<u64> {
        self.host.machine().observations()
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        self.host.machine().groups()
    }

    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize) {
        self.host.machine().learnt(most)
    }

    fn prior(&self) -> Result<Prior, String> {
        self.host.machine().prior()
    }

    fn takes_prior(&self, prior: &Prior) -> Result<(), String> {
        self.host.machine().takes_prior(prior)
    }
}
