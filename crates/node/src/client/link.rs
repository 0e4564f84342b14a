//! Keeping in touch with the coordinator: connect, greet, send again what is
//! not confirmed, and start over when the connection breaks.

pub(super) mod addresses;
mod welcome;

use std::sync::Arc;
use std::time::Duration;

use cahoots_core::{NodeId, wire};

use self::addresses::Addresses;
use super::{Coordinators, Shared};
use crate::error::NodeError;
use crate::identity::Caller;
use crate::limits::{REASON, cut};
use crate::transport::proto::{Change, Confirm, Frame, Hello, Refusal};
use crate::transport::{Failure, Kind, Outbox, Patience, Stream, call_with, frame};

/// How long a connection that is not wanted any more stays open, for what was said last.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often certificates are looked at.
const WATCH: Duration = Duration::from_millis(500);

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// To be tried again.
    Broken(String),
    /// The same, with who is said to lead.
    Elsewhere {
        /// Why.
        reason: String,
        /// Its address; nobody has looked whether it is right.
        leader: String,
    },
    /// Trying again will not help.
    Refused(String),
    /// The coordinator asks for more than this client gives.
    Declined(String),
}

impl From<String> for Ended {
    fn from(reason: String) -> Ended {
        Ended::Broken(reason)
    }
}

/// What follows when a session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt, after a pause that grows.
    Pause,
    /// Another attempt, after the longest pause.
    LongPause,
    /// No other attempt.
    GiveUp,
}

impl From<Refusal> for Ended {
    fn from(Refusal { reason, r#final, leader, .. }: Refusal) -> Ended {
        match r#final {
            true => Ended::Refused(reason),
            false if leader.is_empty() => Ended::Broken(reason),
            false => Ended::Elsewhere { reason, leader },
        }
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        match failure {
            Failure::Broken(reason) => Ended::Broken(reason),
            Failure::Refused(reason) => Ended::Refused(reason),
        }
    }
}

/// Where the coordinator is, and what to connect with.
struct There {
    addresses: Addresses,
    caller: Option<Arc<Caller>>,
}

impl There {
    /// Becomes ready when there is something else to connect with.
    async fn changed(&self) {
        let Some(caller) = &self.caller else { return std::future::pending().await };
        while !caller.refresh() {
            tokio::time::sleep(WATCH).await;
        }
    }
}

/// Keeps a connection until the client stops.
pub(super) async fn keep(
    shared: Arc<Shared>,
    coordinators: &Coordinators,
    caller: Option<Arc<Caller>>,
    longest_pause: Duration,
) {
    let mut there = There { addresses: Addresses::new(coordinators, longest_pause), caller };
    loop {
        let over = shared.over.notified();
        let (stopped, withdrawn) = {
            let state = shared.lock();
            (state.stop || state.failed.is_some(), state.account.withdrawn().is_some())
        };
        if stopped {
            return;
        }
        if withdrawn {
            over.await;
            continue;
        }
        let mut greeted = false;
        let ended = tokio::select! {
            ended = session(&shared, &there, &mut greeted) => ended,
            () = over => continue,
        };
        let addresses = &mut there.addresses;
        if greeted {
            addresses.greeted();
        }
        match shared.parted(addresses.failed(ended)) {
            Next::GiveUp => return,
            Next::LongPause if !greeted => addresses.wait_long(),
            Next::LongPause | Next::Pause => {}
        }
        let pause = addresses.pause();
        let over = shared.over.notified();
        if !shared.lock().stop {
            tokio::select! {
                () = tokio::time::sleep(jittered(pause)) => {}
                () = over => {}
            }
        }
    }
}

/// Between half and all of a pause, so that clients do not come back as one.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0u8; 1];
    let _ = getrandom::fill(&mut byte);
    pause.mul_f64(0.5 + f64::from(byte[0]) / 512.0)
}

async fn session(shared: &Arc<Shared>, there: &There, greeted: &mut bool) -> Ended {
    match connected(shared, there, greeted).await {
        Ok(()) => Ended::Broken("the coordinator closed the connection".into()),
        Err(ended) => ended,
    }
}

async fn connected(shared: &Arc<Shared>, there: &There, greeted: &mut bool) -> Result<(), Ended> {
    let (frames, outgoing) = Outbox::channel();
    let _ = frames.try_send(shared.hello());
    let coordinator = there.addresses.current();
    shared.lock().called = Some(coordinator.into());
    let patience = if there.addresses.several() { Patience::SHORT } else { Patience::LONG };
    let calling = call_with(coordinator, there.caller.clone(), outgoing, patience);
    let mut stream = tokio::time::timeout(patience.answer, calling)
        .await
        .map_err(|_| "the coordinator does not answer".to_string())??;
    let first = tokio::time::timeout(patience.answer, stream.next())
        .await
        .map_err(|_| "the coordinator does not answer".to_string())??;
    shared.greeted(first, frames)?;
    *greeted = true;
    tokio::select! {
        ended = listen(shared, &mut stream) => ended,
        () = last_words(shared) => Err(Ended::Broken("this client sends nothing any more".into())),
        () = there.changed() => Err(Ended::Broken("certificates have changed: connecting with the new ones".into())),
    }
}

/// Becomes ready when the connection is not wanted any more, and what was said last has had time to leave.
async fn last_words(shared: &Arc<Shared>) {
    shared.parting.notified().await;
    tokio::time::sleep(LAST_WORDS).await;
}

async fn listen(shared: &Arc<Shared>, stream: &mut Stream) -> Result<(), Ended> {
    while let Some(frame) = stream.next().await? {
        if !shared.heard(frame)? {
            break;
        }
    }
    Ok(())
}

impl Shared {
    /// A session has ended.
    pub(super) fn parted(&self, ended: Ended) -> Next {
        self.lock().outbox = None;
        match ended {
            Ended::Declined(reason) => self.declined(cut(&reason, REASON).into_owned()),
            Ended::Refused(reason) if self.alone(cut(&reason, REASON).into_owned()) => Next::LongPause,
            Ended::Refused(_) => Next::GiveUp,
            Ended::Broken(reason) | Ended::Elsewhere { reason, .. } => {
                let reason = cut(&reason, REASON).into_owned();
                let mut state = self.lock();
                // One line for each reason, not for each attempt.
                if state.trouble.as_ref() != Some(&reason) {
                    tracing::warn!(
                        reason,
                        "no connection to the coordinator: this client decides alone and tries again"
                    );
                }
                state.trouble(reason);
                Next::Pause
            }
        }
    }

    /// The first frame of a session.
    pub(super) fn greeted(
        &self,
        first: Option<Frame>,
        frames: tokio::sync::mpsc::Sender<Frame>,
    ) -> Result<(), Ended> {
        match first.and_then(|frame| frame.kind) {
            Some(Kind::Welcome(welcome)) => self.welcome(*welcome, frames).map_err(|error| match error {
                NodeError::Declined(reason) => Ended::Declined(reason),
                other => Ended::Refused(other.to_string()),
            }),
            Some(Kind::Refusal(refusal)) if refusal.old_copy => {
                self.lock().found_old();
                self.work.notify_one();
                Err(Ended::Refused(refusal.reason))
            }
            Some(Kind::Refusal(refusal)) => Err(refusal.into()),
            _ => Err(Ended::Broken("no welcome from the coordinator".into())),
        }
    }

    /// Any other frame; `false` when nothing is taken any more.
    pub(super) fn heard(&self, frame: Frame) -> Result<bool, Ended> {
        let Some(kind) = frame.kind else { return Ok(true) };
        let mut state = self.lock();
        if state.failed.is_some() || state.account.withdrawn().is_some() {
            return Ok(false);
        }
        match kind {
            Kind::Envelope(envelope) => state.envelope(*envelope)?,
            Kind::Confirm(Confirm { sequence, peer: Some(peer), .. }) => {
                state.confirmed_by(NodeId(peer), sequence)?;
                if !state.pump() {
                    return Err(Ended::Broken("the connection takes no more".into()));
                }
            }
            Kind::Confirm(Confirm { sequence, kept, peer: None }) => {
                state.confirmed(sequence, kept)?;
                if !state.pump() {
                    return Err(Ended::Broken("the connection takes no more".into()));
                }
            }
            Kind::Change(Change { version, params }) => {
                state.change(version, &params).map_err(|error| match error {
                    NodeError::Declined(reason) => Ended::Declined(reason),
                    other => Ended::Broken(other.to_string()),
                })?;
            }
            Kind::Grant(grant) => state.grant(*grant)?,
            Kind::Refusal(refusal) => return Err(refusal.into()),
            _ => return Err(Ended::Broken("a frame that only clients send".into())),
        }
        if state.flush {
            self.work.notify_one();
        }
        Ok(true)
    }

    /// Who we are and what we have on disk.
    pub(super) fn hello(&self) -> Frame {
        let mut state = self.lock();
        let (sent, received) = (state.durable.sent, state.durable.received);
        let parameters = state.member.as_ref().map_or(0, |member| member.header.parameters);
        state.connections += 1;
        let hello = Hello {
            federation: self.federation.clone(),
            client: self.me.0,
            instance: self.instance.to_vec(),
            version: wire::VERSION,
            parameters,
            received,
            sent,
            epochs: state.starts.all().iter().map(|start| start.epoch).collect(),
            written: state.starts.all().iter().map(|start| start.written).collect(),
            numbered: state.starts.all().iter().map(|start| start.numbered).collect(),
            rejoins: state.rejoins,
            invitation: self
                .proof
                .as_ref()
                .and_then(|proof| Some(proof.invitation.as_ref()?.bytes().to_vec()))
                .unwrap_or_default(),
            secret: self.proof.as_ref().map(|proof| proof.secret.to_vec()).unwrap_or_default(),
        };
        frame(Kind::Hello(hello.into()))
    }

    /// The coordinator will not let us in. Who can decide goes on alone, says so and tries again; `false` for
    /// who cannot, having never joined: its process ends, for a supervisor to see.
    fn alone(&self, reason: String) -> bool {
        let mut state = self.lock();
        if state.member.is_none() {
            tracing::error!(reason, "refused by the coordinator");
            state.fail(format!("refused by the coordinator: {reason}"));
            self.over.notify_waiters();
            return false;
        }
        if state.alone.as_ref() != Some(&reason) {
            tracing::error!(reason, "refused by the coordinator: this client decides alone");
        }
        state.alone = Some(reason.clone());
        state.trouble(format!("refused by the coordinator: {reason}"));
        true
    }

    /// The coordinator asks for more than this client gives. Who can decide goes on alone and asks again later.
    fn declined(&self, reason: String) -> Next {
        let mut state = self.lock();
        if state.declined.as_ref() != Some(&reason) {
            tracing::error!(reason, "this client does not take part");
        }
        if state.member.is_none() {
            state.fail(reason);
            self.over.notify_waiters();
            return Next::GiveUp;
        }
        state.declined = Some(reason.clone());
        state.trouble(reason);
        Next::LongPause
    }
}
