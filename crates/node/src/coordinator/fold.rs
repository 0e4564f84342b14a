//! What a coordinator's log amounts to. Whoever reads the same log has the same: a restart, and whoever stands by.

use cahoots_core::drive::{Saved, ServerNode};
use cahoots_core::{Keys, NodeId, Tick};

use super::CoordinatorConfig;
use crate::books::Books;
use crate::error::NodeError;
use crate::platform::{Bug, Platform};
use crate::secret;
use crate::store::{Home, StoreError};

/// A machine and its books, as far as the log was read.
pub(super) struct Fold {
    pub(super) machine: Box<dyn ServerNode>,
    pub(super) books: Books,
    /// When the last input was.
    pub(super) tick: Tick,
    /// Whether nothing has happened yet.
    pub(super) new: bool,
    keys: Keys,
}

impl Fold {
    /// As it was when a snapshot was made, or before there was anything.
    pub(super) fn begin(
        config: &CoordinatorConfig,
        home: &dyn Home,
        snapshot: Option<&[u8]>,
        keys: Keys,
    ) -> Result<Fold, NodeError> {
        let queues = home.get("queues")?.unwrap_or_default();
        let saved = snapshot.map(|state| Saved { state, queues: &queues });
        let mut machine = config.terms.live(&config.known)?.coordinator(&config.terms, saved)?;
        if config.terms.lockstep.is_some() {
            machine.queues().keep_all();
        }
        let damaged = |what: String| StoreError::Damaged { path: home.path().into(), what };
        let books = Books::restore(home.get("books")?).map_err(damaged)?;
        Ok(Fold { machine, books, tick: secret::tick(home)?, new: snapshot.is_none(), keys })
    }

    /// The next entry of the log.
    pub(super) fn take(&mut self, entry: &[u8], platform: &Platform) -> Result<(), String> {
        let tick = self
            .machine
            .replay(entry, &self.keys)
            .map_err(|e| format!("a log entry cannot be replayed ({e})"))?;
        self.tick = self.tick.max(tick);
        self.new = false;
        let facts = self.machine.take_step().facts;
        if !platform.has(Bug::DropFacts) {
            self.books.enter(NodeId::SERVER, facts);
        }
        Ok(())
    }
}
