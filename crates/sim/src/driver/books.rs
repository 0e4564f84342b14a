//! Where messages and facts go that leave a machine.

use cahoots_core::drive::{Outbox, Outgoing};
use cahoots_core::{ArmBuffer, NodeId, Picked, Tick, UserId, message};

use crate::ledger::Ledger;
use crate::network::Wire;

/// Where everything ends up that leaves a machine.
pub(super) struct Books<M> {
    pub(super) wire: Wire<M>,
    pub(super) ledger: Ledger,
    pub(super) observer: Option<MessageObserver<M>>,
    pub(super) watcher: Option<DecisionObserver>,
}

/// A decision that was made by itself (planned pulls in blocks are not), and what came of it.
pub struct Decided<'a> {
    /// When.
    pub tick: Tick,
    /// For whom.
    pub user: UserId,
    /// What there was to choose from.
    pub arms: &'a ArmBuffer,
    /// What was chosen, and how likely that was.
    pub picked: Picked,
    /// What it gives, whenever that is told.
    pub reward: f64,
}

/// Sees every decision as it is made.
pub type DecisionObserver = Box<dyn FnMut(&Decided<'_>) + Send>;

/// Sees every message as it is sent: from, to, what.
pub type MessageObserver<M> = Box<dyn FnMut(NodeId, NodeId, &M) + Send>;

/// The outbox of one machine in one step.
pub(super) struct Sending<'a, M> {
    pub(super) now: Tick,
    pub(super) from: NodeId,
    pub(super) books: &'a mut Books<M>,
}

impl<M: message::Message> Outbox<M> for Sending<'_, M> {
    fn post(&mut self, Outgoing { to, sequence, message, .. }: Outgoing<M>) {
        if let Some(observer) = &mut self.books.observer {
            observer(self.from, to, &message);
        }
        self.books.ledger.message(self.from, to, &message);
        self.books.wire.send(self.now, self.from, to, sequence, message);
    }
}
