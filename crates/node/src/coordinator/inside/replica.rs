//! One of several coordinators without a thread and without a network: whoever holds it takes its turns, one by one.

use std::time::Duration;

use cahoots_core::drive::ServerNode;
use tokio::sync::{mpsc, oneshot};

use super::super::core::Core;
use super::super::looking::Look;
use super::super::replicas::{Member, Replicas};
use super::super::standby::{End, Standby};
use super::super::{Command, CoordinatorConfig, CoordinatorStatus};
use crate::error::NodeError;
use crate::identity::Peer;
use crate::platform::Platform;
use crate::store::{Batch, StoreError};
use crate::transport::proto::Frame;
use crate::transport::{Inbound, Session};

/// How long a leader waits before it asks a log again that has not answered.
const AGAIN: Duration = Duration::from_millis(100);

/// What a coordinator is doing.
enum At {
    /// Reading what another writes.
    StandsBy(Box<Standby>),
    /// Its epoch is in the log.
    Begins(Box<End>),
    Leads(Box<Leader>),
    /// Its process has ended.
    Over,
}

/// Who leads, and what it has sent to the log without an answer.
struct Leader {
    core: Core,
    member: Member,
    unsettled: Option<Batch>,
}

/// One of several coordinators, whose turns are taken by hand: [`turn`](Self::turn) by turn it reads on, begins to lead, or commits what
/// came and says what follows from it. Between two turns it may be left alone for as long as one likes.
pub struct SteppedReplica {
    at: At,
    /// What came while it began to lead.
    held: Vec<Command>,
    stopping: bool,
}

impl SteppedReplica {
    /// Nobody is asked before the first turn.
    pub fn open(
        config: CoordinatorConfig,
        replicas: Replicas,
        platform: &Platform,
    ) -> Result<SteppedReplica, NodeError> {
        let member = Member::new(config, replicas, platform.clone())?;
        let at = At::StandsBy(Box::new(Standby::new(member)));
        Ok(SteppedReplica { at, held: Vec::new(), stopping: false })
    }

    /// A new connection, and the way out to it.
    pub fn opened(&mut self, session: Session, frames: mpsc::Sender<Frame>) {
        self.take(Command::Inbound(Inbound::Opened(session, Peer::default(), frames)));
    }

    /// A frame.
    pub fn frame(&mut self, session: Session, frame: Frame) {
        self.take(Command::Inbound(Inbound::Frame(session, frame)));
    }

    /// A connection is gone.
    pub fn closed(&mut self, session: Session) {
        self.take(Command::Inbound(Inbound::Closed(session)));
    }

    /// Time passes.
    pub fn tick(&mut self) {
        self.take(Command::Tick);
    }

    /// A second has passed.
    pub fn sample(&mut self) {
        self.take(Command::Sample);
    }

    /// From now on it wants to end: a leader commits once more.
    pub fn stop(&mut self) {
        self.stopping = true;
    }

    fn take(&mut self, command: Command) {
        match &mut self.at {
            At::StandsBy(standby) => standby.handle(command),
            At::Leads(leader) if leader.unsettled.is_none() => leader.core.handle(command),
            At::Leads(leader) => match command {
                Command::Tick | Command::Sample => {}
                other => leader.core.held.push_back(other),
            },
            At::Begins(_) => self.held.push(command),
            At::Over => {}
        }
    }

    /// Its next step, and after how long it takes another; nothing where it waits for something to come. After an error, and once it
    /// [has ended](Self::has_ended), its process is over.
    pub fn turn(&mut self) -> Result<Option<Duration>, NodeError> {
        match std::mem::replace(&mut self.at, At::Over) {
            At::StandsBy(_) if self.stopping => Ok(None),
            At::StandsBy(mut standby) => {
                let pause = standby.turn()?;
                self.at = match pause {
                    Some(_) => At::StandsBy(standby),
                    None => At::Begins(Box::new(standby.end())),
                };
                Ok(Some(pause.unwrap_or_default()))
            }
            At::Begins(end) => {
                let End { member, home, fold, beacon } = *end;
                match member.promoted(*home, fold, beacon) {
                    Err(NodeError::Store(StoreError::Fenced { .. })) => self.stand_by(member),
                    core => {
                        let leader = Leader { core: core?, member, unsettled: None };
                        self.at = At::Leads(Box::new(leader));
                        std::mem::take(&mut self.held).into_iter().for_each(|command| self.take(command));
                    }
                }
                Ok(Some(Duration::ZERO))
            }
            At::Leads(mut leader) => {
                let turn = leader.turn(self.stopping);
                let over = self.stopping && matches!(turn, Ok(None));
                if turn.is_err() || over {
                    leader.resign();
                }
                match turn {
                    Err(NodeError::Store(StoreError::Fenced { .. })) => {
                        self.stand_by(leader.member);
                        Ok(Some(Duration::ZERO))
                    }
                    Ok(_) if over => Ok(None),
                    Ok(pause) => {
                        self.at = At::Leads(leader);
                        Ok(pause)
                    }
                    Err(error) => Err(error),
                }
            }
            At::Over => Err(NodeError::Stopped("it has ended".into())),
        }
    }

    fn stand_by(&mut self, member: Member) {
        self.at = At::StandsBy(Box::new(Standby::new(member)));
        std::mem::take(&mut self.held).into_iter().for_each(|command| self.take(command));
    }

    /// Has it ended, by order or because it could not go on?
    pub fn has_ended(&self) -> bool {
        matches!(self.at, At::Over)
    }

    /// Does it lead, as far as it knows?
    pub fn leads(&self) -> bool {
        matches!(self.at, At::Leads(_))
    }

    /// Is its epoch in the log, and nothing else of it?
    pub fn begins(&self) -> bool {
        matches!(self.at, At::Begins(_))
    }

    /// Does it wait for an answer of its log?
    pub fn is_unsettled(&self) -> bool {
        matches!(&self.at, At::Leads(leader) if leader.unsettled.is_some())
    }

    /// Has anything happened to it that is not on its way to the log yet?
    pub fn has_news(&self) -> bool {
        matches!(&self.at, At::Leads(leader) if !leader.core.batch.is_empty())
    }

    /// What it is doing.
    pub fn status(&mut self) -> CoordinatorStatus {
        let (answer, mut answered) = oneshot::channel();
        let look = Command::Look(Look::Status(answer));
        match &mut self.at {
            At::StandsBy(standby) => standby.handle(look),
            At::Leads(leader) => leader.core.handle(look),
            At::Begins(_) | At::Over => {}
        }
        answered.try_recv().unwrap_or_default()
    }

    /// Messages that it refused since it began to lead.
    pub fn refused(&self) -> u64 {
        match &self.at {
            At::Leads(leader) => leader.core.watch.refused_since_start(),
            _ => 0,
        }
    }

    /// Its machine, if it has one: a leader's, or that of who stands by.
    pub fn look<T>(&mut self, look: impl FnOnce(&mut dyn ServerNode) -> T) -> Option<T> {
        match &mut self.at {
            At::StandsBy(standby) => standby.machine().map(look),
            At::Leads(leader) => Some(look(&mut *leader.core.machine)),
            At::Begins(_) | At::Over => None,
        }
    }
}

impl Leader {
    /// Commits what came and says what follows, or asks again what became of the last commit.
    fn turn(&mut self, stop: bool) -> Result<Option<Duration>, NodeError> {
        let core = &mut self.core;
        let (batch, committed) = match self.unsettled.take() {
            Some(batch) => (batch, core.store.settle()),
            None => {
                core.advance();
                core.note_moves();
                let Some(batch) = core.gather(stop) else {
                    core.send();
                    return Ok(None);
                };
                let committed = core.store.commit(&batch);
                (batch, committed)
            }
        };
        if let Err(StoreError::Unanswered { what, .. }) = &committed {
            core.wait_for_the_log(what);
            self.unsettled = Some(batch);
            return Ok(Some(AGAIN));
        }
        core.flushed(batch, committed).map_err(|error| core.fails(error))?;
        core.send();
        let came = std::mem::take(&mut core.held);
        let again = (!came.is_empty()).then_some(Duration::ZERO);
        came.into_iter().for_each(|command| core.handle(command));
        Ok(again)
    }

    /// Others hear that it leads no longer.
    fn resign(&mut self) {
        let Core { leading, store, .. } = &mut self.core;
        if let Some(leading) = leading {
            leading.announce(&**store, true);
        }
    }
}
