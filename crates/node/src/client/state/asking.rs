//! What an app asks for, by its own names: all of it is checked before any of it is taken.

use cahoots_core::drive::Looked;
use cahoots_core::{ArmBuffer, ArmIndex, Picked, UserId};

use super::{Chosen, State, tutoring};
use crate::client::apprentice::Plan;
use crate::client::ask::{Ask, Ranked, Reply};
use crate::client::offer::{self, Shape};
use crate::client::rank::{self, rank};
use crate::client::registry;
use crate::client::tickets::{Answer, Ticket};
use crate::error::NodeError;

/// A decision that is asked for, checked.
enum Prepared {
    /// It was taken before.
    Told(Reply),
    New(UserId, ArmBuffer, Option<ArmIndex>),
}

impl State {
    /// Takes all of these decisions, or none.
    pub(in crate::client) fn ask_all(&mut self, asks: &[Ask<'_>]) -> Result<Vec<Reply>, NodeError> {
        let one_of = |index: usize, error: NodeError| match asks.len() {
            1 => error,
            of => NodeError::OneOf { index, of, error: error.into() },
        };
        let mut prepared = Vec::with_capacity(asks.len());
        for (index, ask) in asks.iter().enumerate() {
            // The usual storage serves the usual case of one.
            let arms = std::mem::take(&mut self.arms);
            prepared.push(self.prepare(ask, arms).map_err(|error| one_of(index, error))?);
        }
        self.check_room(asks, &prepared)?;
        let taken = asks.iter().zip(prepared).map(|(ask, prepared)| match prepared {
            Prepared::Told(reply) => Ok(reply),
            Prepared::New(user, arms, baseline) => self.ask(ask, user, arms, baseline),
        });
        taken.collect()
    }

    fn prepare(&mut self, ask: &Ask<'_>, mut arms: ArmBuffer) -> Result<Prepared, NodeError> {
        if let Some(event) = ask.event {
            if let Some(told) = self.tickets.told(event) {
                return Ok(Prepared::Told(told));
            }
            registry::named("an event", event)?;
        }
        let member = self.member.as_ref().ok_or(NodeError::NotJoined)?;
        let user = member.user(ask.user)?;
        let shape = member.shape();
        shape.fill(&mut arms, ask.arms, &self.registry)?;
        offer::mask(&mut arms, ask.masked)?;
        arms.arm_set(shape.seat)?;
        check_top(ask.top, &shape)?;
        let baseline = self.baseline(&arms, ask.baseline)?;
        Ok(Prepared::New(user, arms, baseline))
    }

    /// Refuses more decisions than this client keeps.
    fn check_room(&self, asks: &[Ask<'_>], prepared: &[Prepared]) -> Result<(), NodeError> {
        let member = self.member.as_ref().ok_or(NodeError::NotJoined)?;
        let new = asks.iter().zip(prepared).filter(|(_, prepared)| matches!(prepared, Prepared::New(..)));
        let open = member.machine.open();
        if open + new.clone().count() > self.most_open {
            return Err(NodeError::TooManyOpen { open });
        }
        let kept = new.filter(|(ask, _)| needs_ticket(ask)).map(|(ask, _)| 512 + 64 * ask.top).sum::<usize>();
        if kept > 0 && self.tickets.bytes() + kept > self.most_kept {
            return Err(NodeError::TooMuchKept { bytes: self.tickets.bytes() });
        }
        Ok(())
    }

    fn ask(
        &mut self,
        ask: &Ask<'_>,
        user: UserId,
        arms: ArmBuffer,
        baseline: Option<ArmIndex>,
    ) -> Result<Reply, NodeError> {
        // One and the same call may ask twice under one name.
        if let Some(told) = ask.event.and_then(|event| self.tickets.told(event)) {
            return Ok(told);
        }
        self.arms = arms;
        let plan = baseline.map(|baseline| self.plan(user, baseline)).transpose()?;
        let ranking = (ask.top > 0).then(|| self.ranking(user, ask.top, plan.as_ref())).transpose()?;
        let chosen = self.decide_as(user, None, plan.as_ref())?;
        self.record(&chosen, user, Some(ask));
        let Chosen { id, picked, model, decided } = chosen;
        let named = |picked: Picked| Ranked::of(offer::called(&self.arms, picked.arm), &picked);
        let ranking = ranking.map(|ranking| ranking.into_iter().map(named).collect());
        let reply =
            Reply { id, event: ask.event.map(Into::into), taken: named(picked), model, decided, ranking };
        if needs_ticket(ask) {
            let Reply { event, taken, ranking, .. } = reply.clone();
            let answer = event.is_some().then_some(Answer { taken, model, decided, ranking });
            let ticket = Ticket { event, answer, deferred: ask.deferred, ..Ticket::default() };
            self.tickets.put(id, ticket, &mut self.journal);
        }
        Ok(reply)
    }

    /// The best of the arms in place, by what decides next: as planned, or as it would be.
    fn ranking(&mut self, user: UserId, top: usize, plan: Option<&Plan>) -> Result<Vec<Picked>, NodeError> {
        let first = plan.map(|plan| self.first(user, plan)).transpose()?;
        let epoch = self.starts.epoch();
        let mut arms = std::mem::take(&mut self.arms);
        let member = self.member.as_mut().ok_or(NodeError::NotJoined)?;
        let id = member.machine.next_id(epoch);
        let beside = &mut self.beside;
        let mut look = |arms: &ArmBuffer| tutoring::look(member, beside, id, user, arms);
        let ranked = match (first, plan) {
            (Some(first), Some(plan)) => rank(&mut arms, top, first, plan.odds(), &mut look),
            _ => look(&arms)
                .and_then(|Looked { picked, odds }| rank(&mut arms, top, picked, odds.as_ref(), &mut look)),
        };
        self.arms = arms;
        Ok(ranked?)
    }
}

fn needs_ticket(ask: &Ask<'_>) -> bool {
    ask.event.is_some() || ask.deferred
}

fn check_top(top: usize, shape: &Shape<'_>) -> Result<(), NodeError> {
    if top > rank::MOST {
        return Err(NodeError::Request(format!(
            "top: {top} arms are to be ranked, where {} are the most",
            rank::MOST
        )));
    }
    if top > 1 && !shape.seat.masks {
        return Err(NodeError::Request(
            "this algorithm explores by a schedule, and cannot rank arms: leave out `top`".into(),
        ));
    }
    Ok(())
}
