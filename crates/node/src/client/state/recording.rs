//! The record of decisions: what is known of one when it is taken is kept until it closes, in the commit of its log entry.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::{ArmIndex, DecisionId, UserId};

use super::{Chosen, Journal, State};
use crate::client::ask::{ArmRef, Ask};
use crate::client::offer;
use crate::decisions::{DecisionLog, DecisionLogStatus, Outcome, Row};

/// What names of values begin with.
pub(in crate::client) const PREFIX: &str = "record/";

/// The rows of decisions that are open, and where they go.
#[derive(Debug, Default)]
pub(in crate::client) struct Record {
    open: BTreeMap<DecisionId, Row>,
    log: Option<DecisionLog>,
}

impl Record {
    /// As it was stored. What cannot be read, or is of a decision that is open no more, is left out.
    pub(in crate::client) fn restore(stored: Vec<(String, Vec<u8>)>, open: &BTreeSet<DecisionId>) -> Record {
        let row = |(name, value): (String, Vec<u8>)| {
            let id: DecisionId = name.strip_prefix(PREFIX)?.parse().ok()?;
            open.contains(&id).then_some((id, serde_json::from_slice(&value).ok()?))
        };
        Record { open: stored.into_iter().filter_map(row).collect(), log: None }
    }

    /// Rows go there from now on.
    pub(in crate::client) fn keep(&mut self, log: DecisionLog) {
        self.log = Some(log);
    }

    /// How it fares.
    pub(in crate::client) fn status(&self) -> Option<DecisionLogStatus> {
        self.log.as_ref().map(DecisionLog::status)
    }

    fn opened(&mut self, id: DecisionId, row: Row, journal: &mut Journal) {
        journal.set(name(id), serde_json::to_vec(&row).expect("a row can always be written"));
        self.open.insert(id, row);
    }

    fn closed(&mut self, id: DecisionId, now: i64, reward: Option<f64>, journal: &mut Journal) {
        let Some(row) = self.open.remove(&id) else { return };
        journal.set(name(id), Vec::new());
        let outcome = if reward.is_some() { row.outcome } else { Outcome::Abandoned };
        if let Some(log) = &self.log {
            log.push(Row { closed: now, reward, outcome, ..row });
        }
    }
}

impl State {
    /// A decision was taken of the arms in place.
    pub(in crate::client) fn record(&mut self, chosen: &Chosen, user: UserId, ask: Option<&Ask<'_>>) {
        if self.record.log.is_none() {
            return;
        }
        let Some(member) = &self.member else { return };
        let seat = member.machine.seat();
        let called = |arm: ArmIndex| plainly(&offer::called(&self.arms, arm));
        let can_be_taken = |arm: &ArmIndex| !self.arms.masked.get(arm.index()).copied().unwrap_or(false);
        let all = (0..offer::len(&self.arms) as u32).map(ArmIndex).filter(can_be_taken);
        let taken = chosen.picked.arm;
        let row = Row {
            time: self.now_ms(),
            closed: 0,
            client: seat.me.0,
            user: ask.and_then(|ask| ask.user).map(|_| user.0),
            decision: chosen.id.to_string(),
            event: ask.and_then(|ask| ask.event).map(Into::into),
            arm: called(taken),
            propensity: chosen.picked.probability,
            reward: None,
            outcome: Outcome::Rewarded,
            offered: all.map(called).collect(),
            baseline: ask.and_then(|ask| ask.baseline).map(plainly),
            decided: chosen.decided.name().into(),
            model: chosen.model,
            features: if seat.dim == 0 { Vec::new() } else { self.arms.row(taken).to_vec() },
            context: ask.and_then(|ask| ask.context).cloned().unwrap_or_default(),
        };
        self.record.opened(chosen.id, row, &mut self.journal);
    }

    /// A decision closed, with a reward or without.
    pub(super) fn recorded(&mut self, id: DecisionId, reward: Option<f64>) {
        let now = self.now_ms();
        self.record.closed(id, now, reward, &mut self.journal);
    }

    /// What it earns is what the client's file says that no reward is worth.
    pub(super) fn recorded_by_default(&mut self, id: DecisionId) {
        if let Some(row) = self.record.open.get_mut(&id) {
            row.outcome = Outcome::Default;
        }
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.clock.wall().as_millis()).unwrap_or(i64::MAX)
    }
}

/// As a column has it.
fn plainly(arm: &ArmRef) -> String {
    match arm {
        ArmRef::Id(id) => id.to_string(),
        ArmRef::Position(position) => position.to_string(),
    }
}

fn name(id: DecisionId) -> String {
    format!("{PREFIX}{id}")
}
