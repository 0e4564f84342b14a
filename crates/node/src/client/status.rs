//! What a client tells about itself, and what it does when whoever runs it asks.

use std::time::Duration;

use cahoots_core::NodeId;
use serde::Serialize;
use serde_json::json;

use super::apprentice::ApprenticeStatus;
use super::gain::GainStatus;
use super::history::HistoryColumns;
use super::state::State;
use super::{Client, Tutored};
use crate::books::RefusedUploads;
use crate::control::Order;
use crate::decisions::DecisionLogStatus;
use crate::error::NodeError;
use crate::limits::Refusals;
use crate::privacy::PrivacyStatus;

/// What became of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Drained {
    /// Observations that were sent.
    pub sent: u64,
    /// Observations that this algorithm cannot send before their time.
    pub left: u64,
    /// Messages that the coordinator has not confirmed yet.
    pub unconfirmed: u64,
}

/// What a client tells about itself.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Number of this client.
    pub client: u32,
    /// Are the terms known?
    pub joined: bool,
    /// Is there a connection to the coordinator?
    pub connected: bool,
    /// The coordinator in use, where there is a connection.
    pub coordinator: Option<String>,
    /// Where a coordinator may be, in the order in which they are tried; empty for a client that keeps to itself.
    pub coordinators: Vec<String>,
    /// Messages to the coordinator, ever.
    pub uploads: u64,
    /// Messages from the coordinator, ever.
    pub downloads: u64,
    /// Messages that the coordinator has not confirmed.
    pub unconfirmed: u64,
    /// Observations that have not been sent yet: `drain` sends them.
    pub unsent: u64,
    /// Uploads that the coordinator would not merge: what was in them is kept here.
    pub refusals: RefusedUploads,
    /// Messages that a coordinator restored from an old copy lacks, and that this client no longer has.
    pub lost: u64,
    /// What someone should look after, and how.
    pub problems: Vec<String>,
    /// Statistics that this client's machine has released, ever.
    pub releases: u64,
    /// Of those, how many left without any noise.
    pub unprotected: u64,
    /// Messages that this client refused since this start.
    pub refused: u64,
    /// How often parameters that may change have changed.
    pub params_version: u64,
    /// Decisions that wait for their reward.
    pub open_decisions: usize,
    /// Decisions given up since this start.
    pub expired: u64,
    /// The random number of this start: the first part of its decisions' ids.
    pub epoch: u64,
    /// Attempts to connect since this start.
    pub attempts: u64,
    /// Decisions taken since this start.
    pub decisions: u64,
    /// Rewards learned from since this start.
    pub rewards: u64,
    /// Their sum.
    pub reward_sum: f64,
    /// What federation gained this client.
    pub gain: GainStatus,
    /// How the record of decisions fares, where one is kept.
    pub decision_log: Option<DecisionLogStatus>,
    /// Who decides, this client or its app, where it is an apprentice.
    pub apprentice: Option<ApprenticeStatus>,
    /// Why there is no connection, or why inputs are refused.
    pub trouble: Option<String>,
    /// What the limits refused since this start.
    pub limits: Refusals,
    /// What the terms promise about users' data, what has been spent, and the most that may be.
    pub privacy: PrivacyStatus,
}

impl Client {
    /// Does what whoever runs it asks for. Blocks.
    pub fn order(&self, order: Order) -> Result<serde_json::Value, NodeError> {
        match order {
            Order::Status => Ok(json!(self.status())),
            Order::Drain { seconds } => {
                let patience = Duration::try_from_secs_f64(seconds);
                Ok(json!(self.drain(patience.map_err(|e| NodeError::Request(e.to_string()))?)?))
            }
            _ => Err(NodeError::Request("only a coordinator can do that: give its file".into())),
        }
    }

    /// What it is doing.
    pub fn status(&self) -> Status {
        let mut state = self.shared.lock();
        let (decisions, rewards, reward_sum) = state.history.totals();
        let member = state.member.as_mut();
        let (uploads, downloads, unconfirmed) = member.map_or((0, 0, 0), |member| {
            let ends = member.machine.ends(NodeId::SERVER);
            (ends.sent, ends.received, member.machine.queues().len(NodeId::SERVER) as u64)
        });
        Status {
            client: self.shared.me.0,
            joined: state.member.is_some(),
            connected: state.outbox.is_some(),
            coordinator: state.outbox.as_ref().and(state.called.clone()),
            coordinators: self.shared.coordinators.clone(),
            uploads,
            downloads,
            unconfirmed,
            releases: state.member.as_ref().map_or(0, |member| member.books.releases),
            unprotected: state.member.as_ref().map_or(0, |member| member.books.accountant.unprotected()),
            unsent: state.member.as_ref().map_or(0, |member| member.machine.unsent()),
            refusals: state.member.as_ref().map(|member| member.books.refusals.clone()).unwrap_or_default(),
            lost: state.lost,
            problems: state.problems(),
            refused: state.refused,
            params_version: state.member.as_ref().map_or(0, |member| member.machine.params().0),
            open_decisions: state.member.as_ref().map_or(0, |member| member.machine.open()),
            expired: state.expired,
            epoch: state.starts.epoch(),
            attempts: state.connections,
            decisions,
            rewards,
            reward_sum,
            gain: state.beside.status(),
            decision_log: state.record.status(),
            apprentice: state.apprentice.as_ref().map(Tutored::status),
            trouble: state.failed.clone().or_else(|| state.trouble.clone()),
            limits: self.shared.counters.read(),
            privacy: state.privacy(),
        }
    }

    /// What the terms promise about users' data, what has been spent, and the most that may be.
    pub fn privacy(&self) -> PrivacyStatus {
        self.shared.lock().privacy()
    }

    /// What federation gained it.
    pub fn gain(&self) -> GainStatus {
        self.shared.lock().beside.status()
    }

    /// Who decides, this client or its app; `None` where it is no apprentice.
    pub fn apprentice(&self) -> Option<ApprenticeStatus> {
        self.shared.lock().apprentice.as_ref().map(Tutored::status)
    }

    /// What happened in the last `window` seconds, or since this start.
    pub fn history(&self, window: Option<u64>) -> HistoryColumns {
        let state = self.shared.lock();
        state.history.columns(state.clock.wall(), window)
    }

    /// What someone should look after, and how; empty when all is well.
    pub fn problems(&self) -> Vec<String> {
        self.shared.lock().problems()
    }

    /// Why inputs are not taken, be it for good or until there is space on the disk again.
    pub fn refusing(&self) -> Option<String> {
        let state = self.shared.lock();
        state.failed.clone().or_else(|| state.stalled.clone())
    }

    /// Why inputs are not taken any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.shared.lock().failed.clone()
    }
}

impl State {
    fn privacy(&self) -> PrivacyStatus {
        let promised = self.member.as_ref().map(|member| &member.promised);
        let beside = self.telemetry.beside(promised);
        let mut status = PrivacyStatus::of(promised, &self.account, self.ceiling, beside);
        if let Some(untold) = self.telemetry.untold(promised) {
            status.words = format!("{}\n{untold}", status.words);
        }
        status
    }

    /// What someone should look after, and how.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<String> = self.failed.iter().chain(&self.stalled).cloned().collect();
        problems.extend(self.record.status().and_then(|record| record.problem));
        problems.extend(self.alone.as_ref().map(|reason| {
            format!(
                "this client decides alone, because the coordinator does not let it in: {reason}. What it learns is kept; \
                 once that is mended, it joins again by itself"
            )
        }));
        problems.extend(self.declined.as_ref().map(|reason| {
            format!("this client decides alone, because the federation asks for more than it gives: {reason}")
        }));
        problems.extend(self.account.withdrawn().map(|reason| {
            format!(
                "nothing leaves this client any more: {reason}. It decides alone and goes on learning from its own rewards; what it \
                 had sent stays merged. If more may be spent, change [privacy] and `cahoots rejoin` the client, which then starts \
                 anew under its number"
            )
        }));
        let refusals = self.member.as_ref().map(|member| &member.books.refusals);
        problems.extend(refusals.filter(|refusals| refusals.uploads > 0).map(|refusals| {
            format!(
                "the coordinator did not merge {} of this client's uploads with {} observations, the last one because of \
                 {}: they are kept here and used by this client alone. Look at the scale of features and rewards",
                refusals.uploads, refusals.observations, refusals.reason
            )
        }));
        let promised = self.member.as_ref().map(|member| &member.promised);
        problems.extend(self.telemetry.problem(promised));
        problems.extend(self.beside.problem());
        if self.lost > 0 {
            problems.push(format!(
                "the coordinator was restored from an old copy; it lacks {} messages that this client no longer has",
                self.lost
            ));
        }
        problems
    }
}
