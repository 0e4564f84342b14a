//! What clients and coordinators have in common: an input is logged, then applied.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::around::{Agreed, Around, CHECKED, Posting, entry, read};
use super::{Log, Node, Step};
use crate::contract::context::Effects;
use crate::contract::machine::{Machine, Membership};
use crate::drive::event::{Event, Input, NoiseKey, Outcome, Timed};
use crate::drive::host::Host;
use crate::drive::link::{Arrival, Ends};
use crate::drive::queue::{Queues, Waiting};
use crate::drive::snapshot;
use crate::error::{Misbehaviour, ParamError};
use crate::ids::{NodeId, Tick};
use crate::rng::Keys;

/// A host in a deployment, with what is around it.
pub(super) struct Driven<H: Hosting> {
    pub(super) host: H,
    pub(super) agreed: Agreed,
    pub(super) around: Around<<H::Machine as Machine>::Msg>,
    pub(super) change: Change<H::Machine>,
    /// What noise is drawn from, where a logged input has said so. Not saved: whoever writes a snapshot keeps it beside.
    pub(super) noise: Option<[u8; 32]>,
}

impl<H: Hosting> Driven<H> {
    /// Its noise is drawn from what the driver has, until an input says otherwise.
    pub(super) fn new(
        host: H,
        agreed: Agreed,
        around: Around<<H::Machine as Machine>::Msg>,
        change: Change<H::Machine>,
    ) -> Self {
        Driven { host, agreed, around, change, noise: None }
    }
}

/// Checks parameters that are to hold from now on, and tells a machine, where one is given. All that a node knows of
/// its algorithm beside its machine: algorithms that share machines share the rest.
pub(super) type Change<M> = fn(&Agreed, &str, Option<&mut M>) -> Result<(), ParamError>;

/// In what the hosts of clients and coordinators differ.
pub(super) trait Hosting: Send {
    /// What is hosted.
    type Machine: Machine;
    /// What its decisions keep until their reward comes.
    type Pending: Serialize + DeserializeOwned;

    /// The host of the machine alone.
    fn host(&self) -> &Host<Self::Machine>;
    /// The same, to be changed.
    fn host_mut(&mut self) -> &mut Host<Self::Machine>;
    /// Applies any input but a change of parameters.
    fn apply(
        &mut self,
        now: Tick,
        input: Input<Self::Pending>,
        keys: &Keys,
        effects: &mut Effects<<Self::Machine as Machine>::Msg>,
        out: &mut Posting<'_>,
    ) -> Result<Outcome, String>;
    /// All that is to be restored.
    fn parts(&self) -> impl Serialize;
    /// The machine and its numbers, as the simulator writes them.
    fn state(&self) -> Vec<u8>;
}

impl<H: Hosting> Driven<H> {
    fn apply(&mut self, now: Tick, input: Input<H::Pending>, keys: &Keys) -> Result<Outcome, String> {
        if let Input::Change { version, params } = input {
            self.apply_change(version, params).map_err(|e| e.to_string())?;
            return Ok(Outcome::Done);
        }
        if let Input::Behind { peer, sent, again } = input {
            // Only a log that is not this node's own can say so.
            let waits = again.len() as u64;
            if !self.host.host().seat().hears(peer) || waits > sent || sent > 1 << 62 {
                return Err(format!(
                    "{peer} cannot have received {sent} messages, {waits} of them still waiting"
                ));
            }
            self.host.host_mut().number_from(peer, sent);
            self.around.queues.begin_again(peer, sent, again);
            return Ok(Outcome::Done);
        }
        if let Input::Key { privacy: NoiseKey(privacy) } = input {
            self.noise = Some(privacy);
            self.host.host_mut().machine_mut().on_new_secrets();
            return Ok(Outcome::Done);
        }
        let own = self.noise.map(|privacy| keys.clone().with_privacy(privacy));
        let keys = own.as_ref().unwrap_or(keys);
        let left = match input {
            Input::Event(Event::Membership(Membership::Left(client))) => Some(client),
            _ => None,
        };
        let host = &mut self.host;
        let outcome = self.around.drive(|effects, out| host.apply(now, input, keys, effects, out));
        if let Some(client) = left {
            self.around.queues.forget(client);
        }
        outcome
    }

    fn apply_change(&mut self, version: u64, params: String) -> Result<(), ParamError> {
        (self.change)(&self.agreed, &params, Some(self.host.host_mut().machine_mut()))?;
        (self.agreed.version, self.agreed.params) = (version, params);
        Ok(())
    }

    /// Log, then step.
    pub(super) fn input(
        &mut self,
        now: Tick,
        input: Input<H::Pending>,
        keys: &Keys,
        log: &mut dyn Log,
    ) -> Outcome {
        log.append(entry(now, &input));
        self.apply(now, input, keys).expect(CHECKED)
    }
}

impl<H: Hosting> Node for Driven<H> {
    fn check(&self, from: NodeId, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        self.host.host().check(from, sequence, skipped)
    }

    fn event(&mut self, now: Tick, event: Event<Vec<u8>>, keys: &Keys, log: &mut dyn Log) -> Outcome {
        self.input(now, Input::Event(event), keys, log)
    }

    fn change(&mut self, now: Tick, version: u64, params: &str, log: &mut dyn Log) -> Result<(), ParamError> {
        (self.change)(&self.agreed, params, None)?;
        if version > self.agreed.version {
            log.append(entry(now, &Input::<H::Pending>::Change { version, params: params.into() }));
            self.apply_change(version, params.into()).expect(CHECKED);
        }
        Ok(())
    }

    fn behind(&mut self, now: Tick, peer: NodeId, received: u64, keys: &Keys, log: &mut dyn Log) {
        let again: Vec<Waiting> = self.around.queues.after(peer, 0).cloned().collect();
        self.input(now, Input::Behind { peer, sent: received + again.len() as u64, again }, keys, log);
    }

    fn draw_from(&mut self, now: Tick, privacy: [u8; 32], keys: &Keys, log: &mut dyn Log) {
        self.input(now, Input::Key { privacy: NoiseKey(privacy) }, keys, log);
    }

    fn params(&self) -> (u64, &str) {
        (self.agreed.version, &self.agreed.params)
    }

    fn replay(&mut self, entry: &[u8], keys: &Keys) -> Result<Tick, String> {
        let Timed { now, input } = read::<Input<H::Pending>>(entry)?;
        self.apply(now, input, keys).map(|_| now)
    }

    fn take_step(&mut self) -> Step {
        std::mem::take(&mut self.around.step)
    }

    fn queues(&mut self) -> &mut Queues {
        &mut self.around.queues
    }

    fn ends(&self, peer: NodeId) -> Ends {
        self.host.host().ends(peer)
    }

    fn wake(&self) -> Option<Tick> {
        self.host.host().wake()
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.host.host().machine().waiting_for()
    }

    fn save(&self) -> Vec<u8> {
        snapshot::save(&(self.host.parts(), self.agreed.version, &self.agreed.params))
    }

    fn state(&self) -> Vec<u8> {
        self.host.state()
    }
}
