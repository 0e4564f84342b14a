//! A coordinator's machine, driven.

use super::around::{Agreed, Around, CHECKED, Posting, entry, read};
use super::{Log, ServerNode, Step};
use crate::contract::machine::Algorithm;
use crate::drive::event::{Event, Input, Outcome, Timed};
use crate::drive::host::Host;
use crate::drive::link::{Arrival, Ends};
use crate::drive::queue::Queues;
use crate::drive::snapshot;
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick};
use crate::rng::Keys;

pub(super) struct Server<A: Algorithm> {
    pub(super) host: Host<A::Server>,
    pub(super) agreed: Agreed,
    pub(super) around: Around<A::Msg>,
}

impl<A: Algorithm> Server<A> {
    fn apply(&mut self, now: Tick, input: Input<()>, keys: &Keys) -> Result<Outcome, String> {
        match input {
            Input::Event(event) => {
                let host = &mut self.host;
                let drive = |effects: &mut _, out: &mut Posting<'_>| {
                    host.apply(now, event.borrowed(), keys, effects, out)
                };
                return self.around.drive(drive).map_err(|e| e.to_string());
            }
            Input::Change { version, params } => {
                let valid = self.agreed.check::<A>(&params).map_err(|e| e.to_string())?;
                A::change_server(&valid, self.host.machine_mut());
                (self.agreed.version, self.agreed.params) = (version, params);
            }
            Input::Decide { .. } | Input::Reward { .. } | Input::Abandon { .. } => {
                return Err("an input that only clients have".into());
            }
        }
        Ok(Outcome::Done)
    }

    /// Log, then step.
    fn input(&mut self, now: Tick, input: Input<()>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        log.append(entry(now, &input));
        self.apply(now, input, keys).expect(CHECKED)
    }
}

impl<A: Algorithm> ServerNode for Server<A> {
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        self.host.check(from, sequence, skipped)
    }

    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        self.input(now, Input::Event(event), keys, log)
    }

    fn change(&mut self, now: Tick, version: u64, params: &str, log: &mut dyn Log) -> Result<(), ParamError> {
        self.agreed.check::<A>(params)?;
        if version > self.agreed.version {
            let change = Input::Change { version, params: params.into() };
            log.append(entry(now, &change));
            self.apply(now, change, &Keys::from_seed(0)).expect(CHECKED);
        }
        Ok(())
    }

    fn params(&self) -> (u64, &str) {
        (self.agreed.version, &self.agreed.params)
    }

    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String> {
        let Timed { now, input } = read::<Input<()>>(entry)?;
        self.apply(now, input, keys).map(|_| now)
    }

    fn take_step(&mut self) -> Step {
        std::mem::take(&mut self.around.step)
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.around.queues
    }

    fn ends(&self, peer: NodeId) -> Ends {
        self.host.ends(peer)
    }

    fn wake(&self) -> Option<Tick> {
        self.host.wake()
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&(self.host.parts(), self.agreed.version, &self.agreed.params))
    }

    fn state(&self) -> Vec<u8> {
        self.host.save()
    }
}
