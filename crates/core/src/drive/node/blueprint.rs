//! What nodes are made from.

use std::sync::Arc;

use super::around::{Agreed, Around};
use super::driven::{Change, Driven};
use super::{ClientNode, ServerNode};
use crate::contract::machine::{Algorithm, Machine};
use crate::contract::setting::{Seats, Setting};
use crate::drive::host::{self, Host};
use crate::drive::learner::{self, LearnerHost};
use crate::drive::snapshot::{self, SnapshotError};
use crate::ids::NodeId;

/// Rewards of this many closed decisions are remembered, for repeated ones.
const REMEMBER: u32 = 4096;

/// A node as it was saved: its replicated state, and what awaited confirmation.
#[derive(Clone, Copy, Debug)]
pub struct Saved<'a> {
    /// From [`Node::save`](super::Node::save).
    pub state: &'a [u8],
    /// From [`Queues::save`].
    pub queues: &'a [u8],
}

/// What a node is made from: checked parameters and the setting they were checked against.
pub struct Blueprint<A: Algorithm> {
    /// All parameters, in TOML.
    pub params: String,
    /// The same, checked.
    pub valid: A::Valid,
    /// What is given before anything is learned.
    pub setting: Arc<Setting>,
}

impl<A: Algorithm> Blueprint<A> {
    /// A server, new or as it was saved.
    pub fn server(&self, saved: Option<Saved<'_>>) -> Result<Box<dyn ServerNode>, SnapshotError> {
        let seat = Seats::of::<A>(&self.valid, &self.setting).seat(NodeId::SERVER);
        let change: Change<A::Server> = |agreed, params, server| {
            let valid = agreed.check::<A>(params)?;
            server.into_iter().for_each(|server| A::change_server(&valid, server));
            Ok(())
        };
        let Some(saved) = saved else {
            let host = Host::new(seat.clone(), A::server(&self.valid, &seat));
            return Ok(Box::new(Driven::new(host, self.agreed(), Around::default(), change)));
        };
        let (parts, version, params): (host::Parts<A::Server>, _, _) = snapshot::restore(saved.state)?;
        let agreed = Agreed { version, params, ..self.agreed() };
        let host = Host::from_parts(seat, parts);
        Ok(Box::new(Driven::new(host, agreed, Around::restore(saved.queues)?, change)))
    }

    /// A client, new or as it was saved.
    pub fn client(&self, me: NodeId, saved: Option<Saved<'_>>) -> Result<Box<dyn ClientNode>, SnapshotError> {
        let seat = Seats::of::<A>(&self.valid, &self.setting).seat(me);
        let change: Change<A::Client> = |agreed, params, client| {
            let valid = agreed.check::<A>(params)?;
            client.into_iter().for_each(|client| A::change_client(&valid, client));
            Ok(())
        };
        let Some(saved) = saved else {
            let host = LearnerHost::new(seat.clone(), A::client(&self.valid, &seat), REMEMBER);
            return Ok(Box::new(Driven::new(host, self.agreed(), Around::default(), change)));
        };
        let (parts, version, params): (learner::Parts<A::Client>, _, _) = snapshot::restore(saved.state)?;
        let agreed = Agreed { version, params, ..self.agreed() };
        let host = LearnerHost::from_parts(seat, parts, REMEMBER);
        Ok(Box::new(Driven::new(host, agreed, Around::restore(saved.queues)?, change)))
    }

    fn agreed(&self) -> Agreed {
        Agreed { setting: self.setting.clone(), version: 0, params: self.params.clone() }
    }
}

/// The machine in what [`Node::save`](super::Node::save) gave, to look at.
pub fn saved_server<M: Machine>(state: &[u8]) -> Result<M, SnapshotError> {
    let ((machine, ..), ..): (host::Parts<M>, u64, String) = snapshot::restore(state)?;
    Ok(machine)
}
