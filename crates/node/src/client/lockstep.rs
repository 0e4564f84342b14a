//! A client in lockstep: it takes the steps that its coordinator hands out, with someone who stands in for
//! its app. No data ever travels.

use cahoots_core::drive::Event;
use cahoots_core::link::Arrival;
use cahoots_core::{NodeId, Tick, UserId};
use serde::{Deserialize, Serialize};

use super::state::State;
use crate::error::NodeError;
use crate::live::Known;
use crate::lockstep::StandIn;
use crate::terms::Terms;
use crate::transport::proto::{Done, Grant, Letter, grant};
use crate::transport::{self, Contents, Kind, frame};

/// What was done: written in the same commit as the inputs.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Progress {
    /// The last step taken.
    order: u64,
    /// The stand-in's own.
    stand_in: Option<Vec<u8>>,
}

/// Steps that were taken, and who stands in for the app.
pub(super) struct Steps {
    order: u64,
    app: Box<dyn StandIn>,
}

impl Steps {
    pub(super) fn of(
        known: &Known,
        terms: &Terms,
        progress: Option<Vec<u8>>,
    ) -> Result<Option<Steps>, NodeError> {
        if terms.lockstep.is_none() {
            return Ok(None);
        }
        let progress: Progress = match progress {
            Some(bytes) => postcard::from_bytes(&bytes)
                .map_err(|e| NodeError::Config(format!("lockstep progress: {e}")))?,
            None => Progress::default(),
        };
        let app = known.lockstep()?.stand_in(terms, progress.stand_in.as_deref())?;
        Ok(Some(Steps { order: progress.order, app }))
    }

    fn progress(&self) -> Vec<u8> {
        let progress = Progress { order: self.order, stand_in: Some(self.app.progress()) };
        postcard::to_stdvec(&progress).expect("progress can always be written")
    }
}

impl State {
    /// Takes a step that was handed out, unless it was taken before; the answer
    /// leaves when all of it is on disk.
    pub(super) fn grant(&mut self, grant: Grant) -> Result<(), String> {
        let member = self.member.as_mut().ok_or("a step before the terms were known")?;
        let mut lockstep = member.lockstep.take().ok_or("a step, but this is no lockstep run")?;
        let report = matches!(grant.step, Some(grant::Step::Report(_)));
        let taken = if report || grant.order <= lockstep.order {
            Ok(())
        } else {
            self.step(&mut lockstep, grant.tick, grant.step)
        };
        if taken.is_ok() && !report {
            lockstep.order = lockstep.order.max(grant.order);
        }
        let progress = lockstep.progress();
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
        self.after.push(frame(Kind::Done(done.into())));
        self.flush = true;
        Ok(())
    }

    fn step(&mut self, lockstep: &mut Steps, tick: Tick, step: Option<grant::Step>) -> Result<(), String> {
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
                let Contents { sequence, skipped, payload } =
                    transport::open(envelope, &member.header, from)?;
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
    fn decide_and_reward(&mut self, lockstep: &mut Steps, tick: Tick, user: UserId) -> Result<(), String> {
        let member = self.member.as_mut().expect("looked at by the caller");
        let waiting = member.machine.waits();
        lockstep.app.offer(tick, user, &mut self.arms);
        let chosen = self.decide(user, Some(tick)).map_err(|e| e.to_string())?;
        let reward = lockstep.app.reward(tick, user, &self.arms, chosen.picked.arm, waiting);
        self.reward(chosen.id, reward, Some(tick)).map_err(|e| e.to_string())?;
        Ok(())
    }
}
