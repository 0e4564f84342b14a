//! What a client does when its coordinator lets it in.

use cahoots_core::NodeId;

use super::super::Shared;
use super::super::apprentice::{Found, Tutored};
use super::super::member::Member;
use crate::books::Books;
use crate::error::NodeError;
use crate::terms::Terms;
use crate::transport::Outbox;
use crate::transport::proto::{Change, Frame, Welcome};

impl Shared {
    /// The coordinator has let us in: learn the terms, send what it has not got.
    pub(super) fn welcome(
        &self,
        welcome: Welcome,
        frames: tokio::sync::mpsc::Sender<Frame>,
    ) -> Result<(), NodeError> {
        let mut state = self.lock();
        if state.member.is_none() {
            let terms = Terms::from_toml(&welcome.terms)?;
            if terms.hash() != welcome.parameters {
                return Err(NodeError::Config(
                    "terms that do not fit their hash: the coordinator runs another version".into(),
                ));
            }
            let decline = |e: NodeError| NodeError::Declined(e.to_string());
            terms.live(&self.known)?.deployable(&terms).map_err(decline)?;
            let member = Member::new(
                &self.known,
                terms,
                &self.federation,
                self.me,
                self.secret,
                None,
                Books::default(),
                None,
            )?;
            member.within(state.ceiling.as_ref(), &member.promised).map_err(NodeError::Declined)?;
            member.takes_default(state.default_reward).map_err(NodeError::Declined)?;
            if let Some(asked) = &state.apprentice_config {
                let tutored = Tutored::of(&member, asked, state.default_reward, &Found::nothing());
                state.apprentice = Some(tutored.map_err(NodeError::Declined)?);
            }
            state.journal.batch.set("terms", welcome.terms.into_bytes());
            tracing::info!(algorithm = member.terms.algorithm, "joined");
            state.join(member, true, None);
            state.flush = true;
            self.work.notify_one();
        }
        let member = state.member.as_mut().expect("joined above");
        if member.header.parameters != welcome.parameters {
            return Err(NodeError::Config(
                "the coordinator's terms are not those of this client's store".into(),
            ));
        }
        let ends = member.machine.ends(NodeId::SERVER);
        if welcome.received > ends.sent || welcome.sent < ends.received {
            return Err(NodeError::Config(
                "the coordinator and this client remember different messages: one of their stores is an old copy; put the newest back"
                    .into(),
            ));
        }
        // A coordinator that was restored from a backup, or whose log lost its end, is sent again what it lacks.
        let gone = member.resume(welcome.received, welcome.replicated);
        if gone > 0 {
            state.lost += gone;
            tracing::error!(gone, "the coordinator lacks messages that this client no longer has");
        }
        if state.starts.let_in() || state.rejoins {
            let starts = state.starts.save();
            state.journal.batch.set("starts", starts);
            state.journal.batch.set("rejoins", Vec::new());
            state.rejoins = false;
            state.flush = true;
            self.work.notify_one();
        }
        state.alone = None;
        if state.account.let_in() {
            state.keep_account();
            self.work.notify_one();
        }
        if let Some(Change { version, params }) = welcome.change {
            state.change(version, &params)?;
            self.work.notify_one();
        }
        if let Some(reason) = state.account.withdrawn() {
            return Err(NodeError::Declined(reason.into()));
        }
        state.declined = None;
        state.outbox = Some(Outbox::new(frames, welcome.received));
        // Whoever is here is told at the next tick how things stand.
        state.said_alive = None;
        state.trouble(String::new());
        tracing::info!(
            unconfirmed = ends.sent.saturating_sub(welcome.received),
            "connected to the coordinator"
        );
        if !state.pump() {
            state.outbox = None;
        }
        Ok(())
    }
}
