//! All that watchers see. The machine's thread is asked for each part of it at most once a second, for all of them, and of
//! members only what has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::StatusCode;

use super::MODELS;
use super::answers::Refused;
use super::fresh::Fresh;
use super::model::{self, Shown};
use crate::coordinator::{Coordinator, CoordinatorStatus, Curves, Entry, MemberStatus};

/// A coordinator, as it was a moment ago.
pub(super) struct View {
    coordinator: Arc<Coordinator>,
    status: Fresh<CoordinatorStatus>,
    members: Fresh<Members>,
    model: Fresh<Shown>,
    curves: Fresh<Curves>,
    journal: Fresh<Vec<Arc<Entry>>>,
}

/// Members, each with the revision that it last changed with.
#[derive(Clone, Default)]
pub(super) struct Members {
    pub(super) revision: u64,
    all: BTreeMap<u32, (u64, MemberStatus)>,
}

impl Members {
    /// Those that have changed since a revision; since 0, those that there are.
    pub(super) fn since(&self, revision: u64) -> impl Iterator<Item = &MemberStatus> {
        let changed = move |(changed, member): &&(u64, MemberStatus)| {
            *changed > revision && (revision > 0 || member.state != "gone")
        };
        self.all.values().filter(changed).map(|(_, member)| member)
    }
}

impl View {
    pub(super) fn of(coordinator: Arc<Coordinator>) -> View {
        View {
            coordinator,
            status: Fresh::default(),
            members: Fresh::default(),
            model: Fresh::default(),
            curves: Fresh::default(),
            journal: Fresh::default(),
        }
    }

    fn running(&self) -> Result<&Coordinator, Refused> {
        if self.coordinator.has_ended() { Err(stopped()) } else { Ok(&self.coordinator) }
    }

    pub(super) async fn status(&self) -> Result<Arc<CoordinatorStatus>, Refused> {
        let coordinator = self.running()?;
        let ask = async |_| coordinator.status().await.map(Arc::new).ok_or_else(stopped);
        self.status.get(ask).await
    }

    pub(super) async fn members(&self) -> Result<Arc<Members>, Refused> {
        let coordinator = self.running()?;
        let ask = async |known: Option<Arc<Members>>| {
            let mut known = known.unwrap_or_default();
            let (revision, changed) = coordinator.member_changes(known.revision).await?;
            let members = Arc::make_mut(&mut known);
            members.revision = revision;
            members.all.extend(changed.into_iter().map(|(at, member)| (member.client, (at, member))));
            Ok(known)
        };
        self.members.get(ask).await
    }

    pub(super) async fn model(&self) -> Result<Arc<Shown>, Refused> {
        let coordinator = self.running()?;
        self.model.get(async |_| Ok(Arc::new(model::shown(coordinator.model(MODELS).await?)))).await
    }

    pub(super) async fn curves(&self) -> Result<Arc<Curves>, Refused> {
        let coordinator = self.running()?;
        self.curves.get(async |_| Ok(Arc::new(coordinator.all_curves().await?))).await
    }

    /// All that happened, newest first.
    pub(super) async fn journal(&self) -> Result<Arc<Vec<Arc<Entry>>>, Refused> {
        let coordinator = self.running()?;
        self.journal.get(async |_| Ok(Arc::new(coordinator.whole_journal().await?))).await
    }
}

fn stopped() -> Refused {
    Refused(StatusCode::SERVICE_UNAVAILABLE, "the coordinator has stopped".into())
}
