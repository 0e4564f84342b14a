//! From a store to a coordinator that goes on where it was.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use cahoots_core::drive::Event;
use cahoots_core::{Keys, NodeId};
use tokio::sync::oneshot;

use super::admission::{self, Admission};
use super::conduct::{self, Conduct};
use super::core::Core;
use super::fold::Fold;
use super::looking::Models;
use super::members::{DEPARTED, Members, PREFIX};
use super::told::{self, Told};
use super::unmerged::{self, Unmerged};
use super::watch::{Traffic, Watch};
use super::{CoordinatorConfig, CoordinatorStatus, States};
use crate::clock::Clock;
use crate::error::NodeError;
use crate::platform::Platform;
use crate::prior::{Began, Beginning};
use crate::privacy::PromiseStatus;
use crate::secret;
use crate::store::{Batch, Home, Recovered, Store, StoreError};
use crate::transport::EnvelopeHeader;

impl Core {
    /// Opens the store and replays what a kill interrupted.
    pub(super) fn open(
        config: CoordinatorConfig,
        finish: oneshot::Sender<States>,
        platform: &Platform,
    ) -> Result<Core, NodeError> {
        config.terms.live(&config.known)?.deployable(&config.terms)?;
        // What cannot be begun from is refused before there is a store.
        let read = || match &config.warm_start {
            Some(warm) => Beginning::read(warm, &config.terms, &config.known).map(Some),
            None => Ok(None),
        };
        let mut beginning = if platform.exists(&config.store) { None } else { read()? };
        let owner = super::owner(&config.federation);
        let (store, recovered) = Store::open_on(platform, &config.store, &owner, config.sync)?;
        let new = recovered.snapshot.is_none() && recovered.log.is_empty();
        // A start that was interrupted before its first commit.
        if new && beginning.is_none() {
            beginning = read()?;
        }
        Core::on(config, Box::new(store), &recovered, beginning, finish, platform)
    }

    /// Replays what a log holds, and goes on from there.
    fn on(
        config: CoordinatorConfig,
        mut store: Box<dyn Home>,
        recovered: &Recovered,
        beginning: Option<Beginning>,
        finish: oneshot::Sender<States>,
        platform: &Platform,
    ) -> Result<Core, NodeError> {
        let prepared = Prepared::of(&config, &mut *store)?;
        let damaged = |what: String| StoreError::Damaged { path: config.store.clone(), what };
        let mut fold = Fold::begin(&config, &*store, recovered.snapshot.as_deref(), prepared.keys.clone())?;
        for entry in &recovered.log {
            fold.take(entry, platform).map_err(damaged)?;
        }
        tracing::info!(
            entries = recovered.log.len(),
            commits = store.commits(),
            new = fold.new,
            "store opened, log replayed"
        );
        Core::behind(config, store, prepared, fold, beginning, finish, platform)
    }

    /// Goes on behind what was folded, wherever the log lives.
    pub(super) fn behind(
        config: CoordinatorConfig,
        store: Box<dyn Home>,
        Prepared { keys, born }: Prepared,
        fold: Fold,
        beginning: Option<Beginning>,
        finish: oneshot::Sender<States>,
        platform: &Platform,
    ) -> Result<Core, NodeError> {
        let terms = config.terms.to_toml();
        let damaged = |what: String| StoreError::Damaged { path: config.store.clone(), what };
        let Fold { machine, books, tick, new, .. } = fold;
        let mut began =
            store.get(Began::KEY)?.map(|bytes| Began::restore(&bytes)).transpose().map_err(damaged)?;
        if let Some(warm) = config.warm_start.as_ref().filter(|_| !new) {
            Beginning::compare(warm, began.as_ref(), &config.store.display().to_string())?;
        }
        let live = config.terms.live(&config.known)?;
        let clock = Clock::on(platform.clone(), born, config.tick, tick);
        let seats = live.seats(&config.terms)?;
        let lockstep = match &config.terms.lockstep {
            Some(_) => {
                let progress = store.get("lockstep")?;
                Some(config.known.lockstep()?.conductor(&config.terms, seats.clone(), progress)?)
            }
            None => None,
        };
        if let Some(beginning) = &beginning {
            began = Some(beginning.began.clone());
        }
        let promised = live.promised(&config.terms)?;
        let traffic = store.get(Traffic::KEY)?.map(|bytes| Traffic::restore(&bytes)).unwrap_or_default();
        let mut core = Core {
            machine,
            books,
            seats,
            members: Members::restore(store.list(PREFIX)?, store.list(DEPARTED)?),
            told: Told::restore(store.list(told::PREFIX)?, promised.claim.is_some()),
            unmerged: Unmerged::restore(store.list(unmerged::PREFIX)?),
            conduct: Conduct::restore(store.list(conduct::PREFIX)?, config.limits.implausible),
            admission: Admission::restore(config.security, store.list(admission::PREFIX)?),
            store,
            batch: Batch::default(),
            keys,
            clock,
            header: EnvelopeHeader {
                federation: config.federation,
                from: NodeId::SERVER,
                parameters: config.terms.hash(),
            },
            told_terms: terms,
            lockstep,
            finish: Some(finish),
            after: Vec::new(),
            refusals: Vec::new(),
            leading: None,
            inbox: None,
            held: VecDeque::new(),
            stalled: None,
            stopping: false,
            touched: BTreeSet::new(),
            confirming: BTreeSet::new(),
            granted: None,
            snapshot_every: config.snapshot_every,
            watch: Watch::new(platform.wall().as_secs_f64(), traffic),
            inputs: 0,
            models: Models::default(),
            promised: PromiseStatus::of(&promised),
            terms: config.terms,
            plan: config.plan,
            late: config.limits.late.as_secs_f64(),
            status: CoordinatorStatus { began_from: began, ..CoordinatorStatus::default() },
        };
        if new && core.lockstep.is_none() {
            core.event(Event::Start);
            // In one commit with the start: a federation has begun from it, or has not begun.
            if let Some(Beginning { prior, began }) = beginning {
                core.event(Event::Prior(prior.into()));
                core.batch.set(Began::KEY, began.save());
            }
            core.flush(false)?;
        }
        Ok(core)
    }
}

/// What a coordinator is given when its log is begun, and keeps for good.
pub(super) struct Prepared {
    pub(super) keys: Keys,
    born: Duration,
}

impl Prepared {
    /// What a log has; what it lacks is made, and logged before anything follows from it.
    pub(super) fn of(config: &CoordinatorConfig, store: &mut dyn Home) -> Result<Prepared, NodeError> {
        let mut first = Batch::default();
        if !same_terms(config, store)? {
            first.set("terms", config.terms.to_toml().into_bytes());
        }
        let secret = secret::kept(store, &mut first, "secret")?;
        let born = secret::born(store, &mut first)?;
        if !first.is_empty() {
            let mut committed = store.commit(&first);
            while let Err(StoreError::Unanswered { .. }) = committed {
                committed = store.settle();
            }
            committed?;
        }
        Ok(Prepared { keys: secret::keys(&config.terms, secret), born })
    }
}

/// Whether a log was begun under these terms; `false` where it was not begun.
pub(super) fn same_terms(config: &CoordinatorConfig, store: &dyn Home) -> Result<bool, NodeError> {
    match store.get("terms")? {
        None => Ok(false),
        Some(known) if known == config.terms.to_toml().as_bytes() => Ok(true),
        Some(_) if store.replica().is_some() => Err(NodeError::Config(format!(
            "the log {}: this federation was started under other terms (algorithm, parameters, setting or seed) than this coordinator's file has: \
             make [algorithm], [setting] and `seed` the same as in the files of the other coordinators, or give a new federation a new name",
            store.path().display()
        ))),
        Some(_) => Err(NodeError::Config(format!(
            "store {}: this federation was started under other terms (algorithm, parameters, setting or seed), which cannot \
             change while it runs: restore the configuration, or start a new federation with a new name and a new store",
            store.path().display()
        ))),
    }
}
