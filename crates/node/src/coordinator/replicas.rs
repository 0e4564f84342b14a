//! One of several coordinators: it reads what the leader writes, and leads when nobody else does.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::core::Core;
use super::leading::Leading;
use super::opening::Prepared;
use super::standby::Standby;
use super::{Command, CoordinatorConfig};
use crate::error::NodeError;
use crate::platform::{File, Opening, Platform};
use crate::prior::Beginning;
use crate::replica::{Keeper, LogKey};
use crate::secret;
use crate::store::StoreError;

/// What a coordinator needs to know to be one of several.
pub struct Replicas {
    /// Its name among them.
    pub name: String,
    /// Where clients find it.
    pub address: String,
    /// Where its page is, if others can look at it.
    pub page: Option<String>,
    /// What seals the log: the same at each of them.
    pub key: LogKey,
    /// Without a sign of the leader for so long, another tries to lead.
    pub lease: Duration,
    /// Go on although the log has lost what this coordinator saw.
    pub accept_rollback: bool,
    /// The servers that keep the log, as they are shown.
    pub servers: String,
    /// Those servers.
    pub keeper: Box<dyn Keeper>,
}

/// One of several coordinators.
pub(super) struct Member {
    pub(super) config: CoordinatorConfig,
    pub(super) replicas: Replicas,
    pub(super) platform: Platform,
    /// Random, of this process.
    pub(super) instance: u64,
    /// Nobody else uses the paths beside `store`.
    _lock: File,
}

impl Member {
    pub(super) fn new(
        config: CoordinatorConfig,
        replicas: Replicas,
        platform: Platform,
    ) -> Result<Member, NodeError> {
        config.terms.live(&config.known)?.deployable(&config.terms)?;
        if config.terms.lockstep.is_some() {
            return Err(NodeError::Config("a run in lockstep has no replicas: leave out `log`".into()));
        }
        let instance = secret::number(&platform)?;
        let lock = locked(&config, &platform)?;
        Ok(Member { config, replicas, platform, instance, _lock: lock })
    }

    /// Stands by and leads, in turns, until it is told to stop or cannot go on.
    pub(super) fn run(self, mut inbox: mpsc::Receiver<Command>) -> Result<(), NodeError> {
        let mut member = self;
        loop {
            let Some(end) = Standby::new(member).stand(&mut inbox)? else { return Ok(()) };
            member = end.member;
            let mut core = match member.promoted(*end.home, end.fold, end.beacon) {
                Err(NodeError::Store(StoreError::Fenced { .. })) => continue,
                core => core?,
            };
            let ran = core.run(inbox);
            if let Some(leading) = &mut core.leading {
                leading.announce(&*core.store, true);
            }
            match ran {
                Err(NodeError::Store(StoreError::Fenced { .. })) => {
                    tracing::warn!(
                        "another coordinator leads: this one stands by, and has said nothing that is not in the log"
                    );
                    inbox = core.inbox.take().expect("lent to it above");
                }
                Ok(()) => {
                    // Farewells leave by a task of their own.
                    std::thread::sleep(Duration::from_millis(100));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// From standing by to leading.
    pub(super) fn promoted(
        &self,
        mut home: crate::replica::Replicated,
        fold: Option<super::fold::Fold>,
        beacon: Box<dyn crate::replica::Beacon>,
    ) -> Result<Core, NodeError> {
        let config = self.config.clone();
        let prepared = Prepared::of(&config, &mut home)?;
        let fold = match fold {
            Some(fold) => fold,
            None => super::fold::Fold::begin(&config, &home, None, prepared.keys.clone())?,
        };
        let beginning = match &config.warm_start {
            Some(warm) if fold.new => Some(Beginning::read(warm, &config.terms, &config.known)?),
            _ => None,
        };
        let epoch = home.epoch();
        let mut leading = Leading::new(&self.replicas, self.instance, beacon, config.store.clone(), &home)?;
        leading.announce(&home, false);
        let finish = oneshot::channel().0;
        let mut core =
            Core::behind(config, Box::new(home), prepared, fold, beginning, finish, &self.platform)?;
        core.leading = Some(leading);
        tracing::info!(name = self.replicas.name, epoch, "this coordinator leads");
        Ok(core)
    }
}

/// Two processes must not share the paths beside a store.
fn locked(config: &CoordinatorConfig, platform: &Platform) -> Result<File, NodeError> {
    let mut path = config.store.as_os_str().to_owned();
    path.push(".lock");
    let unreachable = |source| StoreError::Unreachable { path: config.store.clone(), source };
    let file = platform.open(path.as_ref(), Opening::ToWrite).map_err(unreachable)?;
    if file.try_lock().map_err(unreachable)? {
        Ok(file)
    } else {
        Err(StoreError::Busy { path: config.store.clone() }.into())
    }
}
