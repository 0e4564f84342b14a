//! A client in lockstep: it takes the steps that its coordinator hands out, in
//! a world that it builds itself from the terms. No data ever travels.

use std::collections::BTreeMap;

use cahoots_core::drive::Event;
use cahoots_core::link::Arrival;
use cahoots_core::{ArmIndex, NodeId, Tick, UserId};
use cahoots_sim::world::World;
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::error::NodeError;
use crate::live::Known;
use crate::terms::Terms;
use crate::transport::proto::{Done, Grant, Letter, grant};
use crate::transport::{self, Kind, Opened, frame};

/// What was done: written in the same commit as the inputs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Progress {
    /// The last step taken.
    order: u64,
    /// Pulls of plain arms by user, those made while waiting apart: their noise is numbered.
    pulls: BTreeMap<(bool, u32, u32), u64>,
}

/// The world and the progress in it.
pub(super) struct Lockstep {
    world: Box<dyn World>,
    progress: Progress,
}

impl Lockstep {
    pub(super) fn of(
        known: &Known,
        terms: &Terms,
        progress: Option<Vec<u8>>,
    ) -> Result<Option<Lockstep>, NodeError> {
        let Some(scenario) = &terms.lockstep else { return Ok(None) };
        let (mut world, _) =
            scenario.build(&known.worlds, terms.seed).map_err(|e| NodeError::Config(e.to_string()))?;
        let progress: Progress = match progress {
            Some(bytes) => postcard::from_bytes(&bytes)
                .map_err(|e| NodeError::Config(format!("lockstep progress: {e}")))?,
            None => Progress::default(),
        };
        for (&(waiting, user, arm), &pulls) in &progress.pulls {
            world.set_waiting(waiting);
            world.pull_block(UserId(user), ArmIndex(arm), pulls);
        }
        Ok(Some(Lockstep { world, progress }))
    }
}

impl State {
    /// Takes a step that was handed out, unless it was taken before; the answer
    /// leaves when all of it is on disk.
    pub(super) fn grant(&mut self, grant: Grant) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a step before the terms were known")?;
        let mut lockstep = member.lockstep.take().ok_or("a step, but this is no lockstep run")?;
        let report = matches!(grant.step, Some(grant::Step::Report(_)));
        let taken = if report || grant.order <= lockstep.progress.order {
            Ok(())
        } else {
            self.step(&mut lockstep, grant.tick, grant.step)
        };
        if taken.is_ok() && !report {
            lockstep.progress.order = lockstep.progress.order.max(grant.order);
        }
        let progress = postcard::to_stdvec(&lockstep.progress).expect("progress can always be written");
        let member = self.member.as_mut().expect("was there");
        member.lockstep = Some(lockstep);
        taken?;
        let ends = member.machine.ends(NodeId::SERVER);
        let state = if report { member.machine.state() } else { Vec::new() };
        let waiting = member.machine.queues().in_order().into_iter();
        let unknown = waiting.filter(|(_, message)| message.order >= grant.known);
        let letters = unknown.map(|(to, message)| Letter { to: to.0, sequence: message.sequence }).collect();
        let done = Done {
            order: grant.order,
            sent: ends.sent,
            received: ends.received,
            wake: member.machine.wake(),
            state,
            letters,
        };
        if !report {
            self.journal.batch.set("lockstep", progress);
        }
        self.after.push(frame(Kind::Done(done)));
        self.flush = true;
        Ok(())
    }

    fn step(&mut self, lockstep: &mut Lockstep, tick: Tick, step: Option<grant::Step>) -> Result<(), String> {
        let now = Some(tick);
        match step {
            Some(grant::Step::Start(_)) => {
                self.event(Event::Start, now);
            }
            Some(grant::Step::Wake(_)) => {
                self.event(Event::Wake, now);
            }
            Some(grant::Step::Deliver(envelope)) => {
                let member = self.member.as_mut().expect("looked at by the caller");
                let from = NodeId(envelope.from);
                let Opened { sequence, skipped, payload } = transport::open(envelope, &member.head, from)?;
                let arrival = member.machine.check(from, sequence, skipped).map_err(|e| e.to_string())?;
                if arrival == Arrival::Next {
                    self.event(Event::Message { from, sequence, skipped, message: payload }, now);
                }
            }
            Some(grant::Step::Decide(decide)) => {
                self.decide_and_reward(lockstep, tick, UserId(decide.user))?
            }
            Some(grant::Step::Report(_)) | None => {}
        }
        Ok(())
    }

    /// Decision and reward go into one commit: there is no state between them.
    fn decide_and_reward(&mut self, lockstep: &mut Lockstep, tick: Tick, user: UserId) -> Result<(), String> {
        let member = self.member.as_mut().expect("looked at by the caller");
        lockstep.world.offer(tick, user, &mut self.arms);
        let waiting = member.machine.waits();
        lockstep.world.set_waiting(waiting);
        let plain = member.machine.seat().dim == 0;
        let decided = self.decide(user, Some(tick)).map_err(|e| e.to_string())?;
        let arm = decided.picked.arm;
        let pull = lockstep.world.pull(tick, user, &self.arms, arm);
        if plain {
            *lockstep.progress.pulls.entry((waiting, user.0, arm.0)).or_default() += 1;
        }
        self.reward(decided.id, pull.reward, Some(tick)).map_err(|e| e.to_string())?;
        Ok(())
    }
}
